//! The diagnosis for programs.

use inspect::doctor::{MachineDemand, Prognosis, Readiness, ReasonWeight, Shortfall};
use record::Steadiness;
use serde_json::{Value, json};

use super::patient::Patient;

pub(super) fn of(patients: &[Patient], demand: Option<&MachineDemand>) -> Value {
    let demand = demand.map(|demand| {
        demand.items().map(|(kind, count)| json!({ "kind": kind, "count": count })).collect::<Value>()
    });
    json!({
        "schema": 1,
        "for": demand,
        "systems": patients.iter().map(patient).collect::<Value>(),
    })
}

fn patient(patient: &Patient) -> Value {
    let diagnosis = &patient.diagnosis;
    let reasons = diagnosis.reasons.iter().map(
        |reason| json!({ "subject": reason.subject, "weight": weight(reason.weight), "text": reason.text }),
    );
    json!({
        "name": patient.system.name,
        "verdict": match diagnosis.readiness {
            Readiness::Ready => "ready",
            Readiness::Limited => "limited",
            Readiness::UsableWithCare => "usable-with-care",
            Readiness::NotFit => "not-fit",
        },
        "reasons": reasons.collect::<Value>(),
        "shortfalls": diagnosis.shortfalls.iter().map(shortfall).collect::<Value>(),
        "workloads": diagnosis.prognoses.iter().map(prognosis).collect::<Value>(),
        "steadiness": diagnosis.steadiness.as_ref().map(steadiness),
        "limits": patient.system.limits,
        "environment": patient.system.environment,
    })
}

fn weight(weight: ReasonWeight) -> &'static str {
    match weight {
        ReasonWeight::Unfit => "unfit",
        ReasonWeight::Care => "care",
        ReasonWeight::Limited => "limited",
        ReasonWeight::Note => "note",
    }
}

pub(in crate::cmd) fn shortfall(one: &Shortfall) -> Value {
    let remedy = one.remedy();
    let lasting = remedy.as_ref().map(|remedy| {
        let way = |way: &inspect::doctor::Lasting| json!({ "place": way.place, "text": way.text });
        remedy.lasting.iter().map(way).collect::<Value>()
    });
    json!({
        "limit": one.limit,
        "resource": one.resource,
        "now": one.now,
        "needed": one.needed,
        "wanted_by": one.wanted_by,
        "manual": one.setting.map(|setting| setting.manual),
        "command": remedy.as_ref().map(|remedy| &remedy.now),
        "lasting": lasting,
        "advice": one.advice,
    })
}

fn prognosis(one: &Prognosis) -> Value {
    let by = one.extent.stopped_by();
    json!({
        "name": one.name,
        "grows": one.grows,
        "n": one.extent.n,
        "wanted": one.extent.wanted,
        "helpers": one.extent.helpers,
        "unsupported": one.unsupported,
        "stopped_by": by.map(|by| json!({
            "limit": by.limit.name,
            "resource": by.resource,
            "value": by.limit.value,
            "usable": by.limit.usable,
            "per_n": by.per_n,
            "in_any_case": by.in_any_case,
            "advice": by.limit.advice,
        })),
    })
}

fn steadiness(one: &Steadiness) -> Value {
    json!({
        "seconds": one.seconds,
        "samples": one.samples,
        "operation_seconds": one.operation_seconds,
        "lost_share": one.lost_share,
        "drift_share": one.drift_share,
        "longest_seconds": one.longest_seconds,
        "steal_share": one.steal_share,
        "waited_share": one.waited_share,
        "thermal_throttles": one.thermal_throttles,
    })
}

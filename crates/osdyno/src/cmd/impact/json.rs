//! The answer for programs.

use inspect::impact::{CapacityEffect, CostImpact, Impact, PaidFor, TIMES_FASTER, UserShare};
use serde_json::{Value, json};
use stats::Interval;

use super::answer::Answer;

pub(super) fn of(answer: &Answer) -> Value {
    let path = &answer.question.path;
    let parts = path.parts().iter().map(|part| {
        json!({
            "name": part.name,
            "delay_seconds": part.delay_seconds,
            "bits_per_second": part.bits_per_second,
        })
    });
    let elsewhere = answer.elsewhere.iter().map(|(name, impact)| {
        let main = impact.main();
        json!({
            "path": name,
            "response": main.and_then(|main| main.response).map(share),
            "transfer": main.and_then(|main| main.transfer).map(share),
        })
    });
    json!({
        "schema": 1,
        "path": {
            "parts": parts.collect::<Value>(),
            "is_typed": answer.has_path,
            "delay_seconds": path.delay_seconds(),
            "bottleneck": path.bottleneck().map(|(part, _)| &part.name),
        },
        "transfer_bytes": answer.question.bytes,
        "times_faster": TIMES_FASTER,
        "together": answer.impact.together.as_ref().map(cost),
        "costs": answer.impact.costs.iter().map(cost).collect::<Value>(),
        "exchanges": exchanges(&answer.impact),
        "other_paths": elsewhere.collect::<Value>(),
    })
}

fn cost(one: &CostImpact) -> Value {
    let paid_for = match one.cost.paid_for {
        PaidFor::Response => "response",
        PaidFor::Byte => "byte",
    };
    json!({
        "name": one.cost.name,
        "system": one.cost.system,
        "n": one.cost.n,
        "seconds": interval(one.cost.seconds),
        "paid_for": paid_for,
        "times": one.cost.times,
        "response": one.response.map(share),
        "transfer": one.transfer.map(share),
        "capacity": one.capacity.map(capacity),
    })
}

fn share(share: UserShare) -> Value {
    json!({
        "system_seconds": interval(share.system_seconds),
        "total_seconds": share.total_seconds,
        "share": interval(share.share),
        "gain_at_most": interval(share.gain),
    })
}

fn capacity(effect: CapacityEffect) -> Value {
    let at_rate = effect.at_rate.map(|rate| {
        json!({
            "per_second": rate.per_second,
            "cores": interval(rate.cores),
            "cores_saved": interval(rate.saved),
            "money_saved": rate.money_saved.map(interval),
        })
    });
    json!({
        "work_seconds": interval(effect.work_seconds),
        "per_core_per_second": interval(effect.per_core),
        "saves_a_core_from_per_second": interval(effect.matters_from),
        "at_rate": at_rate,
    })
}

fn exchanges(impact: &Impact) -> Value {
    let exchanges = impact.exchanges.iter().map(|one| {
        json!({
            "name": one.name,
            "from": one.from,
            "to": one.to,
            "response_gain": one.response.map(interval),
            "transfer_gain": one.transfer.map(interval),
        })
    });
    exchanges.collect()
}

/// Ends that are not finite become null.
fn interval(interval: Interval) -> Value {
    json!({ "value": interval.value, "low": interval.low, "high": interval.high })
}

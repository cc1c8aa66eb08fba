//! Is this machine ready? How far every workload comes and the limit that stops it, the needs of a demand,
//! and causes of doubtful figures.
//!
//! The input is the report of a system about itself; the extents are those of a run's plan. Nothing is read
//! here and nothing changed, so a system elsewhere is examined in the same way.

mod demand;
mod document;
mod recipe;
mod recipes;
mod setting;

use std::collections::BTreeMap;

use record::{ConditionWeight, Examination, Processors, ResourceLimit, Steadiness, System};
use serde::{Serialize, Serializer};
use workload::{Ceiling, Extent, Workload};

pub use demand::MachineDemand;
pub use document::{document, value, wanted_by};
pub use recipe::{RecipeAnswer, StepAnswer, recipe_document};
pub use recipes::{RECIPES, Recipe, RecipeStep, Replaced};
pub use setting::{Lasting, LimitSetting, Remedy, SettingKind, Shortfall, shortfalls};

/// From this share of lost time on, others use the processor, and trials differ by it.
const LOST_CARE: f64 = 0.01;
/// From this share on, a trial measures others.
const LOST_UNFIT: f64 = 0.25;
/// From this drift on, trials one after the other differ by more than a small change does.
const DRIFT_CARE: f64 = 0.05;
/// Workloads that end early and are named in a reason.
const WORKLOADS_NAMED: usize = 6;

/// The verdict on the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Readiness {
    /// Measure.
    Ready,
    /// Measure: some workloads end before the n that is wanted, or cannot be had here. Figures are as good as
    /// elsewhere.
    Limited,
    /// Figures are usable, if one knows the reasons.
    UsableWithCare,
    /// A run cannot give its answers: figures would describe something else, nothing can be measured, or a
    /// demand does not fit.
    NotFit,
}

/// How much a reason matters, the most first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReasonWeight {
    /// There would be no answer, or one about something else.
    Unfit,
    /// Figures are usable, with care.
    Care,
    /// It lowers n.
    Limited,
    /// It is part of every figure, and not a fault.
    Note,
}

impl From<ConditionWeight> for ReasonWeight {
    fn from(weight: ConditionWeight) -> ReasonWeight {
        match weight {
            ConditionWeight::Unfit => ReasonWeight::Unfit,
            ConditionWeight::Care => ReasonWeight::Care,
            ConditionWeight::Note => ReasonWeight::Note,
        }
    }
}

/// One reason of the verdict, or a remark.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReadinessReason {
    /// The subject, in a word or two.
    pub subject: String,
    /// How much it matters.
    pub weight: ReasonWeight,
    /// One sentence.
    pub text: String,
}

impl ReadinessReason {
    fn new(weight: ReasonWeight, subject: &str, text: String) -> ReadinessReason {
        ReadinessReason { subject: subject.to_owned(), weight, text }
    }
}

/// The answer of `osdyno doctor`.
#[derive(Clone, Debug, Serialize)]
pub struct DoctorAnswer {
    /// Version of this answer.
    pub schema: u32,
    /// Demand on the machine.
    #[serde(rename = "for")]
    pub demand: Option<MachineDemand>,
    /// The systems.
    pub systems: Vec<Diagnosis>,
}

impl DoctorAnswer {
    /// Version of the answer; it rises when a field changes its meaning or goes.
    pub const SCHEMA: u32 = 1;

    /// Whether a run can give its answers on every system.
    pub fn is_fit(&self) -> bool {
        self.systems.iter().all(|system| system.readiness != Readiness::NotFit)
    }
}

/// The diagnosis of one system.
#[derive(Clone, Debug, Serialize)]
pub struct Diagnosis {
    /// Its name.
    pub name: String,
    /// The verdict.
    #[serde(rename = "verdict")]
    pub readiness: Readiness,
    /// In order of weight; notes do not count.
    pub reasons: Vec<ReadinessReason>,
    /// Settings that are too low.
    pub shortfalls: Vec<Shortfall>,
    /// How far workloads come.
    #[serde(rename = "workloads")]
    pub prognoses: Vec<Prognosis>,
    /// How steady a repeated reference operation was.
    ///
    /// `null` where it could not be repeated.
    pub steadiness: Option<Steadiness>,
    /// Its limits.
    pub limits: BTreeMap<String, Vec<ResourceLimit>>,
    /// Facts by their keys, as in the run file.
    pub environment: BTreeMap<String, String>,
    /// Its processors.
    #[serde(skip)]
    pub processors: Option<Processors>,
}

/// How far one workload comes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Prognosis {
    /// Name with its variant.
    pub name: String,
    /// Things that n counts.
    pub grows: &'static str,
    /// How far, and the limit that stops it.
    #[serde(flatten, serialize_with = "serialize_extent")]
    pub extent: Extent,
    /// All limits on its needs, the tightest first.
    #[serde(skip)]
    pub ceilings: Vec<Ceiling>,
    /// Why this system cannot have it at all.
    pub unsupported: Option<&'static str>,
}

impl Prognosis {
    /// The prognosis of a workload in one variant, with the extent of a run's plan.
    pub fn of(workload: &'static Workload, variant: &str, extent: Extent, system: &System) -> Prognosis {
        let name = workload::full_name(workload.name, variant);
        let ceilings = Ceiling::all(&workload.needs_of(variant), &workload.fixed_needs_of(variant), system);
        Prognosis { name, grows: workload.grows, extent, ceilings, unsupported: workload.run.err() }
    }

    /// Whether it comes about as far as is wanted.
    fn is_reached(&self) -> bool {
        workload::is_near(self.extent.n, self.extent.wanted)
    }
}

/// Diagnoses a system for workloads, or for a demand.
pub fn diagnose(
    system: &System,
    prognoses: Vec<Prognosis>,
    demand: Option<&MachineDemand>,
    examination: &Result<Examination, String>,
) -> Diagnosis {
    let shortfalls = shortfalls(system, &prognoses, demand);
    let mut reasons = Vec::new();
    reasons.extend(demand.and_then(|demand| unmet(demand, &shortfalls)));
    reasons.extend(unmeasurable(&prognoses));
    let steadiness = match examination {
        Ok(examination) => {
            reasons.extend(examination.conditions.iter().map(|condition| {
                let weight = ReasonWeight::from(condition.weight);
                ReadinessReason::new(weight, &condition.subject, condition.text.clone())
            }));
            examination.steadiness
        }
        Err(error) => {
            let text = format!("Causes of doubtful figures could not be examined: {error}.");
            reasons.push(ReadinessReason::new(ReasonWeight::Care, "examination", text));
            None
        }
    };
    reasons.extend(steadiness.iter().flat_map(unsteady));
    reasons.extend(shortened(&prognoses));
    reasons.sort_by_key(|reason| reason.weight);
    let readiness = match reasons.first().map(|reason| reason.weight) {
        Some(ReasonWeight::Unfit) => Readiness::NotFit,
        Some(ReasonWeight::Care) => Readiness::UsableWithCare,
        Some(ReasonWeight::Limited) => Readiness::Limited,
        Some(ReasonWeight::Note) | None => Readiness::Ready,
    };
    Diagnosis {
        name: system.name.clone(),
        readiness,
        reasons,
        shortfalls,
        prognoses,
        steadiness,
        limits: system.limits.clone(),
        environment: system.environment.clone(),
        processors: system.processors.clone(),
    }
}

fn unmet(demand: &MachineDemand, shortfalls: &[Shortfall]) -> Option<ReadinessReason> {
    let lacking: Vec<&str> = shortfalls
        .iter()
        .filter(|shortfall| shortfall.is_of_demand())
        .map(|shortfall| shortfall.limit.as_str())
        .collect();
    (!lacking.is_empty()).then(|| {
        let verb = if lacking.len() == 1 { "is" } else { "are" };
        let text = format!("{demand} do not fit: {} {verb} too low.", lacking.join(", "));
        ReadinessReason::new(ReasonWeight::Unfit, "limits", text)
    })
}

/// Workloads that cannot be measured with a single n, as one reason for each limit. A run answers for the
/// others; where there are none, it has no answer.
fn unmeasurable(prognoses: &[Prognosis]) -> Vec<ReadinessReason> {
    let is_measured = |prognosis: &Prognosis| prognosis.extent.n > 0 && prognosis.unsupported.is_none();
    let weight = if prognoses.iter().any(is_measured) { ReasonWeight::Limited } else { ReasonWeight::Unfit };
    let reason = |prognosis: &Prognosis| {
        let nothing = prognosis.extent.n == 0 && prognosis.unsupported.is_none();
        let by = prognosis.extent.ceiling.as_ref().filter(|_| nothing)?;
        Some((by.limit.name.clone(), by.reason()))
    };
    grouped(prognoses, reason)
        .into_iter()
        .map(|(names, (_, because))| {
            let text = format!("{} cannot be measured, because {because}.", names.join(", "));
            ReadinessReason::new(weight, "limits", text)
        })
        .collect()
}

/// Workloads that come less far than is wanted, as one reason for each limit. The remedy for a setting is
/// among the shortfalls.
fn shortened(prognoses: &[Prognosis]) -> Vec<ReadinessReason> {
    let by = |prognosis: &Prognosis| {
        let is_short = prognosis.extent.n > 0 && !prognosis.is_reached();
        let by = prognosis.extent.stopped_by().filter(|_| is_short)?;
        let is_setting = LimitSetting::named(&by.limit.name).is_some();
        Some(if is_setting { format!("{} is {}", by.limit.name, by.value()) } else { by.reason() })
    };
    grouped(prognoses, by)
        .into_iter()
        .map(|(names, because)| {
            let verb = if names.len() == 1 { "ends" } else { "end" };
            let text = format!("{} {verb} early, because {because}.", some_of(&names, WORKLOADS_NAMED));
            ReadinessReason::new(ReasonWeight::Limited, "limits", text)
        })
        .collect()
}

/// The first of many names, and how many others there are.
fn some_of(names: &[String], most: usize) -> String {
    let hidden = names.len().saturating_sub(most);
    let shown = names[..names.len() - hidden].join(", ");
    if hidden > 0 { format!("{shown} and {hidden} others") } else { shown }
}

/// Names grouped by their reason, in the order of the first of each.
fn grouped<K: PartialEq>(
    prognoses: &[Prognosis],
    reason: impl Fn(&Prognosis) -> Option<K>,
) -> Vec<(Vec<String>, K)> {
    let mut groups: Vec<(Vec<String>, K)> = Vec::new();
    for prognosis in prognoses {
        let Some(reason) = reason(prognosis) else { continue };
        match groups.iter_mut().find(|(_, known)| *known == reason) {
            Some((names, _)) => names.push(prognosis.name.clone()),
            None => groups.push((vec![prognosis.name.clone()], reason)),
        }
    }
    groups
}

/// The results of two seconds of the reference operation.
fn unsteady(steadiness: &Steadiness) -> Vec<ReadinessReason> {
    let mut reasons = Vec::new();
    let lost = steadiness.lost_share;
    if lost >= LOST_CARE {
        let weight = if lost >= LOST_UNFIT { ReasonWeight::Unfit } else { ReasonWeight::Care };
        let steal = steadiness.steal_share.filter(|share| *share >= LOST_CARE);
        let stolen = steal.map(|share| format!("; the hypervisor took {:.0} %", share * 100.0));
        let text = format!(
            "Others had the processor for {:.1} % of {:.1} s, for up to {:.1} ms at a time{}; stop them, or \
             use a machine of one's own.",
            lost * 100.0,
            steadiness.seconds,
            steadiness.longest_seconds * 1e3,
            stolen.unwrap_or_default()
        );
        reasons.push(ReadinessReason::new(weight, "neighbour", text));
    }
    if steadiness.drift_share >= DRIFT_CARE {
        let text = format!(
            "A reference operation was {:.0} % slower at some times than at others within {:.1} s, although \
             nothing interrupted it; something shares the core or its caches, or the clock rate changes.",
            steadiness.drift_share * 100.0,
            steadiness.seconds
        );
        reasons.push(ReadinessReason::new(ReasonWeight::Care, "neighbour", text));
    }
    if steadiness.thermal_throttles > 0 {
        let text = format!(
            "Heat slowed the processors down {} times within {:.1} s; improve the cooling.",
            steadiness.thermal_throttles, steadiness.seconds
        );
        reasons.push(ReadinessReason::new(ReasonWeight::Care, "heat", text));
    }
    reasons
}

/// How far a workload comes, in an answer.
#[derive(Serialize)]
struct ExtentAnswer<'a> {
    /// Largest n.
    n: u64,
    /// Largest n without limits.
    wanted: u64,
    /// Processes that make objects beside the trial.
    helpers: u32,
    /// Limit that stops it before `wanted`.
    stopped_by: Option<StopAnswer<'a>>,
}

/// The limit that stops a workload.
#[derive(Serialize)]
struct StopAnswer<'a> {
    /// Name of the limit, such as `RLIMIT_NOFILE`.
    limit: &'a str,
    /// Resource, such as `descriptors`.
    resource: Option<&'static str>,
    /// Its value.
    value: u64,
    /// Part of it that a trial can use.
    usable: u64,
    /// The amount that one n takes, and that of a trial at any n.
    per_n: u64,
    /// See `per_n`.
    in_any_case: u64,
    /// Remedy, as the end of a sentence.
    advice: &'a str,
}

fn serialize_extent<S: Serializer>(extent: &Extent, serializer: S) -> Result<S::Ok, S::Error> {
    let stopped_by = extent.stopped_by().map(|by| StopAnswer {
        limit: &by.limit.name,
        resource: by.resource,
        value: by.limit.value,
        usable: by.limit.usable,
        per_n: by.per_n,
        in_any_case: by.fixed,
        advice: &by.limit.advice,
    });
    ExtentAnswer { n: extent.n, wanted: extent.wanted, helpers: extent.helpers, stopped_by }
        .serialize(serializer)
}

//! Gates: claims that let a build fail, and the series about which they are certain.
//!
//! A gate is a list of claims, such as `slower:5%,grows@fork*`. [`of_comparison`] decides it for systems
//! against the first of them, [`of_run`] for a run by itself. The false discoveries of each gate are
//! held over all of its series ([`stats::gate`]). The answer has the decisions, claim by claim and series by
//! series.

mod claims;
mod decide;

pub use claims::{ClaimKind, Gate, GateClaim, GateRefusal};
pub use decide::{of_comparison, of_fleet, of_run, undecided_series};

use std::collections::BTreeSet;

use record::Unit;
use serde::Serialize;
use stats::{Decision, GATE_ALPHA, Interval};

use crate::compare::Mismatch;

/// The decisions of a gate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GateAnswer {
    /// `certain` if any claim is, `excluded` if all are, else `undecided`.
    pub decision: Decision,
    /// Share of builds without a change that may fail by one claim.
    pub error_rate: f64,
    /// The decision on each claim, in the order given.
    pub claims: Vec<ClaimAnswer>,
}

/// The decision on one claim.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClaimAnswer {
    /// As written: `slower:5%`.
    pub claim: String,
    /// Its kind.
    pub kind: ClaimKind,
    /// `certain` if it is of any series, `excluded` if of all, else `undecided`.
    pub decision: Decision,
    /// The nearest to a failure first.
    pub series: Vec<GatedSeries>,
    /// Series whose values are too short for the clock.
    ///
    /// No number of trials decides about them. A claim that names them has them in `series`.
    pub too_short: BTreeSet<String>,
}

/// The decision on one series.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GatedSeries {
    /// Name of the series.
    pub series: String,
    /// Its system.
    ///
    /// Empty where variants are compared.
    pub system: String,
    /// System or variant that it is set against.
    ///
    /// `null` where a claim is about one alone.
    pub baseline: Option<String>,
    /// The decision.
    pub decision: Decision,
    /// Cost over that of the baseline; for `grows` over that at the smallest n.
    ///
    /// With the interval of the claim that was made or tried.
    pub ratio: Option<Interval>,
    /// Least ratio that matters, less 1.
    ///
    /// The margin of the claim, or the noise floor if larger.
    pub margin: Option<f64>,
    /// Chance of such a ratio without a change.
    pub chance: Option<f64>,
    /// Smallest and largest n.
    pub n: Option<(u64, u64)>,
    /// Trials of the two, or pairs.
    ///
    /// Of the baseline and of the system.
    pub trials: Option<(usize, usize)>,
    /// Whether these are pairs.
    pub is_paired: bool,
    /// Factor of all other series, between two runs.
    ///
    /// By which all other series of the run changed.
    pub common: Option<f64>,
    /// Trials after which the result may be definite.
    ///
    /// Of each side, where more would help.
    pub trials_needed: Option<u32>,
    /// The reason.
    pub reason: Option<GateReason>,
    #[serde(skip)]
    unit: Unit,
    /// The name of the series that it is set against, where that is of another variant.
    #[serde(skip)]
    against: Option<String>,
}

/// A remark about a decision.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "is")]
pub enum GateReason {
    /// The whole run changed like this series: the machine, or a change that meets all.
    AllAlike,
    /// The change is beyond the margin at some n for certain, and not over all of them.
    InPart {
        /// The first of these n.
        from: u64,
        /// The last.
        to: u64,
        /// The ratio where it is largest.
        ratio: Interval,
    },
    /// Two runs with too few series to tell a change from a drift of the machine.
    TwoRuns,
    /// The runs are of two processors.
    OtherProcessor {
        /// That of the baseline.
        before: String,
        /// The other.
        now: String,
    },
    /// Its values are too short for the clock.
    TooShort,
    /// It has no number.
    NoNumber {
        /// The systems without one.
        systems: Vec<String>,
    },
    /// The two cannot be compared: another engine, another load, a saturated load generator.
    NotCompared,
    /// The workload is another one than that of the baseline.
    OtherWorkload {
        /// The difference.
        #[serde(skip)]
        mismatch: Box<Mismatch>,
    },
    /// The system refused an operation.
    Refused {
        /// The operation.
        operation: String,
        /// The symbolic name of the error.
        error: String,
        /// The n at which it happened, the smallest and the largest.
        n: Option<(u64, u64)>,
        /// The smallest n at which it happened in the baseline; `null` where it did not.
        before: Option<u64>,
    },
}

impl GateAnswer {
    fn new(claims: Vec<ClaimAnswer>) -> GateAnswer {
        let decision = together(claims.iter().map(|claim| claim.decision));
        GateAnswer { decision, error_rate: GATE_ALPHA, claims }
    }

    /// The decision on each claim about its series.
    pub fn of_claims(claims: &[GateClaim], series: Vec<Vec<GatedSeries>>) -> GateAnswer {
        let of = |(claim, all)| ClaimAnswer::new(claim, (all, BTreeSet::new()));
        GateAnswer::new(claims.iter().zip(series).map(of).collect())
    }

    /// The series that fail, each with its claim.
    pub fn failed(&self) -> impl Iterator<Item = (&ClaimAnswer, &GatedSeries)> {
        self.with(Decision::Certain)
    }

    /// The series with that decision, each with its claim.
    pub fn with(&self, decision: Decision) -> impl Iterator<Item = (&ClaimAnswer, &GatedSeries)> {
        let all = self.claims.iter().flat_map(|claim| claim.series.iter().map(move |series| (claim, series)));
        all.filter(move |(_, series)| series.decision == decision)
    }
}

/// Certain where any is, excluded where all are.
fn together(mut decisions: impl Iterator<Item = Decision> + Clone) -> Decision {
    if decisions.clone().any(|decision| decision == Decision::Certain) {
        Decision::Certain
    } else if decisions.all(|decision| decision == Decision::Excluded) {
        Decision::Excluded
    } else {
        Decision::Undecided
    }
}

impl ClaimAnswer {
    fn new(claim: &GateClaim, (mut series, too_short): (Vec<GatedSeries>, BTreeSet<String>)) -> ClaimAnswer {
        let rank = |decision| match decision {
            Decision::Certain => 0,
            Decision::Undecided => 1,
            Decision::Excluded => 2,
        };
        let size = |one: &GatedSeries| one.ratio.map_or(0.0, |ratio| ratio.value.ln().abs());
        series.sort_by(|a, b| {
            rank(a.decision)
                .cmp(&rank(b.decision))
                .then(size(b).total_cmp(&size(a)))
                .then(a.series.cmp(&b.series))
        });
        let decision = together(series.iter().map(|one| one.decision));
        ClaimAnswer { claim: claim.to_string(), kind: claim.kind, decision, series, too_short }
    }
}

impl GatedSeries {
    /// A series without any evidence yet.
    fn new(series: &str, system: &str, unit: Unit) -> GatedSeries {
        GatedSeries {
            series: series.to_owned(),
            system: system.to_owned(),
            baseline: None,
            decision: Decision::Undecided,
            ratio: None,
            margin: None,
            chance: None,
            n: None,
            trials: None,
            is_paired: false,
            common: None,
            trials_needed: None,
            reason: None,
            unit,
            against: None,
        }
    }

    /// A series whose ratio to that of a baseline was decided so, the names of the systems being that of the
    /// baseline and its own.
    pub fn of_ratio(
        series: &str,
        (baseline, system): (&str, &str),
        decision: Decision,
        ratio: Interval,
    ) -> GatedSeries {
        let one = GatedSeries::new(series, system, Unit::Seconds);
        GatedSeries { baseline: Some(baseline.to_owned()), decision, ratio: Some(ratio), ..one }
    }

    /// The unit of its values.
    pub fn unit(&self) -> Unit {
        self.unit
    }
}

//! Causes of doubtful figures of a system: its conditions, and how steady a reference operation is there.
//!
//! It is not part of a run file: `osdyno doctor` receives it from the system that it examines.

use serde::{Deserialize, Serialize};

/// The findings about a system beside its facts and limits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Examination {
    /// The conditions that show in figures, in order of weight.
    pub conditions: Vec<Condition>,
    /// How steady a reference operation was; `None` where it was not measured.
    pub steadiness: Option<Steadiness>,
}

/// How much a condition matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConditionWeight {
    /// Figures describe something other than the system in question.
    Unfit,
    /// Figures are usable, with care.
    Care,
    /// It is part of every figure, and not a fault.
    Note,
}

/// Something about a system that shows in figures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condition {
    /// Subject, in a word or two.
    pub subject: String,
    /// How much it matters.
    pub weight: ConditionWeight,
    /// A sentence with its value, the consequence and the remedy.
    pub text: String,
}

/// How steady a reference operation was, which depends only on the machine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Steadiness {
    /// Duration.
    pub seconds: f64,
    /// How often it was timed.
    pub samples: u64,
    /// Median.
    pub operation_seconds: f64,
    /// Time in samples far above the median.
    ///
    /// Something else had the processor.
    pub lost_share: f64,
    /// Excess of slower periods over faster ones.
    ///
    /// Something else used caches or memory, or the clock rate changed.
    pub drift_share: f64,
    /// Longest interruption.
    pub longest_seconds: f64,
    /// Time that the hypervisor took.
    ///
    /// A share; `None` where it is not counted.
    pub steal_share: Option<f64>,
    /// Time in which others had the processor.
    ///
    /// The process could have run; a share, `None` where it is not counted.
    pub waited_share: Option<f64>,
    /// How often heat slowed the processors down in that time.
    pub thermal_throttles: u64,
}

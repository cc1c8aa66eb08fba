//! Pure mathematics: numbers in, values with intervals and warnings out.
//!
//! | question | modules |
//! |---|---|
//! | which data are judged, in which pieces | `range`, `sweep`, `block`, `median` |
//! | centre, errors and simultaneous bounds | `centre`, `simultaneous`, `drift` |
//! | which class | `judge` combines the parts, `classify` chooses; `view` has the figures of every verdict |
//! | flat, or small growth | `flat`, `growth` |
//! | a shape, steps, a limit, several | `shape_selection`, on `shape`, `model_selection` and `step` |
//! | the data of a fit, and their correlated errors | `curve`, `covariance` |
//! | two lines | `two_lines`, on `lines`, `line_mixture`, `mixture` and `groups` |
//! | modes, spikes | `modes`, `spikes`, on `baseline`; `finding` has the types |
//! | references | `references` (their changes), `control` (the part removed) |
//! | throughput of several workers | `scaling` |
//! | two systems | `contrast`, on `boots` and `prior`; `compare` has the answer |
//! | several systems | `multiplicity`, `geometric_mean`, `rank`, `noise_floor` |
//! | many hosts | `fleet` |
//! | a run among others, over any n | `cells` |
//! | a run in fewer values, and its verdicts in JSON | `reduction`, `number` |
//! | many runs over time | `history` |
//! | may a build fail | `gate` |
//!
//! Must never: do I/O, read a clock, know what a workload or a file is, or produce sentences; words belong to
//! `report`.

#![forbid(unsafe_code)]

mod baseline;
mod block;
mod boots;
mod cells;
mod centre;
mod classify;
mod cluster;
mod compare;
mod contrast;
mod control;
mod covariance;
mod curve;
mod drift;
mod ends;
mod finding;
mod flat;
mod fleet;
mod gate;
mod geometric_mean;
mod groups;
mod growth;
mod history;
mod judge;
mod line_mixture;
mod lines;
mod median;
mod mixture;
mod model_selection;
mod modes;
mod multiplicity;
mod noise_floor;
mod number;
mod part;
mod prior;
mod range;
mod rank;
mod reduction;
mod references;
mod scaling;
mod search;
mod shape;
mod shape_selection;
#[cfg(test)]
mod simulate;
mod simultaneous;
mod spikes;
mod step;
mod sweep;
mod threshold;
mod turn;
mod two_lines;
mod verdict;
mod view;

pub use cells::{CellCost, cell_costs};
pub use centre::Interval;
pub use cluster::{Cluster, mean_reach, share_reach};
pub use compare::{Answer, Crossing, Design, PerClaim, SeriesComparison, compare};
pub use contrast::{Change, Contrast};
pub use control::{Adjustment, ReferenceStanding, ReferenceUse};
pub use finding::{
    Asymptote, Bend, FittedLine, Lines, LocalExponent, Modes, Period, Repeated, Segment, Spikes, Step, Turn,
};
pub use fleet::{
    Deviations, FleetRatioAnswer, HostCosts, HostEffect, HostSweeps, NoCost, Outlier, PooledEffect,
    host_costs, moderated, outlying, pooled, ratio_answers,
};
pub use gate::{
    Decision, GATE_ALPHA, GateDecision, RUNS_APART, RatioClaim, RatioEvidence, chance_of_factor, discoveries,
    gate,
};
pub use geometric_mean::geometric_mean;
pub use history::{
    CONFIRM_ALPHA, ChangeGround, Confirmation, Confirmed, HistoryFold, HistorySettings, LevelChange,
    LevelHistory, LevelSegment, NightCosts, SeriesLevels, Suspicion, YEARLY_DRIFT, YearlyDrift, confirm,
    history,
};
pub use judge::{JudgeSettings, judge};
pub use multiplicity::answers;
pub use noise_floor::{FLOOR_PAIRS, FloorEstimate, SelfRatio, noise_floor};
pub use part::{TrialPart, mean_of_trials, part_of_whole};
pub use prior::moderate;
pub use range::steady_range;
pub use rank::{Match, Rank, ranks};
pub use reduction::{REDUCED_FROM, ReducedCell, reduced_values, reduction};
pub use scaling::{Scaling, ScalingBend, ScalingClass, ScalingLaw, ScalingTrial, Speedup, scaling};
pub use sweep::{N_MAX, Sweep};
pub use threshold::{Attempt, Threshold, threshold};
pub use verdict::{Block, Class, Verdict, Warning};

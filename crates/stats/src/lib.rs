//! Pure mathematics: numbers in, values with intervals and warnings out.
//!
//! | question | modules |
//! |---|---|
//! | which data are judged, in which pieces | `sweep`, `block` |
//! | centre, errors and simultaneous bounds | `centre`; `dependence` of trials on time and boots |
//! | which class | `judge`; `view` has the figures of every verdict, `verdict` the types |
//! | flat, or small growth | `flat` |
//! | a shape, steps, a limit, several | `shape_selection`, on `shape`, `model_selection` and `step` |
//! | the data of a fit, and their correlated errors | `curve` |
//! | two lines, modes, spikes | `two_lines` and `modes`, on `mixture`; `spikes` |
//! | references | `control` |
//! | throughput of several workers; the level that attempts hold | `scaling`; `threshold` |
//! | shares and means over trials or time | `part` |
//! | two systems | `contrast`, on `dependence` and `prior`; `compare` has the answer |
//! | several systems | `rank`, `noise_floor` |
//! | many hosts | `fleet` |
//! | a run in fewer values, or among others | `reduction` |
//! | many runs over time | `history` |
//! | may a build fail | `gate` |
//!
//! Must never: do I/O, read a clock, know what a workload or a file is, or produce sentences; words belong to
//! `report`.

#![forbid(unsafe_code)]

mod block;
mod centre;
mod compare;
mod contrast;
mod control;
mod curve;
mod dependence;
mod ends;
mod flat;
mod fleet;
mod gate;
mod history;
mod judge;
mod mixture;
mod model_selection;
mod modes;
mod noise_floor;
mod part;
mod prior;
mod rank;
mod reduction;
mod scaling;
mod search;
mod shape;
mod shape_selection;
#[cfg(test)]
mod simulate;
mod spikes;
mod step;
mod sweep;
mod threshold;
mod two_lines;
mod verdict;
mod view;

pub use centre::Interval;
pub use compare::{Answer, Crossing, Design, PerClaim, SeriesComparison, answers, compare, discoveries};
pub use contrast::{Change, Contrast};
pub use fleet::{
    Deviations, FleetRatioAnswer, HostCosts, HostEffect, HostSweeps, NoCost, Outlier, PooledEffect,
    host_costs, moderated, outlying, pooled, ratio_answers,
};
pub use gate::{
    Decision, GATE_ALPHA, GateDecision, RUNS_APART, RatioClaim, RatioEvidence, chance_of_factor, gate,
};
pub use history::{
    CONFIRM_ALPHA, ChangeGround, Confirmation, Confirmed, HistoryFold, HistorySettings, LevelChange,
    LevelHistory, LevelSegment, NightCosts, SeriesLevels, Suspicion, YEARLY_DRIFT, YearlyDrift, confirm,
    history,
};
pub use judge::judge;
pub use noise_floor::{FLOOR_PAIRS, FloorEstimate, SelfRatio, noise_floor};
pub use part::{Cluster, TrialPart, mean_of_trials, mean_reach, part_of_whole, share_reach};
pub use prior::moderate;
pub use rank::{Match, Rank, geometric_mean, ranks};
pub use reduction::{CellCost, REDUCED_FROM, ReducedCell, cell_costs, reduced_values, reduction};
pub use scaling::{Scaling, ScalingBend, ScalingClass, ScalingLaw, ScalingTrial, Speedup, scaling};
pub use sweep::{JudgeSettings, N_MAX, Sweep, steady_range};
pub use threshold::{Attempt, Threshold, threshold};
pub use verdict::{
    Adjustment, Asymptote, Bend, Block, Class, FittedLine, Lines, LocalExponent, Modes, Period,
    ReferenceStanding, ReferenceUse, Repeated, Segment, Spikes, Step, Turn, Verdict, Warning,
};

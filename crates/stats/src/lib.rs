//! Pure mathematics: numbers in, values with intervals and warnings out.
//!
//! | question | modules |
//! |---|---|
//! | which data are judged, in which pieces | `settings`, `range`, `sweep`, `block`, `median` |
//! | centre, errors and simultaneous bounds | `centre`, `simultaneous`, `drift` |
//! | which class | `judge` combines the parts, `classify` chooses; `view` has the figures of every verdict |
//! | a value at one n; flat, or small growth | `one_level`; `flat`, `growth` |
//! | a shape, steps, a limit, several | `shape_selection`, on `shape`, `model_selection` and `step` |
//! | two lines | `two_lines`, on `lines`, `line_mixture`, `mixture` and `groups` |
//! | modes, spikes | `modes`, `spikes`, on `baseline` and `regular`; `finding` has the types |
//! | references | `references` (their changes), `control` (the part removed), `adjustment` (the type) |
//! | several systems | `compare`, `boots`, `multiplicity`, `geometric_mean`, `rank`, `noise_floor` |
//!
//! Must never: do I/O, read a clock, know what a workload or a file is, or produce sentences; words belong to
//! `report`.

#![forbid(unsafe_code)]

mod adjustment;
mod baseline;
mod block;
mod boots;
mod centre;
mod change;
mod class;
mod classify;
mod cluster;
mod compare;
mod control;
mod crossing;
mod drift;
mod finding;
mod flat;
mod geometric_mean;
mod groups;
mod growth;
mod interval;
mod judge;
mod line_mixture;
mod lines;
mod median;
mod mixture;
mod model_selection;
mod moderated;
mod modes;
mod multiplicity;
mod noise_floor;
mod one_level;
mod part;
mod persistence;
mod prior;
mod range;
mod rank;
mod references;
mod regular;
mod search;
mod settings;
mod shape;
mod shape_selection;
#[cfg(test)]
mod simulate;
mod simultaneous;
mod spikes;
mod step;
mod straight;
mod sweep;
mod threshold;
mod turn;
mod two_lines;
mod unpaired;
mod verdict;
mod view;

pub use adjustment::{Adjustment, ReferenceStanding, ReferenceUse};
pub use change::Change;
pub use class::Class;
pub use cluster::{Cluster, mean_reach, share_reach};
pub use compare::{Answer, Contrast, Design, PerClaim, SeriesComparison, compare};
pub use crossing::Crossing;
pub use finding::{
    Asymptote, Bend, FittedLine, Lines, LocalExponent, Modes, Period, Repeated, Segment, Spikes, Step, Turn,
};
pub use geometric_mean::geometric_mean;
pub use interval::Interval;
pub use judge::judge;
pub use moderated::moderate;
pub use multiplicity::answers;
pub use noise_floor::{FLOOR_PAIRS, FloorEstimate, SelfRatio, noise_floor};
pub use part::{TrialPart, mean_of_trials, part_of_whole};
pub use range::steady_range;
pub use rank::{Match, Rank, ranks};
pub use settings::JudgeSettings;
pub use sweep::{N_MAX, Sweep};
pub use threshold::{Attempt, Threshold, threshold};
pub use verdict::{Block, Verdict, Warning};

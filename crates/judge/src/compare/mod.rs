//! Contenders compared, series by series: the variants of a workload, or systems.
//!
//! A variant among variants and a system among systems are one thing. Both are set against a reference, which
//! is the first that was given or the best, over every n that two of them reached or level by level. A pair
//! that cannot be compared has a reason.

mod bound;
mod claim;
mod growth;
mod levels;
mod notes;
mod over_systems;
mod pairs;
mod ranking;
mod result;
mod sample;
mod systems;
mod variants;

pub use claim::{Claim, MeanClaim, Part};
pub use growth::{ContenderGrowth, GrowthClaim, SeriesGrowth};
pub use over_systems::{MeanOfContender, MeanSeries, OverSystems, over_systems, trend};
pub(crate) use ranking::FigureKind;
pub use result::{
    AnswerNote, Comparison, Contender, LevelValue, MARGIN, Mean, Mismatch, More, NoAnswer, OfferedApart,
    OfferedLoad, Ranking, RankingEntry, Ratio, Reference, Refused, Shortened, WithoutNumber,
};
pub use systems::Refusal;
pub(crate) use systems::{of_findings, series_of};
pub(crate) use variants::of_variants;

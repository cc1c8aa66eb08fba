//! A run, and its file.
//!
//! A run is a stream of [`Line`]s: JSON Lines, on disk in zstd frames, one frame per finished trial
//! (`docs/record.md` is the specification). Measuring writes the stream; everything else reads it.
//!
//! - [`Writer`] makes a run file, frame by frame; [`Reader`] streams one back, line by line.
//! - [`read`] reads a whole file into a [`Recording`], the view that reports use.
//! - [`merge()`] joins run files of hosts into one run of a fleet.
//! - [`write_line`] and [`parse_line`] are for a pipe; they need no feature.
//!
//! Must never: know a workload, measure, judge, or look at this machine.

#[cfg(feature = "file")]
mod error;
mod examination;
#[cfg(feature = "file")]
mod frame;
mod json;
mod line;
mod load;
#[cfg(feature = "file")]
mod loss;
#[cfg(feature = "file")]
mod merge;
mod profile;
#[cfg(feature = "file")]
mod reader;
mod recording;
mod rules;
mod series;
mod system;
mod trial;
pub mod units;
#[cfg(feature = "file")]
mod upgrade;
pub mod words;
mod workload;
#[cfg(feature = "file")]
mod writer;

pub use examination::{Condition, ConditionWeight, Examination, Steadiness};
pub use json::{LINE_BYTES_MAX, LineError, SentLine, parse_line, write_line};
pub use line::{End, EndStatus, Line, Run, SCHEMA, Tool};
pub use load::{
    FailureCount, GeneratorLevel, GeneratorPart, Histogram, Limitation, LimitedBy, Purpose, Tester,
};
pub use profile::{Count, Frame, InUse, NRange, Profile, ProfileOrder, ProfileWindow, ProfiledSeries, Stack};
pub use recording::{Excluded, Exclusion, Recording, SUMS_MAX};
pub use rules::N_MAX;
pub use series::{JudgedSeries, Series, SeriesKey, Unit};
pub use system::{
    FleetPlace, NoiseFloor, ProcessorBorder, ProcessorKind, Processors, ResourceLimit, System, resource,
};
pub use trial::{
    Background, Check, ClientHost, HeldBackground, OfferedLevel, Outcome, Server, Trial, TrialClock,
    TrialKey, TrialParameters,
};
pub use workload::{Direction, Expect, JobPart, SeriesKind, Shape, Side, Variant, Workload, page, summary};
#[cfg(feature = "file")]
pub use {
    error::{Error, Result},
    frame::FRAME_BYTES_MAX,
    loss::{LOSSES_MAX, Loss, Losses, Reason},
    merge::{MergeError, MergeInput, Merged, MergedFile, merge},
    reader::{Reader, read},
    writer::{Storage, Writer, write_dense},
};

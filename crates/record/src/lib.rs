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
mod line;
#[cfg(feature = "file")]
mod merge;
#[cfg(feature = "file")]
mod reader;
mod recording;
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

pub use line::{
    End, EndStatus, LINE_BYTES_MAX, Line, LineError, N_MAX, Run, SCHEMA, SentLine, Tool, format_line,
    parse_line, write_line,
};
pub use recording::{Excluded, Exclusion, Recording, SUMS_MAX};
pub use series::{
    FailureCount, GeneratorLevel, GeneratorPart, Histogram, JudgedSeries, Limitation, LimitedBy, Purpose,
    Series, SeriesKey, Tester, Unit,
};
pub use system::{
    Condition, ConditionWeight, Examination, FleetPlace, NoiseFloor, ProcessorBorder, ProcessorKind,
    Processors, ResourceLimit, Steadiness, System, resource,
};
pub use trial::{
    Background, Check, ClientHost, Count, Frame, HeldBackground, InUse, NRange, OfferedLevel, Outcome,
    Profile, ProfileOrder, ProfileWindow, ProfiledSeries, Server, Stack, Trial, TrialClock, TrialKey,
    TrialParameters,
};
pub use workload::{Direction, Expect, JobPart, SeriesKind, Shape, Side, Variant, Workload, page, summary};
#[cfg(feature = "file")]
pub use {
    error::{Error, LOSSES_MAX, Loss, Losses, Reason, Result},
    merge::{MergeError, MergeInput, Merged, MergedFile, merge},
    reader::{FRAME_BYTES_MAX, Reader, read},
    writer::{Storage, Writer, write_dense},
};

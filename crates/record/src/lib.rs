//! What a run is, and how it is written down.
//!
//! A run is a stream of [`Line`]s: JSON Lines, on disk in zstd frames, one frame per finished trial
//! (`docs/record.md` is the specification). Measuring writes the stream; everything else reads it.
//!
//! - [`Writer`] makes a run file, frame by frame; [`Reader`] streams one back, line by line.
//! - [`read`] reads a whole file into a [`Recording`], the view that reports work on.
//! - [`write_line`] and [`parse_line`] are for a pipe; they need no feature.
//!
//! Must never: know a workload, measure, judge, or look at this machine.

mod background;
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
mod noise_floor;
mod offered;
mod profile;
mod profile_order;
#[cfg(feature = "file")]
mod reader;
mod recording;
mod rules;
mod seed;
mod series;
mod system;
mod trial;
mod unit;
pub mod units;
#[cfg(feature = "file")]
mod upgrade;
pub mod words;
mod workload;
#[cfg(feature = "file")]
mod writer;

pub use background::{Background, HeldBackground};
pub use examination::{Condition, ConditionWeight, Examination, Steadiness};
pub use json::{LINE_BYTES_MAX, LineError, SentLine, parse_line, write_line};
pub use line::{End, EndStatus, Line, Run, SCHEMA, Tool};
pub use load::{FailureCount, GeneratorLevel, Histogram, Limitation, LimitedBy, Purpose, Tester};
pub use noise_floor::NoiseFloor;
pub use offered::OfferedLevel;
pub use profile::{Count, Frame, InUse, Profile, ProfileWindow, Stack};
pub use profile_order::{NRange, ProfileOrder, ProfiledSeries};
pub use recording::{Excluded, Exclusion, Recording, SUMS_MAX};
pub use series::{Series, SeriesKey};
pub use system::{Processors, ResourceLimit, System, resource};
pub use trial::{Check, Outcome, Server, Trial, TrialClock, TrialKey, TrialParameters};
pub use unit::Unit;
pub use workload::{Direction, Expect, JobPart, SeriesKind, Shape, Side, Variant, Workload, page, summary};
#[cfg(feature = "file")]
pub use {
    error::{Error, Result},
    frame::FRAME_BYTES_MAX,
    loss::{LOSSES_MAX, Loss, Losses, Reason},
    reader::{Reader, read},
    writer::{Storage, Writer},
};

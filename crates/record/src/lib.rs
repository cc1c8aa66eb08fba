//! What a run is, and how it is written down.
//!
//! A run is a stream of [`Line`]s: JSON Lines, on disk in zstd frames, one frame per finished trial
//! (`docs/record.md` is the specification). Measuring writes the stream; everything else reads it.
//!
//! May import: serde, zstd. Must never: know a workload, measure, judge, or look at this machine.

mod line;

pub use line::{
    Check, Clock, Direction, End, Expect, Line, Order, Outcome, Run, SCHEMA, Series, SeriesKind, System,
    Tool, Trial, Variant, Workload,
};

//! From run options to a record: a plan, then systems × workloads × trials, each trial a separate process.
//!
//! [`RunPlan::make`] selects the items to measure. [`run()`] makes every system describe itself, decides how
//! far n goes on each, measures, and writes the record as it goes.
//!
//! Must never: draw, print, or judge beyond "are more trials needed".

mod blame;
mod error;
mod examine;
mod file_system;
mod hosts;
mod launch;
mod lines;
mod looks;
mod noise_floor;
mod plan;
mod preset;
mod progress;
mod run;
mod run_loop;
mod schedule;
mod scratch;
mod select;
mod settings;
mod systems;
mod target;
mod timeouts;

pub use blame::BlameOptions;
pub use error::Error;
pub use examine::{DateOffset, Examined, GuestBoot, Probe, ProbedHost, boot_guest, examine, probe};
pub use file_system::FileSystem;
pub use host::janitor;
pub use hosts::FleetOptions;
pub use lines::{definitions, rfc3339};
pub use plan::{GateOptions, Item, OwnVariant, OwnVariants, RunOptions, RunPlan, StepOptions};
pub use preset::{Preset, Trials};
pub use run::{CreateRecord, Executor, OnEvent, Outside, Ran, RunClock, RunEvent, TimeLeft, run, run_with};
pub use schedule::Boots;
pub use scratch::{CARRIED, Carried, JANITOR, OWN, Programs, Removal};
pub use select::{GROUPS, find, nearest, select, workloads};
pub use settings::{parse_server, parse_setting};
pub use target::{Entry, MOUNTED, OWN_PROGRAM, SCRATCH, Target};

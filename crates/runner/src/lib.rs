//! From run options to a record: a plan, then systems × workloads × trials, each trial a separate process.
//!
//! [`RunPlan::make`] selects the items to measure. [`run()`] makes every system describe itself, decides how
//! far n goes on each, measures, and writes the record as it goes.
//!
//! Must never: draw, print, or judge beyond "are more trials needed".

mod blame;
mod boots;
mod error;
mod event;
mod examine;
mod executor;
mod file_system;
mod first_trials;
mod functions;
mod hosts;
mod launch;
mod lines;
mod looks;
mod noise_floor;
mod offered;
mod plan;
mod preset;
mod probe;
mod programs;
mod progress;
mod received;
mod run;
mod run_file;
mod run_loop;
mod sample;
mod schedule;
mod scratch;
mod select;
mod server;
mod settings;
mod system_plan;
mod systems;
mod target;
mod timeouts;

pub use blame::BlameOptions;
pub use boots::Boots;
pub use error::Error;
pub use event::{Ran, RunEvent, TimeLeft};
pub use examine::{Examined, GuestBoot, boot_guest, examine};
pub use executor::{CreateRecord, Executor, Outside, RunClock};
pub use file_system::FileSystem;
pub use hosts::FleetOptions;
pub use lines::{definitions, rfc3339};
pub use plan::{GateOptions, Item, OwnVariant, OwnVariants, RunOptions, RunPlan, StepOptions};
pub use preset::{Preset, Trials};
pub use probe::{DateOffset, Probe, ProbedHost, probe};
pub use programs::{CARRIED, Carried, OWN, Programs};
pub use run::{OnEvent, run, run_with};
pub use scratch::{JANITOR, Removal, janitor};
pub use select::{GROUPS, find, nearest, select, workloads};
pub use server::parse_server;
pub use settings::parse_setting;
pub use target::{Entry, MOUNTED, OWN_PROGRAM, SCRATCH, Target};

/// Compiler, target and profile of this build.
pub(crate) const BUILD: &str = env!("OSDYNO_BUILD");

//! The definition of a workload, and its facilities in a trial: the way up and down or through levels, the
//! memory for its measurements, and the server that a load measures.
//!
//! The workloads themselves are in the crates of their groups, such as `kernel` and `servers`: one file each.
//!
//! Must never: print, write a record, keep a statistic, or know which workloads there are.

#[cfg(feature = "server")]
pub mod architectures;
mod compact;
mod curve;
mod definition;
mod extent;
#[cfg(target_os = "linux")]
mod futex_waiters;
mod helpers;
mod job;
pub mod levels;
mod load;
#[cfg(feature = "server")]
mod load_facts;
mod operation;
mod outcome;
mod own;
mod reference;
mod scaling;
#[cfg(feature = "server")]
pub mod server;
#[cfg(feature = "server")]
mod server_memory;
#[cfg(feature = "server")]
pub mod server_workers;
mod setting;
#[cfg(target_os = "linux")]
mod sleepers;
mod slots;
mod steadiness;
mod trial;
mod url;
#[cfg(feature = "server")]
mod web_files;

pub use curve::Lap;
pub use definition::{Declaration, Experiment, Group, Linkage, Need, Variant, Workload};
pub use extent::{Ceiling, Extent, is_near, most_by_processors, most_workers};
#[cfg(target_os = "linux")]
pub use futex_waiters::{FutexRelease, FutexWaiters};
pub use job::{JobRecorder, PhaseTime};
pub use levels::Sizes;
pub use load::LevelRecorder;
pub use operation::Operation;
pub use outcome::{EarlyEnd, ProgramEnded, TrialError};
pub use own::{OwnFolder, OwnNetwork};
pub use record::{
    Check, ClientHost, Direction, Expect, OfferedLevel, Server, Shape, Side, Unit, page, resource,
};
pub use reference::REFERENCE_STRIDE;
pub use scaling::{PROCESSES, PROCESSES_SHARED, THREADS, THREADS_SHARED, Worker};
pub use setting::{Setting, Values};
#[cfg(target_os = "linux")]
pub use sleepers::{Sleepers, SleepersRelease};
pub use slots::Slots;
pub use steadiness::measure_steadiness;
pub use trial::{Trial, warm_up_n, window};
pub use url::ServerUrl;

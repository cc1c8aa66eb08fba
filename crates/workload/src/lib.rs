//! The definition of a workload, and its facilities in a trial: the way up and down or through levels, the
//! memory for its measurements, and the server that a load measures.
//!
//! The workloads themselves are in the crates of their groups, such as `kernel` and `servers`: one file each.
//!
//! Must never: print, write a record, keep a statistic, or know which workloads there are.

#[cfg(feature = "server")]
pub mod architectures;
mod curve;
mod definition;
mod helpers;
pub mod levels;
mod load;
#[cfg(feature = "server")]
mod load_facts;
mod own;
mod reference;
mod scaling;
#[cfg(feature = "server")]
pub mod server;
#[cfg(feature = "server")]
pub mod server_workers;
mod setting;
mod slots;
mod trial;
#[cfg(target_os = "linux")]
mod waiters;

pub use curve::Lap;
pub use definition::{Experiment, Group, Linkage, Operation, Variant, Workload, full_name};
pub use levels::{Ceiling, Extent, Need, Sizes, is_near, most_by_processors, most_workers};
pub use load::{JobRecorder, LevelRecorder, PhaseTime};
pub use own::OwnFolder;
#[cfg(target_os = "linux")]
pub use own::OwnNetwork;
pub use record::{
    Check, ClientHost, Direction, Expect, OfferedLevel, Server, Shape, Side, Unit, page, resource,
};
pub use reference::{REFERENCE_STRIDE, measure_steadiness};
pub use scaling::{PROCESSES, PROCESSES_SHARED, THREADS, THREADS_SHARED, Worker};
pub use setting::{ServerUrl, Setting, Values};
pub use slots::Slots;
pub use trial::{EarlyEnd, ProgramEnded, Trial, TrialError, warm_up_n, window};
#[cfg(target_os = "linux")]
pub use waiters::{FutexRelease, FutexWaiters, Sleepers, SleepersRelease};

//! A load that is fixed, not zero: held beside a measurement at a rate that is known in every second.
//!
//! - `spec` reads the words of a user, `cpu:50%,disk:20MB/s`;
//! - `load` has the loads, and how the kernel counts each;
//! - `controller` decides the work that is due at each moment: pure, without a clock;
//! - `role` is the process that holds one load, with its messages;
//! - `beside` is the side that started these processes; it decides whether a load was held.
//!
//! A load is what the kernel has counted of it, not what its process believes: the controller is given the
//! kernel's counter, and the rates that are recorded come from there.
//!
//! Must never: know a workload, or judge more than whether a load was held.

mod beside;
mod controller;
mod load;
mod role;
mod spec;

pub use beside::{Error, HeldLoads, TIME_MOST, check};
pub use role::hold;
pub use spec::{BackgroundLevel, BackgroundSpec, FixedLoad};

/// The processor of loads whose user has chosen none, of those that a measurement may use, the best for it
/// first: one that neither trials nor servers are pinned to, or else that of the servers, or the only one.
#[must_use]
pub fn processor(usable: &[u32]) -> Option<u32> {
    [2, 1, 0].into_iter().find_map(|place| usable.get(place)).copied()
}

/// The role of a program that holds one load, as its only argument.
pub const ROLE: &str = "background";

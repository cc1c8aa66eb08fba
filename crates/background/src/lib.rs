//! A load of fixed rate beside a measurement, with a known rate in every second.
//!
//! - `spec` reads the words of a user, `cpu:50%,disk:20MB/s`;
//! - `load` has the loads, and how the kernel counts each;
//! - `controller` decides the work that is due at each moment: pure, without a clock;
//! - `role` is the process that holds one load, with its messages;
//! - `beside` is the side that started these processes; it decides whether a load was held.
//!
//! The kernel's count defines a load, not the belief of its process: controller and recorded rates use the
//! kernel's counter.
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

/// The processor of loads without a chosen one, from those that a measurement may use, the best for it first:
/// one that neither trials nor servers are pinned to, or else that of the servers, or the only one.
#[must_use]
pub fn processor(usable: &[u32]) -> Option<u32> {
    [2, 1, 0].into_iter().find_map(|place| usable.get(place)).copied()
}

/// The role of a program that holds one load, as its only argument.
pub const ROLE: &str = "background";

//! What the first process of a system has to do there before programs can run, beside mounting file systems:
//! bring up the loopback interface, set up a serial line, set what the kernel lets change, and power off at
//! the end.
//!
//! Only the first process of a guest calls this: no other process of ours changes a setting of its system.

#[cfg(target_os = "linux")]
#[path = "linux.rs"]
mod platform;
#[cfg(not(target_os = "linux"))]
#[path = "other.rs"]
mod platform;

pub use platform::{bring_up_loopback, open_serial_line, power_off, raise_descriptor_limit, set_sysctl};

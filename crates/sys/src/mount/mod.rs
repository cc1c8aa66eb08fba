//! File systems of this process alone: a mount namespace, images behind loop devices, mounts.

#[cfg(target_os = "linux")]
#[path = "linux.rs"]
mod platform;
#[cfg(not(target_os = "linux"))]
#[path = "other.rs"]
mod platform;

pub use platform::{LoopDevice, mount, own_namespace};

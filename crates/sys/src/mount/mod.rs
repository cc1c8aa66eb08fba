//! File systems of this process alone: a mount namespace, images behind loop devices, mounts.

#[cfg(target_os = "linux")]
mod device;
#[cfg(target_os = "linux")]
mod holder;
#[cfg(target_os = "linux")]
#[path = "linux.rs"]
mod platform;
#[cfg(not(target_os = "linux"))]
#[path = "other.rs"]
mod platform;
#[cfg(target_os = "linux")]
pub(crate) mod table;

#[cfg(target_os = "linux")]
pub use device::expect_unused;
#[cfg(not(target_os = "linux"))]
pub use platform::expect_unused;
pub use platform::{LoopDevice, mount, own_namespace};

//! About a hundred runs that are killed: no object of the kernel and no process is left.
#![cfg(target_os = "linux")]

use crate::common::killed::{OTHERS, RISKY, is_possible, kill_each};

#[test]
fn no_kernel_object_outlives_any_killed_run() {
    if is_possible() {
        kill_each(RISKY.iter().chain(&OTHERS), 5, 6);
    }
}

//! SIGKILL while there are kernel objects that outlive processes or are of the whole machine: nothing is
//! left. `verify` kills more runs, of more workloads.
#![cfg(target_os = "linux")]

use crate::common::killed::{RISKY, is_possible, kill_each};

#[test]
fn no_kernel_object_outlives_a_killed_run() {
    if is_possible() {
        kill_each(RISKY.iter(), 3, 3);
    }
}

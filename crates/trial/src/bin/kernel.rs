//! The program that measures the curves of the kernel: small, because fork(2) copies it. It is the first
//! process of a guest too.

use std::process::ExitCode;

fn main() -> ExitCode {
    trial::play(&[kernel::GROUP], |_| None).unwrap_or_else(trial::first_process)
}

//! The program that measures the curves of the kernel: small, because fork(2) copies it.

use std::process::ExitCode;

fn main() -> ExitCode {
    trial::run(&[kernel::GROUP], |_| None)
}

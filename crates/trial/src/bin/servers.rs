//! The roles of osdyno without the rest of it, for the tests of this crate.

use std::process::ExitCode;

fn main() -> ExitCode {
    trial::servers::play().unwrap_or(ExitCode::FAILURE)
}

//! gVisor as a system of `lab run`.

use lab::Gvisor;
use runner::Target;

use super::words::{split, words};
use crate::failure::Failure;

/// The option of `lab run`.
const OPTION: &str = "--gvisor";

/// The sandbox as a system.
pub(super) fn target(text: &str) -> Result<Target, Failure> {
    let (name, command) = split(text);
    let sandbox = Gvisor::sandbox(&words(OPTION, command)?);
    let prefix = sandbox.map_err(|error| Failure::Refused(error.to_string()))?;
    let written = vec![OPTION.to_owned(), command.to_owned()];
    Ok(Target { written, ..Target::of_command(name.unwrap_or("gvisor").to_owned(), prefix) })
}

//! Whether a guest boots at all, before a run is planned with it.

use std::path::Path;
use std::time::Duration;

use host::{Deadline, Host};

use crate::Error;
use crate::scratch::Scratch;

/// Whether the guest of this command boots within the time. It is ended, and nothing is left of it.
///
/// # Errors
/// [`Error::Scratch`], when there is no folder for the programs that start it.
pub fn guest_boots(command: &[String], scratch: &Path, within: Duration) -> Result<bool, Error> {
    let scratch = Scratch::make(scratch)?;
    let (guard, agent) = (scratch.programs.main(), scratch.programs.agent());
    Ok(Host::open_guest(command, guard, agent, Deadline::within(within)).is_ok())
}

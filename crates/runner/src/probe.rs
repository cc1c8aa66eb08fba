//! Whether a guest boots at all, before a run is planned with it.

use std::path::Path;
use std::time::Duration;

use host::{Deadline, Host, NoReply};

use crate::Error;
use crate::launch::filled;
use crate::scratch::Scratch;

/// What came of an attempt to boot a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuestBoot {
    /// Its agent replied.
    Ready,
    /// It was not there in time, and was ended.
    Silent,
    /// It ended by itself, or sent something else.
    Ended,
}

/// Boots the guest of this command, and ends it. Nothing is left of it.
///
/// # Errors
/// [`Error::Scratch`], when there is no folder for the programs that start it.
pub fn boot_guest(command: &[String], scratch: &Path, within: Duration) -> Result<GuestBoot, Error> {
    let scratch = Scratch::make(scratch)?;
    let (guard, agent) = (scratch.programs.main(), scratch.programs.agent());
    let command = filled(command, scratch.folder.path());
    let opened = Host::open_guest(&command, guard, agent, Deadline::within(within));
    Ok(match opened {
        Ok(_) => GuestBoot::Ready,
        Err(error) if matches!(error.no_reply(), Some(NoReply::Deadline(_))) => GuestBoot::Silent,
        Err(_) => GuestBoot::Ended,
    })
}

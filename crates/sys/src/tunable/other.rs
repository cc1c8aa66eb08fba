//! Systems on which osdyno changes no settings.

use std::io;

use crate::Unsupported;

const REASON: Unsupported =
    Unsupported("settings are changed on Linux only; `osdyno doctor --os` prints those of this system");

pub(super) fn read(_: &str) -> io::Result<String> {
    Err(REASON.into())
}

pub(super) fn is_writable(_: &str) -> bool {
    false
}

pub(super) fn write(_: &str, _: &str) -> io::Result<()> {
    Err(REASON.into())
}

pub(super) fn network_namespace() -> Option<String> {
    None
}

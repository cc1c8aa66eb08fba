//! Systems on which a thread is not bound to a processor: macOS and OpenBSD have no call for it; those of
//! NetBSD and illumos are not used yet.

use std::io;

use super::topology::Topology;
use crate::Unsupported;

const NO_AFFINITY: Unsupported = Unsupported("threads cannot be bound to processors on this system");

pub(super) fn topology() -> Result<Topology, Unsupported> {
    Err(Unsupported("the topology of the processors is not read on this system"))
}

pub(super) fn allowed() -> Result<Vec<u32>, Unsupported> {
    Err(NO_AFFINITY)
}

pub(super) fn pin(_: u32) -> io::Result<()> {
    Err(NO_AFFINITY.into())
}

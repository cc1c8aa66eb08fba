//! FreeBSD and DragonFly: threads can be bound as on Linux. The topology is XML, which is not parsed here.

pub(super) use super::affinity::{allowed, pin};
use super::topology::Topology;
use crate::Unsupported;

pub(super) fn topology() -> Result<Topology, Unsupported> {
    Err(Unsupported("kern.sched.topology_spec is not read yet"))
}

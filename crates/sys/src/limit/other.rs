//! Systems without POSIX resource limits, such as Windows: handles and processes are bounded by memory only.

use super::definition::{Bound, Kind, Limit, Raise, Resource};
use crate::Unsupported;

pub(super) fn get(_: Kind) -> Result<Limit, Unsupported> {
    Err(Unsupported("processes have no resource limits on this system"))
}

pub(super) fn raise_soft_to_hard() -> Result<Vec<Raise>, Unsupported> {
    Err(Unsupported("processes have no resource limits on this system"))
}

pub(super) fn bounds(_: Resource) -> Vec<Bound> {
    Vec::new()
}

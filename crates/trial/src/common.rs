//! What every part that a program plays has in common.

use std::error::Error;

use workload::{Group, Workload};

/// What became of the part that a process was to play.
pub type Done = Result<(), Box<dyn Error>>;

/// The workload of that name in these groups.
pub(crate) fn find(groups: &[Group], name: &str) -> Option<&'static Workload> {
    groups.iter().find_map(|group| group.find(name))
}

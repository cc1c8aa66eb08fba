//! What all roles of a program have in common.

use std::error::Error;

use workload::{Group, Workload};

/// The result of a role.
pub type Done = Result<(), Box<dyn Error>>;

/// The workload of that name in these groups.
pub(crate) fn find(groups: &[Group], name: &str) -> Option<&'static Workload> {
    groups.iter().find_map(|group| group.find(name))
}

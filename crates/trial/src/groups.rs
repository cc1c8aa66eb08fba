//! The groups of workloads that this program measures.

use workload::{Group, Workload};

const GROUPS: &[Group] = &[kernel::GROUP, servers::GROUP];

/// The workload of that name.
pub(crate) fn find(name: &str) -> Option<&'static Workload> {
    GROUPS.iter().find_map(|group| group.find(name))
}

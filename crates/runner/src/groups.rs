//! The groups of workloads that a run can measure, in the order of lists and reports.

use workload::{Group, Workload};

/// Every group. The first is measured where the user names nothing.
pub const GROUPS: &[Group] = &[kernel::GROUP, servers::GROUP, jobs::GROUP, mail::GROUP];

/// Every workload.
pub fn workloads() -> impl Iterator<Item = &'static Workload> + Clone {
    GROUPS.iter().flat_map(|group| group.workloads.iter().copied())
}

/// The workload of that name.
pub fn find(name: &str) -> Option<&'static Workload> {
    GROUPS.iter().find_map(|group| group.find(name))
}

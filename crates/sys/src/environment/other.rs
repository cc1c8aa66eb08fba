//! Systems without sysctl(3) or /proc: only what std and the processor report.

use std::path::Path;

use super::collector::Collector;

pub(super) fn read(_: &mut Collector, _scratch: Option<&Path>) {}

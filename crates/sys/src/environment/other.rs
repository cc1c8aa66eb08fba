//! Systems without sysctl(3) or /proc: what std and the processor say is all there is.

use std::path::Path;

use super::Collector;

pub(super) fn read(_: &mut Collector, _scratch: Option<&Path>) {}

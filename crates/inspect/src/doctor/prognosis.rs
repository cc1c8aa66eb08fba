//! How far a workload comes on a system: the extent that a run is planned with, and all limits on its needs.

use record::System;
use workload::{Ceiling, Extent, Workload};

/// How far one workload comes.
#[derive(Clone, Debug, PartialEq)]
pub struct Prognosis {
    /// Its name with its variant.
    pub name: String,
    /// What n counts.
    pub grows: &'static str,
    /// How far, and by what it is stopped.
    pub extent: Extent,
    /// All limits on what it needs, the tightest first.
    pub ceilings: Vec<Ceiling>,
    /// Why this system cannot have it at all.
    pub unsupported: Option<&'static str>,
}

impl Prognosis {
    /// That of a workload in one variant, for which a run is planned like that.
    pub fn of(workload: &'static Workload, variant: &str, extent: Extent, system: &System) -> Prognosis {
        let name = if variant.is_empty() {
            workload.name.to_owned()
        } else {
            format!("{}/{variant}", workload.name)
        };
        let ceilings =
            Ceiling::all(&workload.needs_of(variant), &workload.needs_in_any_case(variant), system);
        Prognosis { name, grows: workload.grows, extent, ceilings, unsupported: workload.run.err() }
    }

    /// Whether it comes about as far as is wanted.
    pub(super) fn is_reached(&self) -> bool {
        workload::is_near(self.extent.n, self.extent.wanted)
    }
}

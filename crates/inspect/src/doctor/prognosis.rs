//! How far a workload comes on a system: the extent that a run is planned with, and all limits on its needs.

use record::System;
use serde::{Serialize, Serializer};
use workload::{Ceiling, Extent, Workload};

/// How far one workload comes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Prognosis {
    /// Name with its variant.
    pub name: String,
    /// Things that n counts.
    pub grows: &'static str,
    /// How far, and the limit that stops it.
    #[serde(flatten, serialize_with = "extent")]
    pub extent: Extent,
    /// All limits on its needs, the tightest first.
    #[serde(skip)]
    pub ceilings: Vec<Ceiling>,
    /// Why this system cannot have it at all.
    pub unsupported: Option<&'static str>,
}

impl Prognosis {
    /// The prognosis of a workload in one variant, with the extent of a run's plan.
    pub fn of(workload: &'static Workload, variant: &str, extent: Extent, system: &System) -> Prognosis {
        let name = if variant.is_empty() {
            workload.name.to_owned()
        } else {
            format!("{}/{variant}", workload.name)
        };
        let ceilings = Ceiling::all(&workload.needs_of(variant), &workload.fixed_needs_of(variant), system);
        Prognosis { name, grows: workload.grows, extent, ceilings, unsupported: workload.run.err() }
    }

    /// Whether it comes about as far as is wanted.
    pub(super) fn is_reached(&self) -> bool {
        workload::is_near(self.extent.n, self.extent.wanted)
    }
}

/// How far a workload comes, in an answer.
#[derive(Serialize)]
struct ExtentAnswer<'a> {
    /// Largest n.
    n: u64,
    /// Largest n without limits.
    wanted: u64,
    /// Processes that make objects beside the trial.
    helpers: u32,
    /// Limit that stops it before `wanted`.
    stopped_by: Option<StopAnswer<'a>>,
}

/// The limit that stops a workload.
#[derive(Serialize)]
struct StopAnswer<'a> {
    /// Name of the limit, such as `RLIMIT_NOFILE`.
    limit: &'a str,
    /// Resource, such as `descriptors`.
    resource: Option<&'static str>,
    /// Its value.
    value: u64,
    /// Part of it that a trial can use.
    usable: u64,
    /// What one n takes, and a trial at any n.
    per_n: u64,
    /// See `per_n`.
    in_any_case: u64,
    /// Remedy, as the end of a sentence.
    advice: &'a str,
}

fn extent<S: Serializer>(extent: &Extent, serializer: S) -> Result<S::Ok, S::Error> {
    let stopped_by = extent.stopped_by().map(|by| StopAnswer {
        limit: &by.limit.name,
        resource: by.resource,
        value: by.limit.value,
        usable: by.limit.usable,
        per_n: by.per_n,
        in_any_case: by.fixed,
        advice: &by.limit.advice,
    });
    ExtentAnswer { n: extent.n, wanted: extent.wanted, helpers: extent.helpers, stopped_by }
        .serialize(serializer)
}

//! A load, and all that is to be said of it: what every format is written from.

use net::load::search::Found;
use net::load::{Level, LoadSettings};

use super::baseline::Baseline;
use super::beside::Held;
use super::resolve::Resolved;

/// What was measured.
#[derive(Default)]
pub(super) struct Measured {
    pub(super) levels: Vec<Level>,
    pub(super) found: Option<Found>,
    /// The stage of the search that is reported, among all that were offered.
    pub(super) stage: Option<usize>,
}

/// A load, and all that is to be said of it.
pub(super) struct LoadResult<'a> {
    pub(super) targets: &'a [String],
    pub(super) settings: &'a LoadSettings,
    /// Which address of a name was taken.
    pub(super) resolved: Option<&'a Resolved>,
    /// What was to be held beside it, each load in its canonical form.
    pub(super) background: Vec<String>,
    /// What became of that.
    pub(super) held: &'a Held,
    pub(super) measured: &'a Measured,
    pub(super) baseline: Option<&'a Baseline>,
}

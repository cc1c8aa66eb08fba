//! What two contenders were offered, where that differs. Rivals of one run are offered the same. Runs that
//! were made one after the other may have found out different rates, and a response time at one rate is not
//! comparable with one at another: the difference would be that of the loads.

use std::collections::BTreeMap;

use record::{GeneratorLevel, Recording, SeriesKey, Trial};

use super::result::{OfferedApart, OfferedLoad};
use super::sample::Sample;

/// Rates are rounded to one digit when they are chosen: what differs by less than this share is the same.
const SAME: f64 = 1e-6;

/// By level, the load under which a series was measured; empty where that was not one that all were offered.
pub(super) fn loads(recording: &Recording, trials: &[&Trial], key: &SeriesKey) -> BTreeMap<u64, OfferedLoad> {
    // What a closed loop measured does not depend on what is offered after it.
    let is_closed_loop = |level: &GeneratorLevel| {
        let of = [&level.of.system, &level.of.workload, &level.of.variant];
        let is_of = of == [&key.system, &key.workload, &key.variant] && level.intended_per_second.is_none();
        is_of && (level.series.is_empty() || level.series.contains(&key.name))
    };
    if recording.generators.iter().any(is_closed_loop) {
        return BTreeMap::new();
    }
    let offered = trials.iter().flat_map(|trial| &trial.order.offered);
    let load = |level: &record::OfferedLevel| OfferedLoad {
        per_second: level.per_second,
        spacing_seconds: level.spacing_seconds,
    };
    offered.map(|level| (level.n, load(level))).collect()
}

/// Where these two were offered different loads; `None` where they were not.
pub(super) fn apart(first: &Sample<'_>, other: &Sample<'_>) -> Option<OfferedApart> {
    let is_same = |a: f64, b: f64| (a - b).abs() <= SAME * a.abs().max(b.abs());
    let differs = |a: &OfferedLoad, b: &OfferedLoad| {
        !is_same(a.per_second, b.per_second) || !is_same(a.spacing_seconds, b.spacing_seconds)
    };
    let both = first.offered.iter().filter_map(|(n, load)| Some((*n, load, other.offered.get(n)?)));
    let apart: Vec<(u64, &OfferedLoad, &OfferedLoad)> = both.filter(|(_, a, b)| differs(a, b)).collect();
    let (_, one, two) = *apart.last()?;
    Some(OfferedApart {
        levels: apart.iter().map(|(n, ..)| *n).collect(),
        last: [(first.name.clone(), *one), (other.name.clone(), *two)],
    })
}

//! The hosts that lie apart, over all series of a fleet together, and the facts that these share.

use std::collections::{BTreeMap, BTreeSet};

use record::Unit;
use stats::{Deviations, HostEffect, Outlier, outlying};

use super::answer::{FleetOutlier, SharedFact};
use super::facts;
use super::place::Hosts;
use crate::compare::FigureKind;
use crate::finding::ALPHA;

/// One series with the effect on each host, `None` where a host has none.
pub(super) struct OnHosts<'a> {
    pub(super) unit: Unit,
    /// Series with equal names come from the same trials.
    pub(super) trials: (&'a str, &'a str, &'a str),
    pub(super) effects: &'a [Option<HostEffect>],
}

/// The outlying hosts of each series, by their places. False ones are held over all series of one call.
pub(super) fn find(series: &[OnHosts<'_>], margin: f64) -> Vec<Vec<Outlier>> {
    let of_kind = |kind: FigureKind| {
        let is_of = |place: &usize| FigureKind::from_unit(series[*place].unit) == kind;
        (0..series.len()).filter(is_of).collect::<Vec<usize>>()
    };
    let places = FigureKind::ALL.map(of_kind);
    let mut kinds: Vec<(Vec<Deviations>, f64)> = places
        .iter()
        .map(|places| {
            let deviations = places.iter().map(|place| Deviations::new(series[*place].effects)).collect();
            (deviations, freedom(places.iter().map(|place| &series[*place])))
        })
        .collect();
    let found = outlying(&mut kinds, ALPHA, margin);
    let mut of_series = vec![Vec::new(); series.len()];
    for (place, outliers) in places.iter().flatten().zip(found.into_iter().flatten()) {
        of_series[*place] = outliers;
    }
    of_series
}

/// The degrees of freedom that the hosts have between them.
fn freedom<'a>(series: impl Iterator<Item = &'a OnHosts<'a>>) -> f64 {
    let mut of_trials: BTreeMap<(&str, &str, &str), usize> = BTreeMap::new();
    for one in series {
        let hosts = one.effects.iter().flatten().count();
        let known = of_trials.entry(one.trials).or_default();
        *known = (*known).max(hosts.saturating_sub(2));
    }
    of_trials.values().sum::<usize>() as f64
}

/// Outlying hosts by their names, and the facts that they alone share.
pub(super) fn described(
    hosts: &Hosts<'_>,
    effects: &[Option<HostEffect>],
    found: &[Outlier],
) -> (Vec<FleetOutlier>, Vec<SharedFact>) {
    let outlier = |one: &Outlier| FleetOutlier {
        host: hosts.0[one.host].name.to_owned(),
        ratio: one.ratio,
        chance: one.chance,
    };
    let apart: BTreeSet<usize> = found.iter().map(|one| one.host).collect();
    let facts_of = |is_apart: bool| -> Vec<&BTreeMap<String, String>> {
        let places = (0..effects.len()).filter(|place| effects[*place].is_some());
        places
            .filter(|place| apart.contains(place) == is_apart)
            .filter_map(|place| hosts.0[place].facts())
            .collect()
    };
    (found.iter().map(outlier).collect(), facts::shared(&facts_of(true), &facts_of(false)))
}

//! The cost of one series on each host, over the n that the hosts have in common.
//!
//! The level of a trial is the mean of its log block medians, as in a comparison of two systems, in blocks
//! that are the same on all hosts. A host that cannot be measured there, or only in a small part, is left out
//! with a reason; it does not shorten the range of all others.

use super::HostEffect;
use crate::block::{Grid, Rows, column, levels, log_medians};
use crate::centre::Centre;
use crate::dependence::{by_boot, inflation_of_pairs};
use crate::sweep::{Common, Sweep, common_end};

/// The trials of one series on one host.
#[derive(Clone, Debug)]
pub struct HostSweeps<'a> {
    /// The trials, in the order of time.
    pub trials: Vec<Sweep<'a>>,
    /// Smallest step of the clock for one operation; 0 where it does not matter.
    pub tick_seconds: f64,
}

/// The cost of one series on each host.
#[derive(Clone, Debug, PartialEq)]
pub struct HostCosts {
    /// Smallest n of the common range.
    pub n_low: u64,
    /// Largest n of the common range.
    pub n_high: u64,
    /// In the order of the hosts.
    pub hosts: Vec<Result<HostEffect, NoCost>>,
}

/// Why a host has no cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoCost {
    /// It has no value.
    NoValue,
    /// It was measured over another range of n, from the first to the second.
    OtherRange(u64, u64),
    /// One trial, or one boot, does not show its own error.
    OneTrial,
    /// It lacks values in too large a part of the common range.
    Gaps,
}

/// The costs of one series; `None` where no host has a value. `whole` judges from the first n on.
///
/// The range of n ends where the number of hosts that reach it times its decades is largest, as the range of
/// the trials of one host does: one host in a hundred with a low limit is left out, and where half of the
/// hosts stop early all are compared up to there.
pub fn host_costs(hosts: &[HostSweeps<'_>], whole: bool) -> Option<HostCosts> {
    let commons: Vec<Option<Common<'_>>> =
        hosts.iter().map(|host| Common::new(&host.trials, whole)).collect();
    let spans: Vec<Option<(u64, u64)>> = commons.iter().map(|common| span(common.as_ref()?)).collect();
    let (start, end) = common_range(&spans)?;
    let is_there = |span: &Option<(u64, u64)>| span.is_some_and(|(low, high)| low <= start && high >= end);
    let kept: Vec<usize> = (0..hosts.len()).filter(|host| is_there(&spans[*host])).collect();
    let inside = |common: &Common<'_>| -> Vec<u64> {
        common.sizes.iter().copied().filter(|n| (start..=end).contains(n)).collect()
    };
    let all = || kept.iter().filter_map(|host| commons[*host].as_ref());
    let sizes = all().map(inside).min_by_key(Vec::len)?;
    let trials = all().map(|common| common.trials.len()).min()?;
    let ranges = Grid::new(&sizes, trials).ranges;
    let rows = |host: &usize| {
        let common = commons[*host].as_ref()?;
        Some((*host, log_medians(&common.trials, &ranges, hosts[*host].tick_seconds)))
    };
    let mut rows: Vec<(usize, Rows)> = kept.iter().filter_map(rows).collect();
    let (blocks, gaps) = measured_everywhere(&mut rows, ranges.len());
    let (first, last) = (ranges.get(*blocks.first()?)?, ranges.get(*blocks.last()?)?);
    let mut costs: Vec<Result<HostEffect, NoCost>> = spans
        .iter()
        .map(|span| Err(span.map_or(NoCost::NoValue, |(low, high)| NoCost::OtherRange(low, high))))
        .collect();
    gaps.iter().for_each(|host| costs[*host] = Err(NoCost::Gaps));
    for (host, rows) in &mut rows {
        rows.iter_mut().for_each(|row| *row = blocks.iter().map(|block| row[*block]).collect());
        let boots: Vec<u32> =
            commons[*host].iter().flat_map(|common| &common.trials).map(|trial| trial.boot).collect();
        costs[*host] = effect(rows, &boots, hosts[*host].tick_seconds).ok_or(NoCost::OneTrial);
    }
    Some(HostCosts { n_low: first.0, n_high: last.1, hosts: costs })
}

fn span(common: &Common<'_>) -> Option<(u64, u64)> {
    Some((*common.sizes.first()?, *common.sizes.last()?))
}

/// The n from which, and to which, hosts are compared.
fn common_range(spans: &[Option<(u64, u64)>]) -> Option<(u64, u64)> {
    let mut starts: Vec<u64> = spans.iter().flatten().map(|span| span.0).collect();
    starts.sort_unstable();
    let start = *starts.get(starts.len() / 2)?;
    let there = spans.iter().flatten().filter(|span| span.0 <= start && span.1 >= start);
    Some((start, common_end(start, there.map(|span| span.1).collect())?))
}

/// The blocks in which every host has a value, and the hosts that are left out for that. While the hosts have
/// fewer than half of the blocks of the middle one in common, the host with the fewest is left out: one with
/// gaps does not take the series from all others.
fn measured_everywhere(rows: &mut Vec<(usize, Rows)>, blocks: usize) -> (Vec<usize>, Vec<usize>) {
    let has = |rows: &Rows, block: usize| rows.iter().any(|row| row[block].is_finite());
    let count = |rows: &Rows| (0..blocks).filter(|block| has(rows, *block)).count();
    let mut counts: Vec<usize> = rows.iter().map(|(_, rows)| count(rows)).collect();
    let mut sorted = counts.clone();
    sorted.sort_unstable();
    let middle = sorted.get(sorted.len() / 2).copied().unwrap_or(0);
    let mut gaps = Vec::new();
    loop {
        let is_common = |block: &usize| rows.iter().all(|(_, rows)| has(rows, *block));
        let common: Vec<usize> = (0..blocks).filter(is_common).collect();
        let is_enough = !common.is_empty() && 2 * common.len() >= middle;
        let fewest = (0..counts.len()).min_by_key(|place| counts[*place]);
        match fewest {
            Some(fewest) if !is_enough && rows.len() > 1 => {
                gaps.push(rows.remove(fewest).0);
                counts.remove(fewest);
            }
            _ => return (common, gaps),
        }
    }
}

/// The log cost of one host. Drift of its machine widens its error only where neighbouring trials resemble
/// each other: the drift of a host is part of its distance from the others, which the spread of hosts shows,
/// and a factor estimated without drift would cost a quarter of the precision.
fn effect(rows: &Rows, boots: &[u32], tick_seconds: f64) -> Option<HostEffect> {
    let grouped = by_boot(rows, boots);
    let levels = levels(grouped.as_ref().map_or(rows, |by| &by.rows));
    let centre = Centre::new(&levels)?;
    let widened = if grouped.is_some() { 1.0 } else { inflation_of_pairs(&levels).sqrt() };
    let blocks = rows.first().map_or(0, Vec::len);
    let cheapest = (0..blocks).filter_map(|block| Centre::new(&column(rows, block)));
    let cheapest = cheapest.map(|centre| centre.value).fold(f64::INFINITY, f64::min).exp();
    let tick = (tick_seconds / cheapest).ln_1p().max(0.0);
    let error = (centre.error * widened).hypot(tick / 12_f64.sqrt());
    let effect = HostEffect { value: centre.value, error, freedom: centre.freedom };
    effect.is_known().then_some(effect)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn costs(ends: &[usize], costs: &[f64]) -> HostCosts {
        let values: Vec<Vec<Vec<f64>>> = ends
            .iter()
            .zip(costs)
            .map(|(end, cost)| [0.99, 1.0, 1.01].map(|level| vec![level * cost; *end]).to_vec())
            .collect();
        let hosts: Vec<HostSweeps<'_>> = values
            .iter()
            .map(|trials| HostSweeps {
                trials: trials.iter().map(|values| Sweep::even(1, 1, values)).collect(),
                tick_seconds: 0.0,
            })
            .collect();
        host_costs(&hosts, false).expect("values")
    }

    #[test]
    fn a_host_without_the_common_range_is_left_out() {
        let found = costs(&[20_000, 20_000, 300, 20_000, 0], &[1e-6, 2e-6, 1e-6, 1e-6, 1e-6]);
        assert_eq!((found.n_low, found.n_high), (100, 20_000));
        assert_eq!(found.hosts[2], Err(NoCost::OtherRange(10, 300)));
        assert_eq!(found.hosts[4], Err(NoCost::NoValue));
        let ratio = found.hosts[1].expect("a cost").value - found.hosts[0].expect("a cost").value;
        assert!((ratio - 2.0_f64.ln()).abs() < 1e-9, "{ratio}");
        assert_eq!(found.hosts[0].expect("a cost").freedom, 2.0);
    }

    #[test]
    fn where_most_hosts_stop_early_all_are_compared_up_to_there() {
        let found = costs(&[900, 20_000, 900, 900], &[1e-6; 4]);
        assert_eq!((found.n_low, found.n_high), (10, 900));
        // The long sweep is judged from n = 100 on, and cannot be compared from 10 on.
        assert_eq!(found.hosts.iter().filter(|host| host.is_ok()).count(), 3);
    }

    /// The costs of three whole hosts and one that has values only where `has` says so.
    fn with_gaps(has: impl Fn(usize) -> bool) -> HostCosts {
        let whole = vec![1e-6; 3000];
        let value = |place: usize| if has(place) { 1e-6 } else { f64::NAN };
        let holes: Vec<f64> = (0..3000).map(value).collect();
        let hosts = [&whole, &holes, &whole, &whole]
            .map(|values| HostSweeps { trials: vec![Sweep::even(1, 1, values); 3], tick_seconds: 0.0 });
        host_costs(&hosts, false).expect("values")
    }

    #[test]
    fn a_host_with_gaps_takes_the_series_from_no_other() {
        let found = with_gaps(|place| !(50..=2990).contains(&place));
        assert_eq!(found.hosts[1], Err(NoCost::Gaps), "{found:?}");
        assert_eq!(found.hosts.iter().filter(|host| host.is_ok()).count(), 3);
        // Some gaps cost only the blocks that they meet.
        let found = with_gaps(|place| !(500..700).contains(&place));
        assert!(found.hosts.iter().all(Result::is_ok), "{found:?}");
    }

    #[test]
    fn hosts_without_a_common_block_leave_one() {
        let row = |finite: &[usize]| -> Rows {
            vec![(0..4).map(|block| if finite.contains(&block) { 0.0 } else { f64::NAN }).collect(); 2]
        };
        let mut rows = vec![(0, row(&[0, 1])), (2, row(&[2, 3])), (5, row(&[]))];
        let (blocks, gaps) = measured_everywhere(&mut rows, 4);
        assert_eq!((blocks, gaps, rows.len()), (vec![2, 3], vec![5, 0], 1));
        // Gaps that all share leave nobody out.
        let mut rows = vec![(0, row(&[1])), (1, row(&[1])), (2, row(&[1]))];
        assert_eq!(measured_everywhere(&mut rows, 4), (vec![1], Vec::new()));
    }

    #[test]
    fn one_trial_has_no_error_and_no_cost() {
        let values = vec![1e-6; 300];
        let one = HostSweeps { trials: vec![Sweep::even(1, 1, &values)], tick_seconds: 0.0 };
        let two = HostSweeps { trials: vec![Sweep::even(1, 1, &values); 2], tick_seconds: 0.0 };
        let found = host_costs(&[one, two], false).expect("values");
        assert_eq!(found.hosts[0], Err(NoCost::OneTrial));
        assert_eq!(found.hosts[1].expect("a cost").error, 0.0);
        assert_eq!(host_costs(&[], false), None);
    }
}

//! The cost of every series over the hosts.

use std::borrow::Cow;

use record::{Recording, Series, SeriesKey};
use stats::{Class, HostCosts, HostEffect, HostSweeps, NoCost, Sweep, host_costs, pooled};

use super::answer::{ClassOnHosts, FleetSeries, HostLeftOut, HostLeftOutReason, HostValue, named};
use super::hosts::{Hosts, OnHosts, configuration, moderated_effects, named_outliers, outlying_hosts};
use crate::finding::{ALPHA, Finding};
use crate::findings::Findings;
use crate::reduction::{compared_values, sweep_of_every};
use crate::series::measured;

/// One series of one configuration: the finding of each host that was to measure it.
struct OverHosts<'a> {
    configuration: &'a str,
    first: &'a Finding,
    findings: Vec<Option<&'a Finding>>,
    costs: HostCosts,
    effects: Vec<Option<HostEffect>>,
}

/// Every series of every configuration, in the order of the run, and the names of those that no host has.
pub(super) fn series(
    recording: &Recording,
    findings: &Findings,
    hosts: &Hosts<'_>,
    margin: f64,
) -> (Vec<FleetSeries>, Vec<String>) {
    let (mut all, mut without) = (Vec::new(), Vec::new());
    for (configuration, findings) in grouped(findings, hosts) {
        let label = findings.iter().flatten().next().map_or("", |finding| finding.label.as_str());
        match over_hosts(recording, configuration, findings) {
            Some(one) => all.push(one),
            None => without.push(named(label, configuration)),
        }
    }
    let on_hosts: Vec<OnHosts<'_>> = all.iter().map(OverHosts::on_hosts).collect();
    let outliers = outlying_hosts(&on_hosts, margin);
    (all.iter().zip(&outliers).map(|(one, found)| one.answer(hosts, found)).collect(), without)
}

/// The findings of each series by host; a series without its host, and of one configuration.
fn grouped<'a>(findings: &'a Findings, hosts: &Hosts<'a>) -> Vec<(&'a str, Vec<Option<&'a Finding>>)> {
    let mut all: Vec<(&str, Vec<Option<&Finding>>)> = Vec::new();
    for (place, host) in hosts.0.iter().enumerate() {
        for system in host.systems.iter().flatten().copied() {
            let name = configuration(system);
            for finding in findings.series.iter().filter(|one| one.key.system == system.name) {
                let is_it = |(of, known): &&mut (&str, Vec<Option<&Finding>>)| {
                    let first = known.iter().flatten().next();
                    *of == name && first.is_some_and(|first| is_same(&first.key, &finding.key))
                };
                match all.iter_mut().find(is_it) {
                    Some((_, known)) => known[place] = Some(finding),
                    None => {
                        let mut of_hosts = vec![None; hosts.0.len()];
                        of_hosts[place] = Some(finding);
                        all.push((name, of_hosts));
                    }
                }
            }
        }
    }
    all
}

fn is_same(one: &SeriesKey, other: &SeriesKey) -> bool {
    (&one.workload, &one.variant, &one.name, one.direction)
        == (&other.workload, &other.variant, &other.name, other.direction)
}

fn over_hosts<'a>(
    recording: &Recording,
    configuration: &'a str,
    findings: Vec<Option<&'a Finding>>,
) -> Option<OverHosts<'a>> {
    let has_boots = recording.trials.iter().any(|trial| trial.order.boot > 0);
    let costs: Vec<Vec<CostsOfTrial<'_>>> =
        findings.iter().map(|finding| finding.map_or(Vec::new(), |one| costs_of(recording, one))).collect();
    let sweeps: Vec<HostSweeps<'_>> = findings
        .iter()
        .zip(&costs)
        .map(|(finding, costs)| HostSweeps {
            trials: costs.iter().map(|trial| trial.sweep(recording, has_boots)).collect(),
            tick_seconds: finding.map_or(0.0, |finding| finding.tick_seconds),
        })
        .collect();
    let is_of_levels = findings.iter().flatten().any(|finding| finding.levels);
    let costs = host_costs(&sweeps, is_of_levels)?;
    let first = findings.iter().flatten().find(|one| one.measurements > 0).copied()?;
    let own: Vec<Option<HostEffect>> = costs.hosts.iter().map(|cost| cost.ok()).collect();
    let effects = moderated_effects(&own);
    Some(OverHosts { configuration, first, findings, costs, effects })
}

/// The measurements of one trial; those that a load generator limited are none of the system.
struct CostsOfTrial<'a> {
    series: &'a Series,
    values: Cow<'a, [f64]>,
}

impl CostsOfTrial<'_> {
    fn sweep(&self, recording: &Recording, has_boots: bool) -> Sweep<'_> {
        let boot = if has_boots { recording.boot(self.series) } else { 0 };
        sweep_of_every(self.series, &self.values).of_boot(boot)
    }
}

fn costs_of<'a>(recording: &'a Recording, finding: &Finding) -> Vec<CostsOfTrial<'a>> {
    let limited = finding.limited.as_ref();
    let of_trial = |series: &'a Series| {
        let mut values = compared_values(recording, series);
        if let Some(limited) = limited {
            let n: Vec<u64> = sweep_of_every(series, &values).sizes().collect();
            let each = values.to_mut().iter_mut().zip(n);
            each.filter(|(_, n)| limited.at(*n)).for_each(|(value, _)| *value = f64::NAN);
        }
        CostsOfTrial { series, values }
    };
    measured(recording, &finding.key).into_iter().map(of_trial).collect()
}

impl OverHosts<'_> {
    fn on_hosts(&self) -> OnHosts<'_> {
        let SeriesKey { workload, variant, .. } = &self.first.key;
        OnHosts {
            unit: self.first.unit,
            trials: (workload, variant, self.configuration),
            effects: &self.effects,
        }
    }

    fn answer(&self, hosts: &Hosts<'_>, found: &[stats::Outlier]) -> FleetSeries {
        let first = self.first;
        let known: Vec<HostEffect> = self.effects.iter().flatten().copied().collect();
        let all = pooled(&known);
        let (outliers, shared) = named_outliers(hosts, &self.effects, found);
        let value = |(place, effect): (usize, &Option<HostEffect>)| {
            Some(HostValue { host: hosts.0[place].name.to_owned(), value: effect.as_ref()?.interval(ALPHA) })
        };
        let mut values: Vec<HostValue> = self.effects.iter().enumerate().filter_map(value).collect();
        values.sort_by(|a, b| a.value.value.total_cmp(&b.value.value));
        let SeriesKey { workload, variant, name, direction, .. } = &first.key;
        FleetSeries {
            series: first.label.clone(),
            workload: workload.clone(),
            variant: variant.clone(),
            name: name.clone(),
            direction: *direction,
            configuration: self.configuration.to_owned(),
            unit: first.unit,
            grows: first.grows.clone(),
            detail: first.detail,
            n_low: self.costs.n_low,
            n_high: self.costs.n_high,
            mean: all.map(|all| all.mean(ALPHA)),
            prediction: all.and_then(|all| all.prediction(ALPHA)),
            spread: all.map(|all| all.spread()),
            between_share: all.map(|all| all.between_share),
            hosts: values,
            left_out: self.left_out(hosts),
            outliers,
            shared,
            classes: self.classes(hosts),
        }
    }

    /// The hosts without a value.
    fn left_out(&self, hosts: &Hosts<'_>) -> Vec<HostLeftOut> {
        let left_out = |(place, cost): (usize, &Result<HostEffect, NoCost>)| {
            let (reason, range) = match (*cost).err()? {
                NoCost::NoValue => (HostLeftOutReason::NoValue, None),
                NoCost::OneTrial => (HostLeftOutReason::OneTrial, None),
                NoCost::Gaps => (HostLeftOutReason::Gaps, None),
                NoCost::OtherRange(low, high) => (HostLeftOutReason::OtherRange, Some((low, high))),
            };
            let (n_low, n_high) = range.unzip();
            Some(HostLeftOut { host: hosts.0[place].name.to_owned(), reason, n_low, n_high })
        };
        self.costs.hosts.iter().enumerate().filter_map(left_out).collect()
    }

    fn classes(&self, hosts: &Hosts<'_>) -> Vec<ClassOnHosts> {
        let mut classes: Vec<ClassOnHosts> = Vec::new();
        for (place, finding) in self.findings.iter().enumerate() {
            let Some(verdict) = finding.and_then(|finding| finding.verdict.as_ref()) else { continue };
            let host = hosts.0[place].name.to_owned();
            let bound = (verdict.class == Class::Flat).then_some(verdict.bound);
            match classes.iter_mut().find(|known| known.class == verdict.class) {
                Some(known) => {
                    known.hosts.push(host);
                    known.bound = known.bound.zip(bound).map(|(known, bound)| known.max(bound));
                }
                None => classes.push(ClassOnHosts { class: verdict.class, hosts: vec![host], bound }),
            }
        }
        classes.sort_by_key(|one| std::cmp::Reverse(one.hosts.len()));
        classes
    }
}

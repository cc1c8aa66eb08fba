//! One run on the hosts of a fleet, or two of them, folded over the hosts.
//!
//! - `answer` has the result;
//! - `hosts` says which systems are of which host, which hosts lie apart, and what these have in common;
//! - `costs` folds the cost of every series, `ratios` the ratios of configurations inside each host, or of
//!   two runs on each host.
//!
//! A host is a stratum: its trials are set against trials of the same host only, and its result is one
//! observation of the fleet.

mod answer;
mod costs;
mod hosts;
mod ratios;

use std::collections::BTreeSet;

use record::Recording;

pub use answer::{
    ClaimCounts, ClassOnHosts, FactChange, Fleet, FleetHostState, FleetOutlier, FleetRatio, FleetSeries,
    HostLeftOut, HostLeftOutReason, HostRatio, HostValue, JudgedHost, LostCause, SharedFact,
};
pub(crate) use hosts::hosts;

use self::hosts::{Hosts, explain, fact_changes, judged_hosts};
use crate::compare::Refusal;
use crate::finding::ALPHA;
use crate::findings::Findings;

impl Fleet {
    /// Whether a run is one of several hosts.
    pub fn is_of(recording: &Recording) -> bool {
        Hosts::several(&[recording]).is_some()
    }

    /// A run folded over its hosts, with this smallest difference that matters; `None` unless it has several
    /// hosts.
    pub fn from_findings(recording: &Recording, findings: &Findings, margin: f64) -> Option<Fleet> {
        let hosts = Hosts::several(&[recording])?;
        let (series, without_number) = costs::series(recording, findings, &hosts, margin);
        let (ratios, refusals) = ratios::of_configurations(recording, findings, &hosts, margin);
        let mut described = judged_hosts(&hosts, &[(recording, findings)]);
        explain(&mut described, &refusals);
        let fleet = Fleet::of_hosts(&hosts, described, margin);
        Some(Fleet { series, without_number, ratios, ..fleet }.completed())
    }

    /// The second of two runs against the first on each host that both have, each run with its name; `None`
    /// unless both have several hosts.
    ///
    /// # Errors
    /// Why no host could be compared, from the first of them.
    pub fn of_runs(runs: [(&str, &Recording); 2], margin: f64) -> Option<Result<Fleet, Refusal>> {
        let recordings = runs.map(|(_, recording)| recording);
        let hosts = Hosts::several(&recordings)?;
        let compared = match ratios::of_runs(runs, &hosts, margin) {
            Ok(compared) => compared,
            Err(refusal) => return Some(Err(refusal)),
        };
        let findings = recordings.map(Findings::from_recording);
        let judged: Vec<(&Recording, &Findings)> = recordings.into_iter().zip(&findings).collect();
        let mut described = judged_hosts(&hosts, &judged);
        explain(&mut described, &compared.refusals);
        let names = runs.map(|(name, _)| name.strip_suffix(".osdyno").unwrap_or(name).to_owned());
        let fleet = Fleet {
            runs: names.into(),
            differences: fact_changes(&hosts),
            refused: compared.refused,
            ratios: compared.ratios,
            ..Fleet::of_hosts(&hosts, described, margin)
        };
        Some(Ok(fleet.completed()))
    }

    /// These hosts, without any number yet.
    fn of_hosts(hosts: &Hosts<'_>, described: Vec<JudgedHost>, margin: f64) -> Fleet {
        Fleet {
            runs: Vec::new(),
            judged: 0,
            hosts: described,
            configurations: hosts.configurations(),
            margin,
            alpha: ALPHA,
            differences: Vec::new(),
            refused: Vec::new(),
            series: Vec::new(),
            without_number: Vec::new(),
            ratios: Vec::new(),
        }
    }

    /// Counts the hosts, and notes for each the series in which it lies apart or has no number.
    fn completed(mut self) -> Fleet {
        // Between two runs a ratio is the only number of a host, whatever each run has by itself.
        for host in self.hosts.iter_mut().filter(|_| !self.runs.is_empty()) {
            if !self.ratios.iter().any(|ratio| ratio.hosts.iter().any(|one| one.host == host.name)) {
                host.state = FleetHostState::Lost;
            }
        }
        let lost = self.hosts.iter().filter(|host| host.state == FleetHostState::Lost);
        let lost: BTreeSet<String> = lost.map(|host| host.name.clone()).collect();
        // A lost host is reported once, and not in each series.
        self.series.iter_mut().for_each(|series| series.left_out.retain(|one| !lost.contains(&one.host)));
        self.ratios.iter_mut().for_each(|ratio| ratio.left_out.retain(|host| !lost.contains(host)));
        for host in &mut self.hosts {
            let is_it = |outlier: &FleetOutlier| outlier.host == host.name;
            let costs = self.series.iter().filter(|series| series.outliers.iter().any(is_it));
            let ratios = self.ratios.iter().filter(|ratio| ratio.outliers.iter().any(is_it));
            host.outlying = costs.map(FleetSeries::label).chain(ratios.map(FleetRatio::label)).collect();
            let lacks = |series: &&FleetSeries| {
                let none =
                    |one: &HostLeftOut| one.host == host.name && one.reason == HostLeftOutReason::NoValue;
                series.left_out.iter().any(none)
            };
            host.missing = self.series.iter().filter(lacks).map(FleetSeries::label).collect();
            // A series without a cost has no ratio either, and counts once.
            for ratio in self.ratios.iter().filter(|ratio| ratio.left_out.contains(&host.name)) {
                let label = ratio.label();
                if !host.missing.contains(&label) {
                    host.missing.push(label);
                }
            }
            if host.state == FleetHostState::Judged && !host.missing.is_empty() {
                host.state = FleetHostState::Partly;
            }
            if host.state == FleetHostState::Judged {
                (host.cause, host.reason) = (None, None);
            }
        }
        self.judged = self.hosts.iter().filter(|host| host.state != FleetHostState::Lost).count();
        self
    }
}

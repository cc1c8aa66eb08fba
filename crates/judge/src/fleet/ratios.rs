//! The ratios of configurations inside each host, or of two runs on each host, folded over the hosts.

use record::{Direction, Recording, System, Unit};
use stats::{Answer, FleetRatioAnswer, HostEffect, RatioEvidence, pooled, ratio_answers};

use super::answer::{ClaimCounts, FleetRatio, HostRatio};
use super::hosts::{Host, Hosts, OnHosts, configuration, moderated_effects, named_outliers, outlying_hosts};
use crate::compare;
use crate::compare::{Comparison, Refusal, Refused};
use crate::finding::{ALPHA, Finding};
use crate::findings::Findings;

/// One series of one configuration: the ratio on each host that has one.
struct OverHosts {
    label: String,
    variant: String,
    name: String,
    direction: Direction,
    unit: Unit,
    configuration: String,
    hosts: Vec<Option<RatioEvidence>>,
}

/// The ratios of every configuration to the first, inside each host, and the hosts that could not be
/// compared, by their places.
pub(super) fn of_configurations(
    recording: &Recording,
    findings: &Findings,
    hosts: &Hosts<'_>,
    margin: f64,
) -> (Vec<FleetRatio>, Vec<(usize, Refusal)>) {
    let first = hosts.configurations().into_iter().next().unwrap_or_default();
    let (mut all, mut refusals) = (Vec::new(), Vec::new());
    for (place, host) in hosts.0.iter().enumerate() {
        let systems: Vec<&System> = host.systems.iter().flatten().copied().collect();
        if systems.len() < 2 {
            continue;
        }
        // A host is compared as if it were alone: it would be no other comparison in a file of its own.
        let is_of_host = |name: &str| systems.iter().any(|system| system.name == name);
        let own = recording.part(|system, _| is_of_host(system));
        let of_host = |finding: &&Finding| is_of_host(&finding.key.system);
        let series = findings.series.iter().filter(of_host).cloned().collect();
        let compared = match compare::of_findings(&own, series) {
            Ok(compared) => compared,
            Err(refusal) => {
                refusals.push((place, refusal));
                continue;
            }
        };
        let of = |system: &System| {
            let name = configuration(system);
            (name != first).then(|| name.to_owned())
        };
        collect(&compared, (place, hosts.0.len()), &|system| configuration(system) == first, &of, &mut all);
    }
    (folded(all, hosts, margin), refusals)
}

/// The ratios of two runs.
pub(super) struct OfRuns {
    pub(super) ratios: Vec<FleetRatio>,
    pub(super) refused: Vec<Refused>,
    /// Hosts that could not be compared, or not in every workload, by their places.
    pub(super) refusals: Vec<(usize, Refusal)>,
}

/// The second run against the first, on each host and in each configuration that both have.
///
/// # Errors
/// Why the first host could not be compared, where none could.
pub(super) fn of_runs(
    runs: [(&str, &Recording); 2],
    hosts: &Hosts<'_>,
    margin: f64,
) -> Result<OfRuns, Refusal> {
    let (mut all, mut refused, mut refusals) = (Vec::new(), Vec::<Refused>::new(), Vec::new());
    for (place, host) in hosts.0.iter().enumerate() {
        for configuration in hosts.configurations() {
            let Some(pair) = pair(host, &configuration) else { continue };
            let parts = [0, 1].map(|which| runs[which].1.part(|system, _| system == pair[which].name));
            match Comparison::with_margin(&[(runs[0].0, &parts[0]), (runs[1].0, &parts[1])], margin) {
                Ok(compared) => {
                    let is_first = |_: &System| true;
                    let of = |_: &System| Some(configuration.clone());
                    collect(&compared, (place, hosts.0.len()), &is_first, &of, &mut all);
                    if !compared.refused.is_empty() {
                        refusals.push((place, Refusal::Different(compared.refused)));
                    }
                }
                Err(refusal) => refusals.push((place, refusal)),
            }
        }
    }
    if all.is_empty() {
        let first = refusals.into_iter().next();
        return Err(first.map_or_else(|| Refusal::NothingCommon(names(runs)), |(_, refusal)| refusal));
    }
    for (_, refusal) in &refusals {
        let Refusal::Different(of_host) = refusal else { continue };
        for one in of_host {
            if !refused.iter().any(|known| known.workload == one.workload) {
                refused.push(one.clone());
            }
        }
    }
    Ok(OfRuns { ratios: folded(all, hosts, margin), refused, refusals })
}

fn pair<'a>(host: &Host<'a>, configuration: &str) -> Option<[&'a System; 2]> {
    Some([host.system(0, configuration)?, host.system(1, configuration)?])
}

/// The runs, each with the names of its systems.
fn names(runs: [(&str, &Recording); 2]) -> Vec<(String, Vec<String>)> {
    let of = |(name, recording): (&str, &Recording)| {
        (name.to_owned(), recording.systems.iter().map(|system| system.name.clone()).collect())
    };
    runs.map(of).into()
}

/// Adds the ratios of one host, of the systems that `of` names, to the system that is the first.
fn collect(
    compared: &Comparison,
    (host, hosts): (usize, usize),
    is_first: &dyn Fn(&System) -> bool,
    of: &dyn Fn(&System) -> Option<String>,
    all: &mut Vec<OverHosts>,
) {
    for ranking in &compared.rankings {
        for entry in ranking.others().filter(|entry| !entry.is_one_sided()) {
            let system = |place: usize| compared.contenders.get(place).map(|contender| &contender.system);
            let Some(name) = system(entry.place).and_then(of) else { continue };
            let reference = entry.reference.and_then(system);
            let is_it = |known: &OverHosts| {
                (&known.label, known.direction, &known.configuration)
                    == (&ranking.label, ranking.direction, &name)
            };
            let at = all.iter().position(is_it).unwrap_or_else(|| {
                all.push(OverHosts {
                    label: ranking.label.clone(),
                    variant: ranking.variant.clone(),
                    name: ranking.name.clone(),
                    direction: ranking.direction,
                    unit: ranking.unit,
                    configuration: name,
                    hosts: vec![None; hosts],
                });
                all.len() - 1
            });
            // A system of another engine than the first is compared with the first of its own.
            let ratio = entry.overall.as_ref().filter(|_| reference.is_some_and(is_first));
            all[at].hosts[host] = ratio.map(|ratio| ratio.evidence);
        }
    }
}

/// The answers of all hosts and series together, the means of all series together, and the hosts that differ.
fn folded(all: Vec<OverHosts>, hosts: &Hosts<'_>, margin: f64) -> Vec<FleetRatio> {
    let evidence: Vec<RatioEvidence> =
        all.iter().flat_map(|one| one.hosts.iter().flatten().copied()).collect();
    let mut answers = ratio_answers(&evidence, margin, ALPHA).into_iter();
    let effects: Vec<Vec<Option<HostEffect>>> = all.iter().map(OverHosts::effects).collect();
    let on_hosts: Vec<OnHosts<'_>> = all
        .iter()
        .zip(&effects)
        .map(|(one, effects)| {
            let workload = one.label.split(' ').next().unwrap_or_default();
            OnHosts { unit: one.unit, trials: (workload, &one.variant, &one.configuration), effects }
        })
        .collect();
    let outliers = outlying_hosts(&on_hosts, margin);
    let known = |effects: &Vec<Option<HostEffect>>| effects.iter().flatten().copied().collect::<Vec<_>>();
    let pooled: Vec<_> = effects.iter().map(|effects| pooled(&known(effects))).collect();
    let floor = |one: &OverHosts| one.hosts.iter().flatten().map(RatioEvidence::floor).fold(0.0, f64::max);
    let of_mean: Vec<Option<RatioEvidence>> =
        all.iter().zip(&pooled).map(|(one, all)| Some(all.as_ref()?.evidence(floor(one)))).collect();
    let mut means =
        ratio_answers(&of_mean.iter().flatten().copied().collect::<Vec<_>>(), margin, ALPHA).into_iter();
    let fold = |(place, one): (usize, OverHosts)| {
        let answers: Vec<Option<FleetRatioAnswer>> =
            one.hosts.iter().map(|host| host.and_then(|_| answers.next())).collect();
        let mean = of_mean[place].and_then(|_| means.next());
        let (outliers, shared) = named_outliers(hosts, &effects[place], &outliers[place]);
        let name = |host: usize| hosts.0[host].name.to_owned();
        let ratio = |(host, answer): (usize, &Option<FleetRatioAnswer>)| {
            answer.map(|answer| HostRatio { host: name(host), ratio: answer.ratio, answer: answer.answer })
        };
        let mut of_hosts: Vec<HostRatio> = answers.iter().enumerate().filter_map(ratio).collect();
        of_hosts.sort_by(|a, b| a.ratio.value.total_cmp(&b.ratio.value));
        FleetRatio {
            series: one.label,
            variant: one.variant,
            name: one.name,
            direction: one.direction,
            configuration: one.configuration,
            unit: one.unit,
            mean: mean.map(|mean| mean.ratio),
            prediction: pooled[place].and_then(|all| all.prediction(ALPHA)),
            spread: pooled[place].map(|all| all.spread()),
            between_share: pooled[place].map(|all| all.between_share),
            answer: mean.map_or(Answer::Unresolved, |mean| mean.answer),
            counts: ClaimCounts::new(of_hosts.iter().map(|host| host.answer)),
            hosts: of_hosts,
            left_out: (0..one.hosts.len()).filter(|host| one.hosts[*host].is_none()).map(name).collect(),
            outliers,
            shared,
            evidence: of_mean[place],
        }
    };
    all.into_iter().enumerate().map(fold).collect()
}

impl OverHosts {
    /// The effect on each host, each with a variance that borrows from the others.
    fn effects(&self) -> Vec<Option<HostEffect>> {
        let own = |host: &Option<RatioEvidence>| HostEffect::from_evidence(host.as_ref()?);
        moderated_effects(&self.hosts.iter().map(own).collect::<Vec<_>>())
    }
}

//! Decides the claims of a gate.
//!
//! Over a fleet a claim is about the mean ratio over the hosts, which is that of hosts like these: a single
//! host that became slower does not fail a build, and the answer of the fleet names it.

use std::collections::BTreeSet;

use record::{Recording, SeriesKey, Unit};
use stats::{
    Class, Decision, GATE_ALPHA, Interval, RatioClaim, RatioEvidence, SeriesComparison, Verdict, Warning,
    chance_of_factor, discoveries,
};

use crate::compare::{AnswerNote, Comparison, FigureKind, NoAnswer, Ranking, RankingEntry};
use crate::finding::{ALPHA, Finding, looks};
use crate::findings::Findings;
use crate::fleet::{Fleet, FleetRatio};
use crate::gate::{
    ClaimAnswer, ClaimKind, Gate, GateAnswer, GateClaim, GateReason, GateRefusal, GatedSeries,
};
use crate::growth::{verdict_improves, verdict_worsens};
use crate::stops::{Cause, Stop};
use crate::undecided::is_companion;

/// Decides a gate for systems, or variants, against the first of them.
///
/// # Errors
/// [`GateRefusal`].
pub fn of_comparison(gate: &Gate, compared: &Comparison) -> Result<GateAnswer, GateRefusal> {
    let names: Vec<&str> = compared.rankings.iter().map(|ranking| ranking.label.as_str()).collect();
    gate.check(&names, true)?;
    let of_claim = |claim: &GateClaim| {
        let (mut series, too_short) = match claim.kind {
            ClaimKind::Slower | ClaimKind::Changed => ratios(gate, claim, compared),
            ClaimKind::Grows => growths(claim, compared),
            ClaimKind::Limit => (compared.entries(claim).map(limit_against).collect(), BTreeSet::new()),
        };
        series.extend(compared.refused(claim));
        ClaimAnswer::new(claim, (series, too_short))
    };
    answer(gate.claims.iter().map(of_claim).collect(), &names)
}

/// Decides a gate for a run without a baseline. Variants that compete are set against the first of them;
/// otherwise each series is decided by itself. Configurations of a fleet are set against the first.
///
/// # Errors
/// [`GateRefusal`].
pub fn of_run(gate: &Gate, recording: &Recording, findings: &Findings) -> Result<GateAnswer, GateRefusal> {
    let names: Vec<&str> = findings.series.iter().map(|finding| finding.label.as_str()).collect();
    let variants = Comparison::of_first_variant(recording, &findings.series);
    let fleet = findings.fleet.as_deref().filter(|fleet| !fleet.ratios.is_empty());
    gate.check(&names, variants.is_some() || fleet.is_some())?;
    let of_claim = |claim: &GateClaim| {
        let about = || {
            findings.series.iter().filter(|finding| {
                let SeriesKey { workload, name, .. } = &finding.key;
                claim.is_about(&finding.label, is_companion(&findings.workloads, workload, name))
            })
        };
        let series = match (claim.kind, &variants) {
            (ClaimKind::Slower | ClaimKind::Changed, _) if let Some(fleet) = fleet => {
                fleet_ratios(gate, claim, fleet, looks(&findings.run))
            }
            (ClaimKind::Slower | ClaimKind::Changed, Some(variants)) => ratios(gate, claim, variants),
            (ClaimKind::Limit, _) => (about().map(limit_alone).collect(), BTreeSet::new()),
            _ => growths_alone(claim, findings, about()),
        };
        ClaimAnswer::new(claim, series)
    };
    answer(gate.claims.iter().map(of_claim).collect(), &names)
}

/// Decides a gate for two runs on the same hosts.
///
/// # Errors
/// [`GateRefusal`].
pub fn of_fleet(gate: &Gate, fleet: &Fleet) -> Result<GateAnswer, GateRefusal> {
    let names: Vec<&str> = fleet.ratios.iter().map(|ratio| ratio.series.as_str()).collect();
    gate.check(&names, true)?;
    let of_claim = |claim: &GateClaim| match claim.kind {
        ClaimKind::Slower | ClaimKind::Changed => {
            ClaimAnswer::new(claim, fleet_ratios(gate, claim, fleet, 1))
        }
        // The growth of a cost, and its limits, are of one host.
        ClaimKind::Grows | ClaimKind::Limit => ClaimAnswer::new(claim, (Vec::new(), BTreeSet::new())),
    };
    answer(gate.claims.iter().map(of_claim).collect(), &names)
}

/// A claim about nothing does not pass.
fn answer(claims: Vec<ClaimAnswer>, names: &[&str]) -> Result<GateAnswer, GateRefusal> {
    match claims.iter().find(|claim| claim.series.is_empty()) {
        Some(claim) => Err(GateRefusal::no_series(claim.claim.clone(), names)),
        None => Ok(GateAnswer::new(claims)),
    }
}

/// The series of a run that is not over about which a gate is undecided, by their names for a reader: against
/// a baseline, against the first of several systems or variants, or by themselves.
pub fn undecided_series(
    gate: &Gate,
    baseline: Option<(&str, &Recording)>,
    recording: &Recording,
    findings: &Findings,
) -> BTreeSet<String> {
    let answer = match baseline {
        Some(baseline) => Comparison::new(&[baseline, ("", recording)]).ok(),
        // The hosts of a fleet are not set against each other.
        None if recording.systems.len() > 1 && findings.fleet.is_none() => {
            Comparison::of_judged("", recording, findings).ok()
        }
        None => None,
    };
    let answer = match answer {
        Some(compared) => of_comparison(gate, &compared),
        None => of_run(gate, recording, findings),
    };
    // A gate that cannot be applied is refused before the run, or at its end.
    let Ok(answer) = answer else { return BTreeSet::new() };
    // Pairs need trials of both sides.
    answer
        .with(Decision::Undecided)
        .flat_map(|(_, one)| [Some(one.series.clone()), one.against.clone()])
        .flatten()
        .collect()
}

/// The decisions on series, and the names of those whose values are too short for the clock.
type CountedSeries = (Vec<GatedSeries>, BTreeSet<String>);

/// One system in one series, beside that which it is set against.
#[derive(Clone, Copy)]
struct Against<'a> {
    compared: &'a Comparison,
    ranking: &'a Ranking,
    first: &'a RankingEntry,
    second: &'a RankingEntry,
}

impl Comparison {
    /// The contenders that a claim is about, series by series. A series that only one of the two was to
    /// measure is not among them: it is new, or gone.
    fn entries<'a>(&'a self, claim: &'a GateClaim) -> impl Iterator<Item = Against<'a>> {
        self.rankings.iter().filter(|ranking| claim.is_in(ranking.unit)).flat_map(move |ranking| {
            let first = ranking.standings.first();
            let entry = move |second: &'a RankingEntry| {
                let is_its =
                    |one: &&RankingEntry| Some(one.place) == second.reference && one.place != second.place;
                let reference = ranking.standings.iter().find(is_its);
                Some(Against { compared: self, ranking, first: reference.or(first)?, second })
            };
            let all = ranking.standings.iter().skip(1).filter_map(entry);
            all.filter(|one| !one.second.is_one_sided())
                .filter(|one| claim.is_about(&one.label(one.second), one.ranking.is_companion))
        })
    }

    /// The contenders that a claim is about and that count, and the names of those that are too short.
    fn counted<'a>(
        &'a self,
        claim: &'a GateClaim,
        is_too_short: impl Fn(&Against<'a>) -> bool,
    ) -> (Vec<Against<'a>>, BTreeSet<String>) {
        claim.counted(self.entries(claim), is_too_short, |one| one.label(one.second))
    }

    /// The workloads that a claim is about and that cannot be compared.
    fn refused(&self, claim: &GateClaim) -> Vec<GatedSeries> {
        let about = self.refused.iter().filter(|refused| claim.is_about(&refused.workload, false));
        let series = about.map(|refused| {
            let reason = GateReason::OtherWorkload { mismatch: Box::new(refused.mismatch.clone()) };
            let system = self.contenders.last().map_or("", |contender| contender.name.as_str());
            GatedSeries { reason: Some(reason), ..GatedSeries::new(&refused.workload, system, Unit::None) }
        });
        series.collect()
    }
}

impl Against<'_> {
    /// The name of the series for a reader: that of a variant has the variant in it.
    fn label(&self, entry: &RankingEntry) -> String {
        let Some(workload) = &self.compared.workload else { return self.ranking.label.clone() };
        let variant = format!("{workload}/{}", entry.name);
        if self.ranking.name == *workload { variant } else { format!("{variant} {}", self.ranking.name) }
    }

    fn series(&self) -> GatedSeries {
        let are_variants = self.compared.workload.is_some();
        let system = if are_variants { "" } else { &self.second.name };
        GatedSeries {
            baseline: Some(self.first.name.clone()),
            against: are_variants.then(|| self.label(self.first)),
            ..GatedSeries::new(&self.label(self.second), system, self.ranking.unit)
        }
    }

    /// The processors, where both are known and differ.
    fn processors(&self) -> Option<GateReason> {
        let model = |entry: &RankingEntry| {
            self.compared.contenders.get(entry.place)?.system.environment.get("cpu.model").cloned()
        };
        let (before, now) = (model(self.first)?, model(self.second)?);
        (before != now).then_some(GateReason::OtherProcessor { before, now })
    }

    /// Why there is no ratio.
    fn why_not(&self) -> GateReason {
        match &self.second.note {
            Some(AnswerNote::NoAnswer(NoAnswer::WithoutNumber(without))) => {
                GateReason::NoNumber { systems: without.iter().map(|one| one.contender.clone()).collect() }
            }
            _ => GateReason::NotCompared,
        }
    }
}

/// Decides a claim about ratios. Memory and counts do not drift with the machine as times do, so each kind is
/// decided by itself, and those that are there share the error rate.
fn ratios(gate: &Gate, claim: &GateClaim, compared: &Comparison) -> CountedSeries {
    let margin = claim.margin(compared.margin);
    let is_too_short = |one: &Against<'_>| {
        one.second.overall.as_ref().is_some_and(|ratio| ratio.evidence.is_coarser_than(margin))
    };
    let (counted, too_short) = compared.counted(claim, is_too_short);
    let families = FigureKind::families(counted.into_iter(), |one| one.ranking.unit);
    let tests = gate.tests(compared.looks(), families.len());
    let ratio = RatioClaim { margin, is_either_way: claim.kind == ClaimKind::Changed };
    let of_family = |entries: Vec<Against<'_>>| {
        let evidence: Vec<RatioEvidence> = entries
            .iter()
            .filter_map(|one| one.second.overall.as_ref())
            .map(|ratio| ratio.evidence)
            .collect();
        let mut decided = stats::gate(&evidence, ratio, tests).into_iter();
        entries.iter().map(|one| gated(one, ratio, &mut decided)).collect::<Vec<_>>()
    };
    (families.into_iter().flat_map(of_family).collect(), too_short)
}

/// The series with the next decision, where it has a ratio.
fn gated(
    one: &Against<'_>,
    claim: RatioClaim,
    decided: &mut impl Iterator<Item = stats::GateDecision>,
) -> GatedSeries {
    let series = one.series();
    let Some(ratio) = &one.second.overall else {
        return GatedSeries { reason: Some(one.why_not()), ..series };
    };
    let Some(decision) = decided.next() else { return series };
    let comparison = &ratio.comparison;
    let is_paired = comparison.design == stats::Design::Paired;
    let other = if is_paired { None } else { one.processors() };
    let alike = match decision.common {
        _ if !decision.is_common => None,
        Some(_) => Some(GateReason::AllAlike),
        None => Some(GateReason::TwoRuns),
    };
    // The effect of another processor on a cost is no change of the program.
    let is_certain = decision.decision == Decision::Certain;
    let is_excluded = decision.decision == Decision::Excluded;
    let part = if is_excluded { in_part(comparison, claim, decision.margin) } else { None };
    let is_open = is_certain && other.is_some() || part.is_some();
    let too_short = ratio.evidence.is_coarser_than(claim.margin).then_some(GateReason::TooShort);
    GatedSeries {
        decision: if is_open { Decision::Undecided } else { decision.decision },
        ratio: Some(decision.ratio),
        margin: Some(decision.margin),
        chance: Some(decision.chance),
        n: Some((comparison.n_low, comparison.n_high)),
        trials: Some(comparison.trials),
        is_paired,
        common: decision.common,
        trials_needed: decision.trials_needed.filter(|_| other.is_none() && too_short.is_none()),
        reason: other.filter(|_| !is_excluded).or(part).or(too_short).or(alike),
        ..series
    }
}

/// The n at which a cost changed by more than the margin for certain. A mean over all n would hide them, and
/// a series must not pass by it.
fn in_part(comparison: &SeriesComparison, claim: RatioClaim, margin: f64) -> Option<GateReason> {
    let is_beyond = |(_, _, ratio): &&(u64, u64, Interval)| {
        ratio.low > 1.0 + margin || claim.is_either_way && ratio.high < 1.0 / (1.0 + margin)
    };
    let beyond: Vec<&(u64, u64, Interval)> = comparison.blocks.iter().filter(is_beyond).collect();
    let size = |block: &&&(u64, u64, Interval)| block.2.value.ln().abs();
    let (_, _, ratio) = beyond.iter().max_by(|a, b| size(a).total_cmp(&size(b)))?;
    Some(GateReason::InPart { from: beyond.first()?.0, to: beyond.last()?.1, ratio: *ratio })
}

/// The decisions about ratios over hosts; the data were looked at so often. Each kind of figure is decided by
/// itself, and those that are there share the error rate.
fn fleet_ratios(gate: &Gate, claim: &GateClaim, fleet: &Fleet, looks: u32) -> CountedSeries {
    let is_about = |one: &&FleetRatio| claim.is_in(one.unit) && claim.is_about(&one.series, false);
    let families = FigureKind::families(fleet.ratios.iter().filter(is_about), |one| one.unit);
    let tests = gate.tests(looks, families.len());
    let margin = claim.margin(fleet.margin);
    let ratio = RatioClaim { margin, is_either_way: claim.kind == ClaimKind::Changed };
    let decided = |family: Vec<&FleetRatio>| {
        let evidence: Vec<RatioEvidence> = family.iter().filter_map(|one| one.evidence).collect();
        let mut decisions = stats::gate(&evidence, ratio, tests).into_iter();
        let gated = |one: &&FleetRatio| {
            let baseline = fleet.runs.first().or(fleet.configurations.first()).cloned();
            let system = fleet.runs.get(1).unwrap_or(&one.configuration);
            let series = GatedSeries { baseline, ..GatedSeries::new(&one.series, system, one.unit) };
            let Some(decision) = one.evidence.and_then(|_| decisions.next()) else { return series };
            GatedSeries {
                decision: decision.decision,
                ratio: Some(decision.ratio),
                margin: Some(decision.margin),
                chance: Some(decision.chance),
                is_paired: true,
                ..series
            }
        };
        family.iter().map(gated).collect::<Vec<_>>()
    };
    (families.into_iter().flat_map(decided).collect(), BTreeSet::new())
}

/// The statement of a verdict about growth.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Grows {
    Yes,
    No,
    Perhaps,
}

fn grows(verdict: Option<&Verdict>, unit: Unit) -> Grows {
    let Some(verdict) = verdict else { return Grows::Perhaps };
    match verdict.class {
        _ if verdict_worsens(verdict, unit) => Grows::Yes,
        Class::Value | Class::Flat | Class::SmallGrowth => Grows::No,
        _ if verdict_improves(verdict, unit) => Grows::No,
        _ => Grows::Perhaps,
    }
}

/// Decides which costs grow that did not grow before.
fn growths(claim: &GateClaim, compared: &Comparison) -> CountedSeries {
    let looks = compared.looks();
    let is_too_short = |one: &Against<'_>| is_below_resolution(one.second.verdict.as_ref());
    let (counted, too_short) = compared.counted(claim, is_too_short);
    let decide = |one: Against<'_>| {
        let [before, now] =
            [one.first, one.second].map(|entry| grows(entry.verdict.as_ref(), one.ranking.unit));
        let decision = match (before, now) {
            (_, Grows::No) | (Grows::Yes, _) => Decision::Excluded,
            (Grows::No, Grows::Yes) => Decision::Certain,
            _ => Decision::Undecided,
        };
        of_growth(one.series(), one.second.verdict.as_ref(), decision, looks)
    };
    (held(counted.into_iter().map(decide).collect(), looks), too_short)
}

fn is_below_resolution(verdict: Option<&Verdict>) -> bool {
    verdict.is_some_and(|verdict| verdict.warnings.contains(&Warning::BelowResolution))
}

/// Decides which costs grow against their documentation, or at all where it expects nothing.
fn growths_alone<'a>(
    claim: &GateClaim,
    findings: &Findings,
    about: impl Iterator<Item = &'a Finding>,
) -> CountedSeries {
    let looks = looks(&findings.run);
    let is_too_short = |finding: &&Finding| is_below_resolution(finding.verdict.as_ref());
    let (counted, too_short) = claim.counted(about, is_too_short, |finding| finding.label.clone());
    let decide = |finding: &Finding| {
        let decision = match grows(finding.verdict.as_ref(), finding.unit) {
            Grows::No => Decision::Excluded,
            Grows::Yes if findings.as_expected(finding) == Some(true) => Decision::Excluded,
            Grows::Yes => Decision::Certain,
            Grows::Perhaps => Decision::Undecided,
        };
        of_growth(alone(finding), finding.verdict.as_ref(), decision, looks)
    };
    (held(counted.into_iter().map(decide).collect(), looks), too_short)
}

fn alone(finding: &Finding) -> GatedSeries {
    GatedSeries::new(&finding.label, &finding.key.system, finding.unit)
}

fn of_growth(series: GatedSeries, verdict: Option<&Verdict>, decision: Decision, looks: u32) -> GatedSeries {
    let Some(verdict) = verdict else {
        let systems = vec![series.system.clone()];
        return GatedSeries { reason: Some(GateReason::NoNumber { systems }), ..series };
    };
    GatedSeries {
        decision,
        ratio: Some(verdict.growth),
        chance: Some(chance_of_factor(&verdict.growth, ALPHA / f64::from(looks), verdict.trials)),
        n: Some((verdict.n_low, verdict.n_high)),
        trials: Some((verdict.trials, verdict.trials)),
        trials_needed: verdict.trials_needed.filter(|_| decision == Decision::Undecided),
        reason: is_below_resolution(Some(verdict)).then_some(GateReason::TooShort),
        ..series
    }
}

/// Each verdict has an error rate of its own: a certain claim must also be certain over all series.
fn held(mut series: Vec<GatedSeries>, looks: u32) -> Vec<GatedSeries> {
    let chance = |one: &GatedSeries| match one.decision {
        Decision::Certain => one.chance.unwrap_or(1.0),
        _ => 1.0,
    };
    let chances: Vec<f64> = series.iter().map(chance).collect();
    let level = discoveries(&chances, GATE_ALPHA / f64::from(looks));
    for (one, chance) in series.iter_mut().zip(chances) {
        if one.decision == Decision::Certain && chance > level {
            one.decision = Decision::Undecided;
        }
    }
    series
}

/// The limit at which trials stopped.
struct MetLimit<'a> {
    operation: &'a str,
    error: &'a str,
    /// The smallest n and the largest.
    n: Option<(u64, u64)>,
}

impl MetLimit<'_> {
    fn of_stops(stops: &[Stop]) -> Option<MetLimit<'_>> {
        stops.iter().find_map(|stop| match &stop.cause {
            Cause::Limit { operation, error, .. } => Some(MetLimit { operation, error, n: stop.n }),
            _ => None,
        })
    }

    /// The decision about a series, whose baseline met one first at that n.
    fn decided(&self, series: GatedSeries, decision: Decision, before: Option<u64>) -> GatedSeries {
        let (operation, error) = (self.operation.to_owned(), self.error.to_owned());
        let reason = GateReason::Refused { operation, error, n: self.n, before };
        GatedSeries { decision, reason: Some(reason), ..series }
    }
}

/// A limit is certain that every trial met below the n at which the baseline met one first.
fn limit_against(one: Against<'_>) -> GatedSeries {
    let series = one.series();
    let first_n = |limit: MetLimit<'_>| limit.n.map_or(0, |(low, _)| low);
    let before = MetLimit::of_stops(&one.first.stops).map(first_n);
    let Some(limit) = MetLimit::of_stops(&one.second.stops) else {
        return without_limit(series, &one.second.stops);
    };
    let decision = match (before, limit.n) {
        (None, _) => Decision::Certain,
        (Some(before), Some((_, high))) if high < before => Decision::Certain,
        (Some(before), Some((low, _))) if low < before => Decision::Undecided,
        (Some(_), _) => Decision::Excluded,
    };
    limit.decided(series, decision, before)
}

fn limit_alone(finding: &Finding) -> GatedSeries {
    match MetLimit::of_stops(&finding.stops) {
        Some(limit) => limit.decided(alone(finding), Decision::Certain, None),
        None => without_limit(alone(finding), &finding.stops),
    }
}

/// A series without a limit; one that was not measured may have one.
fn without_limit(series: GatedSeries, stops: &[Stop]) -> GatedSeries {
    let is_measured = |stop: &Stop| matches!(stop.cause, Cause::Allowance | Cause::NotOffered);
    match stops.iter().all(is_measured) {
        true => GatedSeries { decision: Decision::Excluded, ..series },
        false => {
            let systems = vec![series.system.clone()];
            GatedSeries { reason: Some(GateReason::NoNumber { systems }), ..series }
        }
    }
}

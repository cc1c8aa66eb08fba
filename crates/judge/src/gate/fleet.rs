//! A gate over a fleet: claims about the mean ratio over the hosts.
//!
//! The mean is that of hosts like these, so that a single host that became slower does not fail a build; the
//! answer of the fleet names it.

use std::collections::BTreeSet;

use stats::{RatioClaim, RatioEvidence};

use super::answer::{ClaimAnswer, GateAnswer, GatedSeries};
use super::claims::{ClaimKind, Gate, GateClaim};
use super::decide::{CountedSeries, GateRefusal, answer};
use crate::compare::FigureKind;
use crate::fleet::{Fleet, FleetRatio};

/// Decides a gate for two runs on the same hosts.
///
/// # Errors
/// [`GateRefusal`].
pub fn of_fleet(gate: &Gate, fleet: &Fleet) -> Result<GateAnswer, GateRefusal> {
    let names: Vec<&str> = fleet.ratios.iter().map(|ratio| ratio.series.as_str()).collect();
    gate.check(&names, true)?;
    let of_claim = |claim: &GateClaim| match claim.kind {
        ClaimKind::Slower | ClaimKind::Changed => ClaimAnswer::new(claim, ratios(gate, claim, fleet, 1)),
        // The growth of a cost, and its limits, are of one host.
        ClaimKind::Grows | ClaimKind::Limit => ClaimAnswer::new(claim, (Vec::new(), BTreeSet::new())),
    };
    answer(gate.claims.iter().map(of_claim).collect(), &names)
}

/// The decisions about ratios; the data were looked at so often. Each kind of figure is decided by itself,
/// and those that are there share the error rate.
pub(super) fn ratios(gate: &Gate, claim: &GateClaim, fleet: &Fleet, looks: u32) -> CountedSeries {
    let is_about = |one: &&FleetRatio| claim.is_in(one.unit) && claim.is_about(&one.series, false);
    let about: Vec<&FleetRatio> = fleet.ratios.iter().filter(is_about).collect();
    let of_kind = |kind| -> Vec<&FleetRatio> {
        about.iter().copied().filter(|one| FigureKind::from_unit(one.unit) == kind).collect()
    };
    let families: Vec<Vec<&FleetRatio>> =
        FigureKind::ALL.into_iter().map(of_kind).filter(|family| !family.is_empty()).collect();
    let claims = u32::try_from(gate.ratio_claims() * families.len()).unwrap_or(u32::MAX);
    let tests = looks.saturating_mul(claims);
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

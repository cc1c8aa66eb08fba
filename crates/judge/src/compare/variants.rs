//! The variants of a workload that compete, compared with the best of them.

use record::{Recording, SeriesKey, SeriesKind, System, Trial, Workload};

use super::levels::{OfCurve, sample, trials};
use super::ranking::{Compared, Field, compare};
use super::result::{Comparison, Contender, MARGIN, Reference};
use super::sample::Sample;
use crate::bounds::Bounds;
use crate::finding::{ALPHA, Finding};

impl Comparison {
    /// Compares the variants of the only workload of a run, if they compete, with the first of them over
    /// every n, as these findings judged each; `None` for any other run, and where no two of them measured
    /// the same.
    pub(crate) fn of_first_variant(recording: &Recording, findings: &[Finding]) -> Option<Comparison> {
        let ([system], [workload]) = (&recording.systems[..], &recording.workloads[..]) else { return None };
        if !workload.rivals {
            return None;
        }
        let of_first = VariantsAgainst { reference: Reference::First, of_curve: OfCurve::EveryN, findings };
        between(recording, system, workload, &of_first)
    }
}

/// The variants of one workload, with the best of them; `None` where no two of them measured the same.
pub(crate) fn of_variants(recording: &Recording, system: &System, workload: &Workload) -> Option<Comparison> {
    let of_best = VariantsAgainst { reference: Reference::Best, of_curve: OfCurve::Windows, findings: &[] };
    between(recording, system, workload, &of_best)
}

/// How variants are set against their reference.
struct VariantsAgainst<'a> {
    reference: Reference,
    of_curve: OfCurve,
    /// The verdicts without which curves are not compared at every n.
    findings: &'a [Finding],
}

fn between(
    recording: &Recording,
    system: &System,
    workload: &Workload,
    against: &VariantsAgainst<'_>,
) -> Option<Comparison> {
    let trials: Vec<Vec<&Trial>> = workload
        .variants
        .iter()
        .map(|variant| trials(recording, system, &workload.name, &variant.name))
        .collect();
    let bounds = Bounds::new(recording);
    let has_values = |sample: &&Sample<'_>| !sample.levels.is_empty() || sample.verdict.is_some();
    let fields: Vec<Field<'_>> = workload
        .series
        .iter()
        .map(|kind| field((recording, system, workload), (&trials, &bounds), kind, against))
        .filter(|field| field.samples.iter().filter(has_values).count() > 1)
        .collect();
    if fields.is_empty() {
        return None;
    }
    let contender = |variant: &record::Variant| Contender {
        name: variant.name.clone(),
        system: system.clone(),
        run: recording.run.clone(),
    };
    let Compared { rankings, means, ratios, pairs } = compare(fields, against.reference, MARGIN);
    Some(Comparison {
        reference: against.reference,
        workload: Some(workload.name.clone()),
        references: Vec::new(),
        contenders: workload.variants.iter().map(contender).collect(),
        differences: Vec::new(),
        rankings,
        means,
        refused: Vec::new(),
        ratios,
        pairs,
        margin: MARGIN,
        alpha: ALPHA,
    })
}

fn field<'a>(
    (recording, system, workload): (&'a Recording, &'a System, &Workload),
    (trials, bounds): (&[Vec<&Trial>], &Bounds<'_>),
    kind: &SeriesKind,
    against: &VariantsAgainst<'_>,
) -> Field<'a> {
    let of_variant = |(variant, trials): (&record::Variant, &Vec<&Trial>)| {
        let key = SeriesKey {
            system: system.name.clone(),
            workload: workload.name.clone(),
            variant: variant.name.clone(),
            name: kind.name.clone(),
            direction: kind.direction,
        };
        let bounds = bounds.of_variant(&system.name, &workload.name, &variant.name);
        let finding = against.findings.iter().find(|finding| finding.key == key);
        let verdict = finding.and_then(|finding| finding.verdict.clone());
        Sample { verdict, ..sample(recording, system, (trials, bounds), key, against.of_curve) }
    };
    Field {
        label: kind.name.clone(),
        variant: String::new(),
        name: kind.name.clone(),
        direction: kind.direction,
        grows: workload.grows.clone(),
        is_companion: kind.companion,
        samples: workload.variants.iter().zip(trials).map(of_variant).collect(),
    }
}

//! The variants of a workload that compete, compared with the best of them.

use record::{Recording, SeriesKey, SeriesKind, System, Trial, Workload};

use super::levels::{OfCurve, sample, trials};
use super::ranking::{Compared, Field, compare};
use super::result::{Comparison, Contender, MARGIN, Reference};
use super::sample::Sample;
use crate::finding::ALPHA;
use crate::generator::Bounds;

/// The variants of one workload; `None` where no two of them measured the same.
pub(crate) fn of_variants(recording: &Recording, system: &System, workload: &Workload) -> Option<Comparison> {
    let trials: Vec<Vec<&Trial>> = workload
        .variants
        .iter()
        .map(|variant| trials(recording, system, &workload.name, &variant.name))
        .collect();
    let bounds = Bounds::new(recording);
    let has_values = |sample: &&Sample<'_>| !sample.levels.is_empty();
    let fields: Vec<Field<'_>> = workload
        .series
        .iter()
        .map(|kind| field(recording, system, workload, (&trials, &bounds), kind))
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
    let Compared { rankings, means, ratios, pairs } = compare(fields, Reference::Best, MARGIN);
    Some(Comparison {
        reference: Reference::Best,
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
    recording: &'a Recording,
    system: &'a System,
    workload: &Workload,
    (trials, bounds): (&[Vec<&Trial>], &Bounds<'_>),
    kind: &SeriesKind,
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
        sample(recording, system, (trials, bounds), key, OfCurve::Windows)
    };
    Field {
        label: kind.name.clone(),
        variant: String::new(),
        name: kind.name.clone(),
        direction: kind.direction,
        grows: workload.grows.clone(),
        samples: workload.variants.iter().zip(trials).map(of_variant).collect(),
    }
}

//! Systems, of one run or of several, compared with the first of them; and the variants of a workload that
//! compete, with the best of them.

use record::{Recording, SeriesKey, SeriesKind, Shape, System, Trial, Workload};
use stats::Scaling;

use crate::bounds::Bounds;
use crate::compare::ranking::{Field, compare};
use crate::compare::sample::{OfCurve, Sample, sample, trials};
use crate::compare::{Comparison, Contender, MARGIN, Mismatch, Ranking, Reference, Refused, WithoutNumber};
use crate::environment;
use crate::finding::{Finding, MARGIN as GROWTH_MARGIN, series_key};
use crate::findings::Findings;
use crate::scaling::SLOWDOWN;
use crate::undecided::is_companion;

/// Why nothing could be compared.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// There is only one system.
    Alone(String),
    /// Every workload that they have in common has another version, other settings, clients or background.
    Different(Vec<Refused>),
    /// These have no values.
    NoNumber(Vec<WithoutNumber>),
    /// No two run on the same engine: each with its own.
    OtherEngines(Vec<(String, String)>),
    /// They have no series in common: each with the names of its series.
    NothingCommon(Vec<(String, Vec<String>)>),
}

impl Comparison {
    /// Compares every system of the recordings with the first system of the first. A recording of one system
    /// is called by the name given, and one of several by that and the names in it.
    pub fn new(recordings: &[(&str, &Recording)]) -> Result<Comparison, Refusal> {
        Comparison::with_margin(recordings, MARGIN)
    }

    /// Compares with another smallest difference that matters.
    pub fn with_margin(recordings: &[(&str, &Recording)], margin: f64) -> Result<Comparison, Refusal> {
        of_recordings(recordings, margin, |recording| Findings::from_recording(recording).series)
    }

    /// Compares measurements of other programs. The first n of a series counts: it is left out only of our
    /// own sweeps, which begin cold.
    pub fn of_imports(recordings: &[(&str, &Recording)], margin: f64) -> Result<Comparison, Refusal> {
        of_recordings(recordings, margin, |recording| Findings::from_import(recording, GROWTH_MARGIN).series)
    }

    /// Compares the systems of one recording that was judged already; judges again if the user chose another
    /// margin.
    pub fn of_judged(name: &str, recording: &Recording, findings: &Findings) -> Result<Comparison, Refusal> {
        let series = match findings.margin == GROWTH_MARGIN {
            true => findings.series.clone(),
            false => Findings::from_recording(recording).series,
        };
        between(&sources(&[(name, recording, series)]), MARGIN)
    }

    /// Compares the variants of the only workload of a run, if they compete, with the first of them over
    /// every n, as these findings judged each; `None` for any other run, and where no two of them measured
    /// the same.
    pub(crate) fn of_first_variant(recording: &Recording, findings: &[Finding]) -> Option<Comparison> {
        let ([system], [workload]) = (&recording.systems[..], &recording.workloads[..]) else { return None };
        if !workload.rivals {
            return None;
        }
        let of_first = VariantsAgainst { reference: Reference::First, of_curve: OfCurve::EveryN, findings };
        between_variants(recording, system, workload, &of_first)
    }
}

/// Compares the systems of one recording with these findings.
pub(crate) fn of_findings(recording: &Recording, findings: Vec<Finding>) -> Result<Comparison, Refusal> {
    between(&sources(&[("", recording, findings)]), MARGIN)
}

/// The variants of one workload, with the best of them; `None` where no two of them measured the same.
pub(crate) fn of_variants(recording: &Recording, system: &System, workload: &Workload) -> Option<Comparison> {
    let of_best = VariantsAgainst { reference: Reference::Best, of_curve: OfCurve::Windows, findings: &[] };
    between_variants(recording, system, workload, &of_best)
}

/// Every series of the systems of one recording that has these findings.
pub(crate) fn series_of(recording: &Recording, findings: Vec<Finding>) -> Vec<Field<'_>> {
    fields(&sources(&[("", recording, findings)]), &[])
}

fn of_recordings(
    recordings: &[(&str, &Recording)],
    margin: f64,
    judged: impl Fn(&Recording) -> Vec<Finding>,
) -> Result<Comparison, Refusal> {
    let judged: Vec<(&str, &Recording, Vec<Finding>)> =
        recordings.iter().map(|(name, recording)| (*name, *recording, judged(recording))).collect();
    between(&sources(&judged), margin)
}

fn between(sources: &[Source<'_>], margin: f64) -> Result<Comparison, Refusal> {
    let Some(first) = sources.first() else { return Err(Refusal::NothingCommon(Vec::new())) };
    if sources.len() == 1 {
        return Err(Refusal::Alone(first.contender.name.clone()));
    }
    let refused = refused(sources);
    let fields = fields(sources, &refused);
    let compared = compare(fields, Reference::First, margin);
    let systems: Vec<&System> = sources.iter().map(|source| &source.contender.system).collect();
    let references = environment::references(&systems);
    let has_answer = |ranking: &Ranking| ranking.others().any(|standing| standing.overall.is_some());
    if !compared.rankings.iter().any(has_answer) {
        let without: Vec<WithoutNumber> = sources.iter().filter_map(Source::without_number).collect();
        let are_apart = references.iter().enumerate().all(|(place, reference)| place == *reference);
        return Err(match (refused.is_empty(), without.is_empty()) {
            (true, true) if are_apart => Refusal::OtherEngines(engines(sources)),
            (true, true) => Refusal::NothingCommon(sources.iter().map(Source::labels).collect()),
            (true, false) => Refusal::NoNumber(without),
            (false, _) => Refusal::Different(refused),
        });
    }
    Ok(Comparison {
        references,
        differences: environment::differences(&systems),
        contenders: sources.iter().map(|source| source.contender.clone()).collect(),
        refused,
        ..compared
    })
}

/// The engine of each.
fn engines(sources: &[Source<'_>]) -> Vec<(String, String)> {
    let engine = |source: &Source<'_>| environment::engine(source.system).to_owned();
    sources.iter().map(|source| (source.contender.name.clone(), engine(source))).collect()
}

/// A system with its numbers.
struct Source<'a> {
    contender: Contender,
    system: &'a System,
    recording: &'a Recording,
    findings: Vec<Finding>,
}

impl<'a> Source<'a> {
    /// Its sample of a series, of which the key may be that on another system.
    fn sample(&self, kind: &SeriesKey) -> Sample<'a> {
        let key = SeriesKey { system: self.system.name.clone(), ..kind.clone() };
        let finding = self.findings.iter().find(|finding| finding.key == key);
        let trials = trials(self.recording, self.system, &kind.workload, &kind.variant);
        let bounds = Bounds::new(self.recording);
        let bounds = bounds.of_variant(&self.system.name, &kind.workload, &kind.variant);
        let sample = sample(self.recording, self.system, (&trials, bounds), key, OfCurve::EveryN);
        Sample {
            name: self.contender.name.clone(),
            is_planned: finding.is_some(),
            verdict: finding.and_then(|finding| finding.verdict.clone()),
            scaling: self.scaling(kind),
            // A stop belongs to one series of its workload, and affects all; a series that was not planned
            // has none.
            stops: if finding.is_some() { sample.stops } else { Vec::new() },
            own_stops: finding.map(|finding| finding.stops.clone()).unwrap_or_default(),
            ..sample
        }
    }

    /// How the throughput scales that a slowdown is derived from.
    fn scaling(&self, kind: &SeriesKey) -> Option<Scaling> {
        let is_its = |finding: &&Finding| {
            (&finding.key.workload, &finding.key.variant) == (&kind.workload, &kind.variant)
        };
        let mut all = self.findings.iter().filter(|_| kind.name == SLOWDOWN).filter(is_its);
        all.find_map(|finding| finding.scaling.clone())
    }

    /// Why it has no number of any series; `None` if it has one, or nothing stopped it.
    fn without_number(&self) -> Option<WithoutNumber> {
        if self.findings.iter().any(|finding| finding.verdict.is_some()) {
            return None;
        }
        let stop = self.findings.iter().flat_map(|finding| &finding.stops).next()?.clone();
        Some(WithoutNumber { contender: self.contender.name.clone(), stop: Some(stop), is_planned: true })
    }

    /// Its name, with the names of its series.
    fn labels(&self) -> (String, Vec<String>) {
        let measured = self.findings.iter().filter(|finding| finding.measurements > 0);
        (self.contender.name.clone(), measured.map(|finding| finding.label.clone()).collect())
    }

    fn version(&self, workload: &str) -> Option<u32> {
        self.recording.workload(workload).map(|workload| workload.version)
    }
}

/// Every system of every recording with its findings.
fn sources<'a>(recordings: &[(&str, &'a Recording, Vec<Finding>)]) -> Vec<Source<'a>> {
    let mut sources = Vec::new();
    for (name, recording, findings) in recordings {
        // The name of a file, without `.osdyno`, names its system.
        let name = name.strip_suffix(".osdyno").unwrap_or(name);
        for system in &recording.systems {
            let name = match (recording.systems.len(), recordings.len()) {
                (1, _) => name.to_string(),
                (_, 1) => system.name.clone(),
                _ => format!("{name} {}", system.name),
            };
            let contender = Contender { name, system: system.clone(), run: recording.run.clone() };
            let findings = findings.iter().filter(|f| f.key.system == system.name).cloned().collect();
            sources.push(Source { contender, system, recording, findings });
        }
    }
    sources
}

/// Every series of every system, with its name for a reader, from series with values if possible. Those that
/// only explain a scaling are not compared.
fn fields<'a>(sources: &[Source<'a>], refused: &[Refused]) -> Vec<Field<'a>> {
    let mut kinds: Vec<(SeriesKey, &str, &str)> = Vec::new();
    let findings = |source| {
        let Source { recording, findings, .. }: &Source<'_> = source;
        findings.iter().filter(|finding| !only_explains_scaling(recording, &finding.key))
    };
    for finding in sources.iter().flat_map(findings) {
        let kind = SeriesKey { system: String::new(), ..finding.key.clone() };
        match kinds.iter_mut().find(|(known, ..)| *known == kind) {
            Some((_, label, _)) if finding.measurements > 0 => *label = &finding.label,
            Some(_) => {}
            None if refused.iter().any(|refused| refused.workload == kind.workload) => {}
            None => kinds.push((kind, &finding.label, &finding.grows)),
        }
    }
    let field = |(kind, label, grows): (SeriesKey, &str, &str)| Field {
        label: label.to_string(),
        variant: kind.variant.clone(),
        name: kind.name.clone(),
        direction: kind.direction,
        grows: grows.to_string(),
        is_companion: sources
            .iter()
            .any(|source| is_companion(&source.recording.workloads, &kind.workload, &kind.name)),
        samples: sources.iter().map(|source| source.sample(&kind)).collect(),
    };
    kinds.into_iter().map(field).collect()
}

/// Whether the series only explains a scaling.
fn only_explains_scaling(recording: &Recording, key: &SeriesKey) -> bool {
    recording.workload(&key.workload).is_some_and(|workload| workload.shape == Shape::Scaling)
        && is_companion(&recording.workloads, &key.workload, &key.name)
}

/// Workloads whose definitions, settings, loads beside them or clients differ.
fn refused(sources: &[Source<'_>]) -> Vec<Refused> {
    let mut refused: Vec<Refused> = Vec::new();
    for workload in sources.iter().flat_map(|source| &source.recording.workloads) {
        if refused.iter().any(|refused| refused.workload == workload.name) {
            continue;
        }
        let versions = of_each(sources, |source| source.version(&workload.name));
        let settings = of_each(sources, |source| {
            source.recording.settings(&source.contender.system.name, &workload.name).cloned()
        });
        // Within one run settings differ because the user compares them.
        let of_runs = of_each(sources, |source| {
            let all = source.recording.all_settings(&workload.name).into_iter().cloned();
            Some(all.collect::<Vec<_>>()).filter(|all| !all.is_empty())
        });
        let backgrounds = of_each(sources, |source| {
            let owned = |loads: Vec<&str>| loads.into_iter().map(str::to_owned).collect();
            let loads = source.recording.backgrounds(&workload.name);
            Some(loads.into_iter().map(owned).collect()).filter(|all: &Vec<Vec<String>>| !all.is_empty())
        });
        let clients = of_each(sources, |source| {
            source.version(&workload.name)?;
            Some(source.recording.clients(&workload.name).into_iter().map(str::to_owned).collect::<Vec<_>>())
        });
        let mismatch = if !is_same(&versions) {
            Mismatch::Versions(versions)
        } else if !is_same(&settings) && !is_same(&of_runs) {
            Mismatch::Settings(settings)
        } else if !is_same(&backgrounds) {
            Mismatch::Background(backgrounds)
        } else if !is_same(&clients) {
            Mismatch::Clients(clients)
        } else {
            continue;
        };
        refused.push(Refused { workload: workload.name.clone(), mismatch });
    }
    refused
}

/// The samples of the sources, each with the name of its contender.
fn of_each<T>(sources: &[Source<'_>], of: impl Fn(&Source<'_>) -> Option<T>) -> Vec<(String, T)> {
    sources.iter().filter_map(|source| Some((source.contender.name.clone(), of(source)?))).collect()
}

fn is_same<T: PartialEq>(all: &[(String, T)]) -> bool {
    all.windows(2).all(|pair| pair[0].1 == pair[1].1)
}

/// How variants are set against their reference.
struct VariantsAgainst<'a> {
    reference: Reference,
    of_curve: OfCurve,
    /// The verdicts without which curves are not compared at every n.
    findings: &'a [Finding],
}

fn between_variants(
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
    Some(Comparison {
        workload: Some(workload.name.clone()),
        contenders: workload.variants.iter().map(contender).collect(),
        ..compare(fields, against.reference, MARGIN)
    })
}

fn field<'a>(
    (recording, system, workload): (&'a Recording, &'a System, &Workload),
    (trials, bounds): (&[Vec<&Trial>], &Bounds<'_>),
    kind: &SeriesKind,
    against: &VariantsAgainst<'_>,
) -> Field<'a> {
    let of_variant = |(variant, trials): (&record::Variant, &Vec<&Trial>)| {
        let key = series_key(&system.name, workload, &variant.name, kind);
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

//! Systems compared, series by series: each against the first, with a ratio, its interval, and one of five
//! answers. What cannot be compared is named with its reason.

mod html;
mod table;
mod words;

use std::io::{self, Write};

use record::{Direction, Recording, Run, System};
use stats::{Interval, Settings, Sweep, Verdict};

use crate::environment::{self, Difference};
use crate::findings::{ALPHA, Finding, Findings, SEED, looks, sweeps};
use crate::json::{answer_name, plain};
use crate::sentences;
use crate::text::Style;

/// A difference below this share is not worth a word.
pub const MARGIN: f64 = 0.03;

/// Systems compared with the first of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// What is compared; the first is what the others are compared with.
    pub subjects: Vec<Subject>,
    /// Facts in which the systems differ, what says most first.
    pub differences: Vec<Difference>,
    /// Every series that at least two of them have, in the order of the first.
    pub rows: Vec<Row>,
    /// Series that could not be compared, each with its reason.
    pub missing: Vec<Missing>,
    /// Workloads that must not be compared, each a sentence.
    pub refused: Vec<String>,
    /// A difference below this share is not worth a word.
    pub margin: f64,
    /// Error rate of all answers together.
    pub alpha: f64,
}

/// One system of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Subject {
    /// Its name for a reader.
    pub name: String,
    /// Its facts.
    pub system: System,
    /// The run it is from.
    pub run: Run,
}

/// One series on all systems.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Its name for a reader.
    pub label: String,
    /// What n counts.
    pub grows: String,
    /// What each system has of it, in the order of the subjects.
    pub verdicts: Vec<Option<Verdict>>,
    /// The second system and the following against the first; `None` where that could not be.
    pub answers: Vec<Option<stats::Comparison>>,
}

/// A series that could not be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// Its name for a reader.
    pub label: String,
    /// Why.
    pub reason: String,
}

/// Why nothing could be compared at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is only one system.
    #[error("a comparison needs two systems; only {0:?} was given")]
    Alone(String),
    /// Every workload that they have in common has another version.
    #[error("nothing can be compared: {0}")]
    Versions(String),
    /// They have no series in common.
    #[error("nothing can be compared: the runs have no series in common")]
    NothingCommon,
}

/// A series without its system.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Kind {
    workload: String,
    variant: String,
    name: String,
    direction: Direction,
}

/// A subject with its numbers.
struct Source<'a> {
    subject: Subject,
    recording: &'a Recording,
    findings: Vec<Finding>,
}

impl Source<'_> {
    fn finding(&self, kind: &Kind) -> Option<&Finding> {
        self.findings.iter().find(|f| Kind::of(f) == *kind)
    }

    fn version(&self, workload: &str) -> Option<u32> {
        self.recording.workload(workload).map(|w| w.version)
    }
}

impl Kind {
    fn of(finding: &Finding) -> Kind {
        let key = &finding.key;
        Kind {
            workload: key.workload.clone(),
            variant: key.variant.clone(),
            name: key.name.clone(),
            direction: key.direction,
        }
    }
}

impl Comparison {
    /// Compares every system of the recordings with the first system of the first. A recording of one
    /// system is called by the name given, and one of several by that and the names in it.
    pub fn of(recordings: &[(&str, &Recording)]) -> Result<Comparison, Refusal> {
        Comparison::with_margin(recordings, MARGIN)
    }

    /// Compares with another idea of what matters.
    pub fn with_margin(recordings: &[(&str, &Recording)], margin: f64) -> Result<Comparison, Refusal> {
        let sources = sources(recordings);
        let [first, others @ ..] = sources.as_slice() else { return Err(Refusal::NothingCommon) };
        if others.is_empty() {
            return Err(Refusal::Alone(first.subject.name.clone()));
        }
        let refused = refused(&sources);
        let refused_names: Vec<&str> = refused.iter().map(|(name, _)| name.as_str()).collect();
        let mut kinds: Vec<(Kind, String)> = Vec::new();
        for finding in sources.iter().flat_map(|s| &s.findings) {
            let kind = Kind::of(finding);
            if !refused_names.contains(&kind.workload.as_str()) && !kinds.iter().any(|(k, _)| *k == kind) {
                kinds.push((kind, finding.label.clone()));
            }
        }
        // How many answers the reader is shown must be known before the first is given.
        let judged = kinds
            .iter()
            .map(|(kind, _)| {
                others.iter().filter(|other| has_numbers(first, kind) && has_numbers(other, kind)).count()
            })
            .sum();
        let (mut rows, mut missing) = (Vec::new(), Vec::new());
        for (kind, label) in kinds {
            let (row, reasons) = row(&sources, &kind, &label, judged, margin);
            if row.answers.iter().any(Option::is_some) {
                rows.push(row);
            }
            missing.extend(reasons.into_iter().map(|reason| Missing { label: label.clone(), reason }));
        }
        let refused: Vec<String> = refused.into_iter().map(|(_, sentence)| sentence).collect();
        if rows.is_empty() {
            return Err(match refused.as_slice() {
                [] => Refusal::NothingCommon,
                some => Refusal::Versions(some.join("; ")),
            });
        }
        let systems: Vec<&System> = sources.iter().map(|s| &s.subject.system).collect();
        Ok(Comparison {
            differences: environment::differences(&systems),
            subjects: sources.iter().map(|s| s.subject.clone()).collect(),
            rows,
            missing,
            refused,
            margin,
            alpha: ALPHA,
        })
    }

    /// Answers that were given, and answers that were wanted.
    pub fn judged(&self) -> (usize, usize) {
        let given = self.rows.iter().flat_map(|row| &row.answers).filter(|a| a.is_some()).count();
        (given, given + self.missing.len())
    }

    /// Writes the comparison for a terminal.
    pub fn write_table(&self, style: &Style, out: &mut dyn Write) -> io::Result<()> {
        table::write(self, style, out)
    }

    /// Writes the comparison as one page.
    pub fn write_html(&self, out: &mut dyn Write) -> io::Result<()> {
        html::write(self, out)
    }

    /// Writes the comparison as a JSON document (`docs/report.md`).
    pub fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        serde_json::to_writer_pretty(&mut *out, &self.document())?;
        writeln!(out)
    }

    fn document(&self) -> serde_json::Value {
        let estimate = |i: Interval| crate::json::Estimate::from(i);
        let answers = |row: &Row| -> Vec<serde_json::Value> {
            let others = self.subjects.iter().skip(1).zip(&row.answers);
            others
                .filter_map(|(subject, answer)| answer.as_ref().map(|a| (subject, a)))
                .map(|(subject, a)| {
                    serde_json::json!({
                        "subject": subject.name,
                        "answer": answer_name(a.answer),
                        "words": plain(&words::answer(a, self.margin)),
                        "ratio": estimate(a.ratio),
                        "n_low": a.n_low,
                        "n_high": a.n_high,
                        "trials": [a.trials.0, a.trials.1],
                        "trials_needed": a.trials_needed,
                        "blocks": a.blocks.iter().map(|(low, high, ratio)| serde_json::json!({
                            "n_low": low, "n_high": high, "ratio": estimate(*ratio),
                        })).collect::<Vec<_>>(),
                    })
                })
                .collect()
        };
        let (judged, of) = self.judged();
        serde_json::json!({
            "schema": crate::json::SCHEMA,
            "margin": self.margin,
            "alpha": self.alpha,
            "subjects": self.subjects.iter().map(|s| &s.name).collect::<Vec<_>>(),
            "differences": self.differences.iter().map(|d| serde_json::json!({
                "key": d.key, "values": d.values,
            })).collect::<Vec<_>>(),
            "judged": judged,
            "of": of,
            "series": self.rows.iter().map(|row| serde_json::json!({
                "label": row.label, "answers": answers(row),
            })).collect::<Vec<_>>(),
            "missing": self.missing.iter().map(|m| serde_json::json!({
                "label": m.label, "reason": plain(&m.reason),
            })).collect::<Vec<_>>(),
            "refused": self.refused,
        })
    }
}

/// Every system of every recording, judged.
fn sources<'a>(recordings: &[(&str, &'a Recording)]) -> Vec<Source<'a>> {
    let mut sources = Vec::new();
    for (name, recording) in recordings {
        let findings = Findings::of(recording);
        // A file is known by its name, not by what kind of file it is.
        let name = name.strip_suffix(".osdyno").unwrap_or(name);
        for system in &recording.systems {
            let name = match (recording.systems.len(), recordings.len()) {
                (1, _) => name.to_string(),
                (_, 1) => system.name.clone(),
                _ => format!("{name} {}", system.name),
            };
            let subject = Subject { name, system: system.clone(), run: recording.run.clone() };
            let findings = findings.series.iter().filter(|f| f.key.system == system.name).cloned().collect();
            sources.push(Source { subject, recording, findings });
        }
    }
    sources
}

/// Workloads whose definitions differ: their names, and a sentence each.
fn refused(sources: &[Source<'_>]) -> Vec<(String, String)> {
    let mut refused: Vec<(String, String)> = Vec::new();
    for workload in sources.iter().flat_map(|s| &s.recording.workloads) {
        if refused.iter().any(|(name, _)| *name == workload.name) {
            continue;
        }
        let versions: Vec<(&str, u32)> = sources
            .iter()
            .filter_map(|s| Some((s.subject.name.as_str(), s.version(&workload.name)?)))
            .collect();
        if versions.windows(2).any(|pair| pair[0].1 != pair[1].1) {
            let said: Vec<String> =
                versions.iter().map(|(name, v)| format!("version {v} in {name}")).collect();
            let sentence =
                format!("{} measures another thing in each: {}", workload.name, crate::words::list(&said));
            refused.push((workload.name.clone(), sentence));
        }
    }
    refused
}

fn has_numbers(source: &Source<'_>, kind: &Kind) -> bool {
    source.finding(kind).is_some_and(|f| f.verdict.is_some())
}

/// One series on all systems, and the reasons of what could not be compared.
fn row(sources: &[Source<'_>], kind: &Kind, label: &str, judged: usize, margin: f64) -> (Row, Vec<String>) {
    let findings: Vec<Option<&Finding>> = sources.iter().map(|s| s.finding(kind)).collect();
    let (first, others) = (&sources[0], &sources[1..]);
    let mut reasons = Vec::new();
    let answers = others
        .iter()
        .map(|other| match (why_not(first, kind), why_not(other, kind)) {
            (None, None) => {
                let answer = answer(first, other, kind, judged, margin);
                if answer.is_none() {
                    reasons.push(format!(
                        "{} and {} have no n in common",
                        first.subject.name, other.subject.name
                    ));
                }
                answer
            }
            (Some(reason), _) | (None, Some(reason)) => {
                if !reasons.contains(&reason) {
                    reasons.push(reason);
                }
                None
            }
        })
        .collect();
    let grows = findings.iter().flatten().next().map(|f| f.grows.clone()).unwrap_or_default();
    let verdicts = findings.iter().map(|f| f.and_then(|f| f.verdict.clone())).collect();
    (Row { label: label.to_string(), grows, verdicts, answers }, reasons)
}

/// Why a system has no numbers of a series.
fn why_not(source: &Source<'_>, kind: &Kind) -> Option<String> {
    let name = &source.subject.name;
    let Some(finding) = source.finding(kind) else {
        return Some(format!("not measured in {name}"));
    };
    if finding.verdict.is_some() {
        return None;
    }
    let words = finding.stops.first().map_or_else(|| "no number".to_string(), sentences::stop);
    Some(format!("{words}, in {name}"))
}

fn answer(
    first: &Source<'_>,
    second: &Source<'_>,
    kind: &Kind,
    judged: usize,
    margin: f64,
) -> Option<stats::Comparison> {
    let (one, two) = (first.finding(kind)?, second.finding(kind)?);
    // When a run ended was decided by changes within its trials: their levels had no say in it, but how the
    // ratio goes with n had.
    let looks = looks(&first.subject.run).max(looks(&second.subject.run));
    let settings = |looks| Settings {
        margin,
        alpha: ALPHA,
        looks,
        tick_seconds: one.tick_seconds.max(two.tick_seconds),
        seed: SEED,
        whole: false,
    };
    let (overall, by_n) = (settings(1), settings(looks));
    let (one, two): (Vec<Sweep<'_>>, Vec<Sweep<'_>>) =
        (sweeps(first.recording, &one.key), sweeps(second.recording, &two.key));
    let mut answer = stats::compare(&one, &two, judged, &overall)?;
    if looks > 1 {
        answer.blocks = stats::compare(&one, &two, judged, &by_n)?.blocks;
    }
    Some(answer)
}

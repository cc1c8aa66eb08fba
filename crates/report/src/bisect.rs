//! The first of an ordered list of systems from which a cost differs, in a terminal and for a program.

use judge::bisect::{ListPart, Search, SeriesStep, SeriesSteps, Steps};
use serde::Serialize;
use stats::{Change, Interval};

use crate::compare::words::times_with_word;
use crate::document::{Document, Section, Table, Text, Tone};
use crate::words::{bound, list, things};

/// A search that is over.
pub struct Bisection<'a> {
    /// The names of the list.
    pub names: &'a [String],
    /// The findings.
    pub search: &'a Search,
    /// For each change the proof by its two neighbours alone.
    pub proofs: &'a [Proof],
    /// The smallest change that counts, as a share.
    pub margin: f64,
}

/// Two neighbours, measured by themselves.
pub struct Proof {
    /// The step from one to the other.
    pub steps: Steps,
    /// The run file.
    pub file: String,
}

impl Proof {
    /// The series that differ, the most first.
    fn changed(&self) -> Vec<(&SeriesSteps, SeriesStep)> {
        let of = |series: &'_ SeriesSteps| series.steps.first().copied().flatten();
        let changed = self.steps.series.iter().filter_map(|series| Some((series, of(series)?)));
        let mut changed: Vec<_> = changed.filter(|(_, one)| one.change == Change::Changed).collect();
        let size = |one: &SeriesStep| one.ratio.value.ln().abs();
        changed.sort_by(|(_, one), (_, other)| size(other).total_cmp(&size(one)));
        changed
    }
}

impl Bisection<'_> {
    /// Whether every step was decided.
    pub fn is_certain(&self) -> bool {
        let search = self.search;
        search.open().is_empty() && search.unconfirmed().is_empty() && search.unmeasured().next().is_none()
    }

    fn part(&self, (first, last): ListPart) -> String {
        format!("from {} to {}", self.names[first], self.names[last])
    }

    /// The first sentence.
    fn head(&self) -> String {
        let of = things(self.names.len(), "kernel", "kernels");
        let margin = bound(self.margin);
        match self.search.changes() {
            [] if self.is_certain() && self.search.spread().is_empty() => {
                format!("none: no cost changes by more than {margin} from one to the next of {of}")
            }
            [] => format!("none found among {of}"),
            [(_, last)] => {
                let place = last + 1;
                format!("{} is the first that differs, number {place} of {of}", self.names[*last])
            }
            changes => {
                let names: Vec<String> = changes.iter().map(|(_, last)| self.names[*last].clone()).collect();
                let count = changes.len();
                format!("the list changes {count} times, at {}, of {of}", list(&names))
            }
        }
    }

    /// The reasons why the search is uncertain, and the remedy.
    fn doubts(&self) -> Vec<String> {
        let margin = bound(self.margin);
        let search = self.search;
        let open = search
            .open()
            .iter()
            .map(|part| format!("undecided {}: more --boots may decide it", self.part(*part)));
        let unconfirmed = search.unconfirmed().iter().map(|part| {
            format!("a change {} was not seen again when it was measured once more", self.part(*part))
        });
        let spread = search.spread().iter().map(|part| {
            format!(
                "a cost changes {}, but nowhere by more than {margin} from one to the next; a smaller \
                 --margin may find where",
                self.part(*part)
            )
        });
        let unmeasured: Vec<String> = search.unmeasured().map(|place| self.names[place].clone()).collect();
        let unmeasured = (!unmeasured.is_empty()).then(|| {
            format!("not measured, so passed over: {}; the run file has the reason", list(&unmeasured))
        });
        open.chain(unconfirmed).chain(spread).chain(unmeasured).collect()
    }
}

/// The answer as a document: each change with its proof.
pub fn document(found: &Bisection<'_>) -> Document {
    let mut document = Document::default();
    let mut section = Section::new(Text::toned(found.head(), Tone::Strong));
    for ((before, after), proof) in found.search.changes().iter().zip(found.proofs) {
        let changed = proof.changed();
        let boots = changed.iter().map(|(_, one)| one.observations).min().unwrap_or(0);
        let boots = things(boots, "boot", "boots");
        let mut pair = Section::new(Text::from(format!(
            "{} over {}, interleaved, {boots} of each: {}",
            found.names[*after], found.names[*before], proof.file
        )));
        let mut table = Table::without_headings(2);
        for (series, one) in changed {
            table.push([&series.label, &times_with_word(one.ratio, series.unit)]);
        }
        pair.push(table);
        section.push(pair);
    }
    found.doubts().into_iter().for_each(|doubt| section.say(Text::toned(doubt, Tone::Open)));
    document.push(section);
    document
}

/// The answer of `osdyno lab bisect`.
#[derive(Clone, Debug, Serialize)]
pub struct BisectAnswer<'a> {
    /// The systems.
    pub systems: &'a [String],
    /// Smallest change that matters, a share.
    pub margin: f64,
    /// Whether every step was decided.
    pub certain: bool,
    /// With their proofs.
    pub changes: Vec<BisectChange<'a>>,
    /// Undecided parts of the list.
    pub undecided: Vec<BisectPart<'a>>,
    /// Their change was not seen again.
    ///
    /// When it was measured once more.
    pub unconfirmed: Vec<BisectPart<'a>>,
    /// A cost changes over them, without a step.
    pub spread: Vec<BisectPart<'a>>,
    /// Systems that were passed over.
    pub not_measured: Vec<&'a String>,
}

/// A part of the list.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct BisectPart<'a> {
    /// First and last system.
    pub before: &'a str,
    /// See `before`.
    pub after: &'a str,
}

/// A change from one system to the next.
#[derive(Clone, Debug, Serialize)]
pub struct BisectChange<'a> {
    /// The two systems.
    #[serde(flatten)]
    pub part: BisectPart<'a>,
    /// Run file of these two alone.
    pub file: &'a str,
    /// Error rate of the claim that a series differs.
    pub level: f64,
    /// Series that differ, the most first.
    pub series: Vec<BisectSeries<'a>>,
}

/// A series that differs.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct BisectSeries<'a> {
    /// Name of the series.
    pub series: &'a str,
    /// Cost after the change divided by that before it.
    pub ratio: Interval,
    /// The boots of each that were compared.
    pub boots: usize,
}

impl Bisection<'_> {
    fn changes(&self) -> Vec<BisectChange<'_>> {
        let mut changes = Vec::new();
        for (place, proof) in self.search.changes().iter().zip(self.proofs) {
            changes.push(BisectChange {
                part: BisectPart { before: &self.names[place.0], after: &self.names[place.1] },
                file: &proof.file,
                level: proof.steps.level,
                series: proof.changed().into_iter().map(BisectSeries::new).collect(),
            });
        }
        changes
    }

    /// The answer for a program.
    pub fn answer(&self) -> BisectAnswer<'_> {
        let part = |part: &ListPart| BisectPart { before: &self.names[part.0], after: &self.names[part.1] };
        let parts = |all: &[ListPart]| all.iter().map(part).collect();
        let search = self.search;
        BisectAnswer {
            systems: self.names,
            margin: self.margin,
            certain: self.is_certain(),
            changes: self.changes(),
            undecided: parts(search.open()),
            unconfirmed: parts(search.unconfirmed()),
            spread: parts(search.spread()),
            not_measured: search.unmeasured().map(|place| &self.names[place]).collect(),
        }
    }
}

impl<'a> BisectSeries<'a> {
    fn new((series, step): (&'a SeriesSteps, SeriesStep)) -> Self {
        BisectSeries { series: &series.label, ratio: step.ratio, boots: step.observations }
    }
}

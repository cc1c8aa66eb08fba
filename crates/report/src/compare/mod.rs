//! Systems compared, series by series: each against the first, with a ratio, its interval, and one of five
//! answers; for three and more an interval of ranks. What cannot be compared is a row with its reason.

mod html;
mod json;
mod picture;
mod source;
mod table;
mod weigh;
mod words;

pub(crate) use words::{inverted, rank as place_of, sides};

use std::io::{self, Write};

use record::{Recording, Run, System};
use stats::{Interval, Rank, Verdict};

use crate::environment::{self, Difference};
use crate::findings::ALPHA;
use crate::text::Style;
use crate::words::Unit;

/// A difference below this share is not worth a word.
pub const MARGIN: f64 = 0.03;

/// Systems compared with the first of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// What is compared; the first is what the others are compared with.
    pub subjects: Vec<Subject>,
    /// Facts in which the systems differ, what says most first.
    pub differences: Vec<Difference>,
    /// Every series that one of them was to measure, in the order of the first.
    pub rows: Vec<Row>,
    /// Geometric mean of the ratios of each system but the first; `None` where fewer than two series have
    /// one, or trials enough.
    pub means: Vec<Option<Mean>>,
    /// Workloads that must not be compared, each a sentence.
    pub refused: Vec<String>,
    /// A difference below this share is not worth a word.
    pub margin: f64,
    /// Share of false ones to expect among the claims of each kind, and error rate of each geometric mean.
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
    /// What its values are in. Ratios are of costs: of a rate, of the time that one takes.
    pub unit: Unit,
    /// What each system has of it, in the order of the subjects.
    pub verdicts: Vec<Option<Verdict>>,
    /// The second system and the following against the first; `None` where that could not be.
    pub answers: Vec<Option<stats::Comparison>>,
    /// Beside each answer: how one of the two stopped short, or why there is no answer.
    pub notes: Vec<Option<String>>,
    /// The places that each system may have among all; `None` for one without numbers. Empty for two systems.
    pub ranks: Vec<Option<Rank>>,
}

/// The geometric mean of ratios that all weigh the same.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    /// The mean with its interval.
    pub ratio: Interval,
    /// Of so many series.
    pub of: usize,
}

/// Why nothing could be compared at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is only one system.
    #[error("a comparison needs two systems, of one run or of several; only {0:?} was given")]
    Alone(String),
    /// Every workload that they have in common has another version.
    #[error("nothing can be compared: {0}")]
    Versions(String),
    /// One of them has no number at all.
    #[error("nothing can be compared: {0}")]
    NoNumber(String),
    /// They have no series in common.
    #[error("nothing can be compared: the runs have no series in common")]
    NothingCommon,
}

impl Comparison {
    /// Compares every system of the recordings with the first system of the first. A recording of one
    /// system is called by the name given, and one of several by that and the names in it.
    pub fn of(recordings: &[(&str, &Recording)]) -> Result<Comparison, Refusal> {
        Comparison::with_margin(recordings, MARGIN)
    }

    /// Compares with another idea of what matters.
    pub fn with_margin(recordings: &[(&str, &Recording)], margin: f64) -> Result<Comparison, Refusal> {
        let sources = source::sources(recordings);
        let Some(first) = sources.first() else { return Err(Refusal::NothingCommon) };
        if sources.len() == 1 {
            return Err(Refusal::Alone(first.subject.name.clone()));
        }
        let (refused_names, refused): (Vec<String>, Vec<String>) =
            source::refused(&sources).into_iter().unzip();
        let weighed = weigh::all(&sources, &refused_names, margin);
        if weighed.rows.iter().all(|row| row.answers.iter().all(Option::is_none)) {
            let without: Vec<String> = sources.iter().filter_map(source::Source::without_number).collect();
            return Err(match (refused.as_slice(), without.as_slice()) {
                ([], []) => Refusal::NothingCommon,
                ([], some) => Refusal::NoNumber(some.join("; ")),
                (some, _) => Refusal::Versions(some.join("; ")),
            });
        }
        let systems: Vec<&System> = sources.iter().map(|s| &s.subject.system).collect();
        Ok(Comparison {
            differences: environment::differences(&systems),
            rows: weighed.rows,
            means: weighed.means,
            refused,
            margin,
            alpha: ALPHA,
            subjects: sources.into_iter().map(|s| s.subject).collect(),
        })
    }

    /// Answers that were given, and answers that were wanted.
    pub fn judged(&self) -> (usize, usize) {
        let answers = || self.rows.iter().flat_map(|row| &row.answers);
        (answers().filter(|a| a.is_some()).count(), answers().count())
    }

    /// Writes the comparison for a terminal.
    pub fn write_table(&self, style: &Style, out: &mut dyn Write) -> io::Result<()> {
        table::write(self, style, out)
    }

    /// Writes the comparison as one page.
    pub fn write_html(&self, out: &mut dyn Write) -> io::Result<()> {
        html::write(self, out)
    }

    /// Every ratio with its interval, as an SVG file that loads nothing and has its own paper, light or dark.
    pub fn picture(&self) -> String {
        picture::draw(self)
    }

    /// Writes the comparison as a JSON document (`docs/report.md`).
    pub fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        json::write(self, out)
    }
}

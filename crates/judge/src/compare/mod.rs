//! Systems compared, series by series: each against the first, with a ratio, its interval, and one of five
//! answers; for three and more an interval of ranks. What cannot be compared is a row with its reason.

mod source;
mod weigh;

use record::{Recording, Run, System, Unit};
use stats::{Interval, Rank, Verdict};

use self::source::Source;
use crate::environment::{self, Difference};
use crate::findings::{ALPHA, Finding};
use crate::generator::Limited;
use crate::stops::Stop;

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
    /// Workloads that must not be compared.
    pub refused: Vec<Refused>,
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
    /// Name of the variant; may be empty.
    pub variant: String,
    /// What n counts.
    pub grows: String,
    /// What its values are in. Ratios are of costs: of a rate, of the time that one takes.
    pub unit: Unit,
    /// What each system has of it, in the order of the subjects.
    pub verdicts: Vec<Option<Verdict>>,
    /// The second system and the following against the first; `None` where that could not be.
    pub answers: Vec<Option<stats::Comparison>>,
    /// Beside each answer: how one of the two stopped short, or why there is no answer.
    pub notes: Vec<Option<AnswerNote>>,
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

/// A workload whose versions differ, and so must not be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Name of the workload.
    pub workload: String,
    /// The version that each system measured, by the name of its subject.
    pub versions: Vec<(String, u32)>,
}

/// What stands beside an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum AnswerNote {
    /// How one of the two stopped short, or what else shortened the comparison.
    Shortened(Shortened),
    /// Why there is no answer.
    NoAnswer(NoAnswer),
}

/// What shortened a comparison of two.
#[derive(Clone, Debug, PartialEq)]
pub struct Shortened {
    /// How the trials of the first and of the other stopped short.
    pub stops: [Vec<Stop>; 2],
    /// Where the generator was the limit, of the first and of the other.
    pub limited: [Option<Limited>; 2],
    /// The subject that nothing stopped and that was yet measured to this n only.
    pub measured_to: Option<(String, u64)>,
    /// Where the comparison ends, when one of the two went on.
    pub compared_to: Option<u64>,
}

/// Why two have no answer.
#[derive(Clone, Debug, PartialEq)]
pub enum NoAnswer {
    /// These have no number.
    WithoutNumber(Vec<WithoutNumber>),
    /// The generator was the limit of one of them everywhere.
    Limited,
    /// They have no n in common.
    NothingCommon,
}

/// One that has no number of a series, or of any.
#[derive(Clone, Debug, PartialEq)]
pub struct WithoutNumber {
    /// Name of the subject.
    pub subject: String,
    /// How its trials stopped short; `None` where nothing did.
    pub stop: Option<Stop>,
    /// Whether it was to be measured at all.
    pub is_planned: bool,
}

/// Why nothing could be compared at all.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// There is only one system.
    Alone(String),
    /// Every workload that they have in common has another version.
    Versions(Vec<Refused>),
    /// These have no number at all.
    NoNumber(Vec<WithoutNumber>),
    /// They have no series in common.
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
        Comparison::between(source::sources(recordings), margin)
    }

    /// Compares the systems of one recording of which so much was found.
    pub(crate) fn of_findings(recording: &Recording, findings: Vec<Finding>) -> Result<Comparison, Refusal> {
        Comparison::between(source::of_findings(&[("", recording, findings)]), MARGIN)
    }

    fn between(sources: Vec<Source<'_>>, margin: f64) -> Result<Comparison, Refusal> {
        let Some(first) = sources.first() else { return Err(Refusal::NothingCommon) };
        if sources.len() == 1 {
            return Err(Refusal::Alone(first.subject.name.clone()));
        }
        let refused = source::refused(&sources);
        let weighed = weigh::all(&sources, &refused, margin);
        if weighed.rows.iter().all(|row| row.answers.iter().all(Option::is_none)) {
            let without: Vec<WithoutNumber> = sources.iter().filter_map(Source::without_number).collect();
            return Err(match (refused.is_empty(), without.is_empty()) {
                (true, true) => Refusal::NothingCommon,
                (true, false) => Refusal::NoNumber(without),
                (false, _) => Refusal::Versions(refused),
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
}

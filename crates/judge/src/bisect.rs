//! Finds the system of an ordered list from which a cost differs.
//!
//! [`Search`] selects the systems to measure together; [`Steps`] compares each with the one before it in such
//! a run, and says whether more boots would help.
//!
//! Each round measures some of a part of the list, interleaved, with the ends of that part, and sets each
//! against the one before it. Where two differ, the part between them is searched in the same way, until they
//! are neighbours; two neighbours are measured once more by themselves, with boots of their own. Only a
//! change that this round shows counts: chance in the earlier rounds has no effect on it.
//!
//! A round takes nine, and not three as a bisection does. Pairs need both ends to be measured again in each
//! round, so for a list of nine one round of nine boots less often than three rounds of three; and it finds
//! changes that cancel, which a bisection misses.

use std::collections::BTreeSet;

use record::{Recording, Unit};
use stats::{Change, Contrast, Interval};

use crate::compare::series_of;
use crate::finding::{ALPHA, Finding, looks};
use crate::findings::Findings;

/// Measured in one round at the most.
const ROUND_MOST: usize = 9;

/// The systems of one round, which are measured together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Round {
    /// The part of the list that is searched.
    pub part: ListPart,
    /// Places in the list, rising; two at least.
    pub places: Vec<usize>,
    /// Whether these are neighbours, at least among the systems that can be measured: then a difference is a
    /// change.
    pub is_proof: bool,
    /// Whether an earlier round found a change between the first and the last.
    pub is_suspected: bool,
}

/// The result of a round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoundAnswers {
    /// The places that gave numbers, rising.
    pub measured: Vec<usize>,
    /// For each of these but the first whether it differs from the one before it.
    pub steps: Vec<Change>,
    /// Whether the last differs from the first.
    pub ends: Change,
}

/// A part of the list, by the places of its first and its last.
pub type ListPart = (usize, usize);

/// A search in progress, with its findings.
#[derive(Clone, Debug, Default)]
pub struct Search {
    /// To be searched, and whether a change was seen there.
    due: BTreeSet<(usize, usize, bool)>,
    unmeasured: BTreeSet<usize>,
    changes: Vec<ListPart>,
    open: Vec<ListPart>,
    unconfirmed: Vec<ListPart>,
    spread: Vec<ListPart>,
}

impl Search {
    /// Of a list of so many.
    pub fn new(count: usize) -> Search {
        let due = (count > 1).then(|| (0, count - 1, false)).into_iter().collect();
        Search { due, ..Search::default() }
    }

    /// The next round, the leftmost first; `None` when the search has ended.
    pub fn next(&self) -> Option<Round> {
        let &(first, last, is_suspected) = self.due.first()?;
        let all = self.left(first, last);
        let taken = all.len().min(ROUND_MOST);
        let at = |one: usize| (one * (all.len() - 1) + (taken - 1) / 2) / (taken - 1);
        let places: Vec<usize> = (0..taken).map(|one| all[at(one)]).collect();
        Some(Round { part: (first, last), is_proof: places.len() == 2, places, is_suspected })
    }

    /// The systems of a part that may be measured.
    fn left(&self, first: usize, last: usize) -> Vec<usize> {
        (first..=last).filter(|place| !self.unmeasured.contains(place)).collect()
    }

    /// Takes the result of the round that was next.
    pub fn learn(&mut self, round: &Round, answers: &RoundAnswers) {
        let (first, last) = round.part;
        self.due.remove(&(first, last, round.is_suspected));
        let missing = round.places.iter().filter(|place| !answers.measured.contains(place));
        self.unmeasured.extend(missing);
        let parts: Vec<(ListPart, Change)> = answers
            .measured
            .windows(2)
            .map(|pair| (pair[0], pair[1]))
            .zip(answers.steps.iter().copied())
            .collect();
        if parts.is_empty() {
            self.open.push((first, last));
        }
        let found: Vec<ListPart> = parts_with(&parts, Change::Changed);
        self.open.extend(parts_with(&parts, Change::Open));
        let is_same = !parts.is_empty() && parts.iter().all(|(_, step)| *step == Change::Same);
        if is_same && answers.ends == Change::Changed && parts.len() > 1 {
            self.spread.push((first, last));
        } else if is_same && round.is_suspected {
            self.unconfirmed.push((first, last));
        }
        for (from, to) in found {
            match round.is_proof {
                true => self.changes.push((from, to)),
                false => drop(self.due.insert((from, to, true))),
            }
        }
        self.give_up();
    }

    /// Parts of which fewer than two can be measured by now stay open.
    fn give_up(&mut self) {
        let (due, lost) = std::mem::take(&mut self.due)
            .into_iter()
            .partition(|&(first, last, _)| self.left(first, last).len() > 1);
        let lost: BTreeSet<(usize, usize, bool)> = lost;
        self.open.extend(lost.iter().map(|&(first, last, _)| (first, last)));
        self.due = due;
    }

    /// The changes, the leftmost first, each between two that were measured by themselves.
    pub fn changes(&self) -> &[ListPart] {
        &self.changes
    }

    /// The parts where no step was certain after all boots.
    pub fn open(&self) -> &[ListPart] {
        &self.open
    }

    /// The places where a change was seen once and not confirmed.
    pub fn unconfirmed(&self) -> &[ListPart] {
        &self.unconfirmed
    }

    /// The parts whose last differs from the first although no step was found.
    pub fn spread(&self) -> &[ListPart] {
        &self.spread
    }

    /// The places that gave no number.
    pub fn unmeasured(&self) -> impl Iterator<Item = usize> {
        self.unmeasured.iter().copied()
    }
}

fn parts_with(parts: &[(ListPart, Change)], wanted: Change) -> Vec<ListPart> {
    parts.iter().filter(|(_, step)| *step == wanted).map(|(part, _)| *part).collect()
}

/// The steps of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Steps {
    /// The places of the systems that gave numbers, rising.
    pub measured: Vec<usize>,
    /// Every series that two systems have.
    pub series: Vec<SeriesSteps>,
    /// Error rate of each step.
    pub level: f64,
}

/// One series of all systems.
#[derive(Clone, Debug, PartialEq)]
pub struct SeriesSteps {
    /// Its name for a reader.
    pub label: String,
    /// Name of the variant.
    pub variant: String,
    /// The unit of its values.
    pub unit: Unit,
    /// For each of [`Steps::measured`] but the first, its cost over that of the one before it; `None` where
    /// one of the two lacks the series.
    pub steps: Vec<Option<SeriesStep>>,
    /// The last over the first.
    pub ends: Option<SeriesStep>,
}

/// One system over another in one series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeriesStep {
    /// Whether it differs.
    pub change: Change,
    /// Cost of the second over cost of the first.
    pub ratio: Interval,
    /// Observations of each: boots, or trials where there is one boot.
    pub observations: usize,
}

impl Steps {
    /// The steps of a run with its systems in the order of the list. A change below `margin`, a share, does
    /// not count.
    ///
    /// Every comparison has an equal part of the error rate: all steps and the two ends, in all series, at
    /// all looks (Bonferroni).
    pub fn new(recording: &Recording, findings: &Findings, margin: f64) -> Steps {
        let findings: Vec<Finding> =
            findings.series.iter().filter(|finding| !finding.detail).cloned().collect();
        let has_number = |system: &record::System| {
            findings.iter().any(|finding| finding.key.system == system.name && finding.verdict.is_some())
        };
        let systems = recording.systems.iter().enumerate();
        let measured: Vec<usize> =
            systems.filter(|(_, system)| has_number(system)).map(|(place, _)| place).collect();
        let fields = series_of(recording, findings);
        let pairs = measured.windows(2).map(|pair| (pair[0], pair[1]));
        let ends = measured.first().copied().zip(measured.last().copied()).filter(|_| measured.len() > 2);
        let pairs: Vec<(usize, usize)> = pairs.chain(ends).collect();
        let contrasts: Vec<Vec<Option<Contrast>>> = fields
            .iter()
            .map(|field| pairs.iter().map(|&(first, second)| field.contrast(first, second, margin)).collect())
            .collect();
        let asked = contrasts.iter().flatten().flatten().count().max(1);
        let level = ALPHA / (asked as f64 * f64::from(looks(&recording.run)));
        let step = |contrast: &Option<Contrast>| {
            let contrast = contrast.as_ref()?;
            let (change, ratio) = contrast.change(level);
            Some(SeriesStep { change, ratio, observations: contrast.observations() })
        };
        let series = fields.iter().zip(&contrasts).map(|(field, contrasts)| {
            let mut steps: Vec<Option<SeriesStep>> = contrasts.iter().map(step).collect();
            let ends = if ends.is_some() { steps.pop().flatten() } else { None };
            let (label, variant, unit) = field.names();
            SeriesSteps { label, variant, unit, steps, ends }
        });
        let is_compared = |series: &SeriesSteps| series.steps.iter().any(Option::is_some);
        Steps { measured, series: series.filter(is_compared).collect(), level }
    }

    /// The result for a search whose round measured these places of the list.
    pub fn answers(&self, places: &[usize]) -> RoundAnswers {
        let measured: Vec<usize> =
            self.measured.iter().filter_map(|&place| places.get(place)).copied().collect();
        let of = |place: usize| together(self.series.iter().map(|series| series.steps.get(place).copied()?));
        RoundAnswers {
            steps: (1..measured.len()).map(|place| of(place - 1)).collect(),
            ends: match measured.len() {
                2 => of(0),
                _ => together(self.series.iter().map(|series| series.ends)),
            },
            measured,
        }
    }
}

/// One step over all series: changed where one series changed, the same where all are the same.
fn together(series: impl Iterator<Item = Option<SeriesStep>>) -> Change {
    let steps: Vec<Change> = series.flatten().map(|one| one.change).collect();
    match () {
        () if steps.contains(&Change::Changed) => Change::Changed,
        () if steps.is_empty() || steps.contains(&Change::Open) => Change::Open,
        () => Change::Same,
    }
}

/// The variants for which more boots may settle a step. A change in one series settles the step.
pub fn unsettled(recording: &Recording, findings: &Findings, margin: f64) -> BTreeSet<String> {
    let steps = Steps::new(recording, findings, margin);
    let count = steps.measured.len().saturating_sub(1);
    let of = |place: usize| {
        steps.series.iter().filter_map(move |series| Some((series, (*series.steps.get(place)?)?)))
    };
    let is_settled = |place: usize| of(place).any(|(_, one)| one.change == Change::Changed);
    let open = (0..count).filter(|place| !is_settled(*place)).flat_map(of);
    open.filter(|(_, one)| one.change == Change::Open).map(|(series, _)| series.variant.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Searches a list whose costs are known for certain; also how many were measured in all.
    fn search(costs: &[Option<f64>]) -> (Search, usize) {
        let step = |from: usize, to: usize| match (costs[to].unwrap() - costs[from].unwrap()).abs() > 0.03 {
            true => Change::Changed,
            false => Change::Same,
        };
        let (mut search, mut count) = (Search::new(costs.len()), 0);
        while let Some(round) = search.next() {
            count += round.places.len();
            assert!(count < 100 * costs.len(), "it ends");
            let measured: Vec<usize> =
                round.places.iter().copied().filter(|place| costs[*place].is_some()).collect();
            let steps = measured.windows(2).map(|pair| step(pair[0], pair[1])).collect();
            let ends = match (measured.first(), measured.last()) {
                (Some(first), Some(last)) => step(*first, *last),
                _ => Change::Open,
            };
            search.learn(&round, &RoundAnswers { measured, steps, ends });
        }
        (search, count)
    }

    fn list(count: usize, cost: impl Fn(usize) -> f64) -> Vec<Option<f64>> {
        (0..count).map(|place| Some(cost(place))).collect()
    }

    #[test]
    fn a_change_is_found_wherever_it_is() {
        for count in [2, 3, 9, 10, 30, 200] {
            for change in 1..count {
                let (search, measured) = search(&list(count, |place| f64::from(u8::from(place >= change))));
                assert_eq!(search.changes(), [(change - 1, change)], "{change} of {count}");
                assert!(measured <= 31, "{measured} were measured");
                assert!(search.open().is_empty() && search.unconfirmed().is_empty());
            }
        }
    }

    #[test]
    fn a_list_that_changes_more_than_once_or_not_at_all() {
        assert!(search(&list(9, |_| 1.0)).0.changes().is_empty());
        assert!(Search::new(1).next().is_none() && Search::new(0).next().is_none());
        // A change that is taken back, which the ends do not show.
        let (back, _) = search(&list(9, |place| f64::from(u8::from((3..6).contains(&place)))));
        assert_eq!(back.changes(), [(2, 3), (5, 6)]);
        let (two, _) = search(&list(40, |place| f64::from(place >= 7) + f64::from(place >= 33)));
        assert_eq!(two.changes(), [(6, 7), (32, 33)]);
        let (creeping, _) = search(&list(9, |place| 0.02 * place as f64));
        assert_eq!((creeping.changes(), creeping.spread()), (&[][..], &[(0, 8)][..]));
    }

    #[test]
    fn what_cannot_be_measured_is_passed_over() {
        let mut costs = list(5, |place| f64::from(u8::from(place >= 3)));
        costs[3] = None;
        let (search, _) = search(&costs);
        assert_eq!(search.changes(), [(2, 4)]);
        assert_eq!(search.unmeasured().collect::<Vec<_>>(), [3]);
    }

    #[test]
    fn a_change_that_is_not_seen_again_is_none() {
        let mut search = Search::new(3);
        let round = search.next().expect("a round");
        let steps = vec![Change::Changed, Change::Same];
        search.learn(&round, &RoundAnswers { measured: vec![0, 1, 2], steps, ends: Change::Open });
        let round = search.next().expect("its proof");
        assert_eq!((round.places.clone(), round.is_proof), (vec![0, 1], true));
        let measured = vec![0, 1];
        search.learn(&round, &RoundAnswers { measured, steps: vec![Change::Same], ends: Change::Same });
        assert_eq!((search.changes(), search.unconfirmed()), (&[][..], &[(0, 1)][..]));
        assert!(search.next().is_none());
    }
}

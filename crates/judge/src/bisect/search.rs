//! The search for the first system of an ordered list from which a cost differs.
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

use stats::Change;

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

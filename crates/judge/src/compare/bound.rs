//! Rates that are lower bounds, because a saturated load generator measured the contender.
//!
//! Such a rate is censored. It ranks above every rate that is smaller for certain, and nothing else follows:
//! neither that the contender is slower than another, nor that two are alike. Two censored rates cannot be
//! compared.

use stats::{Answer, Contrast, SeriesComparison};

use super::sample::Sample;

/// The levels at which two may be compared, and which of the two is censored at some of these.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Common {
    pub(super) levels: Vec<u64>,
    /// The first or the second.
    pub(super) censored: Option<usize>,
}

/// At the largest level that both reached and at which not both are censored.
pub(super) fn at_last(one: &Sample<'_>, two: &Sample<'_>) -> Common {
    let says_something = |(_, censored): &&(u64, [bool; 2])| *censored != [true, true];
    match shared(one, two).iter().rfind(says_something) {
        Some((n, censored)) => {
            Common { levels: vec![*n], censored: censored.iter().position(|censored| *censored) }
        }
        None => Common::default(),
    }
}

/// Over all levels that both reached: those of one alone may be censored, so that the mean is a bound too.
pub(super) fn overall(one: &Sample<'_>, two: &Sample<'_>) -> Common {
    let shared = shared(one, two);
    let with = |allowed: &[[bool; 2]]| {
        let levels = shared.iter().filter(|(_, censored)| allowed.contains(censored));
        levels.map(|(n, _)| *n).collect::<Vec<u64>>()
    };
    let has = |which: [bool; 2]| shared.iter().any(|(_, censored)| *censored == which);
    match (has([true, false]), has([false, true])) {
        (true, false) => Common { levels: with(&[[false, false], [true, false]]), censored: Some(0) },
        (false, true) => Common { levels: with(&[[false, false], [false, true]]), censored: Some(1) },
        _ => Common { levels: with(&[[false, false]]), censored: None },
    }
}

/// The levels that both reached, and which of them is censored there.
fn shared(one: &Sample<'_>, two: &Sample<'_>) -> Vec<(u64, [bool; 2])> {
    let of_two: Vec<_> = two.reached().collect();
    let both = one.reached().filter_map(|level| {
        let other = of_two.iter().find(|other| other.n == level.n)?;
        Some((level.n, [level.at_least, other.at_least]))
    });
    both.collect()
}

/// Whether a contrast can carry a claim: of a censored one only that it is the faster of the two.
pub(super) fn may_claim(contrast: &Contrast, censored: Option<usize>) -> bool {
    match censored {
        None => true,
        Some(first_or_second) => contrast.is_faster() == (first_or_second == 1),
    }
}

/// Removes the claims that do not follow from a bound; more trials would not help.
pub(super) fn restrict(answer: &mut SeriesComparison, censored: Option<usize>) {
    let follows = match censored {
        None => return,
        Some(0) => Answer::Slower,
        Some(_) => Answer::Faster,
    };
    if answer.answer != follows {
        answer.answer = Answer::Unresolved;
        (answer.trials_needed, answer.boots_needed) = (None, None);
    }
}

//! Ranks of several systems as intervals, because a single rank hides that two systems cannot be
//! distinguished.

use serde::Serialize;

use crate::contrast::Contrast;
use crate::multiplicity::levels;

/// The places that a system may have, 1 being the one that takes least time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Rank {
    /// 1 + number of contenders that are certainly faster.
    pub best: usize,
    /// `of` − number of contenders that are certainly slower.
    pub worst: usize,
    /// Contenders that a chain of matches connects with it.
    pub of: usize,
}

/// Two systems of a series, and the second against the first.
#[derive(Clone, Debug)]
pub struct Match<'a> {
    /// The one.
    pub first: usize,
    /// The other.
    pub second: usize,
    /// The second against the first.
    pub contrast: &'a Contrast,
}

/// The ranks of `systems` systems in each series of a suite; `None` for a system without a match there.
///
/// From simultaneous intervals of all pairs, with α shared over the suite as in [`answers`](crate::answers):
/// a rank is 1 plus those that are surely better, down to the number less those that are surely worse (Al
/// Mohamad, Goeman & van Zwet, Biometrics 78, 2022; Mogstad, Romano, Shaikh & Wilhelm, Review of Economic
/// Studies 91, 2024). Surely means beyond the noise floor. A match over another range of n, because one
/// system stopped early, counts as any other.
pub fn ranks(suite: &[Vec<Match<'_>>], systems: usize, alpha: f64) -> Vec<Vec<Option<Rank>>> {
    let chances: Vec<Vec<f64>> = suite
        .iter()
        .map(|matches| matches.iter().map(|one| one.contrast.chances().differs).collect())
        .collect();
    let levels = levels(&chances, alpha);
    let surely = |((one, chance), level): ((&Match<'_>, &f64), &f64)| {
        let (faster, slower) =
            if one.contrast.is_faster() { (one.second, one.first) } else { (one.first, one.second) };
        (chance <= level).then_some((faster, slower))
    };
    let of_series = |((matches, chances), levels): ((&Vec<Match<'_>>, &Vec<f64>), &Vec<f64>)| {
        let sure: Vec<(usize, usize)> = matches.iter().zip(chances).zip(levels).filter_map(surely).collect();
        (0..systems).map(|system| rank(system, matches, &sure, systems)).collect()
    };
    suite.iter().zip(&chances).zip(&levels).map(of_series).collect()
}

/// From (faster, slower) pairs that are sure.
fn rank(system: usize, matches: &[Match<'_>], sure: &[(usize, usize)], systems: usize) -> Option<Rank> {
    let of = connected(system, matches, systems);
    let faster = sure.iter().filter(|(_, slower)| *slower == system).count();
    let slower = sure.iter().filter(|(faster, _)| *faster == system).count();
    (of > 1).then(|| Rank { best: 1 + faster, worst: of - slower, of })
}

/// How many systems a chain of matches connects with this one, and this one.
fn connected(system: usize, matches: &[Match<'_>], systems: usize) -> usize {
    let mut found = vec![false; systems];
    let mut next = vec![system];
    while let Some(system) = next.pop() {
        if std::mem::replace(&mut found[system], true) {
            continue;
        }
        let of_it = matches.iter().filter(|one| one.first == system || one.second == system);
        next.extend(of_it.flat_map(|one| [one.first, one.second]));
    }
    found.into_iter().filter(|found| *found).count()
}

//! Ratios and places in words, for every form of a comparison.

use record::Unit;
use stats::{Interval, Rank};

/// What is said of a larger cost and of a smaller one: `slower` and `faster`, of memory `more` and `less`.
pub(crate) fn sides(unit: Unit) -> (&'static str, &'static str) {
    if unit == Unit::Bytes { ("more", "less") } else { ("slower", "faster") }
}

/// A ratio the other way round.
pub(crate) fn inverted(ratio: Interval) -> Interval {
    Interval { value: 1.0 / ratio.value, low: 1.0 / ratio.high, high: 1.0 / ratio.low }
}

/// `1st` or `1st–2nd`, with `of 2` where not all systems took part.
pub(crate) fn place_of(rank: Rank, systems: usize) -> String {
    let Rank { best, worst, of } = rank;
    let place = if best == worst { ordinal(best) } else { format!("{}–{}", ordinal(best), ordinal(worst)) };
    if of == systems { place } else { format!("{place} of {of}") }
}

fn ordinal(n: usize) -> String {
    let ending = match (n % 10, n % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{n}{ending}")
}

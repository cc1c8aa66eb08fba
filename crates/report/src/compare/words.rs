//! The five answers in words.

use stats::{Answer, Comparison, Interval};

use super::Comparison as Compared;
use crate::text::Tone;
use crate::words::{NO_BREAK, bound, count, factor_with_interval, list, things};

/// Ratios of two ranges of n that are further apart than this are not said as one.
const FAR: f64 = 1.2;

/// The answer in words: `1.18× slower (1.15–1.21)`, `faster up to 4 000, slower from 4 600`.
pub(crate) fn answer(comparison: &Comparison, margin: f64) -> String {
    if let Some(words) = crossing(comparison, margin).or_else(|| part(comparison, margin)) {
        return words;
    }
    match comparison.answer {
        Answer::Faster | Answer::Slower => times(comparison.ratio),
        Answer::Equivalent => format!("equivalent within {}", bound(reach(comparison.ratio))),
        Answer::DifferentButSmall => format!("different but small, {}", times(comparison.ratio)),
        Answer::Unresolved => {
            let most = comparison.trials.0.max(comparison.trials.1);
            let more = comparison.trials_needed.map(|needed| (needed as usize).saturating_sub(most));
            match more {
                Some(more) if more > 0 => {
                    format!(
                        "unresolved {}, {}",
                        span(comparison.ratio),
                        things(more, "more trial", "more trials")
                    )
                }
                _ => format!("unresolved {}", span(comparison.ratio)),
            }
        }
    }
}

/// `1.18× slower (1.15–1.21)`; the faster of two is said by how much less time it takes.
fn times(ratio: Interval) -> String {
    let (ratio, word) = if ratio.value >= 1.0 {
        (ratio, "slower")
    } else {
        (Interval { value: 1.0 / ratio.value, low: 1.0 / ratio.high, high: 1.0 / ratio.low }, "faster")
    };
    let words = factor_with_interval(ratio);
    match words.trim_start_matches('×').split_once(' ') {
        Some((value, interval)) => format!("{value}× {word} {interval}"),
        None => format!("{words} {word}"),
    }
}

/// The interval alone: `(0.98–1.07)`.
fn span(ratio: Interval) -> String {
    let words = factor_with_interval(ratio);
    words.split_once(' ').map_or(String::new(), |(_, interval)| interval.to_string())
}

/// Where the difference is one of some n only, and elsewhere there is none to speak of: `faster from
/// 14 300, up to 1 170× (1 150–1 200)`. One ratio for all n would hide that.
fn part(comparison: &Comparison, margin: f64) -> Option<String> {
    let slower = match comparison.answer {
        Answer::Slower => true,
        Answer::Faster => false,
        _ => return None,
    };
    let distance = |r: &Interval| if slower { r.value } else { 1.0 / r.value };
    let certain = |r: &Interval| if slower { r.low > 1.0 + margin } else { r.high < 1.0 / (1.0 + margin) };
    let blocks = &comparison.blocks;
    let most = blocks.iter().max_by(|a, b| distance(&a.2).total_cmp(&distance(&b.2)))?;
    let least = blocks.iter().min_by(|a, b| distance(&a.2).total_cmp(&distance(&b.2)))?;
    let apart = if slower { most.2.low > least.2.high } else { most.2.high < least.2.low };
    if certain(&least.2) || !apart || distance(&most.2) < FAR * distance(&least.2) {
        return None;
    }
    let first = blocks.iter().position(|b| certain(&b.2))?;
    let last = blocks.iter().rposition(|b| certain(&b.2))?;
    if blocks[first..=last].iter().any(|b| !certain(&b.2)) {
        return None;
    }
    let range = match (first, last + 1 == blocks.len()) {
        (0, _) => format!("up to {}", count(blocks[last].1)),
        (_, true) => format!("from {}", count(blocks[first].0)),
        _ => format!("from {} to {}", count(blocks[first].0), count(blocks[last].1)),
    };
    let (most, word) = (times(most.2), if slower { "slower" } else { "faster" });
    Some(format!("{word} {range}, up to {}", most.replace(&format!(" {word}"), "")))
}

/// The share that a difference is certainly within.
fn reach(ratio: Interval) -> f64 {
    (ratio.high - 1.0).max(1.0 / ratio.low - 1.0).max(0.0)
}

/// Where one is certainly faster below some n and the other above.
fn crossing(comparison: &Comparison, margin: f64) -> Option<String> {
    let faster: Vec<_> = comparison.blocks.iter().filter(|(_, _, r)| r.high < 1.0 / (1.0 + margin)).collect();
    let slower: Vec<_> = comparison.blocks.iter().filter(|(_, _, r)| r.low > 1.0 + margin).collect();
    let (f, s) = ((faster.first()?, faster.last()?), (slower.first()?, slower.last()?));
    if f.1.1 < s.0.0 {
        Some(format!("faster up to {}, slower from {}", count(f.1.1), count(s.0.0)))
    } else if s.1.1 < f.0.0 {
        Some(format!("slower up to {}, faster from {}", count(s.1.1), count(f.0.0)))
    } else {
        None
    }
}

/// Which of two is faster depends on n.
fn depends(comparison: &Comparison, margin: f64) -> bool {
    crossing(comparison, margin).is_some()
}

/// The tone of an answer.
pub(crate) fn tone(comparison: &Comparison, margin: f64) -> Tone {
    match comparison.answer {
        _ if depends(comparison, margin) => Tone::Notable,
        Answer::Faster | Answer::Equivalent => Tone::Good,
        Answer::Slower => Tone::Notable,
        Answer::DifferentButSmall => Tone::Plain,
        Answer::Unresolved => Tone::Open,
    }
}

/// `7.3 against 6.12`
pub(crate) fn who(compared: &Compared) -> String {
    let names: Vec<String> = compared.subjects.iter().map(|s| s.name.clone()).collect();
    match names.as_slice() {
        [first, others @ ..] => format!("{} against {first}", list(others)),
        [] => String::new(),
    }
}

/// What differs, in words: `kernel.release 6.12.107 → 7.3.4, …`
pub(crate) fn differs(compared: &Compared) -> String {
    match compared.differences.as_slice() {
        [] => "nothing that was recorded of the systems".into(),
        some => some.iter().map(crate::environment::Difference::words).collect::<Vec<_>>().join(", "),
    }
}

/// `judged 41 of 44 series`
pub(crate) fn judged(compared: &Compared) -> String {
    let (given, of) = compared.judged();
    let what = if compared.subjects.len() > 2 { "pairs of series" } else { "series" };
    format!("judged {} of {} {what}", count(given as u64), count(of as u64))
}

/// The count of every answer: `1 slower · 3 equivalent`.
pub(crate) fn summary(compared: &Compared) -> String {
    let kinds = [
        (Answer::Slower, "slower"),
        (Answer::Faster, "faster"),
        (Answer::Equivalent, "equivalent"),
        (Answer::DifferentButSmall, "different but small"),
        (Answer::Unresolved, "unresolved"),
    ];
    let given = || compared.rows.iter().flat_map(|row| row.answers.iter().flatten());
    let (by_n, plain): (Vec<_>, Vec<_>) = given().partition(|a| depends(a, compared.margin));
    let counts = kinds.map(|(answer, word)| (plain.iter().filter(|a| a.answer == answer).count(), word));
    let counts = [(by_n.len(), "depending on n")].into_iter().chain(counts).collect::<Vec<_>>();
    let said: Vec<String> = counts
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, word)| format!("{}{NO_BREAK}{}", count(*n as u64), word.replace(' ', "\u{a0}")))
        .collect();
    said.join(" · ")
}

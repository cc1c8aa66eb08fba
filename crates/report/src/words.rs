//! Numbers in words: counts, shares, ratios, places of n. `quantity` writes values with a unit.
//!
//! A narrow no-break space stands between the groups of thousands and before a unit; the table
//! turns it into text for a terminal.

use std::collections::HashSet;

pub use record::words::{GAP, count, list, things};
use stats::Interval;

/// The space between words that a line does not break at.
pub const NO_BREAK: char = '\u{a0}';

/// A count that is only a place on an axis, at three digits: `14 100` for 14 116.
pub fn about(n: f64) -> String {
    count(rounded(n, 3).max(0.0) as u64)
}

/// A count that is an estimate, with its interval: `13 000 (12 000–15 000)`.
pub(crate) fn count_with_interval(n: Interval) -> String {
    let two = |x: f64| fixed(rounded(x, 2), 0);
    if !is_bounded(n) {
        return format!("{} (no interval)", two(n.value));
    }
    format!("{} ({}–{})", two(n.value), two(n.low), two(n.high))
}

/// A place of n with its interval, at the digits that it carries: `4 096 (3 900–4 300)`; without one when
/// the place is exact. The interval is rounded outward.
pub(crate) fn place_with_interval(n: Interval) -> String {
    let width = n.high - n.low;
    if !is_bounded(n) || width < 1.0 {
        return fixed(n.value, 0);
    }
    let unit = 10f64.powf((width / 2.0).log10().floor() - 1.0).max(1.0);
    let (low, high) = ((n.low / unit).floor() * unit, (n.high / unit).ceil() * unit);
    format!("{} ({}–{})", fixed(n.value, 0), fixed(low, 0), fixed(high, 0))
}

/// A jump by a ratio: `+510 %`, `−30 %`; tenfold and beyond as a factor: `×2 000`.
pub fn change(ratio: f64) -> String {
    if !ratio.is_finite() || !(0.1..10.0).contains(&ratio) {
        return factor(ratio);
    }
    let share = rounded(ratio - 1.0, 2);
    let sign = if share < 0.0 { "−" } else { "+" };
    format!("{sign}{}", percent_by(share.abs(), f64::round))
}

/// A jump with its interval: `+510 % (+490 to +530 %)`, `×2 000 (1 900–2 100)`.
pub(crate) fn change_with_interval(ratio: Interval) -> String {
    if !is_bounded(ratio) {
        return format!("{} (no interval)", change(ratio.value));
    }
    if !(0.1..10.0).contains(&ratio.value) {
        return factor_with_interval(ratio);
    }
    format!("{} ({} to {})", change(ratio.value), change(ratio.low), change(ratio.high))
}

/// A bare number with its interval: `0.02 (−0.01 to 0.05)`.
pub(crate) fn number_with_interval(x: Interval) -> String {
    if !is_bounded(x) {
        return format!("{} (no interval)", fixed(x.value, 2));
    }
    format!("{} ({} to {})", fixed(x.value, 2), fixed(x.low, 2), fixed(x.high, 2))
}

/// A share as a percentage, rounded: `6 %`; a doubling or more as a factor.
pub fn percent(share: f64) -> String {
    if share >= 1.0 && share.is_finite() && (share - 1.0).abs() > 1e-9 {
        return factor(1.0 + share);
    }
    percent_by(share, f64::round)
}

/// A share with its interval, at the digits that it carries however small it is: `0.012 (0.011–0.013) %`; one
/// that is exact or has no interval stands alone.
pub fn share_with_interval(share: Interval) -> String {
    let (value, digits) = (share.value * 100.0, digits_carried(share).min(2));
    if !value.is_finite() {
        return "—".into();
    }
    if value != 0.0 && value.abs() < 1e-4 {
        return format!("{}0.0001{GAP}%", if value < 0.0 { "above −" } else { "below " });
    }
    let shown = |x: f64| fixed(rounded(x, digits + 1), decimals(value, digits));
    if !is_bounded(share) || share.low >= share.high {
        return format!("{}{GAP}%", shown(value));
    }
    let between = if share.low < 0.0 { " to " } else { "–" };
    format!("{} ({}{between}{}){GAP}%", shown(value), shown(share.low * 100.0), shown(share.high * 100.0))
}

/// A number of things that is an estimate, with its interval, at two digits: `480 000 (470 000–490 000)`, or
/// `0.04 (0.03–0.05)`; one that is exact or has no interval stands alone.
pub fn amount_with_interval(n: Interval) -> String {
    let digits = digits_carried(n);
    let shown = |x: f64| fixed(rounded(x, digits), decimals(n.value, digits));
    if !is_bounded(n) || n.low >= n.high {
        return shown(n.value);
    }
    format!("{} ({}–{})", shown(n.value), shown(n.low), shown(n.high))
}

/// A bound as a percentage, rounded away from zero so that it still bounds: `4 %` for 0.031. A bound
/// of a doubling or more is said as a factor.
pub fn bound(share: f64) -> String {
    if !share.is_finite() {
        return "∞".into();
    }
    // Rounding of a float above a whole percentage does not add another one.
    if share >= 1.0 { factor(1.0 + share) } else { percent_by(share, |x| (x - 1e-9).ceil()) }
}

fn percent_by(share: f64, round: fn(f64) -> f64) -> String {
    let percent = share * 100.0;
    if percent.abs() < 0.95 && percent != 0.0 {
        let tenths = round(percent * 10.0) / 10.0;
        return format!("{}{GAP}%", fixed(tenths, 1));
    }
    format!("{}{GAP}%", fixed(round(percent), 0))
}

/// A factor: `×1.01`, `×2.1`, `×2 100`.
pub fn factor(ratio: f64) -> String {
    if !ratio.is_finite() {
        return "—".into();
    }
    if is_far(ratio) {
        return format!("×{}", scientific(ratio, 2));
    }
    let (value, decimals) = factor_digits(ratio);
    format!("×{}", fixed(value, decimals))
}

/// An interval that ends further from its value than this factor comes from two or three trials that
/// disagree; its ends would be read as measured.
const WIDEST: f64 = 10.0;

/// A factor with its interval: `×2.1 (1.9–2.3)`.
pub(crate) fn factor_with_interval(ratio: Interval) -> String {
    if !ratio.value.is_finite() {
        return "—".into();
    }
    if !is_bounded(ratio) || ratio.high > WIDEST * ratio.value || ratio.low * WIDEST < ratio.value {
        return format!("{} (no interval)", factor(ratio.value));
    }
    let digits = digits_carried(ratio);
    if is_far(ratio.value) {
        let [value, low, high] = [ratio.value, ratio.low, ratio.high].map(|x| scientific(x, digits));
        return format!("×{value} ({low}–{high})");
    }
    let (_, plain) = factor_digits(ratio.value);
    let decimals = plain.max(decimals(ratio.value, digits).min(2));
    let shown = |x: f64| {
        // Hundreds are rounded to the digits that the interval carries, the rest to its decimals.
        let x = if ratio.value >= 100.0 && x > 0.0 { rounded(x, digits) } else { x };
        fixed(x, decimals)
    };
    format!("×{} ({}–{})", shown(ratio.value), shown(ratio.low), shown(ratio.high))
}

/// A factor without its interval, at the digits that this carries: the same number as beside it.
pub fn estimated_factor(ratio: Interval) -> String {
    let words = factor_with_interval(ratio);
    words.split_once(" (").map_or(words.as_str(), |(factor, _)| factor).to_owned()
}

/// A ratio with its interval and no sign before it: `1.18 (1.15–1.21)`.
pub(crate) fn ratio_with_interval(ratio: Interval) -> String {
    factor_with_interval(ratio).trim_start_matches('×').to_string()
}

/// The rounded value and its decimals: two up to 2 (a percent matters there), one up to 10, then two digits.
fn factor_digits(ratio: f64) -> (f64, usize) {
    match ratio {
        r if r < 0.095 => (rounded(r, 2), decimals(r, 2)),
        r if r < 1.995 => (r, 2),
        r if r < 9.95 => (r, 1),
        r => (rounded(r, 2), 0),
    }
}

/// Digits so that the last one shown is the first that the interval leaves open, between two and three.
pub(crate) fn digits_carried(estimate: Interval) -> u32 {
    let half_width = (estimate.high - estimate.low) / 2.0;
    if !half_width.is_finite() || half_width <= 0.0 || estimate.value <= 0.0 {
        return if half_width == 0.0 { 3 } else { 2 };
    }
    let open = half_width.log10().floor() as i32;
    (estimate.value.log10().floor() as i32 - open + 1).clamp(2, 3) as u32
}

/// Whether an interval says anything.
pub(crate) fn is_bounded(interval: Interval) -> bool {
    interval.low.is_finite() && interval.high.is_finite()
}

/// A value at so many significant digits.
pub(crate) fn rounded(value: f64, digits: u32) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let magnitude = value.abs().log10().floor() as i32;
    let power = 10f64.powi(digits as i32 - 1 - magnitude);
    (value * power).round() / power
}

/// Decimals that show a value at so many significant digits.
pub(crate) fn decimals(value: f64, digits: u32) -> usize {
    if value == 0.0 || !value.is_finite() {
        return 0;
    }
    let magnitude = rounded(value, digits).abs().log10().floor() as i32;
    (digits as i32 - 1 - magnitude).clamp(0, 9) as usize
}

/// A number with nothing but its digits and its power of ten: `1.2e306`.
pub(crate) fn scientific(value: f64, digits: u32) -> String {
    let decimals = digits.saturating_sub(1) as usize;
    let sign = if value < 0.0 { "−" } else { "" };
    format!("{sign}{:.decimals$e}", value.abs())
}

/// Whether a number is too long to be read with all its digits.
pub(crate) fn is_extreme(value: f64) -> bool {
    value != 0.0 && value.is_finite() && !(1e-15..1e15).contains(&value.abs())
}

/// Whether a factor is a matter of powers of ten.
fn is_far(ratio: f64) -> bool {
    ratio > 0.0 && ratio.is_finite() && !(1e-6..=1e6).contains(&ratio)
}

/// A number at fixed decimals, thousands apart, with a true minus; one too long for that by its power of ten.
pub(crate) fn fixed(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return if value == f64::INFINITY { "∞".into() } else { "—".into() };
    }
    if value.abs() >= 1.0 && is_extreme(value) {
        return scientific(value, 2);
    }
    let text = format!("{:.decimals$}", value.abs());
    let negative = value < 0.0 && text.bytes().any(|b| (b'1'..=b'9').contains(&b));
    let (whole, fraction) = text.split_once('.').map_or((text.as_str(), None), |(w, f)| (w, Some(f)));
    let mut out = String::from(if negative { "−" } else { "" });
    match whole.parse::<u64>() {
        Ok(whole) => out.push_str(&count(whole)),
        Err(_) => out.push_str(whole),
    }
    if let Some(fraction) = fraction {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

/// `a, b and c`, or of more than `most` names `a, b and 12 more`. One more is named and not counted.
pub fn some_of<T: AsRef<str>>(names: &[T], most: usize) -> String {
    let shown = if names.len() > most + 1 { most } else { names.len() };
    let more = (names.len() - shown) as u64;
    let named = names[..shown].iter().map(|name| name.as_ref().to_owned());
    let items: Vec<String> = named.chain((more > 0).then(|| format!("{} more", count(more)))).collect();
    list(&items)
}

/// Values by their key, in the order of the first of each key.
pub(crate) fn grouped<K: PartialEq, V>(pairs: impl IntoIterator<Item = (K, V)>) -> Vec<(K, Vec<V>)> {
    let mut groups: Vec<(K, Vec<V>)> = Vec::new();
    for (key, value) in pairs {
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, values)) => values.push(value),
            None => groups.push((key, vec![value])),
        }
    }
    groups
}

/// The same, with equal names of a key once.
pub(crate) fn grouped_once<K: PartialEq>(
    pairs: impl IntoIterator<Item = (K, String)>,
) -> Vec<(K, Vec<String>)> {
    let mut groups = grouped(pairs);
    for (_, names) in &mut groups {
        let mut seen = HashSet::new();
        names.retain(|name| seen.insert(name.clone()));
    }
    groups
}

/// The same words as a sentence: a capital letter before, a full stop behind.
pub fn sentence(words: &str) -> String {
    let words = words.trim();
    let stop = if words.is_empty() || words.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{}{stop}", capital(words))
}

/// The same words with a capital letter.
pub(crate) fn capital(words: &str) -> String {
    let mut chars = words.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => String::new(),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    #[test]
    fn many_names_are_counted() {
        assert_eq!(some_of(&["a", "b"], 2), "a and b");
        assert_eq!(some_of(&["a", "b", "c"], 2), "a, b and c");
        assert_eq!(some_of(&["a", "b", "c", "d"], 2), "a, b and 2 more");
    }

    pub(crate) fn plain(text: String) -> String {
        text.replace(GAP, " ")
    }

    pub(crate) fn interval(value: f64, low: f64, high: f64) -> Interval {
        Interval { value, low, high }
    }

    #[test]
    fn counts_are_grouped() {
        assert_eq!(plain(count(0)), "0");
        assert_eq!(plain(count(999)), "999");
        assert_eq!(plain(count(1_024)), "1 024");
        assert_eq!(plain(count(10_000)), "10 000");
        assert_eq!(plain(count(1_234_567)), "1 234 567");
        assert_eq!(plain(about(14_116.0)), "14 100");
    }

    #[test]
    fn bounds_still_bound() {
        assert_eq!(plain(bound(0.031)), "4 %");
        assert_eq!(plain(bound(0.03)), "3 %");
        assert_eq!(plain(bound(0.003)), "0.3 %");
        assert_eq!(plain(bound(1.4)), "×2.4");
        assert_eq!(plain(percent(0.064)), "6 %");
    }

    #[test]
    fn factors_keep_the_digits_that_matter() {
        assert_eq!(plain(factor_with_interval(interval(1.012, 0.99, 1.034))), "×1.01 (0.99–1.03)");
        assert_eq!(plain(factor_with_interval(interval(2.13, 1.94, 2.31))), "×2.1 (1.9–2.3)");
        assert_eq!(plain(factor_with_interval(interval(2134.0, 1913.0, 2310.0))), "×2 100 (1 900–2 300)");
        assert_eq!(plain(factor_with_interval(interval(2184.0, 2153.0, 2229.0))), "×2 180 (2 150–2 230)");
        assert_eq!(plain(factor_with_interval(interval(14.4, 13.1, 15.9))), "×14 (13–16)");
        assert_eq!(
            plain(factor_with_interval(interval(1.2e150, 1.1e150, 1.3e150))),
            "×1.2e150 (1.1e150–1.3e150)"
        );
        assert_eq!(plain(factor_with_interval(interval(1.06, 0.0, 120_051.0))), "×1.06 (no interval)");
        assert_eq!(plain(factor(1e6)), "×1 000 000");
        assert_eq!(plain(factor(1.2e7)), "×1.2e7");
        assert_eq!(plain(factor(1.2e-9)), "×1.2e-9");
        assert_eq!(plain(change(2.5e9)), "×2.5e9");
        assert_eq!(plain(bound(1e200)), "×1.0e200");
        assert_eq!(
            plain(count_with_interval(interval(1e300, 0.9e300, 1.1e300))),
            "1.0e300 (9.0e299–1.1e300)"
        );
        assert_eq!(plain(factor(0.012)), "×0.012");
        assert_eq!(plain(factor(14.4)), "×14");
    }

    #[test]
    fn places_and_jumps_keep_the_digits_they_carry() {
        assert_eq!(plain(place_with_interval(interval(4096.0, 3912.0, 4287.0))), "4 096 (3 910–4 290)");
        assert_eq!(
            plain(place_with_interval(interval(14_116.0, 14_090.4, 14_129.6))),
            "14 116 (14 090–14 130)"
        );
        assert_eq!(plain(place_with_interval(interval(4096.0, 4096.0, 4096.0))), "4 096");
        assert_eq!(plain(change(6.13)), "+510 %");
        assert_eq!(plain(change(0.698)), "−30 %");
        assert_eq!(plain(change(1.004)), "+0.4 %");
        assert_eq!(plain(change(2012.0)), "×2 000");
        assert_eq!(plain(change(0.0005)), "×0.00050");
        assert_eq!(plain(change_with_interval(interval(6.1, 5.9, 6.3))), "+510 % (+490 % to +530 %)");
    }
}

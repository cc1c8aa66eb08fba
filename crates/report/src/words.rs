//! Quantities in words: counts, times, shares, ratios. Every number a reader sees is written here.
//!
//! A narrow no-break space stands between the groups of thousands and before a unit; the table
//! turns it into what a terminal shows.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use record::SeriesKind;
use stats::Interval;

/// The space inside a quantity: narrow, and a line never breaks at it.
pub const GAP: char = '\u{202f}';

/// The space between words that a line does not break at.
pub const NO_BREAK: char = '\u{a0}';

/// A count with its thousands apart: `10 000`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() * 2);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) && digits.len() > 4 || i == 1 && digits.len() == 4 {
            out.push(GAP);
        }
        out.push(digit);
    }
    out
}

/// A count that is only a place on an axis, at three digits: `14 100` for 14 116.
pub fn about(n: f64) -> String {
    count(rounded(n, 3).max(0.0) as u64)
}

/// A number of things, in the singular or the plural: `1 trial`, `10 trials`.
pub fn things(n: usize, one: &str, many: &str) -> String {
    format!("{} {}", count(n as u64), if n == 1 { one } else { many })
}

/// What values are in. Each is written in the multiple that suits; bare numbers as they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// Seconds.
    #[default]
    Seconds,
    /// A rate, by the second: the only one of which more is better.
    PerSecond,
    /// Bytes, in powers of 1 024.
    Bytes,
    /// Numbers whose unit nobody named.
    None,
}

impl Unit {
    /// The unit of a kind of series.
    pub fn of(kind: &SeriesKind) -> Unit {
        let known = [Unit::Seconds, Unit::PerSecond, Unit::Bytes];
        known.into_iter().find(|unit| unit.name() == kind.unit).unwrap_or(Unit::None)
    }

    /// Its name in a record; empty for bare numbers.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Seconds => "s",
            Unit::PerSecond => "1/s",
            Unit::Bytes => "B",
            Unit::None => "",
        }
    }

    /// Whether more is better.
    pub fn more_is_better(self) -> bool {
        self == Unit::PerSecond
    }

    /// What a value is where its series has no better name: `cost`, `rate`, `size`.
    pub fn noun(self) -> &'static str {
        match self {
            Unit::Seconds | Unit::None => "cost",
            Unit::PerSecond => "rate",
            Unit::Bytes => "size",
        }
    }

    /// A cost at three digits: `1.21 µs`, `310 ns`; as a bare number `1 210`.
    pub fn cost(self, cost: f64) -> String {
        self.with_digits(cost, 3)
    }

    /// An estimate of a cost, at as many digits as its interval carries: two or three.
    pub fn estimate(self, cost: Interval) -> String {
        self.with_digits(cost.value, digits_carried(cost))
    }

    /// Two estimates to be read side by side, at the digits that both carry.
    pub fn estimates(self, one: Interval, two: Interval) -> (String, String) {
        let digits = digits_carried(one).min(digits_carried(two));
        (self.with_digits(one.value, digits), self.with_digits(two.value, digits))
    }

    /// An estimate with its interval, in one unit: `61 (58–64) µs`.
    pub fn estimate_with_interval(self, cost: Interval) -> String {
        if !is_bounded(cost) || cost.high > 1e3 * cost.value {
            return format!("{} (no interval)", self.estimate(cost));
        }
        let digits = digits_carried(cost);
        if self != Unit::Seconds && is_extreme(cost.value) {
            let [value, low, high] = [cost.value, cost.low, cost.high].map(|x| scientific(x, digits));
            return behind(format!("{value} ({low}–{high})"), self.scale(0.0).1.as_ref());
        }
        let (scale, symbol) = self.scale(rounded(cost.value, digits));
        let decimals = decimals(cost.value / scale, digits);
        let shown = |x: f64| fixed(rounded_if_large(x / scale, digits), decimals);
        behind(format!("{} ({}–{})", shown(cost.value), shown(cost.low), shown(cost.high)), &symbol)
    }

    /// A difference with its sign: `+1.3 µs`.
    pub fn signed(self, difference: f64, digits: u32) -> String {
        if !difference.is_finite() {
            return "—".into();
        }
        let sign = if difference < 0.0 { '−' } else { '+' };
        format!("{sign}{}", self.with_digits(difference.abs(), digits))
    }

    /// A difference with its sign and its interval, so many times: `+1.3 (+1.2 to +1.4) µs`.
    pub fn signed_interval(self, difference: Interval, times: f64) -> String {
        let Interval { value, low, high } = difference;
        let (value, low, high) = (value * times, low * times, high * times);
        if !value.is_finite() {
            return "—".into();
        }
        if !is_bounded(difference) {
            return format!("{} (no interval)", self.signed(value, 2));
        }
        let (scale, symbol) = self.scale(rounded(value.abs().max(low.abs()).max(high.abs()), 2));
        let open = ((high - low) / 2.0 / scale).log10().floor();
        let decimals = if open.is_finite() { (-open).clamp(0.0, 3.0) as usize } else { 2 };
        let signed = |x: f64| {
            let text = fixed(x / scale, decimals);
            if x > 0.0 && text.contains(|c: char| ('1'..='9').contains(&c)) {
                format!("+{text}")
            } else {
                text
            }
        };
        behind(format!("{} ({} to {})", signed(value), signed(low), signed(high)), &symbol)
    }

    /// A cost at the digits given.
    pub fn with_digits(self, cost: f64, digits: u32) -> String {
        if !cost.is_finite() {
            return "—".into();
        }
        if self != Unit::Seconds && is_extreme(cost) {
            return behind(scientific(cost, digits), self.scale(0.0).1.as_ref());
        }
        let (scale, symbol) = self.scale(rounded(cost, digits));
        let value = rounded(cost / scale, digits);
        behind(fixed(value, decimals(value, digits)), &symbol)
    }

    /// The multiple in which a cost is best written, and its symbol, which may be empty. Bare numbers too
    /// long to read are multiples of a power of a thousand: `1.2 × 1e-9`.
    pub fn scale(self, cost: f64) -> (f64, Cow<'static, str>) {
        match self {
            Unit::Seconds => {
                let (scale, symbol) = time_unit(cost);
                (scale, symbol.into())
            }
            Unit::PerSecond => multiple(cost, &RATES),
            Unit::Bytes => multiple(cost, &SIZES),
            Unit::None => {
                // Room for what a float leaves out of a thousand, and no power that a float cannot hold.
                let power = 3 * (cost.abs().log10() / 3.0 + 1e-8).floor().clamp(-102.0, 102.0) as i32;
                if cost == 0.0 || !cost.is_finite() || READABLE.contains(&power) {
                    (1.0, "".into())
                } else {
                    (10f64.powi(power), format!("× 1e{power}").into())
                }
            }
        }
    }
}

/// Multiples of a rate: thousands are written out, as they are read.
const RATES: [(f64, &str); 3] = [(1e9, "G/s"), (1e6, "M/s"), (1.0, "/s")];
/// Multiples of a byte.
const SIZES: [(f64, &str); 5] =
    [(TIB, "TiB"), (TIB / 1024.0, "GiB"), (1024.0 * 1024.0, "MiB"), (1024.0, "KiB"), (1.0, "B")];
const TIB: f64 = (1_u64 << 40) as f64;

/// The largest multiple that is not more than a value; the last where there is none.
fn multiple(value: f64, multiples: &[(f64, &'static str)]) -> (f64, Cow<'static, str>) {
    // Room for what a float leaves out of a whole.
    let fits = |(scale, _): &&(f64, &'static str)| value.abs() >= scale * 0.999_999_9;
    let found = multiples.iter().find(fits).or(multiples.last());
    found.map_or((1.0, "".into()), |(scale, symbol)| (*scale, (*symbol).into()))
}

/// Powers of a thousand in which bare numbers are written out: 0.001 to 999 999 999.
const READABLE: RangeInclusive<i32> = -3..=6;

/// A quantity with the symbol of its unit, if it has one.
fn behind(quantity: String, symbol: &str) -> String {
    if symbol.is_empty() { quantity } else { format!("{quantity}{GAP}{symbol}") }
}

/// Hundreds and more are rounded to the digits that are carried; what is smaller has decimals for that.
fn rounded_if_large(value: f64, digits: u32) -> f64 {
    if value.abs() >= 1000.0 { rounded(value, digits) } else { value }
}

/// Seconds at three digits, in the unit that suits: `1.21 µs`, `310 ns`.
pub fn time(seconds: f64) -> String {
    Unit::Seconds.cost(seconds)
}

/// An estimate of seconds, at as many digits as its interval carries: two or three.
pub fn estimate(seconds: Interval) -> String {
    Unit::Seconds.estimate(seconds)
}

/// Two estimates of seconds to be read side by side, at the digits that both carry.
pub fn estimates(one: Interval, two: Interval) -> (String, String) {
    Unit::Seconds.estimates(one, two)
}

/// An estimate of seconds with its interval, in one unit: `61 (58–64) µs`.
pub fn estimate_with_interval(seconds: Interval) -> String {
    Unit::Seconds.estimate_with_interval(seconds)
}

/// A difference of seconds with its sign: `+1.3 µs`.
pub fn signed_time(seconds: f64, digits: u32) -> String {
    Unit::Seconds.signed(seconds, digits)
}

/// A difference of seconds with its sign and its interval, so many times: `+1.3 (1.2–1.4) µs`.
pub fn signed_interval(seconds: Interval, times: f64) -> String {
    Unit::Seconds.signed_interval(seconds, times)
}

/// Seconds at the digits given, in the unit that suits.
pub fn with_digits(seconds: f64, digits: u32) -> String {
    Unit::Seconds.with_digits(seconds, digits)
}

/// A count that is an estimate, with its interval: `13 000 (12 000–15 000)`.
pub fn count_with_interval(n: Interval) -> String {
    let two = |x: f64| fixed(rounded(x, 2), 0);
    if !is_bounded(n) {
        return format!("{} (no interval)", two(n.value));
    }
    format!("{} ({}–{})", two(n.value), two(n.low), two(n.high))
}

/// A place of n with its interval, at the digits that it carries: `4 096 (3 900–4 300)`; without one when
/// the place is exact. The interval is rounded outward.
pub fn place_with_interval(n: Interval) -> String {
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
pub fn change_with_interval(ratio: Interval) -> String {
    if !is_bounded(ratio) {
        return format!("{} (no interval)", change(ratio.value));
    }
    if !(0.1..10.0).contains(&ratio.value) {
        return factor_with_interval(ratio);
    }
    format!("{} ({} to {})", change(ratio.value), change(ratio.low), change(ratio.high))
}

/// A bare number with its interval: `0.02 (−0.01 to 0.05)`.
pub fn number_with_interval(x: Interval) -> String {
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

/// A bound as a percentage, rounded away from zero so that it still bounds: `4 %` for 0.031. A bound
/// of a doubling or more is said as a factor.
pub fn bound(share: f64) -> String {
    if !share.is_finite() {
        return "∞".into();
    }
    // What a float adds above a whole percentage is not worth another one.
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

/// A factor with its interval: `×2.1 (1.9–2.3)`.
pub fn factor_with_interval(ratio: Interval) -> String {
    if !ratio.value.is_finite() {
        return "—".into();
    }
    if !is_bounded(ratio) || ratio.high > 1e6 * ratio.value {
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

/// A ratio with its interval and no sign before it: `1.18 (1.15–1.21)`.
pub fn ratio_with_interval(ratio: Interval) -> String {
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

/// The unit that suits a time: its size in seconds and its symbol.
pub fn time_unit(seconds: f64) -> (f64, &'static str) {
    match seconds.abs() {
        // Room for what a float leaves out of a thousand.
        s if s >= 0.999_999_9 => (1.0, "s"),
        s if s >= 0.999_999_9e-3 => (1e-3, "ms"),
        s if s >= 0.999_999_9e-6 => (1e-6, "µs"),
        _ => (1e-9, "ns"),
    }
}

/// Digits so that the last one shown is the first that the interval leaves open, between two and three.
fn digits_carried(estimate: Interval) -> u32 {
    let half_width = (estimate.high - estimate.low) / 2.0;
    if !half_width.is_finite() || half_width <= 0.0 || estimate.value <= 0.0 {
        return if half_width == 0.0 { 3 } else { 2 };
    }
    let open = half_width.log10().floor() as i32;
    (estimate.value.log10().floor() as i32 - open + 1).clamp(2, 3) as u32
}

/// Whether an interval says anything.
fn is_bounded(interval: Interval) -> bool {
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
fn decimals(value: f64, digits: u32) -> usize {
    if value == 0.0 || !value.is_finite() {
        return 0;
    }
    let magnitude = rounded(value, digits).abs().log10().floor() as i32;
    (digits as i32 - 1 - magnitude).clamp(0, 9) as usize
}

/// A number with nothing but its digits and its power of ten: `1.2e306`.
fn scientific(value: f64, digits: u32) -> String {
    let decimals = digits.saturating_sub(1) as usize;
    let sign = if value < 0.0 { "−" } else { "" };
    format!("{sign}{:.decimals$e}", value.abs())
}

/// Whether a number is too long to be read with all its digits.
fn is_extreme(value: f64) -> bool {
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

/// Seconds of waiting, for people: `48 s`, `3 min 20 s`, `1 h 4 min`.
pub fn duration(seconds: f64) -> String {
    let whole = seconds.max(0.0).round() as u64;
    match whole {
        _ if seconds < 1.0 => time(seconds),
        0..60 => format!("{whole}{GAP}s"),
        60..3600 => two_units(whole / 60, "min", whole % 60, "s"),
        _ => two_units(whole / 3600, "h", whole % 3600 / 60, "min"),
    }
}

fn two_units(large: u64, large_unit: &str, small: u64, small_unit: &str) -> String {
    match small {
        0 => format!("{large}{GAP}{large_unit}"),
        _ => format!("{large}{GAP}{large_unit} {small}{GAP}{small_unit}"),
    }
}

/// Words in a row: `a`, `a and b`, `a, b and c`.
pub fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: String) -> String {
        text.replace(GAP, " ")
    }

    fn interval(value: f64, low: f64, high: f64) -> Interval {
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
    fn times_take_the_unit_that_suits() {
        assert_eq!(plain(time(1.214e-6)), "1.21 µs");
        assert_eq!(plain(time(310e-9)), "310 ns");
        assert_eq!(plain(time(61e-6)), "61.0 µs");
        assert_eq!(plain(time(0.999_9e-6)), "1.00 µs");
        assert_eq!(plain(time(2.5)), "2.50 s");
        assert_eq!(plain(time(0.0)), "0 ns");
        assert_eq!(plain(Unit::Seconds.estimate(interval(61.2e-6, 58e-6, 64e-6))), "61 µs");
        assert_eq!(plain(Unit::Seconds.estimate(interval(61.2e-6, 61e-6, 61.4e-6))), "61.2 µs");
        assert_eq!(
            plain(Unit::Seconds.estimate_with_interval(interval(61.2e-6, 58e-6, 64e-6))),
            "61 (58–64) µs"
        );
        assert_eq!(
            plain(Unit::Seconds.estimate_with_interval(interval(11.9e-6, 11.7e-6, 12.2e-6))),
            "11.9 (11.7–12.2) µs"
        );
        assert_eq!(
            plain(Unit::Seconds.signed_interval(interval(9.2e-9, 8.7e-9, 9.8e-9), 1e3)),
            "+9.2 (+8.7 to +9.8) µs"
        );
        assert_eq!(plain(Unit::Seconds.signed(-0.2e-6, 2)), "−200 ns");
    }

    #[test]
    fn rates_and_sizes_take_the_multiple_that_suits() {
        let rate = Unit::PerSecond;
        assert_eq!(plain(rate.cost(118_234.0)), "118 000 /s");
        assert_eq!(plain(rate.with_digits(1_214_000.0, 2)), "1.2 M/s");
        assert_eq!(plain(rate.cost(999_999.99)), "1.00 M/s");
        assert_eq!(plain(rate.cost(0.0)), "0 /s");
        assert_eq!(plain(rate.cost(1e-300)), "1.00e-300 /s");
        assert_eq!(
            plain(rate.estimate_with_interval(interval(118_234.0, 115_100.0, 121_300.0))),
            "118 000 (115 000–121 000) /s"
        );
        assert_eq!(plain(rate.signed(-1_310.0, 2)), "−1 300 /s");
        let size = Unit::Bytes;
        assert_eq!(plain(size.with_digits(9_318.0, 2)), "9.1 KiB");
        assert_eq!(plain(size.cost(512.0)), "512 B");
        assert_eq!(plain(size.cost(1_048_576.0)), "1.00 MiB");
        assert_eq!(
            plain(size.estimate_with_interval(interval(9_318.0, 9_011.0, 9_625.0))),
            "9.1 (8.8–9.4) KiB"
        );
        for unit in [Unit::Seconds, Unit::PerSecond, Unit::Bytes, Unit::None] {
            assert_eq!(unit.more_is_better(), unit.name() == "1/s");
        }
    }

    #[test]
    fn bare_numbers_are_written_as_they_are() {
        let unit = Unit::None;
        assert_eq!(plain(unit.cost(1.0)), "1.00");
        assert_eq!(plain(unit.cost(1_214.0)), "1 210");
        assert_eq!(plain(unit.cost(0.012_14)), "0.0121");
        assert_eq!(plain(unit.cost(999_999_999.0)), "1.00 × 1e9");
        assert_eq!(plain(unit.cost(1.21e-9)), "1.21 × 1e-9");
        assert_eq!(plain(unit.cost(1.0e308)), "1.00e308");
        let huge = interval(1.23e306, 1.1e306, 1.34e306);
        assert_eq!(plain(unit.estimate_with_interval(huge)), "1.2e306 (1.1e306–1.3e306)");
        assert_eq!(plain(unit.with_digits(1.23e-300, 2)), "1.2e-300");
        assert_eq!(plain(unit.signed(-1.23e20, 2)), "−1.2e20");
        assert_eq!(plain(unit.signed(f64::INFINITY, 2)), "—");
        assert_eq!(plain(Unit::Seconds.cost(1e308)), "1.0e308 s");
        assert_eq!(plain(unit.cost(0.0)), "0");
        assert_eq!(plain(unit.cost(f64::NAN)), "—");
        assert_eq!(
            plain(unit.estimate_with_interval(interval(61_234.0, 58_111.0, 64_222.0))),
            "61 000 (58 000–64 000)"
        );
        assert_eq!(plain(unit.estimate_with_interval(interval(61.2e9, 58e9, 64e9))), "61 (58–64) × 1e9");
        assert_eq!(plain(unit.signed_interval(interval(9.2, 8.7, 9.8), 1.0)), "+9.2 (+8.7 to +9.8)");
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

    #[test]
    fn waiting_is_said_for_people() {
        assert_eq!(plain(duration(48.2)), "48 s");
        assert_eq!(plain(duration(200.0)), "3 min 20 s");
        assert_eq!(plain(duration(3840.0)), "1 h 4 min");
    }
}

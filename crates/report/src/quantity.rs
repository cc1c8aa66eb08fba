//! Values with their unit in words: times, rates, sizes. Each is written in the multiple that suits.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use record::Unit;
use stats::Interval;

use crate::words::{GAP, decimals, digits_carried, fixed, is_bounded, is_extreme, rounded, scientific};

/// How values of a unit are written.
pub(crate) trait Quantity: Copy {
    /// The kind of a value whose series has no better name: `cost`, `rate`, `size`.
    fn noun(self) -> &'static str;

    /// A cost at three digits: `1.21 µs`, `310 ns`; as a bare number `1 210`.
    fn cost(self, cost: f64) -> String;

    /// An estimate of a cost, at as many digits as its interval carries: two or three.
    fn estimate(self, cost: Interval) -> String;

    /// Two estimates to be read side by side, at the digits that both carry.
    fn estimates(self, one: Interval, two: Interval) -> (String, String);

    /// An estimate with its interval, in one unit: `61 (58–64) µs`.
    fn estimate_with_interval(self, cost: Interval) -> String;

    /// Two estimates with their intervals to be read side by side, at the digits that both carry.
    fn estimates_with_interval(self, one: Interval, two: Interval) -> (String, String);

    /// A difference with its sign: `+1.3 µs`.
    fn signed(self, difference: f64, digits: u32) -> String;

    /// A difference with its sign and its interval, so many times: `+1.3 (+1.2 to +1.4) µs`.
    fn signed_interval(self, difference: Interval, times: f64) -> String;

    /// A cost at the digits given.
    fn with_digits(self, cost: f64, digits: u32) -> String;

    /// The multiple in which a cost is best written, and its symbol, which may be empty. Bare numbers too
    /// long to read are multiples of a power of a thousand: `1.2 × 1e-9`.
    fn scale(self, cost: f64) -> (f64, Cow<'static, str>);
}

impl Quantity for Unit {
    fn noun(self) -> &'static str {
        match self {
            Unit::Seconds | Unit::None => "cost",
            Unit::PerSecond => "rate",
            Unit::Bytes => "size",
            Unit::BytesPerSecond => "throughput",
        }
    }

    fn cost(self, cost: f64) -> String {
        self.with_digits(cost, 3)
    }

    fn estimate(self, cost: Interval) -> String {
        self.with_digits(cost.value, digits_carried(cost))
    }

    fn estimates(self, one: Interval, two: Interval) -> (String, String) {
        let digits = digits_carried(one).min(digits_carried(two));
        (self.with_digits(one.value, digits), self.with_digits(two.value, digits))
    }

    fn estimate_with_interval(self, cost: Interval) -> String {
        interval_with_digits(self, cost, digits_carried(cost))
    }

    fn estimates_with_interval(self, one: Interval, two: Interval) -> (String, String) {
        let digits = digits_carried(one).min(digits_carried(two));
        (interval_with_digits(self, one, digits), interval_with_digits(self, two, digits))
    }

    fn signed(self, difference: f64, digits: u32) -> String {
        if !difference.is_finite() {
            return "—".into();
        }
        let sign = if difference < 0.0 { '−' } else { '+' };
        format!("{sign}{}", self.with_digits(difference.abs(), digits))
    }

    fn signed_interval(self, difference: Interval, times: f64) -> String {
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

    fn with_digits(self, cost: f64, digits: u32) -> String {
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

    fn scale(self, cost: f64) -> (f64, Cow<'static, str>) {
        match self {
            Unit::Seconds => {
                let (scale, symbol) = time_unit(cost);
                (scale, symbol.into())
            }
            Unit::PerSecond => multiple(cost, &RATES),
            Unit::Bytes => multiple(cost, &SIZES),
            Unit::BytesPerSecond => {
                let (scale, symbol) = multiple(cost, &SIZES);
                (scale, format!("{symbol}/s").into())
            }
            Unit::None => {
                // Room for rounding of a float near a thousand, and no power that a float cannot hold.
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

/// A value with its interval in one unit, at the digits given; with the remark "no interval" where it is
/// unbounded.
fn interval_with_digits(unit: Unit, cost: Interval, digits: u32) -> String {
    if !is_bounded(cost) || cost.high > 1e3 * cost.value {
        // It is as it was measured: two values that differ by 5 % must not be printed as one.
        return format!("{} (no interval)", unit.with_digits(cost.value, digits.max(3)));
    }
    if unit != Unit::Seconds && is_extreme(cost.value) {
        let [value, low, high] = [cost.value, cost.low, cost.high].map(|x| scientific(x, digits));
        return behind(format!("{value} ({low}–{high})"), unit.scale(0.0).1.as_ref());
    }
    let (scale, symbol) = unit.scale(rounded(cost.value, digits));
    let decimals = decimals(cost.value / scale, digits);
    let [value, low, high] =
        [cost.value, cost.low, cost.high].map(|x| fixed(rounded_if_large(x / scale, digits), decimals));
    // An interval that is exact at these digits is one number.
    let is_exact = low == value && high == value;
    behind(if is_exact { value } else { format!("{value} ({low}–{high})") }, &symbol)
}

/// Multiples of a rate: thousands are written out, as they are read.
const RATES: [(f64, &str); 3] = [(1e9, "G/s"), (1e6, "M/s"), (1.0, "/s")];
/// Multiples of a byte.
const SIZES: [(f64, &str); 5] =
    [(TIB, "TiB"), (TIB / 1024.0, "GiB"), (1024.0 * 1024.0, "MiB"), (1024.0, "KiB"), (1.0, "B")];
const TIB: f64 = (1_u64 << 40) as f64;

/// The largest multiple that is not more than a value; the last where there is none.
fn multiple(value: f64, multiples: &[(f64, &'static str)]) -> (f64, Cow<'static, str>) {
    // Room for rounding of a float near a whole.
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

/// Hundreds and more are rounded to the digits that are carried; smaller values have decimals for that.
fn rounded_if_large(value: f64, digits: u32) -> f64 {
    if value.abs() >= 100.0 { rounded(value, digits) } else { value }
}

/// Seconds at three digits, in the unit that suits: `1.21 µs`, `310 ns`.
pub fn time(seconds: f64) -> String {
    Unit::Seconds.cost(seconds)
}

/// Seconds with their interval: `61 (58–64) µs`; a value that is exact or has none stands alone.
pub fn time_with_interval(seconds: Interval) -> String {
    if seconds.low < seconds.high {
        Unit::Seconds.estimate_with_interval(seconds)
    } else {
        time(seconds.value)
    }
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

/// The unit that suits a time: its size in seconds and its symbol.
fn time_unit(seconds: f64) -> (f64, &'static str) {
    match seconds.abs() {
        // Room for rounding of a float near a thousand.
        s if s >= 0.999_999_9 => (1.0, "s"),
        s if s >= 0.999_999_9e-3 => (1e-3, "ms"),
        s if s >= 0.999_999_9e-6 => (1e-6, "µs"),
        _ => (1e-9, "ns"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::tests::{interval, plain};

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
        assert_eq!(plain(Unit::BytesPerSecond.cost(1_048_576.0)), "1.00 MiB/s");
        let units = [Unit::Seconds, Unit::PerSecond, Unit::Bytes, Unit::BytesPerSecond, Unit::None];
        for unit in units {
            assert_eq!(unit.more_is_better(), unit.name().ends_with("/s"));
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
    fn waiting_is_said_for_people() {
        assert_eq!(plain(duration(48.2)), "48 s");
        assert_eq!(plain(duration(200.0)), "3 min 20 s");
        assert_eq!(plain(duration(3840.0)), "1 h 4 min");
    }
}

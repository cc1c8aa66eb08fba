//! Amounts as a person writes them: a number and its unit, nothing else.
//!
//! Units are strict, because a wrong guess is a factor of eight or of a thousand: `mbps` means bits to most
//! and bytes to tc(8). Each is refused with the words to write instead.

/// A background that cannot be read: what it was, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot read \"{text}\": {advice}")]
pub struct UnreadableBackground {
    text: String,
    advice: String,
}

impl UnreadableBackground {
    pub(crate) fn new(text: &str, advice: impl Into<String>) -> UnreadableBackground {
        UnreadableBackground { text: text.to_owned(), advice: advice.into() }
    }
}

/// Units of one quantity by rising size: what a user writes, and its factor.
pub(crate) type Units = &'static [(&'static str, f64)];

pub(crate) const SHARES: Units = &[("%", 0.01)];
/// Bytes per second of a line.
pub(crate) const LINES: Units =
    &[("bit", 0.125), ("kbit", 125.0), ("mbit", 125e3), ("gbit", 125e6), ("tbit", 125e9)];
pub(crate) const BYTE_RATES: Units = &[
    ("B/s", 1.0),
    ("kB/s", 1e3),
    ("MB/s", 1e6),
    ("GB/s", 1e9),
    ("KiB/s", 1024.0),
    ("MiB/s", 1_048_576.0),
    ("GiB/s", 1_073_741_824.0),
];
/// A letter alone is a power of 1024, as ulimit(1), QEMU and dd(1) have it.
pub(crate) const SIZES: Units = &[
    ("B", 1.0),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("K", 1024.0),
    ("KiB", 1024.0),
    ("M", 1_048_576.0),
    ("MiB", 1_048_576.0),
    ("G", 1_073_741_824.0),
    ("GiB", 1_073_741_824.0),
];
pub(crate) const EVENT_RATES: Units = &[("/s", 1.0), ("k/s", 1e3), ("M/s", 1e6), ("G/s", 1e9)];
pub(crate) const COUNTS: Units = &[("", 1.0), ("k", 1e3), ("M", 1e6)];

/// A number directly followed by one of the units.
pub(crate) fn parse(text: &str, units: Units, example: &str) -> Result<f64, UnreadableBackground> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let is_number = number.starts_with(|c: char| c.is_ascii_digit()) && !number.ends_with('.');
    let value: f64 = match number.parse() {
        Ok(value) if is_number => value,
        _ => {
            return Err(UnreadableBackground::new(
                text,
                format!("write a number and its unit, such as {example}"),
            ));
        }
    };
    let Some((_, factor)) = units.iter().find(|(name, _)| *name == unit) else {
        return Err(UnreadableBackground::new(text, advice(unit, units, example)));
    };
    Ok(value * factor)
}

/// What to write instead of a unit that is none here.
fn advice(unit: &str, units: Units, example: &str) -> String {
    let named: Vec<&str> = units.iter().map(|(name, _)| *name).filter(|name| !name.is_empty()).collect();
    let known = format!("write {example}; the units here are {}", named.join(", "));
    match unit.to_ascii_lowercase().as_str() {
        "" => format!("it has no unit; {known}"),
        "bps" | "kbps" | "mbps" | "gbps" => {
            format!("\"{unit}\" is bits to most and bytes to some; {known}")
        }
        _ => format!("\"{unit}\" is no unit here; {known}"),
    }
}

/// The value in the largest of the units that leaves at least 1, so that equal amounts are equal texts.
pub(crate) fn written(value: f64, units: Units) -> String {
    // Of units that mean the same, the decimal ones.
    let is_decimal = |factor: f64| !is_power_of_two(factor) || factor <= 1.0;
    let decimal = || units.iter().filter(|(_, factor)| is_decimal(*factor));
    let fits = decimal().rev().find(|(_, factor)| value >= *factor).or_else(|| decimal().next());
    let (unit, factor) = fits.copied().unwrap_or(("", 1.0));
    /// More digits than anybody writes, and fewer than the rounding of a division shows.
    const DIGITS: f64 = 1e9;
    format!("{}{unit}", (value / factor * DIGITS).round() / DIGITS)
}

/// Whether the digits of its binary form are zeros. Logarithms would link the program of the kernel's
/// workloads with one more library, and fork(2) would copy that.
fn is_power_of_two(factor: f64) -> bool {
    factor.is_normal() && factor.to_bits().trailing_zeros() >= f64::MANTISSA_DIGITS - 1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn units_are_what_they_say() {
        assert_eq!(parse("50%", SHARES, "50%"), Ok(0.5));
        assert_eq!(parse("100mbit", LINES, "100mbit"), Ok(12.5e6));
        assert_eq!(parse("2G", SIZES, "2G"), Ok(2.0 * 1024.0 * 1024.0 * 1024.0));
        assert_eq!(parse("2GB", SIZES, "2G"), Ok(2e9));
        assert_eq!(parse("1.5M/s", EVENT_RATES, "1M/s"), Ok(1.5e6));
    }

    #[test]
    fn nonsense_is_refused_with_words_to_write_instead() {
        for (text, units, says) in [
            ("50", SHARES, "it has no unit; write 50%"),
            ("100mbps", LINES, "is bits to most and bytes to some"),
            ("-5%", SHARES, "a number and its unit"),
            ("5.%", SHARES, "a number and its unit"),
            ("1.2.3%", SHARES, "a number and its unit"),
            ("1e3%", SHARES, "\"e3%\" is no unit here"),
            ("20MB", BYTE_RATES, "\"MB\" is no unit here"),
            ("", SHARES, "a number and its unit"),
        ] {
            let error = parse(text, units, "50%").unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_as_the_same(value in 0.01..1e6_f64, which in 0..4_usize) {
            let units = [LINES, BYTE_RATES, SIZES, EVENT_RATES][which];
            let text = written(value, units);
            let read = parse(&text, units, "").unwrap();
            prop_assert!((read / value - 1.0).abs() < 1e-6, "{} is {}, not {}", text, read, value);
            prop_assert_eq!(written(read, units), text);
        }
    }
}

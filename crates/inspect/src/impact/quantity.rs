//! Times, rates and sizes as a person writes them: a number and its unit, nothing else.
//!
//! Units are strict, because a wrong guess is a factor of eight or of a thousand: `mbps` means bits to most
//! and bytes to tc(8), and `28.8k` names no unit at all. Each is refused with the words to write instead.

/// A text that is no quantity, path or cost: what it was, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot read \"{text}\": {advice}")]
pub struct Misread {
    text: String,
    advice: String,
}

impl Misread {
    pub(super) fn new(text: &str, advice: impl Into<String>) -> Misread {
        Misread { text: text.to_owned(), advice: advice.into() }
    }
}

/// A number with its unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Quantity {
    Seconds(f64),
    BitsPerSecond(f64),
    Bytes(f64),
}

/// Longer, faster or larger than anything that exists, and far from where sums of floats go wrong.
const MOST: f64 = 1e18;
const LEAST: f64 = 1e-15;

const TIMES: &[(&str, f64)] =
    &[("ns", 1e-9), ("us", 1e-6), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0), ("min", 60.0), ("h", 3600.0)];
const RATES: &[(&str, f64)] =
    &[("bit", 1.0), ("kbit", 1e3), ("mbit", 1e6), ("gbit", 1e9), ("tbit", 1e12), ("kibit", 1024.0)];
const SIZES: &[(&str, f64)] = &[
    ("B", 1.0),
    ("kB", 1e3),
    ("KB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("TB", 1e12),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("TiB", 1_099_511_627_776.0),
];
const UNITS: &str = "units of time are ns, us, ms, s, min and h, of rates bit, kbit, mbit, gbit, kB/s, MB/s \
                     and GB/s, of sizes B, kB, MB, GB, KiB, MiB and GiB";

impl Quantity {
    /// A number directly followed by its unit: `2ms`, `28.8kbit`, `50MB`, `12MB/s`.
    pub(super) fn parse(text: &str) -> Result<Quantity, Misread> {
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at(end);
        let value: f64 = number
            .parse()
            .ok()
            .filter(|_| number.starts_with(|c: char| c.is_ascii_digit()) && !number.ends_with('.'))
            .ok_or_else(|| Misread::new(text, "write a number and its unit, such as 2ms or 16mbit"))?;
        let quantity = Quantity::of(value, unit).ok_or_else(|| Misread::new(text, advice(unit)))?;
        match quantity.value() {
            0.0 => Err(Misread::new(text, "it must be more than zero")),
            least if least < LEAST => Err(Misread::new(text, "nothing is as small as that")),
            most if most > MOST => Err(Misread::new(text, "nothing is as large as that")),
            _ => Ok(quantity),
        }
    }

    fn of(value: f64, unit: &str) -> Option<Quantity> {
        let find = |units: &[(&str, f64)], unit: &str| {
            units.iter().find(|(name, _)| *name == unit).map(|(_, scale)| value * scale)
        };
        let bits = unit.strip_suffix("/s").unwrap_or(unit).to_ascii_lowercase();
        find(TIMES, unit)
            .map(Quantity::Seconds)
            .or_else(|| find(RATES, &bits).map(Quantity::BitsPerSecond))
            .or_else(|| find(SIZES, unit).map(Quantity::Bytes))
            .or_else(|| {
                find(SIZES, unit.strip_suffix("/s")?).map(|bytes| Quantity::BitsPerSecond(bytes * 8.0))
            })
    }

    fn value(self) -> f64 {
        match self {
            Quantity::Seconds(value) | Quantity::BitsPerSecond(value) | Quantity::Bytes(value) => value,
        }
    }
}

/// What to write instead of a unit that is none.
fn advice(unit: &str) -> String {
    match unit.to_ascii_lowercase().as_str() {
        "" => format!("it has no unit; {UNITS}"),
        "k" | "m" | "g" | "t" => {
            format!("\"{unit}\" is no unit; write {unit}bit for a line, or {unit}B for a size")
        }
        "bps" | "kbps" | "mbps" | "gbps" | "tbps" => {
            let prefix = &unit[..unit.len() - 3];
            format!(
                "\"{unit}\" is bits to most and bytes to some; write {}bit or {prefix}B/s",
                prefix.to_ascii_lowercase()
            )
        }
        "b" | "kb" | "mb" | "gb" | "tb" | "mb/s" | "kb/s" | "gb/s" => {
            "a B is a byte, as in MB and MB/s, and bits are written bit, as in mbit".to_owned()
        }
        "sec" | "second" | "seconds" => "a second is written s".to_owned(),
        "msec" | "millis" => "a millisecond is written ms".to_owned(),
        "usec" => "a microsecond is written us".to_owned(),
        _ => format!("\"{unit}\" is no unit; {UNITS}"),
    }
}

/// A duration such as `2ms`, in seconds.
///
/// # Errors
/// [`Misread`] with what to write instead.
pub(super) fn seconds(text: &str) -> Result<f64, Misread> {
    match Quantity::parse(text)? {
        Quantity::Seconds(seconds) => Ok(seconds),
        _ => Err(Misread::new(text, "a time is wanted here, such as 2ms")),
    }
}

/// A size such as `50MB`, in bytes.
///
/// # Errors
/// [`Misread`] with what to write instead.
pub fn bytes(text: &str) -> Result<f64, Misread> {
    match Quantity::parse(text.trim())? {
        Quantity::Bytes(bytes) => Ok(bytes),
        _ => Err(Misread::new(text, "a size is wanted here, such as 50MB")),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn units_are_what_they_say() {
        let read = |text| Quantity::parse(text).unwrap();
        assert_eq!(read("2ms"), Quantity::Seconds(0.002));
        assert_eq!(read("1.5min"), Quantity::Seconds(90.0));
        assert_eq!(read("28.8kbit"), Quantity::BitsPerSecond(28_800.0));
        assert_eq!(read("16Mbit/s"), Quantity::BitsPerSecond(16e6));
        assert_eq!(read("2MB/s"), Quantity::BitsPerSecond(16e6));
        assert_eq!(read("50MiB"), Quantity::Bytes(50.0 * 1024.0 * 1024.0));
    }

    #[test]
    fn nonsense_is_refused_with_words_to_write_instead() {
        for (text, says) in [
            ("28.8k", "write kbit for a line"),
            ("16mbps", "write mbit or mB/s"),
            ("5", "has no unit"),
            ("5parsec", "\"parsec\" is no unit"),
            ("ms", "a number and its unit"),
            ("-2ms", "a number and its unit"),
            ("1e3ms", "\"e3ms\" is no unit"),
            ("2.ms", "a number and its unit"),
            ("1.2.3ms", "a number and its unit"),
            ("0ms", "more than zero"),
            ("50mb", "a B is a byte"),
            ("999999999999999999999h", "as large as that"),
            ("2 ms", "\" ms\" is no unit"),
        ] {
            let error = Quantity::parse(text).unwrap_err().to_string();
            assert!(error.contains(says) && error.contains(text), "{text}: {error}");
        }
        assert!(bytes("2ms").unwrap_err().to_string().contains("a size is wanted"));
        assert!(seconds("2MB").unwrap_err().to_string().contains("a time is wanted"));
    }

    proptest! {
        #[test]
        fn whatever_is_written_is_a_quantity_above_zero_or_an_error(text in "\\PC{0,20}") {
            if let Ok(quantity) = Quantity::parse(&text) {
                prop_assert!(quantity.value() > 0.0 && quantity.value().is_finite());
            }
        }

        #[test]
        fn every_number_has_its_value_in_every_unit(value in 0.001..1e6_f64, unit in 0..TIMES.len()) {
            let (name, scale) = TIMES[unit];
            let read = Quantity::parse(&format!("{value}{name}")).unwrap();
            prop_assert_eq!(read, Quantity::Seconds(value * scale));
        }
    }
}

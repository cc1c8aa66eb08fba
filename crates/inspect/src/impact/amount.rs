//! Amounts of an estimate: more than nothing, and no more than exists.

use record::units::{self, Quantity, Unreadable};

/// Longer, faster or larger than anything that exists, and far from where sums of floats go wrong.
const MOST: f64 = 1e18;
const LEAST: f64 = 1e-15;

/// A time such as `2ms`, in seconds.
pub(super) fn seconds(text: &str) -> Result<f64, Unreadable> {
    sensible(text, units::seconds(text)?)
}

/// A rate such as `16mbit` or `2MB/s`, in bits per second.
pub(super) fn bits_per_second(text: &str) -> Result<f64, Unreadable> {
    sensible(text, units::parse(text, Quantity::BitRate)?)
}

/// A size such as `50MB`, in bytes.
///
/// # Errors
/// [`Unreadable`] with advice.
pub fn bytes(text: &str) -> Result<f64, Unreadable> {
    sensible(text, units::parse(text.trim(), Quantity::Size)?)
}

fn sensible(text: &str, value: f64) -> Result<f64, Unreadable> {
    match value {
        0.0 => Err(Unreadable::new(text, "it must be more than zero, such as 2ms, 16mbit or 50MB")),
        least if least < LEAST => Err(Unreadable::new(text, "nothing is as small as that; write 2us")),
        most if most > MOST => Err(Unreadable::new(text, "nothing is as large as that; write 2ms or 50MB")),
        _ => Ok(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_exists() {
        assert_eq!((seconds("1.5min"), bits_per_second("28.8kbit")), (Ok(90.0), Ok(28_800.0)));
        assert_eq!((bits_per_second("2MB/s"), bytes(" 50MiB")), (Ok(16e6), Ok(50.0 * 1024.0 * 1024.0)));
        for (error, fault) in [
            (seconds("0ms"), "more than zero"),
            (seconds("2MB"), "no unit of time"),
            (bytes("999999999999999T"), "as large as that"),
            (bits_per_second("1e-20bit"), "as small as that"),
            (bytes("2ms"), "\"ms\" is no unit here; write 50MB"),
        ] {
            let error = error.unwrap_err().to_string();
            assert!(error.contains(fault), "{error}");
        }
    }
}

//! The numbers of a load, and lists and ranges of them.

use std::ops::RangeInclusive;

use record::units::{self, Quantity, Unreadable};

/// Rates that a process can keep: one in an hour and a half at least, and ten times what was ever measured.
const RATES: RangeInclusive<f64> = 0.0002..=10_000_000.0;
/// More connections than any machine has room for.
const CONNECTIONS_MAX: u64 = 10_000_000;
/// A range with more values is a mistake: each of them is a load of its own.
const VALUES_MAX: usize = 1000;

/// One number, or all that a range stands for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Several<T>(pub(super) Vec<T>);

pub(super) fn parse_rate(text: &str) -> Result<f64, Unreadable> {
    match units::parse(text, Quantity::EventRate)? {
        rate if RATES.contains(&rate) => Ok(rate),
        _ => {
            let (least, most) = (RATES.start(), RATES.end());
            Err(Unreadable::new(text, format!("a rate is from {least} to {most} per second, such as 20k")))
        }
    }
}

pub(super) fn parse_rates(text: &str) -> Result<Several<f64>, Unreadable> {
    let values = values(text, Quantity::EventRate)?;
    values.iter().map(|value| parse_rate(value)).collect::<Result<_, _>>().map(Several)
}

pub(super) fn parse_connections(text: &str) -> Result<usize, Unreadable> {
    units::counts(0..=CONNECTIONS_MAX)(text)
}

pub(super) fn parse_levels(text: &str) -> Result<Several<usize>, Unreadable> {
    let values = values(text, Quantity::Count)?;
    values.iter().map(|value| parse_connections(value)).collect::<Result<_, _>>().map(Several)
}

/// The number, or those of a range, as text: `1-100` is 1, 2, 5, 10, 20, 50 and 100; `10-50:20` is 10, 30 and
/// 50.
fn values(text: &str, quantity: Quantity) -> Result<Vec<String>, Unreadable> {
    // A minus behind an e belongs to its number.
    let is_dash = |&(place, _): &(usize, &str)| !matches!(text.as_bytes()[place - 1], b'e' | b'E');
    let dash = text.match_indices('-').filter(|(place, _)| *place > 0).find(is_dash);
    let Some((place, _)) = dash else { return Ok(vec![text.to_owned()]) };
    let (first, rest) = (&text[..place], &text[place + 1..]);
    let (last, step) = rest.split_once(':').map_or((rest, None), |(last, step)| (last, Some(step)));
    let wrong = || Unreadable::new(text, "it is no range; write 1-100, or 10-50:10 with a step");
    let number = |text: &str| units::parse(text, quantity).map_err(|_| wrong());
    let (first, last) = (number(first)?, number(last)?);
    let step = step.map(number).transpose()?;
    if !(first > 0.0 && first < last) || step.is_some_and(|step| step <= 0.0) {
        return Err(wrong());
    }
    let values: Vec<f64> = match step {
        Some(step) => (0..=VALUES_MAX)
            .map(|number| first + number as f64 * step)
            .take_while(|&value| value <= last)
            .collect(),
        None => round_numbers(first, last),
    };
    if values.len() > VALUES_MAX {
        let advice = format!("it has more than {VALUES_MAX} values; use a larger step, such as 10-50:10");
        return Err(Unreadable::new(text, advice));
    }
    Ok(values.iter().map(f64::to_string).collect())
}

/// 1, 2 and 5 of each power of ten between the two, which are the first and the last.
fn round_numbers(first: f64, last: f64) -> Vec<f64> {
    let powers = first.log10().floor() as i32..=last.log10().ceil() as i32;
    let round = powers.flat_map(|power| [1.0, 2.0, 5.0].map(|digit| (digit, power)));
    // Through text, so that 0.002 is the number that is written so.
    let round = round.filter_map(|(digit, power)| format!("{digit}e{power}").parse::<f64>().ok());
    let between = round.filter(|&value| value > first && value < last);
    [first].into_iter().chain(between).chain([last]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_possible_loads() {
        assert_eq!((parse_connections("2.5K"), parse_connections("0")), (Ok(2500), Ok(0)));
        assert_eq!(
            (parse_rate("0.5M"), parse_rate("1e-3"), parse_rate("20/s")),
            (Ok(5e5), Ok(0.001), Ok(20.0))
        );
        for wrong in ["", "k", "-1", "1.5", "1m", "20M"] {
            assert!(parse_connections(wrong).is_err(), "{wrong}");
        }
        assert!(parse_rate("0").is_err() && parse_rate("1G").is_err());
    }

    #[test]
    fn ranges_are_round_numbers_or_steps() {
        let levels = |text: &str| parse_levels(text).map(|several| several.0).ok();
        assert_eq!(levels("1-100"), Some(vec![1, 2, 5, 10, 20, 50, 100]));
        assert_eq!(levels("3-40"), Some(vec![3, 5, 10, 20, 40]));
        assert_eq!(levels("10-50:20"), Some(vec![10, 30, 50]));
        assert_eq!(levels("1k-2k"), Some(vec![1000, 2000]));
        assert_eq!(levels("7"), Some(vec![7]));
        assert_eq!(parse_rates("1e-3-0.01").ok(), Some(Several(vec![0.001, 0.002, 0.005, 0.01])));
        for wrong in ["100-1", "1-", "-5", "0-10", "1-10:0", "1-10:x", "1-100000:1", "1-5-9"] {
            assert_eq!(levels(wrong), None, "{wrong}");
        }
    }
}

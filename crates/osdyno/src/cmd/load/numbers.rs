//! Numbers as people write them: `1k`, `1e4`, `2.5M`, and lists and ranges of them.

use std::ops::RangeInclusive;

/// Rates that a process can keep: one in an hour and a half at least, and ten times what was ever measured.
const RATES: RangeInclusive<f64> = 0.0002..=10_000_000.0;
/// More connections than any machine has room for.
const CONNECTIONS_MAX: usize = 10_000_000;
/// The largest integer to which all smaller ones are exact as a floating point number.
const REQUESTS_MAX: f64 = 9_007_199_254_740_992.0;
/// A range with more values is a slip: each of them is a load of its own.
const VALUES_MAX: usize = 1000;

/// One number, or all that a range stands for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Several<T>(pub(super) Vec<T>);

pub(super) fn parse_rate(text: &str) -> Result<f64, String> {
    let rate = parse(text).filter(|rate| RATES.contains(rate));
    rate.ok_or_else(|| {
        format!("a rate is a number from {} to {} per second, such as 500 or 20k", RATES.start(), RATES.end())
    })
}

pub(super) fn parse_rates(text: &str) -> Result<Several<f64>, String> {
    values(text)?.iter().map(|value| parse_rate(value)).collect::<Result<_, _>>().map(Several)
}

pub(super) fn parse_connections(text: &str) -> Result<usize, String> {
    let number = integer(text).map(|number| number as usize).filter(|&number| number <= CONNECTIONS_MAX);
    number.ok_or_else(|| {
        format!("a number of connections is an integer from 0 to {CONNECTIONS_MAX}, such as 500 or 20k")
    })
}

pub(super) fn parse_levels(text: &str) -> Result<Several<usize>, String> {
    values(text)?.iter().map(|value| parse_connections(value)).collect::<Result<_, _>>().map(Several)
}

pub(super) fn parse_requests(text: &str) -> Result<u64, String> {
    let number = integer(text).filter(|&number| (1.0..=REQUESTS_MAX).contains(&number));
    let number =
        number.ok_or_else(|| "a number of requests is an integer from 1, such as 500 or 2M".to_owned());
    number.map(|number| number as u64)
}

fn integer(text: &str) -> Option<f64> {
    parse(text).filter(|number| number.fract() == 0.0 && *number >= 0.0)
}

fn parse(text: &str) -> Option<f64> {
    let units = [("k", 1e3), ("K", 1e3), ("M", 1e6)];
    let unit = units.iter().find_map(|(name, unit)| Some((text.strip_suffix(name)?, *unit)));
    let (number, unit) = unit.unwrap_or((text, 1.0));
    // Other words that a floating point number may be are no number that a person means.
    let digits = number.bytes().all(|byte| byte.is_ascii_digit() || b".+-eE".contains(&byte));
    number.parse::<f64>().ok().filter(|_| digits).map(|number| number * unit)
}

/// The number, or those of a range, as text: `1-100` is 1, 2, 5, 10, 20, 50 and 100; `10-50:20` is 10, 30 and
/// 50.
fn values(text: &str) -> Result<Vec<String>, String> {
    // A minus behind an e belongs to its number.
    let is_dash = |&(place, _): &(usize, &str)| !matches!(text.as_bytes()[place - 1], b'e' | b'E');
    let dash = text.match_indices('-').filter(|(place, _)| *place > 0).find(is_dash);
    let Some((place, _)) = dash else { return Ok(vec![text.to_owned()]) };
    let (first, rest) = (&text[..place], &text[place + 1..]);
    let (last, step) = rest.split_once(':').map_or((rest, None), |(last, step)| (last, Some(step)));
    let wrong = || format!("{text:?} is no range; write 1-100, or 10-50:10 with a step");
    let (first, last) = (parse(first).ok_or_else(wrong)?, parse(last).ok_or_else(wrong)?);
    let step = step.map(|step| parse(step).ok_or_else(wrong)).transpose()?;
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
        return Err(format!("{text:?} has more than {VALUES_MAX} values; use a larger step"));
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
    fn numbers_have_units_and_exponents() {
        let connections = |text: &str| parse_connections(text).ok();
        assert_eq!(connections("1k"), Some(1000));
        assert_eq!(connections("1e4"), Some(10_000));
        assert_eq!(connections("2.5K"), Some(2500));
        assert_eq!(parse_rate("0.5M").ok(), Some(500_000.0));
        assert_eq!(parse_rate("1e-3").ok(), Some(0.001));
        assert_eq!(parse_requests("3M").ok(), Some(3_000_000));
        for wrong in ["", "k", "-1", "1.5", "1kk", "inf", "nan", "1m", "20M", "0x10"] {
            assert_eq!(connections(wrong), None, "{wrong}");
        }
        assert!(parse_requests("0").is_err() && parse_rate("inf").is_err());
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

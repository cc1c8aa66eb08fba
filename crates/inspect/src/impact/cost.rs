//! Costs of the operating system, for a response or for each byte: measured, or typed by a user. The
//! amounts of an estimate are more than nothing, and no more than exists.

use judge::{Finding, Findings};
use record::units::{self, Quantity, Unreadable};
use record::{Shape, Unit};
use serde::Serialize;
use stats::Interval;
use wildmatch::WildMatch;

use super::over;

/// Longer, faster or larger than anything that exists, and far from where sums of floats go wrong.
const MOST: f64 = 1e18;
const LEAST: f64 = 1e-15;

/// The unit that a cost is paid for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PaidFor {
    /// For each response.
    Response,
    /// For each byte of a transfer.
    Byte,
}

/// A cost of the operating system.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cost {
    /// Its name.
    pub name: String,
    /// System it was measured on; empty where it was typed.
    pub system: String,
    /// n at which it was measured.
    ///
    /// `null` where it was typed.
    pub n: Option<u64>,
    /// Time of one operation, or of one byte.
    ///
    /// Without an interval both ends are `null`.
    pub seconds: Interval,
    /// Unit that it is paid for.
    pub paid_for: PaidFor,
    /// How often one response has it.
    pub times: f64,
    /// Whether a processor works all that time. The response time of a load contains waiting too.
    #[serde(skip)]
    pub is_work: bool,
}

/// Which operations a response uses, and how often: `accept`, `20x read`.
#[derive(Clone, Debug)]
pub struct UsedOperation {
    pattern: String,
    matcher: WildMatch,
    times: f64,
}

impl UsedOperation {
    /// Reads `accept`, `20x read` or `connect/v4*`.
    ///
    /// # Errors
    /// [`Unreadable`] with a correct example.
    pub fn parse(text: &str) -> Result<UsedOperation, Unreadable> {
        let (times, pattern) = times(text.trim())?;
        let pattern = pattern.trim();
        match pattern {
            "" => Err(Unreadable::new(text, "name an operation of the run, such as accept or '20x read'")),
            _ => Ok(UsedOperation { pattern: pattern.to_owned(), matcher: WildMatch::new(pattern), times }),
        }
    }

    /// The typed text, without the count.
    pub fn pattern(&self) -> &str {
        &self.pattern
    }

    /// Whether an operation is meant, by its label in the findings.
    pub fn matches(&self, label: &str) -> bool {
        self.matcher.matches(label)
    }
}

/// A number of times before the letter x, if there is one: `20x read`.
fn times(text: &str) -> Result<(f64, &str), Unreadable> {
    let Some((number, rest)) = text
        .split_once('x')
        .filter(|(number, _)| !number.is_empty() && number.chars().all(|c| c.is_ascii_digit()))
    else {
        return Ok((1.0, text));
    };
    let times: u32 = units::counts(1..=1_000_000)(number)?;
    Ok((f64::from(times), rest))
}

impl Cost {
    /// Reads a typed cost: `accept=2us`, `read=20x5us`, `copy=1.9s/MB`, with its error `copy=95.5s+-1.2s`.
    ///
    /// # Errors
    /// [`Unreadable`] with a correct example.
    pub fn parse(text: &str) -> Result<Cost, Unreadable> {
        let example = "a cost is a name and a time, such as accept=2us, read=20x5us or copy=30ms/MB";
        let (name, value) = text.split_once('=').ok_or_else(|| Unreadable::new(text, example))?;
        let name = name.trim();
        if name.is_empty() {
            return Err(Unreadable::new(text, example));
        }
        let (times, value) = times(value.trim())?;
        let (value, per) = match value.split_once('/') {
            Some((value, size)) => (value, Some(size_of_one(size)?)),
            None => (value, None),
        };
        let (value, error) = match value.split_once("+-").or_else(|| value.split_once('±')) {
            Some((value, error)) => (value, seconds(error.trim())?),
            None => (value, 0.0),
        };
        let seconds = seconds(value.trim())?;
        if error >= seconds {
            return Err(Unreadable::new(text, "the error must be smaller than the cost"));
        }
        let interval = Interval { value: seconds, low: seconds - error, high: seconds + error };
        Ok(Cost {
            name: name.to_owned(),
            system: String::new(),
            n: None,
            seconds: over(interval, |seconds| seconds / per.unwrap_or(1.0)),
            paid_for: if per.is_some() { PaidFor::Byte } else { PaidFor::Response },
            times,
            is_work: true,
        })
    }

    /// Its time for one response, or for that many bytes.
    pub fn of(&self, bytes: f64) -> Interval {
        let times = match self.paid_for {
            PaidFor::Response => self.times,
            PaidFor::Byte => self.times * bytes,
        };
        over(self.seconds, |seconds| seconds * times)
    }
}

/// `MB` and `10MB` are both sizes here.
fn size_of_one(text: &str) -> Result<f64, Unreadable> {
    let text = text.trim();
    let has_number = text.starts_with(|c: char| c.is_ascii_digit());
    bytes(&if has_number { text.to_owned() } else { format!("1{text}") })
        .map_err(|_| Unreadable::new(text, "behind / stands a size, such as MB"))
}

/// The costs that a run measured, each at its largest n: those that are used, or all that it was made for.
pub fn measured_costs(findings: &Findings, used: &[UsedOperation]) -> Vec<Cost> {
    let of = |finding: &Finding| {
        let times = match used {
            [] if finding.detail => return None,
            [] => 1.0,
            used => used.iter().find(|used| used.matches(&finding.label))?.times,
        };
        cost(findings, finding, times)
    };
    findings.series.iter().filter_map(of).collect()
}

fn cost(findings: &Findings, finding: &Finding, times: f64) -> Option<Cost> {
    let verdict = finding.verdict.as_ref().filter(|_| finding.unit == Unit::Seconds)?;
    let workload = findings.workload(&finding.key.workload)?;
    let mebibyte = 1_048_576.0;
    // A job reports seconds for each unit of its work. n of a copy is that unit; n of a curve counts existing
    // objects.
    let (paid_for, unit) = match workload.shape {
        Shape::Job if workload.grows == "MiB" => (PaidFor::Byte, mebibyte),
        _ => (PaidFor::Response, 1.0),
    };
    Some(Cost {
        name: finding.label.clone(),
        system: finding.key.system.clone(),
        n: Some(verdict.n_high),
        seconds: over(verdict.cost_high, |seconds| seconds / unit),
        paid_for,
        times,
        is_work: workload.shape == Shape::Curve || finding.key.name.ends_with("cpu"),
    })
}

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
    fn a_typed_cost_has_a_time_and_what_it_is_paid_for() {
        let cost = Cost::parse("accept=2us").unwrap();
        assert_eq!(
            (cost.name.as_str(), cost.paid_for, cost.of(1e9).value),
            ("accept", PaidFor::Response, 2e-6)
        );
        assert!((Cost::parse("read = 20x5us").unwrap().of(0.0).value - 1e-4).abs() < 1e-12);
        let copy = Cost::parse("copy=95.5s+-1.5s/50MB").unwrap().of(50e6);
        assert!((copy.value - 95.5).abs() < 1e-9 && (copy.low - 94.0).abs() < 1e-9, "{copy:?}");
        assert!((Cost::parse("read=3ms/MB").unwrap().of(2e6).value - 0.006).abs() < 1e-12);
    }

    #[test]
    fn what_is_no_cost_is_refused() {
        for (text, says) in [
            ("accept", "a cost is a name and a time"),
            ("=2us", "a cost is a name and a time"),
            ("accept=2", "no unit"),
            ("accept=16mbit", "no unit of time"),
            ("accept=0x2us", "from 1 to 1000000 is possible"),
            ("accept=99999999999x2us", "from 1 to 1000000 is possible"),
            ("accept=2us/ms", "behind / stands a size"),
            ("accept=2us+-3us", "smaller than the cost"),
        ] {
            let error = Cost::parse(text).unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
        assert!(UsedOperation::parse("20x ").is_err() && UsedOperation::parse("").is_err());
        assert_eq!(UsedOperation::parse("20x read").unwrap().pattern(), "read");
        assert_eq!(UsedOperation::parse("tx*").unwrap().pattern(), "tx*", "x is a letter too");
    }

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

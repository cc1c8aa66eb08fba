//! `--max`: limits on the figures of a load, as the thresholds of k6, and the decision on each.

use std::process::ExitCode;

use ::report::document::terminal::Length;
use ::report::document::{Document, Table, Text, Tone};
use ::report::quantity;
use ::report::words::percent;
use judge::compare::MARGIN;
use judge::gate::{ClaimKind, GateClaim};
use record::units::{self, Quantity, Unreadable};
use serde::Serialize;
use stats::{Decision, RUNS_APART};

use crate::console::{Console, Failure, INCOMPLETE, REGRESSED};

/// A list of limits: `p99<=5ms,errors<=0.1%,rate>=20k`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Limits(pub(crate) Vec<FigureLimit>);

/// One limit of one figure.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FigureLimit {
    /// The figure.
    pub(crate) figure: LimitedFigure,
    /// In seconds, as a share, or per second.
    pub(crate) bound: f64,
    text: String,
}

/// A figure that may have a limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum LimitedFigure {
    /// A percentile of the latency, which must not be above.
    Percentile(f64),
    /// The share of failures, which must not be above.
    Errors,
    /// The rate, which must not be below.
    Rate,
    /// A cost divided by that of a baseline.
    Ratio,
}

/// A figure that was measured, with its 95 % interval where it has one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct MeasuredFigure {
    /// The value.
    pub(crate) value: f64,
    /// The low end of the interval.
    pub(crate) low: f64,
    /// The high end.
    pub(crate) high: f64,
}

/// The decision on one limit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct LimitAnswer {
    /// As it was written.
    pub(crate) limit: String,
    /// Level of a load; empty where there is one place only.
    pub(crate) at: String,
    /// `certain` if the limit is broken, `excluded` if kept, else `undecided`.
    pub(crate) decision: Decision,
    /// The value.
    pub(crate) value: Option<f64>,
    /// Lower end of its 95 % interval.
    pub(crate) low: Option<f64>,
    /// Upper end of its 95 % interval.
    pub(crate) high: Option<f64>,
    /// Why nothing is decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    #[serde(skip)]
    figure: LimitedFigure,
}

impl Limits {
    /// Reads a list.
    ///
    /// # Errors
    /// [`Unreadable`].
    pub(crate) fn parse(text: &str) -> Result<Limits, Unreadable> {
        text.split(',').map(|limit| FigureLimit::parse(limit.trim())).collect::<Result<_, _>>().map(Limits)
    }
}

impl FigureLimit {
    fn parse(text: &str) -> Result<FigureLimit, Unreadable> {
        const EXAMPLE: &str = "write p99<=5ms, errors<=0.1% or rate>=20k";
        let refuse = |fault: &str| Unreadable::new(text, format!("{fault}; {EXAMPLE}"));
        let (name, is_least, bound) = match (text.split_once("<="), text.split_once(">=")) {
            (Some((name, bound)), None) => (name.trim(), false, bound.trim()),
            (None, Some((name, bound))) => (name.trim(), true, bound.trim()),
            _ => return Err(refuse("a limit has <= or >=")),
        };
        let (figure, bound) = match name {
            "errors" => (LimitedFigure::Errors, units::share(bound)?),
            "rate" => (LimitedFigure::Rate, units::parse(bound, Quantity::EventRate)?),
            _ => {
                let percent = name.strip_prefix('p').and_then(|percent| percent.parse().ok());
                let percent = percent.filter(|percent| (1.0..100.0).contains(percent));
                let percent =
                    percent.ok_or_else(|| refuse("there are p50, p99 and the like, errors and rate"))?;
                (LimitedFigure::Percentile(percent), units::seconds(bound)?)
            }
        };
        match is_least == (figure == LimitedFigure::Rate) {
            true => Ok(FigureLimit { figure, bound, text: text.to_owned() }),
            false => Err(refuse("latency and errors have a most, <=, and a rate has a least, >=")),
        }
    }

    /// Compares the measured value with the limit. A doubt about the measurement leaves it undecided.
    pub(crate) fn decide(
        &self,
        at: &str,
        measured: Option<MeasuredFigure>,
        doubt: Option<String>,
    ) -> LimitAnswer {
        let decision = match measured {
            _ if doubt.is_some() => Decision::Undecided,
            None => Decision::Undecided,
            Some(MeasuredFigure { low, high, .. }) => match self.figure {
                LimitedFigure::Rate if high < self.bound => Decision::Certain,
                LimitedFigure::Rate if low >= self.bound => Decision::Excluded,
                LimitedFigure::Rate => Decision::Undecided,
                _ if low > self.bound => Decision::Certain,
                _ if high <= self.bound => Decision::Excluded,
                _ => Decision::Undecided,
            },
        };
        let none = measured.is_none().then(|| "it could not be measured".to_owned());
        LimitAnswer {
            limit: self.text.clone(),
            at: at.to_owned(),
            decision,
            value: measured.map(|one| one.value),
            low: measured.map(|one| one.low),
            high: measured.map(|one| one.high),
            reason: doubt.or(none),
            figure: self.figure,
        }
    }
}

impl LimitAnswer {
    /// Holds the ratio of a cost to that of a baseline, another load at another time, against a claim. Two
    /// loads of one server may differ by so much that only a larger difference is certain.
    pub(crate) fn of_ratio(claim: &GateClaim, at: String, ratio: MeasuredFigure) -> LimitAnswer {
        let either_way = claim.kind == ClaimKind::Changed;
        let (low, high) = match either_way && ratio.value < 1.0 {
            true => (1.0 / ratio.high, 1.0 / ratio.low),
            false => (ratio.low, ratio.high),
        };
        let margin = 1.0 + claim.margin.unwrap_or(MARGIN);
        let size = if either_way { ratio.value.max(1.0 / ratio.value) } else { ratio.value };
        let is_apart = low > 1.0 + RUNS_APART;
        let decision = match () {
            () if size > margin && is_apart => Decision::Certain,
            () if high < margin => Decision::Excluded,
            () => Decision::Undecided,
        };
        let is_near = decision == Decision::Undecided && low > 1.0;
        let reason = format!("two loads may differ by {} without a change", percent(RUNS_APART));
        LimitAnswer {
            limit: claim.to_string(),
            at,
            decision,
            value: Some(ratio.value),
            low: Some(ratio.low),
            high: Some(ratio.high),
            reason: is_near.then_some(reason),
            figure: LimitedFigure::Ratio,
        }
    }

    /// A level that allows no decision.
    pub(crate) fn unknown(claim: &GateClaim, at: String, reason: String) -> LimitAnswer {
        LimitAnswer {
            limit: claim.to_string(),
            at,
            decision: Decision::Undecided,
            value: None,
            low: None,
            high: None,
            reason: Some(reason),
            figure: LimitedFigure::Ratio,
        }
    }
}

impl MeasuredFigure {
    /// A value that is known exactly.
    pub(crate) fn exact(value: f64) -> MeasuredFigure {
        MeasuredFigure { value, low: value, high: value }
    }

    /// A share of so many, with its 95 % interval (Wilson, JASA 22, 1927).
    pub(crate) fn share(count: u64, of: u64) -> Option<MeasuredFigure> {
        const Z: f64 = 1.959_964;
        let (share, of) = (count as f64 / of.max(1) as f64, (of > 0).then_some(of as f64)?);
        let middle = share + Z * Z / (2.0 * of);
        let reach = Z * (share * (1.0 - share) / of + Z * Z / (4.0 * of * of)).sqrt();
        let scale = 1.0 + Z * Z / of;
        let low = if count == 0 { 0.0 } else { (middle - reach) / scale };
        Some(MeasuredFigure { value: share, low, high: ((middle + reach) / scale).min(1.0) })
    }
}

/// Prints the decisions, if there are any: as text on standard output, and beside output for a program on
/// standard error.
pub(crate) fn print(
    limits: &[LimitAnswer],
    repeat: &str,
    is_text: bool,
    console: &Console,
) -> Result<(), Failure> {
    match (limits, is_text) {
        ([], _) => {}
        (_, true) => console.print(&document(limits, repeat), Length::All)?,
        (_, false) => console.tell(&document(limits, repeat)),
    }
    Ok(())
}

/// The last lines: limits that are kept, those that are undecided, those that are broken, and the command
/// that repeats it.
fn document(limits: &[LimitAnswer], repeat: &str) -> Document {
    let mut table = Table::without_headings(2);
    let groups = [
        (Decision::Excluded, "passed", Tone::Good),
        (Decision::Undecided, "undecided", Tone::Open),
        (Decision::Certain, "failed", Tone::Notable),
    ];
    for (decision, word, tone) in groups {
        for one in limits.iter().filter(|one| one.decision == decision) {
            table.push([Text::toned(word, Tone::Strong), Text::toned(sentence(one), tone)]);
        }
    }
    table.push([Text::toned("repeat", Tone::Strong), Text::toned(repeat, Tone::Code)]);
    let mut document = Document { title: "Limits".into(), ..Document::default() };
    document.push(table);
    document
}

/// `p99<=5ms at 50 connections: 6.20 ms (5.80 ms to 6.60 ms)`.
fn sentence(one: &LimitAnswer) -> String {
    let at = if one.at.is_empty() { String::new() } else { format!(" at {}", one.at) };
    let written = |value: f64| match one.figure {
        LimitedFigure::Percentile(_) => quantity::time(value),
        LimitedFigure::Errors => percent(value),
        LimitedFigure::Ratio => ::report::words::change(value),
        LimitedFigure::Rate => format!("{} per second", ::report::words::about(value)),
    };
    let value = match (one.value, one.low, one.high) {
        (Some(value), Some(low), Some(high)) if low < high => {
            format!(": {} ({} to {})", written(value), written(low), written(high))
        }
        (Some(value), ..) => format!(": {}", written(value)),
        _ => String::new(),
    };
    let reason = one.reason.as_ref().map_or(String::new(), |reason| format!("; {reason}"));
    format!("{}{at}{value}{reason}", one.limit)
}

/// The exit code: 4 where a limit is broken, 3 while one is undecided, else that of the verb.
pub(crate) fn exit_code(limits: &[LimitAnswer], otherwise: ExitCode) -> ExitCode {
    let has = |decision| limits.iter().any(|one| one.decision == decision);
    match (has(Decision::Certain), has(Decision::Undecided)) {
        (true, _) => ExitCode::from(REGRESSED),
        (false, true) => ExitCode::from(INCOMPLETE),
        (false, false) => otherwise,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_with_their_units() {
        let Limits(limits) = Limits::parse("p99<=5ms, errors<=0.1%,rate>=20k").expect("limits");
        let read: Vec<(LimitedFigure, f64)> = limits.iter().map(|one| (one.figure, one.bound)).collect();
        let expected = [
            (LimitedFigure::Percentile(99.0), 0.005),
            (LimitedFigure::Errors, 0.001),
            (LimitedFigure::Rate, 20_000.0),
        ];
        assert_eq!(read, expected);
        for (wrong, fault) in [
            ("p99<5ms", "a limit has <= or >="),
            ("p99>=5ms", "have a most"),
            ("rate<=5", "have a most"),
            ("latency<=5ms", "there are p50, p99"),
            ("p99<=5", "cannot read \"5\""),
            ("", "a limit has"),
        ] {
            let error = Limits::parse(wrong).expect_err(wrong).to_string();
            assert!(error.contains(fault), "{wrong}: {error}");
        }
    }

    #[test]
    fn a_limit_is_broken_kept_or_neither_by_the_whole_interval() {
        let Limits(limits) = Limits::parse("p99<=5ms,rate>=100").expect("limits");
        let decide = |limit: usize, low: f64, high: f64| {
            limits[limit].decide("", Some(MeasuredFigure { value: low, low, high }), None).decision
        };
        assert_eq!(decide(0, 0.006, 0.007), Decision::Certain);
        assert_eq!(decide(0, 0.001, 0.005), Decision::Excluded);
        assert_eq!(decide(0, 0.004, 0.006), Decision::Undecided);
        assert_eq!(decide(1, 50.0, 60.0), Decision::Certain);
        assert_eq!(decide(1, 100.0, 110.0), Decision::Excluded);
        assert_eq!(decide(1, 90.0, 110.0), Decision::Undecided);
        let doubted = limits[0].decide("", Some(MeasuredFigure::exact(0.1)), Some("disturbed".into()));
        assert_eq!(doubted.decision, Decision::Undecided);
        assert_eq!(limits[0].decide("", None, None).decision, Decision::Undecided);
    }

    #[test]
    fn two_loads_must_differ_by_more_than_loads_differ() {
        let gate = judge::gate::Gate::parse("slower:5%").expect("a gate");
        let decide = |value: f64, reach: f64| {
            let ratio = MeasuredFigure { value, low: value / reach, high: value * reach };
            LimitAnswer::of_ratio(&gate.claims[0], String::new(), ratio).decision
        };
        assert_eq!(decide(1.3, 1.05), Decision::Certain);
        assert_eq!(decide(1.1, 1.01), Decision::Undecided);
        assert_eq!(decide(1.0, 1.01), Decision::Excluded);
        assert_eq!(decide(0.5, 1.01), Decision::Excluded);
    }

    /// Newcombe, Statistics in Medicine 17, 1998, table I.
    #[test]
    fn shares_have_wilsons_interval() {
        let share = MeasuredFigure::share(15, 148).expect("a share");
        assert!((share.low - 0.0624).abs() < 5e-5 && (share.high - 0.1605).abs() < 5e-5);
        assert_eq!(MeasuredFigure::share(0, 0), None);
        assert_eq!(MeasuredFigure::share(0, 20).map(|share| share.low), Some(0.0));
    }
}

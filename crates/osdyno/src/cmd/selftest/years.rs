//! `osdyno selftest --years`: alarms over simulated years of nights.

use std::process::ExitCode;

use ::report::document::terminal::Length;
use ::report::document::{Column, Document, Section, Table, Text, Tone};
use ::report::words::{percent, things};
use ::selftest::years::{RuleCounts, YearPromise, YearsPlan, years};
use indicatif::ProgressBar;
use serde::Serialize;

use crate::cmd::{Done, Format, print_answer};
use crate::console::Console;

/// The answer of `osdyno selftest --years`.
#[derive(Serialize)]
pub(crate) struct YearsAnswer {
    /// Version of this answer.
    schema: u32,
    /// Seed of every random choice.
    seed: u64,
    /// Simulated years, each of 365 nights of 28 series.
    years: u64,
    /// The rules, that of osdyno first.
    rules: Vec<RuleAnswer>,
    /// The promises of osdyno's rule.
    promises: Vec<YearPromiseAnswer>,
}

/// The alarms of a rule.
#[derive(Serialize)]
pub(crate) struct RuleAnswer {
    /// Its name.
    rule: &'static str,
    /// False alarms in a year, over all series together.
    false_alarms_per_year: f64,
    /// Lower end of its 95 % interval.
    false_alarms_low: f64,
    /// Upper end.
    false_alarms_high: f64,
    /// Share of changes of 5 % that were raised within three nights.
    found: f64,
    /// Share of raised changes whose night was named, to a night.
    named: f64,
    /// Series that were measured again, in a night.
    measured_again_per_night: f64,
}

/// A promise.
#[derive(Serialize)]
pub(crate) struct YearPromiseAnswer {
    /// In words.
    promise: &'static str,
    /// The figure.
    measured: f64,
    /// Lower end of its 95 % interval.
    low: f64,
    /// Upper end.
    high: f64,
    /// The bound.
    bound: f64,
    /// Whether the figure has to stay below it.
    is_upper: bool,
    /// Whether it is certainly missed.
    is_missed: bool,
}

/// Simulates years, and holds the promises against them.
pub(super) fn run(plan: YearsPlan, format: Format, console: &Console, bar: &ProgressBar) -> Done {
    let counts = years(plan, &|| bar.inc(1));
    bar.finish_and_clear();
    let promises = counts.first().map_or(Vec::new(), RuleCounts::promises);
    let answer = YearsAnswer {
        schema: 1,
        seed: plan.seed,
        years: plan.years,
        rules: counts.iter().map(RuleAnswer::new).collect(),
        promises: promises.iter().map(YearPromiseAnswer::new).collect(),
    };
    print_answer(&answer, document, Length::All, format, console)?;
    let is_missed = promises.iter().any(YearPromise::is_missed);
    Ok(if is_missed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Nights of a year.
const NIGHTS: f64 = 365.0;

impl RuleAnswer {
    fn new(counts: &RuleCounts) -> RuleAnswer {
        let share = |count: u64, of: u64| count as f64 / of.max(1) as f64;
        let (alarms, (low, high)) = counts.alarms_per_year();
        RuleAnswer {
            rule: counts.name,
            false_alarms_per_year: alarms,
            false_alarms_low: low,
            false_alarms_high: high,
            found: share(counts.found, counts.changes),
            named: share(counts.named, counts.raised),
            measured_again_per_night: share(counts.measured_again, counts.years) / NIGHTS,
        }
    }
}

impl YearPromiseAnswer {
    fn new(promise: &YearPromise) -> YearPromiseAnswer {
        YearPromiseAnswer {
            promise: promise.claim,
            measured: promise.measured,
            low: promise.interval.0,
            high: promise.interval.1,
            bound: promise.bound,
            is_upper: promise.is_upper,
            is_missed: promise.is_missed(),
        }
    }
}

fn document(answer: &YearsAnswer) -> Document {
    let mut document = Document { title: "Alarms over years".into(), ..Document::default() };
    let columns = vec![
        "rule".into(),
        Column::number("false alarms a year"),
        Column::number("5 % found in three nights"),
        Column::number("night named ±1"),
        Column::number("measured again a night"),
    ];
    let mut table = Table { is_split: true, ..Table::of_columns(columns) };
    for rule in &answer.rules {
        let number = |x: f64| format!("{x:.1}");
        let alarms = format!(
            "{:.2} ({:.2}–{:.2})",
            rule.false_alarms_per_year, rule.false_alarms_low, rule.false_alarms_high
        );
        let again = if rule.measured_again_per_night > 0.0 {
            number(rule.measured_again_per_night)
        } else {
            "—".into()
        };
        table.push([rule.rule.to_owned(), alarms, percent(rule.found), percent(rule.named), again]);
    }
    document.push(table);
    let mut promises = Table::new(["promise", "bound", "measured", ""]);
    for promise in &answer.promises {
        let is_share = promise.bound < 1.0;
        let shown = |x: f64| if is_share { format!("{:.1} %", 100.0 * x) } else { format!("{x:.2}") };
        let side = if promise.is_upper { "at most" } else { "at least" };
        let standing = match (promise.is_missed, promise.measured <= promise.bound) {
            (true, _) => Text::toned("MISSED", Tone::Notable),
            (false, is_below) if is_below == promise.is_upper => Text::toned("ok", Tone::Good),
            (false, _) => Text::toned("open", Tone::Open),
        };
        promises.push([
            Text::from(promise.promise),
            format!("{side} {}", shown(promise.bound)).into(),
            format!("{} ({}–{})", shown(promise.measured), shown(promise.low), shown(promise.high)).into(),
            standing,
        ]);
    }
    document.push(Section { blocks: vec![promises.into()], ..Section::new("Promises") });
    let years = things(answer.years as usize, "year", "years");
    document.say(format!("{years} of 365 nights and 28 series, seed {}", answer.seed));
    document
}

//! `osdyno selftest --years`: alarms of a history in simulated years.

use std::io::{BufWriter, Write};
use std::process::ExitCode;

use ::report::document::Document;
use ::report::document::terminal::Length;
use ::selftest::sheets::standing;
use ::selftest::table::Standing;
use ::selftest::text;
use ::selftest::years::{ALL, YearRow, promises, rows, sheets};
use serde::Serialize;

use super::{Format, bar, section, today};
use crate::cmd::{Done, write_json};
use crate::console::{Console, results, tell};

/// The answer of `osdyno selftest --years`.
#[derive(Serialize)]
pub(crate) struct YearsAnswer {
    /// Seed of every random choice.
    seed: u64,
    /// Simulated years of each kind.
    years: usize,
    /// The promises.
    promises: Vec<YearPromiseAnswer>,
    /// The counts of each rule in each kind of year.
    rules: Vec<YearRuleAnswer>,
}

/// A promise about years.
#[derive(Serialize)]
struct YearPromiseAnswer {
    /// The promise.
    promise: &'static str,
    /// The kind of year.
    year: &'static str,
    /// Its target.
    target: String,
    /// The figure with its 95 % interval.
    measured: String,
    /// `ok`, `open` or `MISSED`.
    standing: &'static str,
}

/// The counts of one rule.
#[derive(Serialize)]
struct YearRuleAnswer {
    /// The kind of year.
    year: &'static str,
    /// The rule.
    rule: &'static str,
    /// Alarms that no planted change explains.
    false_alarms: usize,
    /// Planted changes.
    changes: usize,
    /// Found in three nights.
    found: usize,
    /// Found in 30 nights.
    found_late: usize,
    /// Of these, the night was right to one.
    right_night: usize,
    /// Series measured again.
    measured_again: usize,
    /// Nights.
    nights: usize,
}

pub(super) fn years(count: usize, seed: u64, format: Format, console: &Console) -> Done {
    let bar = bar((ALL.len() * count) as u64, console);
    let rows = rows(count, seed, &|| bar.inc(1));
    bar.finish_and_clear();
    let mut out = BufWriter::new(results());
    match format {
        Format::Text => {
            let mut document = Document { title: "Alarms".into(), ..Document::default() };
            sheets(&rows).into_iter().for_each(|sheet| document.push(section(sheet)));
            document.say(format!("{count} years of each kind, seed {seed}"));
            console.print(&document, Length::Short)?;
        }
        Format::Markdown => {
            let command = format!("osdyno selftest --years {count} --seed {seed} --format markdown");
            writeln!(out, "`{command}`, {}.\n", today())?;
            text::markdown(&sheets(&rows), &mut out)?;
        }
        Format::Json => write_json(&YearsAnswer::new(&rows, count, seed), &mut out)?,
    }
    out.flush()?;
    let promises = promises(&rows);
    let missed = promises.iter().filter(|promise| promise.standing == Standing::Missed);
    let missed: Vec<_> = missed.collect();
    for promise in &missed {
        tell(&format!("missed: {}, {} years: {}", promise.claim, promise.year, promise.measured));
    }
    Ok(if missed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl YearsAnswer {
    fn new(rows: &[YearRow], years: usize, seed: u64) -> YearsAnswer {
        let rule = |row: &YearRow| YearRuleAnswer {
            year: row.truth.name,
            rule: row.rule,
            false_alarms: row.counts.false_alarms,
            changes: row.counts.found.of,
            found: row.counts.found.count,
            found_late: row.counts.found_late.count,
            right_night: row.counts.right_night.count,
            measured_again: row.counts.remeasured,
            nights: row.counts.nights,
        };
        let promised = promises(rows).into_iter().map(|promise| YearPromiseAnswer {
            promise: promise.claim,
            year: promise.year,
            target: promise.target,
            measured: promise.measured,
            standing: standing(promise.standing),
        });
        YearsAnswer { seed, years, promises: promised.collect(), rules: rows.iter().map(rule).collect() }
    }
}

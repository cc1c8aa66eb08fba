//! The text output of a load: rate, latency and warnings first, details below.

use std::io::{self, Write};

use ::report::quantity::{duration, time};
use ::report::words::{NO_BREAK, count, percent};
use ::report::{Style, write_columns, write_paragraph, write_rows};
use net::load::{Distribution, Level, Percentile};

use super::result::{LoadResult, Measured};
use super::{bars, found, verdict};

/// The whole result.
pub(super) fn write(result: &LoadResult<'_>, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let Measured { levels, found, .. } = result.measured;
    match (found, &levels[..]) {
        (Some(found), _) => {
            found::write(found, style, out)?;
            let which = if found.rate.is_some() { "the longer stage" } else { "the last stage" };
            let seconds = duration(found.confirmation.elapsed_seconds);
            writeln!(out, "\n{which}, {seconds} long:")?;
            write_level(&found.confirmation, result, style, out)?;
        }
        (None, [level]) => write_level(level, result, style, out)?,
        (None, levels) => write_levels(levels, result, style, out)?,
    }
    for sentence in result.held.sentences() {
        writeln!(out)?;
        write_paragraph(&format!("  {sentence}"), 2, style, out)?;
    }
    result.baseline.map_or(Ok(()), |baseline| baseline.write(levels, style, out))
}

/// One level in full.
fn write_level(level: &Level, result: &LoadResult<'_>, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    if level.latency.count > 0 {
        write_paragraph(&headline(level), 2, style, out)?;
    }
    for sentence in verdict::sentence(level).into_iter().chain(verdict::hint(level, result.settings)) {
        write_paragraph(&sentence, 2, style, out)?;
    }
    writeln!(out)?;
    let row = |(name, text): (String, String)| vec![format!("  {name:<11}"), text];
    let rows: Vec<Vec<String>> = facts(level, result).into_iter().map(row).collect();
    write_rows(&rows, style, out)?;
    if level.latency.count == 0 {
        return Ok(());
    }
    writeln!(out)?;
    let columns: Vec<(&str, &Distribution)> = [
        ("latency", Some(&level.latency)),
        ("service", level.service.as_ref()),
        ("connecting", level.connect.as_ref()),
        ("TLS handshake", level.handshake.as_ref()),
        ("sent late by", level.lag.as_ref()),
    ]
    .into_iter()
    .filter_map(|(name, times)| Some((name, times?)))
    .collect();
    write_distributions(&columns, style, out)?;
    writeln!(out)?;
    bars::write(&level.latency, style, out)
}

/// Counts and rates, each with its name.
pub(super) fn facts(level: &Level, result: &LoadResult<'_>) -> Vec<(String, String)> {
    let row = |name: &str, text: String| (name.to_owned(), text);
    let mut rows: Vec<(String, String)> =
        result.resolved.iter().map(|resolved| row("server", resolved.text())).collect();
    rows.push(row("requests", requests(level)));
    for failure in level.failures.iter().take(FAILURES_TOLD) {
        let count = count(failure.count);
        rows.push(row("", format!("{count} × {} ({})", failure.cause, failure.stage.name())));
    }
    if !level.statuses.is_empty() {
        rows.push(row("statuses", statuses(level)));
    }
    let rate = size(level.received_bytes as f64 / level.elapsed_seconds);
    rows.push(row("received", format!("{}, {rate}/s", size(level.received_bytes as f64))));
    if result.settings.one_request_each() || level.connected_per_second >= 1.0 {
        let opened = count(level.connected_per_second as u64);
        rows.push(row("connections", format!("{opened} opened per second")));
    }
    rows.push(row("generator", generator(level)));
    rows
}

/// How many kinds of failures are printed; JSON has all.
const FAILURES_TOLD: usize = 6;

/// Times of several kinds.
fn write_distributions(
    columns: &[(&str, &Distribution)],
    style: &Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut labels = vec!["  mean".to_owned(), "  min".to_owned()];
    labels.extend(net::load::PERCENTS.iter().map(|percent| format!("  p{percent}")));
    labels.push("  max".to_owned());
    let columns = columns.iter().enumerate();
    let columns = columns.map(|(place, (name, times))| (*name, cells(times, place == 0))).collect();
    write_side_by_side(("", &labels), columns, style, out)
}

/// Columns beside their labels. Those for which there is no room stand below, with the labels again; one of
/// remarks is wrapped first.
fn write_side_by_side(
    (heading, labels): (&str, &[String]),
    mut columns: Vec<(&str, Vec<String>)>,
    style: &Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let widest = |name: &str, cells: &[String]| {
        let cells = cells.iter().map(|cell| cell.chars().count());
        cells.chain([name.chars().count()]).max().unwrap_or(0) + GAP
    };
    while !columns.is_empty() {
        let mut used = widest(heading, labels);
        let fits = columns.iter().take_while(|(name, cells)| {
            let width = widest(name, cells);
            used += if *name == REMARK { width.min(REMARK_MIN) } else { width };
            used <= style.width + GAP
        });
        let rest = columns.split_off(fits.count().max(1));
        let headings: Vec<&str> =
            [heading].into_iter().chain(columns.iter().map(|(name, _)| *name)).collect();
        let row = |(place, label): (usize, &String)| {
            [label.clone()].into_iter().chain(columns.iter().map(|(_, cells)| cells[place].clone())).collect()
        };
        let rows: Vec<Vec<String>> = labels.iter().enumerate().map(row).collect();
        write_columns(&headings, &rows, style, out)?;
        columns = rest;
    }
    Ok(())
}

/// The column that may be wrapped, and what it needs.
const REMARK: &str = "remark";
const REMARK_MIN: usize = 24;
/// Between two columns.
const GAP: usize = 2;

/// The lines of a column; intervals where there is room for them.
fn cells(times: &Distribution, with_intervals: bool) -> Vec<String> {
    let known = |seconds: f64| if times.count == 0 { "—".to_owned() } else { time(seconds) };
    let percentile = |index: usize| match times.percentiles.get(index) {
        Some(percentile) if with_intervals => with_interval(percentile),
        Some(percentile) => bare(percentile),
        None => "—".to_owned(),
    };
    let mut cells = vec![known(times.mean_seconds), known(times.min_seconds)];
    cells.extend((0..net::load::PERCENTS.len()).map(percentile));
    cells.push(known(times.max_seconds));
    cells
}

/// `9 800 × 200, 12 × 404`.
fn statuses(level: &Level) -> String {
    let statuses = level.statuses.iter().map(|(status, number)| format!("{} × {status}", count(*number)));
    statuses.collect::<Vec<_>>().join(", ")
}

/// Several levels, one below the other.
fn write_levels(
    levels: &[Level],
    result: &LoadResult<'_>,
    style: &Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    if let Some(resolved) = result.resolved {
        write_paragraph(&format!("  server  {}", resolved.text()), 10, style, out)?;
    }
    let open = levels.iter().any(|level| level.load.rate.is_some());
    let offered = if open { "  asked for" } else { "  connections" };
    let label = |level: &Level| match level.load.rate {
        Some(rate) => format!("  {}/s", count(rate.round() as u64)),
        None => format!("  {}", count(level.load.connections as u64)),
    };
    let labels: Vec<String> = levels.iter().map(label).collect();
    let column = |of: &dyn Fn(&Level) -> String| levels.iter().map(of).collect::<Vec<_>>();
    let at = |percent: f64| column(&|level| level.latency.percentile(percent).map_or("—".to_owned(), bare));
    let mut columns = vec![
        ("requests/s", column(&|level| count(level.completed_per_second.round() as u64))),
        ("p50", at(50.0)),
        ("p99", at(99.0)),
        ("p99.9", at(99.9)),
        ("failed", column(&|level| count(level.failed))),
    ];
    let remarks = column(&|level| verdict::sentence(level).unwrap_or_default());
    if remarks.iter().any(|remark| !remark.is_empty()) {
        columns.push((REMARK, remarks));
    }
    write_side_by_side((offered, &labels), columns, style, out)?;
    let mut hints: Vec<String> =
        levels.iter().filter_map(|level| verdict::hint(level, result.settings)).collect();
    hints.dedup();
    hints.iter().try_for_each(|hint| write_paragraph(hint, 2, style, out))
}

/// `31 240 requests/s (30 900–31 600) · p50 1.2 ms · p99 3.4 ms · p99.9 8.1 ms · 0 failed`.
pub(super) fn headline(level: &Level) -> String {
    let rate = count(level.completed_per_second.round() as u64);
    let interval = level.completed_per_second_interval.map_or(String::new(), |(low, high)| {
        format!(" ({}–{})", count(low.round() as u64), count(high.round() as u64))
    });
    let at = |percent: f64| {
        let percentile = level.latency.percentile(percent)?;
        Some(format!("p{percent} {}", bare(percentile)))
    };
    let latencies = [50.0, 99.0, 99.9].into_iter().filter_map(at);
    let failed = match level.failed {
        0 => "none failed".to_owned(),
        failed => format!("{} FAILED", count(failed)),
    };
    let parts: Vec<String> =
        [format!("{rate} requests/s{interval}")].into_iter().chain(latencies).chain([failed]).collect();
    parts.join(" · ")
}

fn requests(level: &Level) -> String {
    let mut parts =
        vec![format!("{} correct in {}", count(level.completed), duration(level.elapsed_seconds))];
    if let Some(intended) = level.intended {
        parts.push(format!("{} intended", count(intended)));
        parts.push(format!("{} started", count(level.started)));
    }
    if level.late > 0 {
        parts.push(format!("{} after the end", count(level.late)));
    }
    if level.unanswered > 0 {
        parts.push(format!("{} without a response", count(level.unanswered)));
    }
    if level.failed > 0 {
        parts.push(format!("{} failed:", count(level.failed)));
    }
    parts.join(", ")
}

fn generator(level: &Level) -> String {
    let watch = &level.watch;
    let mut parts = vec![format!("{} busy", percent(watch.cpu_share))];
    if level.completed > 0 {
        let cpu = watch.cpu_seconds / level.completed as f64;
        parts.push(format!("{} of CPU time per request", time(cpu)));
    }
    if let Some(delay) = watch.run_delay_seconds.filter(|&delay| delay > 0.01 * level.elapsed_seconds) {
        parts.push(format!("waited {} for a processor", time(delay)));
    }
    if let Some(lateness) = &level.lateness {
        parts.push(format!("late by {} (p99)", time(lateness.quantile(0.99))));
    }
    for (what, number) in [
        ("retransmitted segments", watch.retransmits),
        ("connections dropped by a full accept queue", watch.listen_overflows),
    ] {
        if let Some(number) = number.filter(|&number| number > 0.0) {
            parts.push(format!("{} {what}", count(number as u64)));
        }
    }
    parts.join(", ")
}

pub(super) fn bare(percentile: &Percentile) -> String {
    match (percentile.seconds, percentile.low) {
        (Some(seconds), _) => time(seconds),
        (None, Some(low)) => format!("over{NO_BREAK}{}", time(low)),
        (None, None) => "—".to_owned(),
    }
}

pub(super) fn with_interval(percentile: &Percentile) -> String {
    let value = bare(percentile);
    match (percentile.seconds, percentile.low, percentile.high) {
        (Some(_), Some(low), Some(high)) => format!("{value} ({} – {})", time(low), time(high)),
        (Some(_), Some(low), None) => format!("{value} (over {})", time(low)),
        _ => value,
    }
}

/// Bytes in the unit that suits.
fn size(bytes: f64) -> String {
    let units = [("GB", 1e9), ("MB", 1e6), ("kB", 1e3)];
    match units.iter().find(|(_, unit)| bytes >= *unit) {
        Some((name, unit)) => format!("{:.1}{NO_BREAK}{name}", bytes / unit),
        None => format!("{bytes:.0}{NO_BREAK}B"),
    }
}

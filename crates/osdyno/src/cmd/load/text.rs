//! The text output of a load: rate, latency and warnings first, details below.

use std::io::{self, Write};

use ::report::quantity::{duration, time};
use ::report::words::{NO_BREAK, count, percent};
use net::load::search::{Found, StageOutcome};
use net::load::{Distribution, Level, LoadSettings, Percentile};

use super::{bars, verdict};

/// One level in full.
pub(super) fn write_level(level: &Level, settings: &LoadSettings, out: &mut dyn Write) -> io::Result<()> {
    let line = |out: &mut dyn Write, name: &str, text: String| writeln!(out, "  {name:<12} {text}");
    if level.latency.count > 0 {
        writeln!(out, "{}", headline(level))?;
    }
    for sentence in verdict::sentence(level).into_iter().chain(verdict::hint(level)) {
        writeln!(out, "{sentence}")?;
    }
    writeln!(out)?;
    line(out, "requests", requests(level))?;
    for failure in level.failures.iter().take(FAILURES_TOLD) {
        line(out, "", format!("{} × {} ({})", count(failure.count), failure.cause, failure.stage.name()))?;
    }
    if !level.statuses.is_empty() {
        line(out, "statuses", statuses(level))?;
    }
    let bytes = |bytes: u64| size(bytes as f64);
    let rate = size(level.received_bytes as f64 / level.elapsed_seconds);
    line(out, "received", format!("{}, {rate}/s", bytes(level.received_bytes)))?;
    if settings.one_request_each() || level.connected_per_second >= 1.0 {
        line(out, "connections", format!("{} opened per second", count(level.connected_per_second as u64)))?;
    }
    line(out, "generator", generator(level))?;
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
    write_columns(&columns, out)?;
    writeln!(out)?;
    bars::write(&level.latency, out)
}

/// How many kinds of failures are printed; JSON has all.
const FAILURES_TOLD: usize = 6;

fn write_columns(columns: &[(&str, &Distribution)], out: &mut dyn Write) -> io::Result<()> {
    write!(out, "  {:<7}", "")?;
    for (place, (name, _)) in columns.iter().enumerate() {
        let width = if place == 0 { WIDE } else { NARROW };
        write!(out, "{name:<width$}")?;
    }
    writeln!(out)?;
    write_row("mean", |times| times.mean_seconds, columns, out)?;
    write_row("min", |times| times.min_seconds, columns, out)?;
    for (index, percent) in net::load::PERCENTS.iter().enumerate() {
        write!(out, "  {:<7}", format!("p{percent}"))?;
        for (place, (_, times)) in columns.iter().enumerate() {
            let percentile = times.percentiles.get(index);
            match place {
                0 => write!(out, "{:<WIDE$}", percentile.map_or("—".to_owned(), with_interval))?,
                _ => write!(out, "{:<NARROW$}", percentile.map_or("—".to_owned(), bare))?,
            }
        }
        writeln!(out)?;
    }
    write_row("max", |times| times.max_seconds, columns, out)
}

/// What is known without an interval.
fn write_row(
    name: &str,
    seconds: fn(&Distribution) -> f64,
    columns: &[(&str, &Distribution)],
    out: &mut dyn Write,
) -> io::Result<()> {
    write!(out, "  {name:<7}")?;
    for (place, (_, times)) in columns.iter().enumerate() {
        let width = if place == 0 { WIDE } else { NARROW };
        let seconds = if times.count == 0 { "—".to_owned() } else { time(seconds(times)) };
        write!(out, "{seconds:<width$}")?;
    }
    writeln!(out)
}

/// `9 800 × 200, 12 × 404`.
fn statuses(level: &Level) -> String {
    let statuses = level.statuses.iter().map(|(status, number)| format!("{} × {status}", count(*number)));
    statuses.collect::<Vec<_>>().join(", ")
}

const WIDE: usize = 34;
const NARROW: usize = 18;

/// Several levels, one below the other.
pub(super) fn write_levels(levels: &[Level], out: &mut dyn Write) -> io::Result<()> {
    let open = levels.iter().any(|level| level.load.rate.is_some());
    let what = if open { "asked for" } else { "connections" };
    writeln!(
        out,
        "  {what:<13}{:<13}{:<13}{:<13}{:<13}{:<10}remark",
        "requests/s", "p50", "p99", "p99.9", "failed"
    )?;
    for level in levels {
        let asked = match level.load.rate {
            Some(rate) => format!("{}/s", count(rate.round() as u64)),
            None => count(level.load.connections as u64),
        };
        let at = |percent| level.latency.percentile(percent).map_or("—".to_owned(), bare);
        writeln!(
            out,
            "  {asked:<13}{:<13}{:<13}{:<13}{:<13}{:<10}{}",
            count(level.completed_per_second.round() as u64),
            at(50.0),
            at(99.0),
            at(99.9),
            count(level.failed),
            verdict::sentence(level).unwrap_or_default()
        )?;
    }
    let mut hints: Vec<String> = levels.iter().filter_map(verdict::hint).collect();
    hints.dedup();
    hints.iter().try_for_each(|hint| writeln!(out, "{hint}"))
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
    parts.join("  ·  ")
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

fn bare(percentile: &Percentile) -> String {
    match (percentile.seconds, percentile.low) {
        (Some(seconds), _) => time(seconds),
        (None, Some(low)) => format!("over{NO_BREAK}{}", time(low)),
        (None, None) => "—".to_owned(),
    }
}

fn with_interval(percentile: &Percentile) -> String {
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

/// The result of a search.
pub(super) fn write_found(found: &Found, settings: &LoadSettings, out: &mut dyn Write) -> io::Result<()> {
    let goal = format!("p{} ≤ {}", found.goal.percent, time(found.goal.seconds));
    match found.rate {
        Some(rate) => {
            let confirmed = match found.confirmed {
                true => "confirmed by a separate stage",
                false => "not confirmed",
            };
            writeln!(out, "{} requests/s meet {goal}, {confirmed}", count(rate.round() as u64))?;
        }
        None => writeln!(out, "no rate was found that meets {goal}{}", at_lowest(found))?,
    }
    if verdict::is_lower_bound(found) {
        writeln!(out, "the load generator, not the server, ended the search: the server may do more")?;
    }
    writeln!(out)?;
    writeln!(
        out,
        "  {:<13}{:<13}{:<13}remark",
        "asked for",
        "requests/s",
        format!("p{}", found.goal.percent)
    )?;
    for stage in &found.stages {
        let remark = match stage.outcome {
            StageOutcome::Holds => "holds".to_owned(),
            StageOutcome::Fails | StageOutcome::Limited => {
                verdict::sentence(&stage.level).unwrap_or_else(|| "does not hold".to_owned())
            }
        };
        let asked = format!("{}/s", count(stage.rate.round() as u64));
        let completed = count(stage.level.completed_per_second.round() as u64);
        writeln!(
            out,
            "  {asked:<13}{completed:<13}{:<13}{remark}",
            stage.seconds.map_or("—".to_owned(), time)
        )?;
    }
    writeln!(out)?;
    let which = if found.rate.is_some() { "the stage of that rate" } else { "the last stage" };
    write!(out, "{which}, {} long: ", duration(found.confirmation.elapsed_seconds))?;
    write_level(&found.confirmation, settings, out)
}

/// What came of the lowest rate, below which none was tried.
fn at_lowest(found: &Found) -> String {
    let lowest = found.stages.iter().min_by(|one, other| one.rate.total_cmp(&other.rate));
    let failed = lowest.filter(|stage| stage.outcome == StageOutcome::Fails);
    let Some((stage, seconds)) = failed.and_then(|stage| Some((stage, stage.seconds?))) else {
        return String::new();
    };
    let rate = count(stage.rate.round() as u64);
    format!(": at {rate}/s, the lowest rate, p{} is {}", found.goal.percent, time(seconds))
}

//! The result as a page: latency over time, and its distribution.

use std::io::{self, Write};

use ::report::html::{LoadFigure, LoadMoment, LoadPage};
use ::report::place::counted;
use ::report::words::count;
use net::load::{Level, PERCENTS, Slice};

use super::result::{LoadResult, Measured};
use super::{found, text, verdict};

/// Places of the curve of percentiles.
const KNOTS: usize = 160;

pub(super) fn write(result: &LoadResult<'_>, out: &mut dyn Write) -> io::Result<()> {
    let Measured { levels, found, .. } = result.measured;
    let lead = match (found, &levels[..]) {
        (Some(found), _) => found::answer(found),
        (None, [level]) => text::headline(level),
        (None, levels) => format!("{} levels", levels.len()),
    };
    let table = match found {
        Some(found) => found::table(found),
        None if levels.len() > 1 => levels_table(levels),
        None => Vec::new(),
    };
    let mut remarks: Vec<String> =
        result.resolved.iter().map(|resolved| format!("server {}", resolved.text())).collect();
    remarks.extend(
        found.iter().filter(|found| verdict::is_lower_bound(found)).map(|_| found::LOWER_BOUND.to_owned()),
    );
    remarks.extend(result.held.sentences());
    let page = LoadPage {
        over: format!("osdyno {} load", env!("CARGO_PKG_VERSION")),
        title: result.targets.join(", "),
        lead,
        remarks,
        table,
        levels: levels.iter().map(|level| figure(level, result)).collect(),
        command: command(),
    };
    ::report::html::load(&page, out)
}

/// The command line, without the values of its header fields, which may be credentials.
fn command() -> Vec<String> {
    let mut is_header = false;
    let shown = |word: String| {
        let is_value = std::mem::replace(&mut is_header, matches!(word.as_str(), "-H" | "--header"));
        let attached = ["--header=", "-H"].iter().any(|name| word.starts_with(name) && word != *name);
        match word.split_once(':') {
            Some((name, _)) if is_value || attached => format!("{name}: …"),
            _ => word,
        }
    };
    std::env::args().map(shown).collect()
}

fn levels_table(levels: &[Level]) -> Vec<Vec<String>> {
    let heading = ["", "requests/s", "p50", "p99", "p99.9", "failed", "remark"].map(str::to_owned).to_vec();
    let row = |level: &Level| {
        let at = |percent| level.latency.percentile(percent).map_or("—".to_owned(), text::bare);
        vec![
            name(level),
            count(level.completed_per_second.round() as u64),
            at(50.0),
            at(99.0),
            at(99.9),
            count(level.failed),
            verdict::sentence(level).unwrap_or_default(),
        ]
    };
    [heading].into_iter().chain(levels.iter().map(row)).collect()
}

fn name(level: &Level) -> String {
    match level.load.rate {
        Some(rate) => format!("{} requests/s asked for", count(rate.round() as u64)),
        None => counted(&count(level.load.connections as u64), "connections"),
    }
}

fn figure(level: &Level, result: &LoadResult<'_>) -> LoadFigure {
    let remarks = verdict::sentence(level).into_iter().chain(verdict::hint(level, result.settings));
    let percentile = |percent: &f64| {
        let percentile = level.latency.percentile(*percent);
        vec![format!("p{percent}"), percentile.map_or("—".to_owned(), text::with_interval)]
    };
    let is_lead = result.measured.found.is_none() && result.measured.levels.len() == 1;
    LoadFigure {
        name: name(level),
        says: if is_lead { String::new() } else { text::headline(level) },
        remarks: remarks.collect(),
        moments: level.slices.iter().map(moment).collect(),
        percentiles: percentiles(level),
        table: PERCENTS.iter().map(percentile).collect(),
        facts: text::facts(level, result),
    }
}

fn moment(slice: &Slice) -> LoadMoment {
    let at = |share| slice.latency.quantile_ns(share) as f64 / 1e9;
    LoadMoment {
        seconds: slice.begin_seconds + slice.seconds / 2.0,
        completed_per_second: slice.completed as f64 / slice.seconds.max(1e-9),
        latency_seconds: (slice.latency.count() > 0).then(|| [at(0.5), at(0.99), at(1.0)]),
    }
}

/// Evenly over the number of nines, to the last response.
fn percentiles(level: &Level) -> Vec<(f64, f64)> {
    let count = level.latency.count as f64;
    let knot = |place: usize| {
        let share = 1.0 - count.powf(-(place as f64) / KNOTS as f64);
        (share, level.latency.quantile(share))
    };
    if level.latency.count < 2 { Vec::new() } else { (0..=KNOTS).map(knot).collect() }
}

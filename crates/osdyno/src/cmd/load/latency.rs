//! The latencies of a level: the table of their distributions, bars for a terminal, and curves for a page.

use ::report::document::{Column, Table};
use ::report::html::LoadMoment;
use ::report::quantity::time;
use ::report::words::{NO_BREAK, percent};
use net::load::{Distribution, Level, PERCENTS, Percentile, Slice};

/// The column of the generator with a hundredth of the load.
const OBSERVER: &str = "of the observer";
/// Places of the curve of percentiles.
const KNOTS: usize = 160;
/// Lines of a drawing that is read at a glance.
const BARS_MAX: usize = 10;
/// Characters of the longest bar; the text beside it has 25.
const WIDTH: usize = 22;
/// The last character of a bar, in eighths.
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// Times of several kinds; the latency has intervals.
pub(super) fn distributions(level: &Level) -> Table {
    let observer = level.joint.as_ref().and_then(|joint| joint.observer.as_ref());
    let times: Vec<(&str, &Distribution)> = [
        ("latency", Some(&level.latency)),
        (OBSERVER, observer.map(|observer| &observer.latency)),
        ("service", level.service.as_ref()),
        ("connecting", level.connect.as_ref()),
        ("TLS handshake", level.handshake.as_ref()),
        ("sent late by", level.lag.as_ref()),
    ]
    .into_iter()
    .filter_map(|(name, times)| Some((name, times?)))
    .collect();
    let headings = times.iter().map(|(name, _)| Column::number(*name));
    let columns = [Column::from("")].into_iter().chain(headings).collect();
    let mut table = Table { class: "numbers", is_split: true, ..Table::of_columns(columns) };
    let mut push = |label: String, cell: &dyn Fn(&Distribution, bool) -> String| {
        let has_interval = |place, name| place == 0 || name == OBSERVER;
        let cells = times.iter().enumerate();
        let cells = cells.map(|(place, &(name, times))| cell(times, has_interval(place, name)));
        table.push([label].into_iter().chain(cells).collect::<Vec<_>>());
    };
    let known = |times: &Distribution, seconds: f64| match times.count {
        0 => "—".to_owned(),
        _ => time(seconds),
    };
    push("mean".to_owned(), &|times, _| known(times, times.mean_seconds));
    push("min".to_owned(), &|times, _| known(times, times.min_seconds));
    for percent in PERCENTS {
        push(format!("p{percent}"), &|times, with_interval| match times.percentile(percent) {
            Some(percentile) if with_interval => self::with_interval(percentile),
            percentile => percentile.map_or("—".to_owned(), bare),
        });
    }
    push("max".to_owned(), &|times, _| known(times, times.max_seconds));
    table
}

/// A percentile without its interval.
pub(super) fn bare(percentile: &Percentile) -> String {
    match (percentile.seconds, percentile.low) {
        (Some(seconds), _) => time(seconds),
        (None, Some(low)) => format!("over{NO_BREAK}{}", time(low)),
        (None, None) => "—".to_owned(),
    }
}

/// The distribution of latencies as bars, from one round number to the next.
pub(super) fn bars(latency: &Distribution) -> Vec<String> {
    let (min, max) = (latency.min_seconds, latency.max_seconds);
    let mut ends = round_ends(min, max, &[1, 2, 5]);
    if ends.len() > BARS_MAX {
        ends = round_ends(min, max, &[1]);
    }
    let until = latency.hdr.counts_until(&ends);
    let before = [0].into_iter().chain(until.iter().copied());
    let counts: Vec<u64> = until.iter().zip(before).map(|(until, before)| until - before).collect();
    let largest = counts.iter().copied().max().unwrap_or(0).max(1);
    let line = |(end, count): (&u64, u64)| {
        let share = match count as f64 / latency.count.max(1) as f64 {
            few if count > 0 && few < 0.0005 => "< 0.1 %".to_owned(),
            share => percent(share),
        };
        let bar = bar(count as f64 / largest as f64, count > 0, WIDTH);
        format!("up to {:>8}  {bar:<WIDTH$}  {share}", time(*end as f64 / 1e9))
    };
    ends.iter().zip(counts).map(line).collect()
}

/// A time slice for the drawings over time.
pub(super) fn moment(slice: &Slice) -> LoadMoment {
    let at = |share| slice.latency.quantile_ns(share) as f64 / 1e9;
    LoadMoment {
        seconds: slice.begin_seconds + slice.seconds / 2.0,
        completed_per_second: slice.completed as f64 / slice.seconds.max(1e-9),
        latency_seconds: (slice.latency.count() > 0).then(|| [at(0.5), at(0.99), at(1.0)]),
    }
}

/// Shares of the responses and their latencies, evenly over the number of nines, to the last response.
pub(super) fn percentiles(level: &Level) -> Vec<(f64, f64)> {
    let count = level.latency.count as f64;
    let knot = |place: usize| {
        let share = 1.0 - count.powf(-(place as f64) / KNOTS as f64);
        (share, level.latency.quantile(share))
    };
    if level.latency.count < 2 { Vec::new() } else { (0..=KNOTS).map(knot).collect() }
}

fn with_interval(percentile: &Percentile) -> String {
    let value = bare(percentile);
    match (percentile.seconds, percentile.low, percentile.high) {
        (Some(_), Some(low), Some(high)) => format!("{value} ({} – {})", time(low), time(high)),
        (Some(_), Some(low), None) => format!("{value} (over {})", time(low)),
        _ => value,
    }
}

/// Round numbers of nanoseconds, from the first that is not below the smallest time to the first that is not
/// below the largest.
fn round_ends(min_seconds: f64, max_seconds: f64, digits: &[u64]) -> Vec<u64> {
    let round = (0..12).flat_map(|power| digits.iter().map(move |digit| digit * 10_u64.pow(power)));
    let mut ends: Vec<u64> = round.filter(|&end| end as f64 / 1e9 >= min_seconds).collect();
    let last = ends.iter().position(|&end| end as f64 / 1e9 >= max_seconds);
    ends.truncate(last.map_or(ends.len(), |last| last + 1));
    ends
}

fn bar(share: f64, is_some: bool, width: usize) -> String {
    let eighths = ((share * width as f64 * 8.0).round() as usize).max(usize::from(is_some));
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_round_and_hold_all() {
        assert_eq!(
            round_ends(0.000_15, 0.003, &[1, 2, 5]),
            [200_000, 500_000, 1_000_000, 2_000_000, 5_000_000]
        );
        assert_eq!(round_ends(0.000_2, 0.000_2, &[1, 2, 5]), [200_000]);
        assert_eq!(round_ends(0.0, 0.0, &[1]), [1]);
    }

    #[test]
    fn a_bar_shows_the_smallest_share() {
        assert_eq!(bar(0.0, false, WIDTH), "");
        assert_eq!(bar(1e-9, true, WIDTH), "▏");
        assert_eq!(bar(1.0, true, WIDTH).chars().count(), WIDTH);
        assert_eq!(bar(0.5 / WIDTH as f64, true, WIDTH), "▌");
    }
}

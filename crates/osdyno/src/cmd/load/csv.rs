//! A line for each level, for spreadsheets and scripts. Base units: seconds, bytes.

use std::io::{self, Write};

use net::load::{Distribution, Level, PERCENTS};
use record::HeldBackground;

use super::answer::{JudgedLevel, LoadAnswer};

pub(super) fn write(answer: &LoadAnswer, out: &mut dyn Write) -> io::Result<()> {
    let held = answer.background_of_levels();
    write!(out, "connections,rate,seconds,intended,started,completed,failed,late,unanswered,timed_out")?;
    write!(out, ",started_per_second,completed_per_second,sent_bytes,received_bytes")?;
    for percent in PERCENTS {
        write!(out, ",p{percent},p{percent}_low,p{percent}_high")?;
    }
    writeln!(
        out,
        ",min,mean,max,service_p99,lag_p99,lateness_p99,connect_p99,handshake_p99,cpu_seconds,cpu_share,limit\
         ,statuses,background,background_rates,background_held"
    )?;
    // The result of the load beside each level, if there was one.
    let held = held.iter().copied().chain(std::iter::repeat(&[][..]));
    answer.levels.iter().zip(held).try_for_each(|(level, held)| write_line(level, held, out))
}

fn write_line(judged: &JudgedLevel, held: &[HeldBackground], out: &mut dyn Write) -> io::Result<()> {
    let JudgedLevel { level, verdict } = judged;
    write!(
        out,
        "{},{},{},{},{},{},{},{},{},{},{},{},{},{}",
        level.load.connections,
        or_empty(level.load.rate),
        level.elapsed_seconds,
        or_empty(level.intended),
        level.requests.started,
        level.requests.completed,
        level.requests.failed,
        level.requests.late,
        level.requests.unanswered,
        level.requests.timed_out,
        level.started_per_second,
        level.completed_per_second,
        level.sent_bytes,
        level.received_bytes
    )?;
    for percent in PERCENTS {
        let percentile = level.latency.percentile(percent);
        let of = |field: fn(&net::load::Percentile) -> Option<f64>| or_empty(percentile.and_then(field));
        write!(out, ",{},{},{}", of(|p| p.seconds), of(|p| p.low), of(|p| p.high))?;
    }
    let p99 = |times: &Option<Distribution>| or_empty(times.as_ref().map(|times| times.quantile(0.99)));
    let limit = verdict.limit.column();
    writeln!(
        out,
        ",{},{},{},{},{},{},{},{},{},{},{limit},{},{}",
        level.latency.min_seconds,
        level.latency.mean_seconds,
        level.latency.max_seconds,
        p99(&level.service),
        p99(&level.lag),
        p99(&level.lateness),
        p99(&level.connect),
        p99(&level.handshake),
        level.watch.cpu_seconds,
        level.watch.cpu_share,
        statuses(level),
        background(held)
    )
}

/// The loads beside it, `cpu:50% disk:20MB/s`; the mean rate of each in base units, and whether all were held
/// in every second. Three empty columns without any.
fn background(held: &[HeldBackground]) -> String {
    let joined = |of: fn(&HeldBackground) -> String| held.iter().map(of).collect::<Vec<_>>().join(" ");
    let mean = |one: &HeldBackground| {
        let seconds = one.rates.len() as f64;
        if one.rates.is_empty() {
            "nan".to_owned()
        } else {
            (one.rates.iter().sum::<f64>() / seconds).to_string()
        }
    };
    let is_held = (!held.is_empty()).then(|| held.iter().all(|one| one.is_held));
    format!("{},{},{}", joined(|one| one.background.load.clone()), joined(mean), or_empty(is_held))
}

/// `200:9800 404:12`.
fn statuses(level: &Level) -> String {
    let statuses = level.statuses.iter().map(|(status, count)| format!("{status}:{count}"));
    statuses.collect::<Vec<_>>().join(" ")
}

fn or_empty(value: Option<impl ToString>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

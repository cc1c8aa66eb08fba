//! Makes the lines of `data/nights.csv` from runs of one machine and one preset, which count as its nights:
//! `cargo run --release -p selftest --example nights -- SET osdyno RUN.osdyno… >>
//! crates/selftest/data/nights.csv`
//!
//! A trial counts by the mean, over the blocks of n that all trials of all runs reached, of the logarithm of
//! its median in each block. A line has a set, a series, a run, the trimmed mean of its trials, and what each
//! trial adds to that; in ten-thousandths.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use selftest::years::UNIT;

/// Where a series reaches ten times this n, smaller n are left out: caches are cold there.
const LOW: u64 = 100;
/// Blocks in a decade of n.
const BLOCKS: f64 = 8.0;
/// Share of the trials cut at either end, as in `stats`.
const TRIM: f64 = 0.10;
/// Fewer trials show no spread.
const TRIALS: usize = 4;

/// The logarithm of the median of each block of one trial.
type Blocks = BTreeMap<u64, f64>;
/// By series: the trials of each run.
type Runs = BTreeMap<String, Vec<Vec<Blocks>>>;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [set, program, files @ ..] = &arguments[..] else { return Err("SET PROGRAM RUN…".into()) };
    let mut runs = Runs::new();
    for (run, file) in files.iter().enumerate() {
        read(program, file, run, &mut runs)?;
        eprintln!("{file}");
    }
    let mut out = io::stdout().lock();
    for (series, trials) in &runs {
        let shared = common(trials);
        let is_whole = trials.len() == files.len() && trials.iter().all(|run| run.len() >= TRIALS);
        if !is_whole || shared.is_empty() {
            eprintln!("left out: {series}, {} runs, {} blocks", trials.len(), shared.len());
            continue;
        }
        for (run, trials) in trials.iter().enumerate() {
            let level = |trial: &Blocks| shared.iter().map(|block| trial[block]).sum::<f64>();
            let levels: Vec<f64> = trials.iter().map(|trial| level(trial) / shared.len() as f64).collect();
            let cost = trimmed(levels.clone());
            let rest: Vec<String> = levels.iter().map(|level| unit(level - cost)).collect();
            writeln!(out, "{set},{series},{run},{},{}", unit(cost), rest.join(" "))?;
        }
    }
    Ok(())
}

/// The mean of trials that a report gives as the cost.
fn trimmed(mut levels: Vec<f64>) -> f64 {
    levels.sort_unstable_by(f64::total_cmp);
    let cut = (levels.len() as f64 * TRIM) as usize;
    let kept = &levels[cut..levels.len() - cut];
    kept.iter().sum::<f64>() / kept.len() as f64
}

fn unit(log: f64) -> String {
    format!("{:.0}", log / UNIT)
}

/// The blocks that every trial has.
fn common(runs: &[Vec<Blocks>]) -> Vec<u64> {
    let mut trials = runs.iter().flatten();
    let first: Vec<u64> = trials.next().map(|trial| trial.keys().copied().collect()).unwrap_or_default();
    first.into_iter().filter(|block| trials.clone().all(|trial| trial.contains_key(block))).collect()
}

/// Adds the trials of one run; the lines of a trial of a series follow each other.
fn read(program: &str, file: &str, run: usize, runs: &mut Runs) -> Result<(), Box<dyn Error>> {
    let mut export =
        Command::new(program).args(["export", file, "--format", "csv"]).stdout(Stdio::piped()).spawn()?;
    let lines = BufReader::new(export.stdout.take().ok_or("no output")?).lines();
    let (mut trial, mut values) = (String::new(), Vec::new());
    let mut keep = |trial: &str, values: &mut Vec<(u64, f64)>| {
        let name = trial.rsplit_once(' ').map(|(name, _)| name.to_owned());
        if let Some(name) = name.filter(|_| !values.is_empty()) {
            let all = runs.entry(name.clone()).or_default();
            all.resize(run + 1, Vec::new());
            all[run].push(blocks(values, name.starts_with("cores-")));
        }
        values.clear();
    };
    for line in lines.skip(1) {
        let line = line?;
        let fields: Vec<&str> = line.split(',').collect();
        let [_, workload, variant, series, direction, number, n, value, unit, ..] = fields[..] else {
            return Err(format!("not a line of an export: {line}").into());
        };
        let is_cost = unit == "s" && !workload.starts_with("cores-");
        let is_rate = unit == "1/s" && series == "rate";
        let is_reference = ["null-call", "stat"].contains(&series) || workload == "noop";
        let value: f64 = value.parse()?;
        if is_reference || !(is_cost || is_rate) || value <= 0.0 {
            continue;
        }
        let of = format!("{workload}/{variant} {series} {direction} {number}");
        if of != trial {
            keep(&trial, &mut values);
            trial = of;
        }
        values.push((n.parse()?, if is_rate { 1.0 / value } else { value }));
    }
    keep(&trial, &mut values);
    if export.wait()?.success() { Ok(()) } else { Err(format!("{file} cannot be exported").into()) }
}

/// The blocks that a trial reached to their end; where n counts workers, each n is one.
fn blocks(values: &[(u64, f64)], of_workers: bool) -> Blocks {
    let most = values.iter().map(|(n, _)| *n).max().unwrap_or(0);
    let low = if most >= 10 * LOW { LOW } else { most / 10 };
    let place = |n: u64| if of_workers { n } else { ((n.max(1) as f64).log10() * BLOCKS) as u64 };
    let mut all: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for (n, value) in values.iter().filter(|(n, _)| *n >= low && (of_workers || place(*n) < place(most))) {
        all.entry(place(*n)).or_default().push(*value);
    }
    let median = |mut values: Vec<f64>| {
        values.sort_unstable_by(f64::total_cmp);
        values[values.len() / 2].ln()
    };
    all.into_iter().map(|(block, values)| (block, median(values))).collect()
}

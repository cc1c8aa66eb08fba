//! Makes `data/residuals.i16` from the output of `osdyno export --format csv` on standard input: `cargo run
//! --release -p selftest --example residuals < run.csv > crates/selftest/data/residuals.i16`

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{self, BufRead, Write};

use selftest::machine::{TRIALS, UNIT, VALUES};

/// Workload and series of the residuals, in the order of the file.
const SERIES: [(&str, &str); 3] = [("socket", "socket"), ("fork", "fork"), ("mmap", "mmap")];
/// Below it caches are cold, and nothing is judged.
const LOW: u64 = 100;

/// Logarithms by trial and n.
type Logs = BTreeMap<u64, BTreeMap<u64, f64>>;

fn main() -> Result<(), Box<dyn Error>> {
    let mut logs: [Logs; 3] = Default::default();
    for line in io::stdin().lock().lines().skip(1) {
        let line = line?;
        let [_, workload, _, series, direction, trial, n, seconds] = line.split(',').collect::<Vec<_>>()[..]
        else {
            return Err(format!("not a line of an export: {line}").into());
        };
        let n: u64 = n.parse()?;
        let place = SERIES.iter().position(|wanted| *wanted == (workload, series));
        if let (Some(place), "up", true) = (place, direction, n >= LOW) {
            logs[place].entry(trial.parse()?).or_default().insert(n, seconds.parse::<f64>()?.ln());
        }
    }
    let mut out = io::stdout().lock();
    for (logs, (_, series)) in logs.iter().zip(SERIES) {
        for row in residuals(logs, series)? {
            for log in row {
                let unit = (log / UNIT).round().clamp(f64::from(i16::MIN), f64::from(i16::MAX));
                out.write_all(&(unit as i16).to_le_bytes())?;
            }
        }
    }
    Ok(())
}

/// The residuals without the median of the trials at each n and the median of each trial.
fn residuals(logs: &Logs, series: &str) -> Result<Vec<Vec<f64>>, String> {
    let reach = |trial: &&BTreeMap<u64, f64>| trial.len();
    let mut trials: Vec<&BTreeMap<u64, f64>> = logs.values().collect();
    trials.sort_by_key(reach);
    trials.reverse();
    trials.truncate(TRIALS);
    let shortest = trials.last().filter(|_| trials.len() == TRIALS);
    let shortest = shortest.ok_or(format!("{series} has fewer than {TRIALS} trials"))?;
    let sizes: Vec<u64> = (0..VALUES)
        .filter_map(|place| shortest.keys().nth(place * shortest.len() / VALUES).copied())
        .collect();
    let at = |n: &u64| trials.iter().filter_map(|trial| trial.get(n).copied()).collect::<Vec<f64>>();
    let middles: Vec<f64> = sizes.iter().map(|n| median(at(n))).collect();
    trials
        .iter()
        .map(|trial| {
            let row: Option<Vec<f64>> =
                sizes.iter().zip(&middles).map(|(n, middle)| Some(trial.get(n)? - middle)).collect();
            let row = row.filter(|row| row.len() == VALUES).ok_or(format!("{series} has holes"))?;
            let level = median(row.clone());
            Ok(row.into_iter().map(|log| log - level).collect())
        })
        .collect()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

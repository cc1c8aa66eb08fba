//! A load compared with an earlier one: ratios of throughput and latency, with intervals.
//!
//! Each of the two is one load, so the intervals have the variation within it and not that from load to load.

use std::fs;
use std::path::{Path, PathBuf};

use net::load::{Level, LoadSettings};
use serde::Deserialize;
use serde_json::Value;

use super::answer::{self, BaselineDifference, FigureRatio, JudgedLevel, LevelComparison};
use crate::cmd::limits::MeasuredFigure;
use crate::console::Failure;

/// An earlier load, as `--format json` wrote it.
#[derive(Deserialize)]
pub(super) struct Baseline {
    #[serde(skip)]
    path: PathBuf,
    settings: Value,
    /// The loads beside it.
    #[serde(default)]
    background: Vec<String>,
    levels: Vec<Level>,
}

/// The figure of which more is better.
const THROUGHPUT: &str = "requests/s";

/// Settings that do not change the load.
const FREE: [&str; 6] = ["target", "sources", "seed", "worker", "workers", "connect_rate"];

impl Baseline {
    pub(super) fn read(path: &Path) -> Result<Baseline, Failure> {
        let refused = |why: String| {
            let path = path.display();
            Failure::Usage(format!("cannot read the baseline {path}: {why}; --format json writes one"))
        };
        let text = fs::read_to_string(path).map_err(|error| refused(error.to_string()))?;
        let baseline: Baseline = serde_json::from_str(&text).map_err(|error| refused(error.to_string()))?;
        Ok(Baseline { path: path.to_owned(), ..baseline })
    }

    /// Refuses other settings: their ratio would be of the load, not of the server.
    pub(super) fn check(&self, settings: &LoadSettings, background: &[String]) -> Result<(), Failure> {
        let now = without_host(serde_json::to_value(settings).unwrap_or_default());
        let before = without_host(self.settings.clone());
        let names = now.as_object().into_iter().flat_map(|fields| fields.keys());
        let other: Vec<&str> = names
            .map(String::as_str)
            .filter(|name| !FREE.contains(name) && before[*name] != now[*name])
            .collect();
        let other = match self.background == background {
            true => other,
            false => [&other[..], &["background"]].concat(),
        };
        if other.is_empty() {
            return Ok(());
        }
        let path = self.path.display();
        Err(Failure::Usage(format!("the load of {path} has other settings: {}", other.join(", "))))
    }

    /// The file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn compare(&self, levels: &[JudgedLevel]) -> Vec<LevelComparison> {
        levels.iter().map(|judged| self.compare_level(&judged.level)).collect()
    }

    fn compare_level(&self, level: &Level) -> LevelComparison {
        let load = level.load.clone();
        let same = |before: &&Level| {
            (before.load.connections, before.load.rate) == (load.connections, load.rate)
                && before.load.schedule == load.schedule
        };
        let refused =
            |why: String| LevelComparison { load: load.clone(), refused: Some(why), ratios: Vec::new() };
        let Some(before) = self.levels.iter().find(same) else {
            return refused("the baseline has no such level".to_owned());
        };
        for (name, level) in [("this load", level), ("the baseline", before)] {
            if let Some(why) = answer::doubt(level) {
                return refused(format!("{name} says little of the server: {why}"));
            }
        }
        let figures = [
            (THROUGHPUT, throughput as fn(&Level) -> Option<MeasuredFigure>),
            ("p50", |level| percentile(level, 50.0)),
            ("p99", |level| percentile(level, 99.0)),
        ];
        let ratio = |(figure, of): (&'static str, fn(&Level) -> Option<MeasuredFigure>)| {
            Some(FigureRatio::of(figure, of(level)?, of(before)?))
        };
        LevelComparison {
            load: load.clone(),
            refused: None,
            ratios: figures.into_iter().filter_map(ratio).collect(),
        }
    }
}

/// The settings without the name of the server, which may be another.
fn without_host(mut settings: Value) -> Value {
    let client = settings.pointer_mut("/client/settings").and_then(Value::as_object_mut);
    client.map(|client| client.remove("host"));
    settings
}

impl FigureRatio {
    /// The ratio of the costs: of a rate, of the time that one takes.
    pub(super) fn of_cost(&self) -> MeasuredFigure {
        match self.figure {
            THROUGHPUT => {
                MeasuredFigure { value: 1.0 / self.ratio, low: 1.0 / self.high, high: 1.0 / self.low }
            }
            _ => MeasuredFigure { value: self.ratio, low: self.low, high: self.high },
        }
    }

    /// The interval of a ratio from those of its two values, on the scale of logarithms: the distances to the
    /// ends that matter add as squares (Zou and Donner 2008, "method of variance estimates recovery").
    fn of(figure: &'static str, now: MeasuredFigure, before: MeasuredFigure) -> FigureRatio {
        let distance = |of: f64, to: f64| (of / to).ln();
        let down = distance(now.value, now.low).hypot(distance(before.high, before.value));
        let up = distance(now.high, now.value).hypot(distance(before.value, before.low));
        let ratio = now.value / before.value;
        let (low, high) = (ratio * (-down).exp(), ratio * up.exp());
        let difference = match (low > 1.0, high < 1.0) {
            (true, _) => BaselineDifference::Higher,
            (_, true) => BaselineDifference::Lower,
            _ => BaselineDifference::Uncertain,
        };
        FigureRatio { figure, ratio, low, high, difference }
    }
}

fn throughput(level: &Level) -> Option<MeasuredFigure> {
    let (low, high) = level.completed_per_second_interval?;
    Some(MeasuredFigure { value: level.completed_per_second, low, high }).filter(|known| known.low > 0.0)
}

fn percentile(level: &Level, percent: f64) -> Option<MeasuredFigure> {
    let percentile = level.latency.percentile(percent)?;
    Some(MeasuredFigure { value: percentile.seconds?, low: percentile.low?, high: percentile.high? })
        .filter(|known| known.low > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_of_a_ratio_have_those_of_both() {
        let known =
            |value: f64, reach: f64| MeasuredFigure { value, low: value / reach, high: value * reach };
        let ratio = FigureRatio::of("p50", known(2.0, 1.1), known(1.0, 1.1));
        let both = (2.0_f64.sqrt() * 1.1_f64.ln()).exp();
        assert!((ratio.ratio - 2.0).abs() < 1e-12);
        assert!((ratio.high - 2.0 * both).abs() < 1e-12 && (ratio.low - 2.0 / both).abs() < 1e-12);
        // A value that is known exactly adds nothing.
        assert!((FigureRatio::of("p50", known(2.0, 1.1), known(1.0, 1.0)).high - 2.2).abs() < 1e-12);
    }
}

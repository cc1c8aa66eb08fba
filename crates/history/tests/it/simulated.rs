//! Simulated runs of a machine, a night each.

use std::path::{Path, PathBuf};

use record::{End, EndStatus, Line, Run, Writer};
use serde_json::{Value, json};

pub(crate) const SERIES: usize = 8;
/// Trials of each workload.
const TRIALS: u32 = 5;
const SIZES: [u64; 9] = [10, 20, 50, 100, 200, 500, 1000, 2000, 5000];

/// A simulated run.
#[derive(Clone)]
pub(crate) struct Simulated {
    pub(crate) night: u64,
    pub(crate) kernel: &'static str,
    pub(crate) microcode: &'static str,
    pub(crate) build: &'static str,
    pub(crate) processor: &'static str,
    pub(crate) version: u32,
    /// Factors of the costs of some series.
    pub(crate) factors: Vec<(usize, f64)>,
    /// Systems beside the first, with the series that costs more or less there; a run of several is paired.
    pub(crate) others: Vec<(&'static str, (usize, f64))>,
    /// Whether it was killed.
    pub(crate) is_cut_off: bool,
}

pub(crate) fn of_night(night: u64) -> Simulated {
    Simulated {
        night,
        kernel: "6.18.44",
        microcode: "0x10",
        build: "rustc 1.95",
        processor: "EPYC",
        version: 1,
        factors: Vec::new(),
        others: Vec::new(),
        is_cut_off: false,
    }
}

fn normal(random: &mut fastrand::Rng) -> f64 {
    (0..12).map(|_| random.f64()).sum::<f64>() - 6.0
}

impl Simulated {
    pub(crate) fn started_at(&self) -> String {
        let seconds = 1_790_000_000 + self.night * 86_400;
        let time = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
        humantime::format_rfc3339_seconds(time).to_string()
    }

    fn run(&self) -> Run {
        let run = json!({
            "schema": 2, "tool": {"name": "osdyno", "version": "0.1.0", "build": self.build},
            "started_at": self.started_at(), "command": ["osdyno", "run"], "preset": "standard",
            "seed": self.night, "budget_seconds": null, "looks": [], "pinned": true, "paired": !self.others.is_empty(),
        });
        serde_json::from_value(run).unwrap()
    }

    /// The names of its systems, with the factor of one series there.
    fn systems(&self) -> Vec<(&'static str, (usize, f64))> {
        let first = if self.others.is_empty() { "local" } else { "base" };
        [(first, (0, 1.0))].into_iter().chain(self.others.iter().copied()).collect()
    }

    fn lines(&self) -> Vec<Line> {
        let mut random = fastrand::Rng::with_seed(self.night);
        let system = |(name, _): &(&str, (usize, f64))| {
            json!({
                "type": "system", "name": name, "prefix": [], "environment": {
                    "cpu.model": self.processor, "cpu.count": "2", "cpu.microcode": self.microcode,
                    "memory.total_bytes": "25276510208", "machine.hypervisor": "KVM", "machine.engine": "native",
                    "kernel.name": "Linux", "kernel.release": self.kernel,
                },
            })
        };
        let mut lines: Vec<Value> = self.systems().iter().map(system).collect();
        let shared = (0.015 * normal(&mut random)).exp();
        for series in 0..SERIES {
            let name = format!("w{series}");
            lines.push(json!({
                "type": "workload", "name": name, "version": self.version, "summary": "", "page": "",
                "grows": "objects", "variants": [{"name": "", "summary": ""}],
                "series": [{"name": name, "direction": "up", "expect": "any", "summary": "", "unit": "s"}],
            }));
            let own = (0.01 * normal(&mut random)).exp();
            let factor: f64 = self.factors.iter().filter(|one| one.0 == series).map(|one| one.1).product();
            for trial in 1..=TRIALS {
                for (system, (changed, by)) in self.systems() {
                    let of_system = if changed == series { by } else { 1.0 };
                    let factor = shared * own * factor * of_system;
                    self.trial(&mut lines, (system, &name, trial), factor, &mut random);
                }
            }
        }
        lines.iter().map(|line| record::parse_line(&line.to_string()).expect("a line")).collect()
    }

    fn trial(
        &self,
        lines: &mut Vec<Value>,
        (system, workload, trial): (&str, &str, u32),
        factor: f64,
        random: &mut fastrand::Rng,
    ) {
        let cost = |n: &u64| 1e-6 * (1.0 + *n as f64 / 1e4) * factor * (0.01 * normal(random)).exp();
        let values: Vec<f64> = SIZES.iter().map(cost).collect();
        lines.push(json!({
            "type": "trial", "system": system, "workload": workload, "variant": "", "trial": trial,
            "version": self.version, "n": 5000, "cpu": null, "seed": 1, "timeout_seconds": 9.0, "scratch": "",
            "started_seconds": f64::from(trial), "elapsed_seconds": 1.0, "clock": null,
            "allowance_seconds": null, "outcome": {"ended": "complete"},
        }));
        lines.push(json!({
            "type": "series", "system": system, "workload": workload, "variant": "", "trial": trial,
            "name": workload, "direction": "up", "n_first": 10, "n_step": 0, "sizes": SIZES, "batch": 1,
            "values": values,
        }));
    }

    /// Writes it, and returns its path.
    pub(crate) fn write(&self, folder: &Path) -> PathBuf {
        let path = folder.join(format!("night-{:04}.osdyno", self.night));
        let mut writer = Writer::create(&path, self.run(), &[]).expect("a file");
        writer.append(&self.lines()).expect("room");
        match self.is_cut_off {
            true => drop(writer),
            false => writer.finish(End { status: EndStatus::Complete, elapsed_seconds: 60.0 }).expect("room"),
        }
        path
    }
}

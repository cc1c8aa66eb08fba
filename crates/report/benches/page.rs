//! The cost of a report of two million measurements: `cargo bench -p report`. The limit is 4 s of processor
//! time, 300 MB and a page of 4 MB.
#![allow(clippy::expect_used, reason = "the emulated runs are those of the tests")]

use std::io::{self, Write};
use std::time::Instant;

use judge::Findings;
use record::{
    Expect, Line, Recording, Run, SCHEMA, Series, SeriesKind, System, Tool, Trial, TrialParameters, Workload,
};
use report::document::terminal::Length;
use report::{Style, html, table};

const WORKLOADS: usize = 20;
const SERIES: usize = 3;
const TRIALS: u32 = 20;
const VALUES: usize = 1_667;

fn main() -> io::Result<()> {
    let recording = Recording::new(lines()).expect("begins with its run line");
    let before = peak_megabytes();
    let start = Instant::now();
    let findings = Findings::from_recording(&recording);
    let judged = start.elapsed();
    let mut page = Counter::default();
    html::write(&recording, &findings, None, &mut page)?;
    let written = start.elapsed();
    table::document(&findings).write(Length::All, &Style::default(), &mut io::sink())?;
    println!("{} measurements in {} series", findings.measurements(), findings.series.len());
    println!("judged   {:.2} s", judged.as_secs_f64());
    println!("written  {:.2} s", (written - judged).as_secs_f64());
    println!("page     {:.2} MB", page.0 as f64 / 1e6);
    if let (Some(before), Some(after)) = (before, peak_megabytes()) {
        println!("memory   {after:.0} MB at most, {before:.0} MB of them before");
    }
    Ok(())
}

/// Counts the written bytes and keeps nothing.
#[derive(Default)]
struct Counter(usize);

impl Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The most memory this process had so far; only Linux reports it.
fn peak_megabytes() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kilobytes: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes / 1e3)
}

fn lines() -> Vec<Line> {
    let mut rng = fastrand::Rng::with_seed(1);
    let mut lines = vec![
        Line::Run(Run {
            schema: SCHEMA,
            tool: Tool { name: "osdyno".into(), version: "0".into(), build: String::new() },
            started_at: "2026-11-21T20:14:00Z".into(),
            command: vec!["osdyno".into(), "run".into()],
            preset: "bench".into(),
            seed: 1,
            ..Run::default()
        }),
        Line::System(System { name: "local".into(), ..System::default() }),
    ];
    for w in 0..WORKLOADS {
        lines.push(Line::Workload(workload_line(w)));
    }
    for w in 0..WORKLOADS {
        for trial in 1..=TRIALS {
            lines.push(Line::Trial(trial_line(w, trial)));
            for s in 0..SERIES {
                // From quiet to very noisy, flat and growing, with spikes: noise is what fills a picture.
                let spread = 0.03 * (1 + s * s * 4) as f64;
                let slope = 0.0001 * w as f64;
                let value = |n: usize| {
                    let normal: f64 = (0..12).map(|_| rng.f64()).sum::<f64>() - 6.0;
                    let spike = if rng.f64() < 0.01 { 1.0 + 30.0 * rng.f64() } else { 1.0 };
                    1e-6 * (1.0 + slope * n as f64) * (spread * normal).exp() * spike
                };
                lines.push(Line::Series(Series {
                    system: "local".into(),
                    workload: format!("workload{w}"),
                    trial,
                    name: format!("op{s}"),
                    n_step: 1,
                    batch: 1,
                    values: (0..VALUES).map(value).collect(),
                    ..Series::default()
                }));
            }
        }
    }
    lines
}

fn workload_line(w: usize) -> Workload {
    let kind = |s: usize| SeriesKind {
        name: format!("op{s}"),
        expect: Expect::Constant,
        summary: "One call.".into(),
        ..SeriesKind::default()
    };
    Workload {
        name: format!("workload{w}"),
        version: 1,
        summary: "A workload.".into(),
        page: "One paragraph.\n\nAnother.".into(),
        grows: "things".into(),
        series: (0..SERIES).map(kind).collect(),
        ..Workload::default()
    }
}

fn trial_line(workload: usize, trial: u32) -> Trial {
    Trial {
        order: TrialParameters {
            system: "local".into(),
            workload: format!("workload{workload}"),
            version: 1,
            trial,
            n: VALUES as u64,
            seed: 1,
            timeout_seconds: 60.0,
            ..TrialParameters::default()
        },
        elapsed_seconds: 0.1,
        ..Trial::default()
    }
}

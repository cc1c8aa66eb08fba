//! An emulated run: curves of every kind, from a fixed seed, with the noise of a real machine.

// Shared by several tests and examples; none uses all of it.
#![allow(dead_code)]

pub(crate) mod compared;
pub(crate) mod fleet;
pub(crate) mod load;
pub(crate) mod pinned;
pub(crate) mod scaled;

use std::collections::BTreeMap;

use record::{
    Check, Direction, End, EndStatus, Expect, Line, Outcome, Recording, Run, SCHEMA, Series, SeriesKind,
    System, Tool, Trial, TrialClock, TrialParameters, Variant, Workload,
};

/// An answer as programs read it. One function, because each way to serialize the answers takes seconds to
/// compile.
pub(crate) fn json(answer: &impl serde::Serialize) -> serde_json::Value {
    serde_json::to_value(answer).expect("an answer is JSON")
}

/// How one emulated series behaves.
#[derive(Clone, Copy)]
pub(crate) struct Curve {
    pub(crate) cost: fn(f64) -> f64,
    /// Spread of the whole trial's level.
    pub(crate) between: f64,
    /// Spread of one measurement.
    pub(crate) within: f64,
    pub(crate) n: u64,
    pub(crate) twin: Option<Twin>,
}

/// A second line on which some of the measurements lie.
#[derive(Clone, Copy)]
pub(crate) struct Twin {
    pub(crate) cost: fn(f64) -> f64,
    /// Share of the measurements, or of the trials when each keeps to its line.
    pub(crate) share: f64,
    pub(crate) kept: bool,
}

pub(crate) const TICK: f64 = 10e-9;

/// A workload with its curves: one per series.
pub(crate) struct Emulated {
    pub(crate) name: &'static str,
    pub(crate) variant: &'static str,
    pub(crate) grows: &'static str,
    pub(crate) page: &'static str,
    pub(crate) series: Vec<(&'static str, Direction, Expect, Curve)>,
    pub(crate) outcome: Outcome,
    pub(crate) stopping: u32,
    pub(crate) version: u32,
}

pub(crate) fn run_line(seed: u64) -> Run {
    Run {
        schema: SCHEMA,
        tool: Tool {
            name: "osdyno".into(),
            version: "0.1.0".into(),
            build: "rustc 1.95, x86_64-linux, release".into(),
        },
        started_at: "2026-11-21T20:14:00Z".into(),
        command: ["osdyno", "run", "--seed", "7"].map(String::from).to_vec(),
        preset: "standard".into(),
        seed,
        budget_seconds: Some(120.0),
        looks: vec![10, 20],
        pinned: true,
        paired: false,
    }
}

pub(crate) fn system(name: &str, facts: &[(&str, &str)]) -> System {
    let mut environment: BTreeMap<String, String> = [
        ("cpu.model", "Example 9000 @ 3.2 GHz"),
        ("cpu.online", "2"),
        ("kernel.release", "6.12.107"),
        ("kernel.name", "Linux"),
        ("clock.source", "tsc"),
        ("memory.total_bytes", "25769803776"),
        ("cpu.mitigations.srso", "Vulnerable"),
        ("limit.nofile", "20000"),
    ]
    .into_iter()
    .map(|(k, v)| (k.to_string(), v.to_string()))
    .collect();
    environment.extend(facts.iter().map(|(k, v)| (k.to_string(), v.to_string())));
    System { name: name.into(), environment, ..System::default() }
}

/// All lines of a run of these workloads.
pub(crate) fn lines(system: System, workloads: &[Emulated], trials: u32, seed: u64) -> Vec<Line> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut lines = vec![Line::Run(run_line(seed)), Line::System(system.clone())];
    lines.extend(definitions(workloads).into_iter().map(Line::Workload));
    for workload in workloads {
        for trial in 1..=trials {
            let stops = workload.stopping >= trial;
            lines.push(Line::Trial(trial_line(&system.name, workload, trial, stops)));
            let silent = matches!(workload.outcome, Outcome::Unsupported { .. } | Outcome::Failed { .. });
            for (name, direction, _, curve) in workload.series.iter().filter(|_| !silent) {
                let n = match workload.outcome {
                    Outcome::Limit { n, .. } | Outcome::Crashed { n, .. } if stops => n,
                    _ => curve.n,
                };
                let level = (curve.between * normal(&mut rng)).exp();
                let other_trial = f64::from(trial % 10) < 10.0 * curve.twin.map_or(0.0, |twin| twin.share);
                let mut value = |n: u64| {
                    let cost = match curve.twin {
                        Some(twin) if twin.kept && other_trial => (twin.cost)(n as f64),
                        Some(twin) if !twin.kept && rng.f64() < twin.share => (twin.cost)(n as f64),
                        _ => (curve.cost)(n as f64),
                    };
                    level * cost * noise(&mut rng, curve.within)
                };
                let mut values: Vec<f64> = (0..n).map(&mut value).collect();
                let (n_first, n_step) = match direction {
                    Direction::Up => (0, 1),
                    Direction::Down => {
                        values.reverse();
                        (n - 1, -1)
                    }
                };
                lines.push(Line::Series(Series {
                    system: system.name.clone(),
                    workload: workload.name.into(),
                    variant: workload.variant.into(),
                    trial,
                    name: (*name).into(),
                    direction: *direction,
                    n_first,
                    n_step,
                    sizes: Vec::new(),
                    batch: 1,
                    counts: Vec::new(),
                    values,
                }));
            }
        }
    }
    lines.push(Line::End(End { status: EndStatus::Complete, elapsed_seconds: 97.0 }));
    lines
}

pub(crate) fn recording(system: System, workloads: &[Emulated], trials: u32, seed: u64) -> Recording {
    Recording::new(lines(system, workloads, trials, seed)).expect("begins with its run line")
}

fn definitions(workloads: &[Emulated]) -> Vec<Workload> {
    let mut all: Vec<Workload> = Vec::new();
    for w in workloads {
        let variant = Variant { name: w.variant.into(), summary: String::new() };
        if let Some(known) = all.iter_mut().find(|known| known.name == w.name) {
            known.variants.push(variant);
            continue;
        }
        all.push(Workload {
            name: w.name.into(),
            version: w.version,
            summary: w.page.lines().next().unwrap_or("").into(),
            page: w.page.into(),
            grows: w.grows.into(),
            variants: vec![variant],
            series: w
                .series
                .iter()
                .map(|(name, direction, expect, _)| SeriesKind {
                    name: (*name).into(),
                    direction: *direction,
                    expect: *expect,
                    summary: format!("One {name} call, from before the system call to after it."),
                    ..SeriesKind::default()
                })
                .collect(),
            ..Workload::default()
        });
    }
    all
}

fn trial_line(system: &str, workload: &Emulated, trial: u32, stops: bool) -> Trial {
    Trial {
        order: TrialParameters {
            system: system.into(),
            workload: workload.name.into(),
            version: workload.version,
            variant: workload.variant.into(),
            trial,
            n: workload.series.first().map_or(0, |(_, _, _, c)| c.n),
            cpu: Some(1),
            seed: u64::from(trial),
            timeout_seconds: 60.0,
            ..TrialParameters::default()
        },
        started_seconds: f64::from(trial),
        elapsed_seconds: 0.4,
        clock: Some(TrialClock { source: "tsc".into(), tick_seconds: TICK, read_seconds: 12e-9 }),
        outcome: if stops { workload.outcome.clone() } else { Outcome::Complete },
        checks: vec![Check { claim: "every descriptor is distinct".into(), held: true }],
        held_background: Vec::new(),
        activity: BTreeMap::new(),
        warnings: Vec::new(),
    }
}

fn noise(rng: &mut fastrand::Rng, spread: f64) -> f64 {
    let spike = if rng.f64() < 0.004 { 3.0 + 20.0 * rng.f64() * rng.f64() } else { 1.0 };
    (spread * normal(rng)).exp() * spike
}

fn normal(rng: &mut fastrand::Rng) -> f64 {
    let sum: f64 = (0..12).map(|_| rng.f64()).sum();
    sum - 6.0
}

const PAGE: &str = "Bind sockets to port 0, keeping every one bound.

**Question.** Does the search for a free port take longer as ports are used up?

**Method.** `socket`, then `bind` to 127.0.0.1 port 0, one after the other, each bind timed alone.

**Expected.** Constant, until the range of ports is nearly used up:

- the search starts at a random port, and
- takes the first that is free.";

pub(crate) fn one(
    name: &'static str,
    grows: &'static str,
    series: Vec<(&'static str, Direction, Expect, Curve)>,
) -> Emulated {
    Emulated {
        name,
        variant: "",
        grows,
        page: PAGE,
        series,
        outcome: Outcome::Complete,
        stopping: 0,
        version: 1,
    }
}

/// A cost that has no bound at 30 000, and from half of the ports on scans all of them.
pub(crate) fn ports(n: f64) -> f64 {
    let free = 0.5e-6 / (1.0 - (n / 18_000.0).min(0.8));
    if n >= 14_116.0 { 1.1e-3 } else { free }
}

/// One of every shape that a verdict can say.
pub(crate) fn shapes(n: u64) -> Vec<Emulated> {
    let curve = |cost, between, within| Curve { cost, between, within, n, twin: None };
    use Direction::{Down, Up};
    use Expect::{Constant, Linear};
    let twin = |cost, share, kept| Some(Twin { cost, share, kept });
    vec![
        one(
            "touch",
            "pages",
            vec![("touch", Up, Constant, curve(|n| if n >= 4096.0 { 1.9e-6 } else { 310e-9 }, 0.05, 0.06))],
        ),
        one("bind", "bound sockets", vec![("bind", Up, Constant, curve(ports, 0.05, 0.08))]),
        one(
            "lookup",
            "entries",
            vec![(
                "lookup",
                Up,
                Constant,
                curve(|n| if (3_000.0..5_000.0).contains(&n) { 0.70e-6 } else { 1.0e-6 }, 0.05, 0.05),
            )],
        ),
        one(
            "fork",
            "live children",
            vec![(
                "fork",
                Up,
                Linear,
                Curve { twin: twin(|n| 120e-6 + 9e-9 * n, 0.38, false), ..curve(|_| 61e-6, 0.03, 0.05) },
            )],
        ),
        one(
            "wake",
            "sleeping threads",
            vec![(
                "wake",
                Up,
                Constant,
                Curve { twin: twin(|_| 5.1e-6, 0.3, true), ..curve(|_| 2.2e-6, 0.03, 0.05) },
            )],
        ),
        one(
            "open",
            "open sockets",
            vec![
                ("open", Up, Constant, curve(doubling_table, 0.03, 0.05)),
                (
                    "open",
                    Down,
                    Constant,
                    curve(|n| if n > 4_000.0 && n < 6_000.0 { 0.93e-6 } else { 0.83e-6 }, 0.03, 0.05),
                ),
            ],
        ),
        one(
            "mmap",
            "mappings",
            vec![("mmap", Up, Linear, curve(|n| 2.4e-6 + 0.6e-9 * (n - 4_000.0).max(0.0), 0.03, 0.05))],
        ),
        one(
            "walk",
            "files",
            vec![("walk", Up, Linear, curve(|n| 1e-6 * (1.0 + (n / 3_000.0).sqrt()), 0.1, 0.1))],
        ),
    ]
}

/// A table that is copied when it is full.
fn doubling_table(n: f64) -> f64 {
    let full = n >= 1024.0 && (n as u64).is_power_of_two();
    0.83e-6 * if full { 0.002 * n } else { 1.0 }
}

/// One of everything a report has to show.
pub(crate) fn mixed(n: u64) -> Vec<Emulated> {
    let curve = |cost, between, within| Curve { cost, between, within, n, twin: None };
    use Direction::{Down, Up};
    use Expect::{Constant, Linear};
    vec![
        one(
            "socket",
            "open sockets",
            vec![
                ("socket", Up, Constant, curve(|_| 1.21e-6, 0.08, 0.06)),
                ("close", Down, Constant, curve(|_| 0.83e-6, 0.05, 0.06)),
            ],
        ),
        one(
            "bind",
            "bound sockets",
            vec![(
                "bind",
                Up,
                Constant,
                curve(
                    |n| {
                        let free = 0.5e-6 / (1.0 - (n / 28_232.0)).max(0.05);
                        if n >= 14_116.0 { free + 1.1e-3 } else { free }
                    },
                    0.05,
                    0.10,
                ),
            )],
        ),
        one(
            "fork",
            "live children",
            vec![
                ("fork", Up, Linear, curve(|n| 120e-6 + 9e-9 * n, 0.04, 0.08)),
                ("reap", Down, Constant, curve(|n| 41e-6 * (1.0 + 0.004 * n.max(1.0).ln()), 0.03, 0.05)),
            ],
        ),
        one("mmap", "mappings", vec![("mmap", Up, Constant, curve(|_| 2.4e-6, 0.2, 0.9))]),
        Emulated {
            variant: "select",
            outcome: Outcome::Limit {
                n: 1_024,
                operation: "select".into(),
                error: "FD_SETSIZE".into(),
                advice: "select cannot watch descriptors from 1 024 on; use poll or epoll.".into(),
            },
            stopping: u32::MAX,
            ..one(
                "ready",
                "watched descriptors",
                vec![("select", Up, Linear, curve(|n| 0.6e-6 + 11e-9 * n, 0.04, 0.05))],
            )
        },
        Emulated {
            variant: "kqueue",
            outcome: Outcome::Unsupported { reason: "this system has no kqueue".into() },
            stopping: u32::MAX,
            ..one("ready", "watched descriptors", vec![("select", Up, Linear, curve(|_| 1e-6, 0.04, 0.05))])
        },
        Emulated {
            outcome: Outcome::Crashed { n: 3_120, reason: "killed by signal 9, out of memory".into() },
            stopping: 2,
            ..one("thread", "threads", vec![("create", Up, Constant, curve(|_| 9.1e-6, 0.02, 0.04))])
        },
    ]
}

/// The same workloads on three systems: the second slower here and faster there, the third another kind.
pub(crate) fn three_kernels(n: u64) -> [Recording; 3] {
    let quiet = |mut all: Vec<Emulated>| {
        for (_, _, _, curve) in all.iter_mut().flat_map(|w| &mut w.series) {
            curve.between = 0.02;
        }
        all
    };
    let old = quiet(mixed(n));
    let mut new = quiet(mixed(n));
    new[0].series[0].3.cost = |_| 1.24e-6;
    new[1].series[0].3.cost = |n| 0.5e-6 / (1.0 - (n / 28_232.0)).max(0.05);
    new[2].series[0].3.cost = |n| 141e-6 + 10.6e-9 * n;
    new[2].series[1].3.cost = |n| 36e-6 + 1.2e-9 * n;
    new.pop();
    new[4].version = 2;
    new[5].version = 2;
    let mut other = quiet(mixed(n));
    other.truncate(4);
    other[0].series[0].3.cost = |_| 0.92e-6;
    let facts: [&[(&str, &str)]; 3] = [
        &[],
        &[
            ("kernel.release", "7.3.4"),
            ("cpu.mitigations.srso", "Mitigation: Safe RET"),
            ("memory.thp", "madvise"),
        ],
        &[("kernel.name", "FreeBSD"), ("kernel.release", "15.1"), ("clock.source", "TSC-low")],
    ];
    let record = |(i, workloads): (usize, &[Emulated])| {
        recording(system("local", facts[i]), workloads, 20, 11 + i as u64)
    };
    [record((0, &old)), record((1, &new)), record((2, &other))]
}

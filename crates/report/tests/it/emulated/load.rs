//! An emulated race of server architectures: loads over rising connections, from a fixed seed.

use record::{
    Check, Direction, End, EndStatus, GeneratorLevel, Limitation, LimitedBy, Line, OfferedLevel, Outcome,
    Recording, Series, SeriesKind, Shape, Side, Trial, TrialKey, TrialParameters, Unit, Variant, Workload,
};

use judge::compare::Ratio;
use stats::Answer;

use super::{normal, run_line, system};

/// The levels of every trial: connections.
pub(crate) const LEVELS: [u64; 10] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000];
const KINDS: [(&str, &str); 5] =
    [("throughput", "1/s"), ("p50", "s"), ("p99", "s"), ("p999", "s"), ("kernel memory", "B")];

const PAGE: &str = "Answer “too busy” in every architecture, over rising connections.

**Question.** How many connections per second does each architecture answer, and at what latency?

**Method.** A closed loop of clients, a new connection for each answer.

**Expected.** One process for each connection costs most.";

/// How one architecture behaves.
#[derive(Clone, Copy)]
pub(crate) struct Architecture {
    pub(crate) name: &'static str,
    /// Answers per second with many connections, and how many connections halve that.
    pub(crate) rate: f64,
    pub(crate) half: f64,
    /// Kernel memory of a connection, in bytes.
    pub(crate) memory: f64,
    /// The level at which it stops.
    pub(crate) stops: Option<u64>,
    /// The generator's observations in its first three trials.
    pub(crate) generator: Option<Saturated>,
}

/// Where the load generator of the first three trials was saturated.
#[derive(Clone, Copy)]
pub(crate) enum Saturated {
    At(u64),
    Everywhere,
}

const fn architecture(name: &'static str, rate: f64, half: f64, memory: f64) -> Architecture {
    Architecture { name, rate, half, memory, stops: None, generator: None }
}

/// Four of them: one stops at 1 000, one is faster than its generator.
pub(crate) fn four() -> Vec<Architecture> {
    vec![
        architecture("inetd", 9_500.0, 4_000.0, 190_000.0),
        Architecture { stops: Some(1_000), ..architecture("select", 109_000.0, 700.0, 9_400.0) },
        architecture("epoll", 110_000.0, 90_000.0, 9_300.0),
        Architecture {
            generator: Some(Saturated::At(1_000)),
            ..architecture("uring", 118_000.0, 90_000.0, 9_800.0)
        },
    ]
}

/// Twelve of them, for a page that must stay readable.
pub(crate) fn twelve() -> Vec<Architecture> {
    let mut all = four();
    all.extend([
        architecture("fork", 14_000.0, 5_000.0, 120_000.0),
        architecture("prefork", 71_000.0, 800.0, 61_000.0),
        architecture("thread", 88_000.0, 2_500.0, 24_000.0),
        architecture("pool", 92_000.0, 1_500.0, 11_000.0),
        architecture("poll", 108_000.0, 1_100.0, 9_350.0),
        architecture("epoll-et", 111_000.0, 90_000.0, 9_320.0),
        architecture("sigio", 84_000.0, 20_000.0, 10_100.0),
        architecture("tokio", 97_000.0, 80_000.0, 10_900.0),
    ]);
    all
}

impl Architecture {
    fn value(&self, series: &str, n: f64) -> f64 {
        let rate = self.rate * n / (n + 2.5) / (1.0 + n / self.half);
        match series {
            "throughput" => rate,
            "p50" => 0.9 * n / rate,
            "p99" => 2.6 * n / rate,
            "p999" => 7.5 * n / rate,
            _ => self.memory * n + 40_000.0,
        }
    }
}

/// All lines of a race of these.
pub(crate) fn lines(architectures: &[Architecture], trials: u32, seed: u64) -> Vec<Line> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let kind = |(name, unit): &(&str, &str)| SeriesKind {
        name: (*name).into(),
        side: if *unit == "B" { Side::Server } else { Side::Client },
        summary: format!("The {name} at each level."),
        unit: Unit::named(unit),
        ..SeriesKind::default()
    };
    let variant = |one: &Architecture| Variant { name: one.name.into(), summary: String::new() };
    let mut lines = vec![
        Line::Run(run_line(seed)),
        Line::System(system("local", &[])),
        Line::Workload(Workload {
            name: "race".into(),
            version: 1,
            summary: PAGE.lines().next().unwrap_or_default().into(),
            page: PAGE.into(),
            grows: "connections".into(),
            variants: architectures.iter().map(variant).collect(),
            series: KINDS.iter().map(kind).collect(),
            shape: Shape::Load,
            server: true,
            rivals: true,
            ..Workload::default()
        }),
    ];
    for one in architectures {
        for trial in 1..=trials {
            lines.push(Line::Trial(trial_line(one, trial)));
            lines.extend(one.generator.filter(|_| trial <= 3).map(|at| saturated(one, trial, at)));
            let levels: Vec<u64> =
                LEVELS.into_iter().filter(|n| one.stops.is_none_or(|stops| *n < stops)).collect();
            let level = (0.02 * normal(&mut rng)).exp();
            for (name, _) in KINDS {
                let slower = if matches!(name, "throughput") { level } else { 1.0 / level };
                let values = levels
                    .iter()
                    .map(|n| one.value(name, *n as f64) * slower * (0.015 * normal(&mut rng)).exp());
                lines.push(Line::Series(Series {
                    system: "local".into(),
                    workload: "race".into(),
                    variant: one.name.into(),
                    trial,
                    name: name.into(),
                    direction: Direction::Up,
                    n_first: 1,
                    n_step: 0,
                    sizes: levels.clone(),
                    batch: 1,
                    counts: Vec::new(),
                    values: values.collect(),
                }));
            }
        }
    }
    lines.push(Line::End(End { status: EndStatus::Complete, elapsed_seconds: 97.0 }));
    lines
}

/// Makes it a race whose first trials found the load that all were offered in the others: this rate below the
/// last level, and there another one.
pub(crate) fn offer(lines: &mut Vec<Line>, per_second: f64, at_last: f64) {
    let level = |n: u64| OfferedLevel {
        n,
        per_second: if LEVELS.last() == Some(&n) { at_last } else { per_second },
        spacing_seconds: 1e-4,
        slowest: "inetd".into(),
        slowest_per_second: 2.0 * per_second,
        generator_seconds: 3e-5,
    };
    let mut first_trials = Vec::new();
    for line in &mut *lines {
        match line {
            Line::Workload(workload) => workload.equal_offered_load = true,
            Line::Trial(trial) if trial.order.trial > 1 => {
                trial.order.offered = LEVELS.into_iter().map(level).collect();
            }
            Line::Trial(trial) => {
                let closed = GeneratorLevel {
                    series: vec!["throughput".into()],
                    ..idle(TrialKey::from_parameters(&trial.order))
                };
                first_trials.push(Line::Generator(closed));
            }
            _ => {}
        }
    }
    lines.splice(3..3, first_trials);
}

/// The same race on two systems: the lines of the second behind those of the first.
pub(crate) fn on_two(architectures: &[Architecture]) -> Recording {
    let mut all = lines(architectures, 10, 7);
    let mut other = lines(architectures, 10, 8);
    let end = all.pop();
    other.retain(|line| !matches!(line, Line::Run(_) | Line::Workload(_) | Line::End(_)));
    for line in &mut other {
        match line {
            Line::System(system) => system.name = "other".into(),
            Line::Trial(trial) => trial.order.system = "other".into(),
            Line::Series(series) => series.system = "other".into(),
            Line::Generator(level) => level.of.system = "other".into(),
            _ => {}
        }
    }
    Recording::new(all.into_iter().chain(other).chain(end)).expect("begins with its run line")
}

/// The record of an idle load generator, in a closed loop.
fn idle(of: TrialKey) -> GeneratorLevel {
    GeneratorLevel {
        of,
        n: 1,
        generators: 1,
        connections: 1,
        elapsed_seconds: 1.0,
        started_per_second: 100.0,
        completed_per_second: 100.0,
        cpu_share: 0.1,
        run_delay_share: Some(0.0),
        latency_seconds_p50: Some(1e-3),
        ..GeneratorLevel::default()
    }
}

pub(crate) fn race(architectures: &[Architecture], trials: u32, seed: u64) -> Recording {
    Recording::new(lines(architectures, trials, seed)).expect("begins with its run line")
}

/// The record of a saturated load generator.
fn saturated(one: &Architecture, trial: u32, at: Saturated) -> Line {
    let (system, workload, variant) = ("local".into(), "race".into(), one.name.into());
    let of = TrialKey { system, workload, variant, trial };
    let Saturated::At(n) = at else {
        let by = LimitedBy::Generator;
        return Line::Limited(Limitation { of, n: None, by, series: Vec::new(), why: String::new() });
    };
    let rate = one.value("throughput", n as f64);
    Line::Generator(GeneratorLevel {
        n,
        connections: n,
        started_per_second: rate,
        completed_per_second: rate,
        cpu_share: 0.98,
        latency_seconds_p50: Some(one.value("p50", n as f64)),
        ..idle(of)
    })
}

fn trial_line(one: &Architecture, trial: u32) -> Trial {
    let outcome = one.stops.map(|n| Outcome::Limit {
        n,
        operation: one.name.into(),
        error: "FD_SETSIZE".into(),
        advice: "select cannot watch descriptors from 1 024 on; use poll or epoll.".into(),
    });
    Trial {
        order: TrialParameters {
            system: "local".into(),
            workload: "race".into(),
            version: 1,
            variant: one.name.into(),
            trial,
            n: 1_000,
            seed: u64::from(trial),
            window_seconds: Some(1.0),
            timeout_seconds: 60.0,
            ..TrialParameters::default()
        },
        started_seconds: f64::from(trial),
        elapsed_seconds: 11.0,
        outcome: outcome.unwrap_or_default(),
        checks: vec![Check { claim: "every answer was complete".into(), held: true }],
        ..Trial::default()
    }
}

/// Gives every ratio a value set by hand, so that the output changes only when the writer changes.
pub(crate) fn pin(findings: &mut judge::Findings) {
    for verdict in findings.series.iter_mut().filter_map(|finding| finding.verdict.as_mut()) {
        verdict.growth = stats::Interval { value: 12.0, low: 11.0, high: 13.0 };
    }
    let around = |value: f64, share: f64| stats::Interval {
        value,
        low: value * (1.0 - share),
        high: value * (1.0 + share),
    };
    for ranking in findings.comparisons.iter_mut().flat_map(|compared| &mut compared.rankings) {
        let rate = ranking.unit.more_is_better();
        // Of a rate what is pinned is the ratio of values, and what is stored that of costs.
        let cost = |stats::Interval { value, low, high }: stats::Interval| match rate {
            true => stats::Interval { value: 1.0 / value, low: 1.0 / high, high: 1.0 / low },
            false => stats::Interval { value, low, high },
        };
        for contender in &mut ranking.standings {
            let value = match contender.name.as_str() {
                "inetd" => 0.083,
                "select" => 0.71,
                _ => 0.93,
            };
            let value = if rate { value } else { 1.0 / value };
            let pin = |ratio: &mut Ratio, value: f64, share: f64| {
                ratio.comparison.ratio = cost(around(value, share));
                ratio.comparison.answer = Answer::Slower;
                ratio.comparison.crossings.clear();
            };
            contender.last.iter_mut().for_each(|last| pin(last, value, 0.04));
            contender.overall.iter_mut().for_each(|overall| pin(overall, value.sqrt(), 0.02));
            let pinned = match contender.name.as_str() {
                "inetd" => (4, 4),
                "uring" => (1, 2),
                "epoll" => (1, 3),
                _ => (2, 3),
            };
            (contender.rank).iter_mut().for_each(|rank| (rank.best, rank.worst) = pinned);
        }
    }
}

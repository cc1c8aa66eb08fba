//! A small run with everything in it.

use std::path::Path;

use record::*;

/// One line as JSON, without its line feed.
pub(crate) fn json(line: &Line) -> String {
    let mut text = Vec::new();
    write_line(line, &mut text).unwrap();
    assert_eq!(text.pop(), Some(b'\n'));
    String::from_utf8(text).unwrap()
}

pub(crate) fn run() -> Run {
    Run {
        schema: SCHEMA,
        tool: Tool { name: "osdyno".into(), version: "0.2.0".into(), build: "rustc 1.95.0".into() },
        started_at: "2026-11-21T20:14:00Z".into(),
        command: vec!["osdyno".into(), "run".into(), "bind".into()],
        preset: "quick".into(),
        seed: u64::MAX,
        budget_seconds: Some(120.0),
        looks: vec![5, 10],
        pinned: true,
        paired: true,
    }
}

pub(crate) fn noise_floor() -> NoiseFloor {
    NoiseFloor {
        share: 0.02,
        false_alarm_rate: 0.0,
        trials: 10,
        measured_at: "2026-11-20T20:14:00Z".into(),
        run: "aa.osdyno".into(),
        series: [("bind/v6 close down".into(), 0.03)].into(),
    }
}

fn limit() -> ResourceLimit {
    ResourceLimit {
        name: "RLIMIT_NOFILE".into(),
        value: 20_000,
        usable: 19_968,
        advice: "raise it with `ulimit -n 65536`".into(),
    }
}

pub(crate) fn head() -> Vec<Line> {
    let kind = |name: &str, direction, sum_of: &[&str]| SeriesKind {
        name: name.into(),
        direction,
        expect: Expect::Constant,
        expect_by_variant: [("v4".into(), Expect::Linear)].into(),
        variants: vec!["v4".into()],
        summary: "One call.".into(),
        sum_of: sum_of.iter().map(|name| name.to_string()).collect(),
        part: Some(JobPart::OfUnit),
        ..SeriesKind::default()
    };
    vec![
        Line::System(System {
            name: "local".into(),
            prefix: Vec::new(),
            environment: [("kernel.release".into(), "6.18.44".into())].into(),
            warnings: vec!["Steal time was seen.".into()],
            limits: [("descriptors".into(), vec![limit()])].into(),
            processors: Some(Processors {
                online: 2,
                usable: vec![0, 1],
                trial: Some(1),
                server: None,
                borders: Vec::new(),
            }),
            noise_floor: Some(noise_floor()),
            fleet: Some(FleetPlace { host: "n1".to_owned(), configuration: "bpf".to_owned() }),
        }),
        Line::Workload(Workload {
            name: "bind".into(),
            version: 1,
            summary: "Bind sockets to port 0.".into(),
            page: "Question.\n\n\"Method\": naïve.".into(),
            grows: "bound sockets".into(),
            variants: vec![Variant { name: "v6".into(), summary: "IPv6.".into() }],
            series: vec![
                kind("socket", Direction::Up, &[]),
                kind("bind", Direction::Up, &[]),
                kind("open", Direction::Up, &["socket", "bind"]),
                kind("close", Direction::Down, &[]),
            ],
            remedies: [("v4".into(), "bind explicit ports".into())].into(),
            ..Workload::default()
        }),
    ]
}

pub(crate) fn trial(number: u32, outcome: Outcome, checks: Vec<Check>) -> Line {
    Line::Trial(Trial {
        order: TrialParameters {
            system: "local".into(),
            workload: "bind".into(),
            version: 1,
            variant: "v6".into(),
            trial: number,
            n: 3,
            cpu: Some(1),
            seed: 7,
            timeout_seconds: 60.0,
            scratch: "/tmp/osdyno".into(),
            ..TrialParameters::default()
        },
        started_seconds: 0.25,
        elapsed_seconds: 0.5,
        clock: Some(TrialClock { source: "tsc".into(), tick_seconds: 5e-10, read_seconds: 2.1e-8 }),
        outcome,
        checks,
        held_background: Vec::new(),
        activity: [("steal_seconds".into(), 0.0)].into(),
        warnings: Vec::new(),
    })
}

pub(crate) fn series(number: u32, name: &str, direction: Direction, values: &[f64]) -> Line {
    let (n_first, n_step) = match direction {
        Direction::Up => (0, 1),
        Direction::Down => (values.len() as u64, -1),
    };
    Line::Series(Series {
        system: "local".into(),
        workload: "bind".into(),
        variant: "v6".into(),
        trial: number,
        name: name.into(),
        direction,
        n_first,
        n_step,
        sizes: Vec::new(),
        batch: 1,
        counts: Vec::new(),
        values: values.to_vec(),
    })
}

/// The lines of loads beside their series.
pub(crate) fn beside(number: u32) -> Vec<Line> {
    let of =
        TrialKey { system: "local".into(), workload: "bind".into(), variant: "v6".into(), trial: number };
    let generator = GeneratorLevel {
        of: of.clone(),
        n: 50,
        generators: 1,
        connections: 50,
        elapsed_seconds: 1.5,
        intended_per_second: Some(1000.0),
        started_per_second: 999.5,
        completed_per_second: 998.25,
        unanswered: 1,
        cpu_share: 0.93,
        run_delay_share: Some(0.01),
        latency_seconds_p50: Some(4e-5),
        lateness_seconds_p99: Some(2e-6),
        failures: vec![FailureCount { stage: "connect".into(), cause: "ECONNRESET".into(), count: 3 }],
        ..GeneratorLevel::default()
    };
    let limitation = Limitation {
        of: of.clone(),
        n: Some(50),
        by: LimitedBy::Time,
        series: vec!["p999".into()],
        why: "7 requests had no response".into(),
    };
    let histogram = Histogram {
        of,
        n: 50,
        name: "latency".into(),
        unit: Unit::Seconds,
        scale: 1e-9,
        count: 1497,
        hdr: "HISTFAAA".into(),
    };
    vec![Line::Generator(generator), Line::Limited(limitation), Line::Histogram(histogram)]
}

pub(crate) fn profile_order() -> ProfileOrder {
    let low = NRange { n_low: 1, n_high: 2 };
    let high = NRange { n_low: 3, n_high: 4 };
    let series = ProfiledSeries { name: "bind".into(), direction: Direction::Up, low, high };
    ProfileOrder { period_seconds: 1e-4, series: vec![series] }
}

/// With every field that others leave out.
pub(crate) fn profile() -> Profile {
    let of = TrialKey { system: "local".into(), workload: "bind".into(), variant: "v6".into(), trial: 9 };
    let window = |n_low, samples| ProfileWindow {
        range: NRange { n_low, n_high: n_low + 1 },
        operations: 2,
        seconds: 0.5,
        samples,
        counts: vec![Count { name: "page-faults".into(), per_operation: 0.25 }],
        in_use: vec![InUse { name: "mappings".into(), mean: 31.5 }],
    };
    let kernel =
        |function: &str| Frame { function: function.into(), module: "kernel".into(), ..Frame::default() };
    let library =
        Frame { module: "/usr/lib/libc.so.6".into(), offset: Some(64), inode: Some(7), ..Frame::default() };
    Profile {
        of,
        name: "bind".into(),
        direction: Direction::Up,
        event: "cpu-clock".into(),
        period_seconds: 1e-4,
        low: window(1, 3),
        high: window(3, 12),
        frames: vec![kernel("inet_csk_get_port"), kernel("inet_bind"), library],
        stacks: vec![
            Stack { frames: vec![0, 2], samples: [2, 10] },
            Stack { frames: vec![1, 2], samples: [1, 2] },
        ],
        lost: 0,
        nameless: "hidden".into(),
        uncounted: "not counted: instructions".into(),
        unsampled: "it needs root".into(),
    }
}

/// Trial 1 is good, trial 2 failed a check, trial 3 met a limit.
pub(crate) fn trials() -> Vec<Vec<Line>> {
    let held = |held| vec![Check { claim: "every port is distinct".into(), held }];
    let limit = Outcome::Limit {
        n: 2,
        operation: "bind".into(),
        error: "EADDRINUSE".into(),
        advice: "Widen the range of ports.".into(),
    };
    vec![
        vec![
            trial(1, Outcome::Complete, held(true)),
            series(1, "socket", Direction::Up, &[1e-6, 2e-6, 3e-6]),
            series(1, "bind", Direction::Up, &[8.41e-7, 0.1 + 0.2, f64::MIN_POSITIVE]),
            series(1, "close", Direction::Down, &[5e-7, 5e-7, 5e-7]),
        ],
        vec![
            trial(2, Outcome::Complete, held(false)),
            series(2, "socket", Direction::Up, &[1e-6]),
            series(2, "bind", Direction::Up, &[1e-6]),
        ],
        vec![
            trial(3, limit, held(true)),
            series(3, "socket", Direction::Up, &[1e-6, 2e-6, 3e-6]),
            series(3, "bind", Direction::Up, &[1e-6, 2e-6]),
        ],
    ]
}

pub(crate) fn end() -> End {
    End { status: EndStatus::Complete, elapsed_seconds: 2.5 }
}

/// Every line of the sample, in order.
pub(crate) fn lines() -> Vec<Line> {
    let mut lines = vec![Line::Run(run())];
    lines.extend(head());
    lines.extend(trials().concat());
    lines.extend(beside(3));
    lines.push(Line::End(end()));
    lines
}

/// Writes the sample as a run file.
pub(crate) fn write(path: &Path) {
    let mut writer = Writer::create(path, run(), &head()).unwrap();
    for trial in trials() {
        writer.append(&trial).unwrap();
    }
    writer.append(&beside(3)).unwrap();
    writer.finish(end()).unwrap();
}

/// The file of the sample.
pub(crate) fn bytes() -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sample.osdyno");
    write(&path);
    std::fs::read(path).unwrap()
}

//! A run is read as it was written.

use crate::sample;

use record::*;

#[test]
fn a_file_gives_back_its_lines() {
    let bytes = sample::bytes();
    let mut reader = Reader::new(bytes.as_slice(), "sample").unwrap();
    let lines: Vec<Line> = reader.by_ref().collect::<Result<_>>().unwrap();
    assert_eq!(lines, sample::lines());
    assert_eq!(reader.losses(), []);
}

/// Also the reference of the format: a change here is a change of the schema.
#[test]
fn the_lines_look_like_this() {
    let text: String = sample::lines().iter().map(|line| sample::json(line) + "\n").collect();
    insta::assert_snapshot!(text);
}

#[test]
fn keys_in_another_order_and_fields_of_the_future_are_read() {
    let line = sample::series(1, "bind", Direction::Up, &[1e-6]);
    let text = sample::json(&line).replacen(r#""type":"series","#, r#""colour":[{"a":null}],"#, 1);
    let text = text.strip_suffix('}').unwrap().to_owned() + r#","type" : "series"}"#;
    assert_eq!(parse_line(&text).unwrap(), line);
}

#[test]
fn a_line_is_written_as_it_was_sent_unless_it_is_changed() {
    let line = sample::series(1, "bind", Direction::Up, &[1e-6]);
    let text = sample::json(&line).replace(':', ": ").into_bytes();
    let written = |sent: &SentLine| {
        let mut bytes = Vec::new();
        sent.write(&mut bytes).unwrap();
        bytes
    };
    let mut sent = SentLine::parse(text.clone()).unwrap();
    assert_eq!((sent.line(), written(&sent)), (&line, [&text[..], b"\n"].concat()));
    let Line::Series(series) = sent.line_mut() else { panic!("a series") };
    series.batch = 7;
    let changed = written(&sent);
    assert_eq!(parse_line(std::str::from_utf8(&changed).unwrap()).unwrap(), *sent.line());
    assert_ne!(*sent.line(), line);
    let broken = [&text[..text.len() - 1], b"\n}"].concat();
    assert!(matches!(SentLine::parse(broken), Err(LineError::Several)), "a reader would find two lines");
}

#[test]
fn unknown_and_malformed_lines_are_told_apart() {
    let error = |text| parse_line(text).unwrap_err();
    assert!(matches!(error(r#"{"type":"phase","buckets":[]}"#), LineError::Unknown(kind) if kind == "phase"));
    assert!(matches!(error(r#"{"type":"phase","#), LineError::Malformed(_)));
    assert!(matches!(error(r#"{"type":"end"}"#), LineError::Malformed(_)));
    assert!(matches!(error(r#"{}"#), LineError::Malformed(_)));
    assert!(matches!(error("\u{0}"), LineError::Malformed(_)));
}

#[test]
fn values_that_are_no_numbers_are_refused_on_reading() {
    let text = sample::json(&sample::series(1, "bind", Direction::Up, &[f64::NAN]));
    assert!(matches!(parse_line(&text), Err(LineError::Malformed(_))));
}

#[test]
fn a_seed_that_another_tool_rounded_does_not_cost_the_file() {
    for line in [Line::Run(sample::run()), sample::trial(1, Outcome::Complete, vec![])] {
        let text = sample::json(&line);
        for rounded in ["18446744073709552000", "1.8446744073709552e+19"] {
            let seed = text.find(r#""seed":"#).unwrap() + 7;
            let end = seed + text[seed..].find(',').unwrap();
            let text = format!("{}{rounded}{}", &text[..seed], &text[end..]);
            assert_eq!(parse_line(&text).unwrap(), with_seed(line.clone(), u64::MAX));
        }
    }
}

/// Fields that were added later; older files are read with their meaning.
#[test]
fn files_of_older_versions_are_read() {
    for line in sample::lines() {
        let mut fields: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(&sample::json(&line)).unwrap();
        let later = [
            "paired",
            "noise_floor",
            "rivals",
            "shape",
            "server",
            "limits",
            "processors",
            "settings",
            "remedies",
            "fleet",
        ];
        fields.retain(|field, _| !later.contains(&field.as_str()));
        let older = match line {
            Line::Run(run) => Line::Run(Run { paired: false, ..run }),
            Line::System(system) => Line::System(System {
                noise_floor: None,
                limits: [].into(),
                processors: None,
                fleet: None,
                ..system
            }),
            Line::Workload(mut workload) => {
                workload.remedies.clear();
                for kind in &mut workload.series {
                    kind.sum_of.clear();
                    kind.expect_by_variant.clear();
                    kind.variants.clear();
                    kind.part = None;
                }
                Line::Workload(workload)
            }
            other => other,
        };
        let kinds = fields.get_mut("series").and_then(|kinds| kinds.as_array_mut()).into_iter().flatten();
        for kind in kinds.filter_map(|kind| kind.as_object_mut()) {
            let later = ["sum_of", "unit", "both_ways", "side", "expect_by_variant", "variants", "part"];
            kind.retain(|field, _| !later.contains(&field.as_str()));
        }
        assert_eq!(parse_line(&serde_json::to_string(&fields).unwrap()).unwrap(), older);
    }
}

#[test]
fn sizes_that_are_listed_are_written_and_found() {
    let Line::Series(even) = sample::series(1, "bind", Direction::Up, &[1.0, 2.0, 3.0]) else {
        panic!("a series")
    };
    assert!(!sample::json(&Line::Series(even.clone())).contains("sizes"));
    let listed = Series { n_first: 1, n_step: 0, sizes: vec![1, 10, 10], ..even };
    let text = sample::json(&Line::Series(listed.clone()));
    assert!(text.contains(r#""n_first":1,"n_step":0,"sizes":[1,10,10],"batch":1"#), "{text}");
    assert_eq!(parse_line(&text).unwrap(), Line::Series(listed.clone()));
    assert_eq!(listed.points().collect::<Vec<_>>(), [(1, 1.0), (10, 2.0), (10, 3.0)]);
    assert_eq!(listed.n(99), 10);
}

/// A trial of a load, with all that only loads have.
fn load() -> Line {
    let Line::Trial(mut trial) = sample::trial(1, Outcome::Complete, vec![]) else { panic!("a trial") };
    trial.order.settings = [("size".into(), "4k".into())].into();
    trial.order.window_seconds = Some(0.05);
    trial.order.server_cpu = Some(2);
    trial.order.server =
        Some(Server { address: "10.0.0.2".into(), prefix: vec!["ssh".into(), "sut".into()] });
    Line::Trial(trial)
}

fn background() -> Background {
    Background { load: "cpu:50%".into(), processor: Some(1) }
}

#[test]
fn what_became_of_a_background_is_read_as_it_was_written() {
    let line = everything();
    let text = sample::json(&line);
    let held =
        r#""held_background":[{"load":"cpu:50%","processor":1,"unit":"","target":0.5,"rates":[0.499,0.502],"#;
    assert!(text.contains(held), "{text}");
    assert_eq!(parse_line(&text).unwrap(), line);
    let without = sample::json(&load());
    assert!(!without.contains("background"), "absent where nothing loads the system: {without}");
}

/// A trial with every field that others leave out.
fn everything() -> Line {
    let Line::Trial(mut trial) = load() else { panic!("a trial") };
    let (slowest, per_second) = ("fork".into(), 100.0);
    let offered = OfferedLevel {
        n: 1,
        per_second,
        spacing_seconds: 0.01,
        slowest,
        slowest_per_second: per_second,
        generator_seconds: 1e-6,
    };
    trial.order = TrialParameters {
        boot: 1,
        references: true,
        clients: vec![ClientHost { name: "n1".into(), command: vec!["ssh".into(), "n1".into()] }],
        offered: vec![offered],
        levels: vec![1],
        background: vec![background()],
        helpers: 1,
        profile: Some(Box::new(sample::profile_order())),
        ..trial.order
    };
    trial.held_background = vec![HeldBackground {
        background: background(),
        unit: Unit::None,
        target: 0.5,
        rates: vec![0.499, 0.502],
        counter: "CLOCK_THREAD_CPUTIME_ID".into(),
        system_counter: "/proc/stat busy".into(),
        system_rate: Some(0.6),
        holds: Some(4096.0),
        is_held: false,
        ended: "killed by SIGKILL".into(),
    }];
    Line::Trial(trial)
}

#[test]
fn what_only_loads_have_is_absent_elsewhere() {
    let text = sample::json(&load());
    let only = r#""window_seconds":0.05,"server_cpu":2,"server":{"address":"10.0.0.2","prefix":["ssh","sut"]},"settings":{"size":"4k"},"#;
    assert!(text.contains(only), "{text}");
    assert_eq!(parse_line(&text).unwrap(), load());
    let without = text.replace(only, "");
    let other = sample::trial(1, Outcome::Complete, vec![]);
    assert_eq!((&sample::json(&other), parse_line(&without).unwrap()), (&without, other));
}

#[test]
fn what_was_sampled_survives_and_counts_for_nothing_else() {
    let line = Line::Profile(sample::profile());
    assert_eq!(parse_line(&sample::json(&line)).unwrap(), line);
    let Line::Trial(mut trial) = sample::trial(9, Outcome::Complete, vec![]) else { panic!("a trial") };
    trial.order.profile = Some(Box::new(sample::profile_order()));
    let before = Recording::new(sample::lines()).unwrap();
    let recording =
        Recording::new(sample::lines().into_iter().chain([Line::Trial(trial.clone()), line])).unwrap();
    assert_eq!(recording.trials, before.trials);
    assert_eq!((recording.sampled_trials, recording.profiles), (vec![trial], vec![sample::profile()]));
}

#[test]
fn functions_that_get_one_name_are_one() {
    let mut profile = sample::profile();
    profile.rename(|frame| Frame { module: frame.module.clone(), ..Frame::default() });
    assert_eq!(profile.frames.len(), 2, "{:?}", profile.frames);
    // Both stacks were in the kernel, called from the library.
    let [stack] = &profile.stacks[..] else { panic!("one stack: {:?}", profile.stacks) };
    assert_eq!(stack.samples, [3, 12]);
    let modules: Vec<&str> = profile.functions(stack).map(|frame| frame.module.as_str()).collect();
    assert_eq!(modules, ["kernel", "/usr/lib/libc.so.6"]);
    // A damaged file may name missing frames.
    let stray = Stack { frames: vec![0, 77], samples: [0, 1] };
    assert_eq!(profile.functions(&stray).count(), 1);
}

#[test]
fn a_noise_floor_that_the_run_found_is_that_of_its_systems() {
    let found = NoiseFloor { share: 0.5, ..sample::noise_floor() };
    let line = sample::json(&Line::NoiseFloor(found.clone()));
    assert!(line.starts_with(r#"{"type":"noise-floor","share":0.5,"#), "{line}");
    let lines = sample::lines().into_iter().chain([parse_line(&line).unwrap()]);
    let recording = Recording::new(lines).unwrap();
    assert_eq!(recording.systems[0].noise_floor, Some(found));
}

#[test]
fn a_series_without_a_noise_floor_of_its_own_settings_has_that_of_all() {
    let key = |name: &str, direction| {
        let (system, workload, variant) = ("local".into(), "bind".into(), "v6".into());
        SeriesKey { system, workload, variant, name: name.into(), direction }
    };
    let floor_of = |key, settings: &[(&str, &str)]| {
        let owned = settings.iter().map(|&(name, value)| (name.to_owned(), value.to_owned()));
        sample::noise_floor().series_share(&key, &owned.collect())
    };
    assert_eq!(floor_of(key("close", Direction::Down), &[]), 0.03);
    assert_eq!(floor_of(key("bind", Direction::Up), &[]), 0.02);
    let with_settings = floor_of(key("close", Direction::Down), &[("backlog", "7")]);
    assert_eq!(with_settings, 0.02, "its own floor was measured with other settings");
}

fn with_seed(mut line: Line, seed: u64) -> Line {
    match &mut line {
        Line::Run(run) => run.seed = seed,
        Line::Trial(trial) => trial.order.seed = seed,
        _ => {}
    }
    line
}

/// A series of five measurements in two medians.
fn reduced() -> Line {
    let Line::Series(series) = sample::series(1, "bind", Direction::Up, &[1e-6, 2e-6]) else {
        panic!("a series")
    };
    Line::Series(Series { sizes: vec![1, 4], counts: vec![2, 3], ..series })
}

fn judged() -> Line {
    let Line::Series(series) = reduced() else { panic!("a series") };
    Line::Judged(JudgedSeries {
        of: SeriesKey::from_series(&series),
        by: "0.1.0".into(),
        margin: 0.1,
        looks: 3,
        verdict: serde_json::json!({ "class": "flat", "bound": 0.1 + 0.2, "growth": null }),
    })
}

#[test]
fn a_reduced_series_and_its_verdict_survive() {
    for line in [reduced(), judged()] {
        assert_eq!(parse_line(&sample::json(&line)).unwrap(), line);
    }
    let Line::Series(series) = reduced() else { panic!("a series") };
    assert_eq!(series.measurements(), 5);
    assert_eq!(series.every_value(), &[1e-6, 1e-6, 2e-6, 2e-6, 2e-6][..]);
    let broken = [
        Series { counts: vec![2], ..series.clone() },
        Series { counts: vec![5, 0], ..series.clone() },
        Series { counts: vec![1 << 24, 1], ..series.clone() },
        Series { sizes: Vec::new(), ..series.clone() },
        Series { n_step: i64::MAX, ..series.clone() },
        Series { direction: Direction::Down, sizes: vec![4, 1], ..series },
    ];
    for series in broken {
        let text = sample::json(&Line::Series(series));
        assert!(matches!(parse_line(&text), Err(LineError::Broken(_))), "{text}");
    }
}

/// Outcomes as well, because the sample has only two.
#[test]
fn the_specification_names_every_field() {
    let specification = include_str!("../../../../docs/record.md");
    let outcomes = [
        Outcome::Allowance { n: 1 },
        Outcome::Unsupported { reason: "r".into() },
        Outcome::Failed { reason: "r".into() },
        Outcome::Crashed { n: 1, reason: "r".into() },
        Outcome::TimedOut { n: 1 },
    ];
    let trials = outcomes.map(|outcome| sample::trial(1, outcome, vec![]));
    let floor = Line::NoiseFloor(sample::noise_floor());
    for line in sample::lines().into_iter().chain(trials).chain([
        floor,
        everything(),
        Line::Profile(sample::profile()),
        reduced(),
        judged(),
    ]) {
        let line: serde_json::Value = serde_json::from_str(&sample::json(&line)).unwrap();
        let mut names = vec![line["type"].clone(), line["outcome"]["ended"].clone()];
        let mut values = vec![line];
        while let Some(value) = values.pop() {
            match value {
                serde_json::Value::Object(fields) => {
                    for (name, value) in fields {
                        // Their keys are data.
                        if ![
                            "environment",
                            "activity",
                            "settings",
                            "limits",
                            "expect_by_variant",
                            "remedies",
                            "verdict",
                        ]
                        .contains(&name.as_str())
                        {
                            values.push(value);
                        } else if name == "limits" {
                            values.extend(value.as_object().unwrap().values().cloned());
                        }
                        names.push(name.into());
                    }
                }
                serde_json::Value::Array(items) => values.extend(items),
                _ => {}
            }
        }
        for name in names.iter().filter_map(|name| name.as_str()) {
            assert!(specification.contains(&format!("`{name}`")), "docs/record.md does not mention {name}");
        }
    }
}

#[test]
fn a_prediction_may_belong_to_one_variant() {
    let Line::Workload(workload) = sample::head().remove(1) else { panic!("a workload") };
    let kind = &workload.series[0];
    assert_eq!((kind.expect_of("v6"), kind.expect_of("v4")), (Expect::Constant, Expect::Linear));
}

#[test]
fn units_have_their_symbols_and_strange_ones_are_none() {
    for unit in [Unit::Seconds, Unit::PerSecond, Unit::Bytes, Unit::BytesPerSecond, Unit::None] {
        assert_eq!(Unit::named(unit.name()), unit);
        assert_eq!(serde_json::to_string(&unit).unwrap(), format!("{:?}", unit.name()));
    }
    assert_eq!(serde_json::from_str::<Unit>(r#""furlongs""#).unwrap(), Unit::None);
}

#[test]
fn lines_of_a_load_are_given_their_trial() {
    let key = TrialKey { trial: 9, ..TrialKey::default() };
    for mut line in sample::beside(1) {
        line.belong_to(&key);
        assert!(sample::json(&line).contains(r#""system":"","workload":"","variant":"","trial":9,"#));
    }
    let mut other = sample::trial(1, Outcome::Complete, vec![]);
    other.belong_to(&key);
    assert_eq!(other, sample::trial(1, Outcome::Complete, vec![]));
}

proptest::proptest! {
    #[test]
    fn every_finite_value_survives(values: Vec<f64>) {
        let line = sample::series(1, "bind", Direction::Up, &values);
        proptest::prop_assert_eq!(parse_line(&sample::json(&line)).unwrap(), line);
    }

    #[test]
    fn every_fact_of_a_load_survives(
        n: u64,
        trial: u32,
        texts in proptest::array::uniform4(".*"),
        numbers in proptest::array::uniform4(proptest::num::f64::NORMAL | proptest::num::f64::ZERO),
        some: bool,
    ) {
        for mut line in sample::beside(trial) {
            match &mut line {
                Line::Generator(level) => {
                    (level.n, level.unanswered) = (n, n);
                    (level.elapsed_seconds, level.completed_per_second) = (numbers[0], numbers[1]);
                    level.cpu_share = numbers[2];
                    level.run_delay_share = some.then_some(numbers[3]);
                    level.intended_per_second = some.then_some(numbers[0]);
                    level.failures[0].cause.clone_from(&texts[0]);
                    level.of.variant.clone_from(&texts[1]);
                }
                Line::Limited(limited) => {
                    limited.n = some.then_some(n);
                    limited.why.clone_from(&texts[2]);
                    limited.series.clone_from(&texts.to_vec());
                }
                Line::Histogram(histogram) => {
                    (histogram.n, histogram.count, histogram.scale) = (n, n, numbers[0]);
                    histogram.hdr.clone_from(&texts[3]);
                }
                _ => {}
            }
            proptest::prop_assert_eq!(parse_line(&sample::json(&line)).unwrap(), line);
        }
    }
}

//! What was written is what is read.

mod sample;

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
fn unknown_and_malformed_lines_are_told_apart() {
    let error = |text| parse_line(text).unwrap_err();
    assert!(
        matches!(error(r#"{"type":"histogram","buckets":[]}"#), LineError::Unknown(kind) if kind == "histogram")
    );
    assert!(matches!(error(r#"{"type":"histogram","#), LineError::Malformed(_)));
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

/// Fields that came later; files from before them are read as they were meant.
#[test]
fn files_of_older_versions_are_read() {
    for line in sample::lines() {
        let mut fields: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(&sample::json(&line)).unwrap();
        fields.retain(|field, _| !["paired", "noise_floor", "rivals"].contains(&field.as_str()));
        let older = match line {
            Line::Run(run) => Line::Run(Run { paired: false, ..run }),
            Line::System(system) => Line::System(System { noise_floor: None, ..system }),
            Line::Workload(mut workload) => {
                workload.series.iter_mut().for_each(|kind| kind.sum_of.clear());
                Line::Workload(workload)
            }
            other => other,
        };
        for kind in fields.get_mut("series").and_then(|kinds| kinds.as_array_mut()).into_iter().flatten() {
            let kind = kind.as_object_mut().unwrap();
            kind.retain(|field, _| !["sum_of", "unit", "both_ways"].contains(&field.as_str()));
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
    trial.order.window_seconds = Some(0.05);
    trial.order.server_cpu = Some(2);
    trial.order.server =
        Some(Server { address: "10.0.0.2".into(), prefix: vec!["ssh".into(), "sut".into()] });
    Line::Trial(trial)
}

#[test]
fn what_only_loads_have_is_absent_elsewhere() {
    let text = sample::json(&load());
    let only =
        r#""window_seconds":0.05,"server_cpu":2,"server":{"address":"10.0.0.2","prefix":["ssh","sut"]},"#;
    assert!(text.contains(only), "{text}");
    assert_eq!(parse_line(&text).unwrap(), load());
    let without = text.replace(only, "");
    let other = sample::trial(1, Outcome::Complete, vec![]);
    assert_eq!((&sample::json(&other), parse_line(&without).unwrap()), (&without, other));
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
fn a_series_without_a_noise_floor_of_its_own_has_that_of_all() {
    let key = |name: &str, direction| {
        let (system, workload, variant) = ("local".into(), "bind".into(), "v6".into());
        SeriesKey { system, workload, variant, name: name.into(), direction }
    };
    assert_eq!(sample::noise_floor().of(&key("close", Direction::Down)), 0.03);
    assert_eq!(sample::noise_floor().of(&key("bind", Direction::Up)), 0.02);
}

fn with_seed(mut line: Line, seed: u64) -> Line {
    match &mut line {
        Line::Run(run) => run.seed = seed,
        Line::Trial(trial) => trial.order.seed = seed,
        _ => {}
    }
    line
}

/// Outcomes as well, of which the sample has but two.
#[test]
fn the_specification_names_every_field() {
    let specification = include_str!("../../../docs/record.md");
    let outcomes = [
        Outcome::Allowance { n: 1 },
        Outcome::Unsupported { reason: "r".into() },
        Outcome::Failed { reason: "r".into() },
        Outcome::Crashed { n: 1, reason: "r".into() },
        Outcome::TimedOut { n: 1 },
    ];
    let trials = outcomes.map(|outcome| sample::trial(1, outcome, vec![]));
    let floor = Line::NoiseFloor(sample::noise_floor());
    for line in sample::lines().into_iter().chain(trials).chain([floor, load()]) {
        let line: serde_json::Value = serde_json::from_str(&sample::json(&line)).unwrap();
        let mut names = vec![line["type"].clone(), line["outcome"]["ended"].clone()];
        let mut values = vec![line];
        while let Some(value) = values.pop() {
            match value {
                serde_json::Value::Object(fields) => {
                    for (name, value) in fields {
                        // Their keys are data.
                        if name != "environment" && name != "activity" {
                            values.push(value);
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

proptest::proptest! {
    #[test]
    fn every_finite_value_survives(values: Vec<f64>) {
        let line = sample::series(1, "bind", Direction::Up, &values);
        proptest::prop_assert_eq!(parse_line(&sample::json(&line)).unwrap(), line);
    }
}

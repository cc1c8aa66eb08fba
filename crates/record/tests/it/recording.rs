//! A recording groups series by key, leaves out series that do not count, and makes declared sums.

use crate::sample;

use record::*;

fn recording(lines: Vec<Line>) -> Recording {
    Recording::new(lines).unwrap()
}

fn key(name: &str, direction: Direction) -> SeriesKey {
    SeriesKey {
        system: "local".into(),
        workload: "bind".into(),
        variant: "v6".into(),
        name: name.into(),
        direction,
    }
}

#[test]
fn series_are_found_by_key_and_trial() {
    let recording = recording(sample::lines());
    let found: Vec<String> = recording
        .series()
        .map(|(key, trials)| {
            format!("{key:#} {:?}", trials.iter().map(|series| series.trial).collect::<Vec<_>>())
        })
        .collect();
    assert_eq!(
        found,
        [
            "local bind/v6 bind up [1, 3]",
            "local bind/v6 close down [1]",
            "local bind/v6 open up [1, 3]",
            "local bind/v6 socket up [1, 3]",
        ]
    );
    assert_eq!(key("close", Direction::Down).to_string(), "bind/v6 close");
    assert_eq!(recording.kind(&key("close", Direction::Down)).unwrap().name, "close");
    assert_eq!(recording.kind(&key("close", Direction::Up)), None);
    assert!(recording.trials_of(&key("close", Direction::Up)).is_empty());
    assert!(!recording.interrupted());
}

#[test]
fn a_series_knows_its_n() {
    let recording = recording(sample::lines());
    let [close] = recording.trials_of(&key("close", Direction::Down)) else { panic!("one trial") };
    assert_eq!(close.points().map(|(n, _)| n).collect::<Vec<_>>(), [3, 2, 1]);
    let hostile = Series { n_first: 5, n_step: i64::MIN, ..close.clone() };
    assert_eq!(hostile.n(usize::MAX), 0);
}

#[test]
fn sums_are_made_value_by_value_as_far_as_all_parts_go() {
    let recording = recording(sample::lines());
    let values: Vec<_> =
        recording.trials_of(&key("open", Direction::Up)).iter().map(|sum| sum.values.clone()).collect();
    assert_eq!(values, [vec![8.41e-7 + 1e-6, (0.1 + 0.2) + 2e-6, 3e-6], vec![2e-6, 4e-6]]);
}

#[test]
fn a_sum_needs_the_same_sizes() {
    let listed = |name: &str, sizes: &[u64], values: &[f64]| {
        let Line::Series(series) = sample::series(4, name, Direction::Up, values) else { panic!("a series") };
        Line::Series(Series { n_step: 0, sizes: sizes.to_vec(), ..series })
    };
    for (sizes, made) in [(&[1, 10][..], 1), (&[1, 11][..], 0)] {
        let mut lines = sample::lines();
        lines.push(sample::trial(4, Outcome::Complete, vec![]));
        lines.push(listed("socket", &[1, 10], &[1.0, 2.0]));
        lines.push(listed("bind", sizes, &[3.0, 4.0]));
        let recording = recording(lines);
        let sums: Vec<_> =
            recording.trials_of(&key("open", Direction::Up)).iter().filter(|sum| sum.trial == 4).collect();
        assert_eq!(sums.len(), made);
        assert!(sums.iter().all(|sum| sum.values == [4.0, 6.0] && sum.sizes == [1, 10]));
    }
}

#[test]
fn a_measured_sum_is_left_alone() {
    let mut lines = sample::lines();
    lines.push(sample::series(3, "open", Direction::Up, &[1.0]));
    let recording = recording(lines);
    let sums = recording.trials_of(&key("open", Direction::Up));
    assert_eq!(sums.iter().map(|sum| sum.trial).collect::<Vec<_>>(), [3]);
}

#[test]
fn a_file_may_declare_any_number_of_sums() {
    let mut lines = sample::lines();
    let Some(Line::Workload(workload)) = lines.iter_mut().find(|line| matches!(line, Line::Workload(_)))
    else {
        panic!("a workload")
    };
    let open = workload.series.iter().find(|kind| kind.name == "open").unwrap().clone();
    let declared = 3_000;
    workload.series.extend((1..declared).map(|i| SeriesKind {
        name: format!("sum {i}"),
        sum_of: vec!["bind".into()],
        ..open.clone()
    }));
    let again = Line::Workload(workload.clone());
    lines.push(again);
    for trial in 10..60 {
        lines.push(sample::trial(trial, Outcome::Complete, vec![]));
        lines.push(sample::series(trial, "bind", Direction::Up, &[1.0; 10_000]));
    }
    let recording = recording(lines);
    let sums = recording.series().filter(|(key, _)| key.name.starts_with("sum"));
    assert_eq!(sums.count(), SUMS_MAX - 1, "the first was open");
    assert_eq!(recording.trials_of(&key("sum 1", Direction::Up)).len(), 52);
    let left: Vec<&Excluded> =
        recording.excluded.iter().filter(|excluded| excluded.reason == Exclusion::TooMany).collect();
    assert_eq!(left.len(), declared - SUMS_MAX, "each is named once");
    assert_eq!(left[0].reason.to_string(), "its workload declares more than 16 sums");
    assert!(left.iter().all(|excluded| excluded.series.values.is_empty()));
}

#[test]
fn what_proves_nothing_is_listed_apart() {
    let mut lines = sample::lines();
    let failed = Outcome::Failed { reason: "bind returned port 0".into() };
    lines.push(sample::series(4, "close", Direction::Down, &[1.0]));
    lines.push(sample::trial(4, failed, vec![]));
    lines.push(sample::series(5, "close", Direction::Down, &[1.0]));
    lines.push(sample::trial(6, Outcome::Complete, vec![]));
    lines.push(sample::series(6, "bind", Direction::Up, &[1.0]));
    lines.push(sample::series(6, "bind", Direction::Up, &[2.0]));
    let recording = recording(lines);
    let excluded: Vec<String> = recording
        .excluded
        .iter()
        .map(|excluded| {
            let Excluded { series, reason } = excluded;
            format!(
                "{} trial {}, {} values: {reason}",
                SeriesKey::from_series(series),
                series.trial,
                series.values.len()
            )
        })
        .collect();
    insta::assert_snapshot!(excluded.join("\n"), @r"
    bind/v6 bind trial 2, 1 values: a check did not hold: every port is distinct
    bind/v6 bind trial 6, 1 values: it is recorded twice
    bind/v6 close trial 4, 1 values: the trial failed: bind returned port 0
    bind/v6 close trial 5, 1 values: the line of its trial is missing
    bind/v6 open trial 6, 0 values: the parts of the sum do not match
    bind/v6 socket trial 2, 1 values: a check did not hold: every port is distinct
    ");
    assert_eq!(recording.trials.len(), 5, "the trials themselves are all there");
}

#[test]
fn a_recording_begins_with_its_run() {
    assert!(Recording::new([]).is_none());
    assert!(Recording::new([Line::End(sample::end())]).is_none());
}

#[test]
fn a_page_ends_with_the_first_other_line() {
    let page: &str = record::page!("../../src/workload.rs");
    assert_eq!(page, "//! The definition of a workload, as it stood when it was measured.\n");
    let page: &str = record::page!("../../src/lib.rs");
    assert!(page.ends_with("judge, or look at this machine.\n"), "{page}");
}

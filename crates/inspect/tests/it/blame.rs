//! Shares of a growth, from known samples.

use inspect::blame::BlameAnswer;
use judge::Findings;
use record::{Line, Recording};

/// A run whose cost is linear in n, and its samples in `trials` trials: (stack, samples at low n, at high n),
/// the innermost function first.
fn recording(trials: u32, stacks: &[(&str, u64, u64)]) -> Recording {
    let mut lines = vec![
        r#"{"type":"run","schema":2,"tool":{"name":"osdyno","version":"","build":""},"started_at":"","command":[],"preset":"quick","seed":1,"budget_seconds":null,"looks":[],"pinned":true,"paired":false}"#.to_owned(),
        r#"{"type":"system","name":"local","prefix":[],"environment":{}}"#.to_owned(),
        r#"{"type":"workload","name":"bind","version":1,"summary":"","page":"","grows":"sockets","variants":[{"name":"","summary":""}],"series":[{"name":"bind","direction":"up","expect":"constant","summary":"","sum_of":[],"unit":"s"}]}"#.to_owned(),
    ];
    let trial = |number: u32| {
        format!(
            r#"{{"type":"trial","system":"local","workload":"bind","version":1,"variant":"","trial":{number},"n":1000,"cpu":1,"seed":7,"allowance_seconds":null,"timeout_seconds":60.0,"scratch":"","elapsed_seconds":0.5,"clock":null,"outcome":{{"ended":"complete"}}}}"#
        )
    };
    for number in 1..=10 {
        lines.push(trial(number));
        let noise = |n: u32| f64::from((n * 7919 + number * 104_729) % 1000) * 1e-11;
        let values: Vec<String> =
            (0..1000).map(|n| format!("{:e}", 1e-6 + 1e-8 * f64::from(n) + noise(n))).collect();
        lines.push(format!(
            r#"{{"type":"series","system":"local","workload":"bind","variant":"","trial":{number},"name":"bind","direction":"up","n_first":0,"n_step":1,"batch":1,"values":[{}]}}"#,
            values.join(",")
        ));
    }
    for number in 11..11 + trials {
        let names: Vec<&str> = stacks.iter().flat_map(|(stack, ..)| stack.split(' ')).collect();
        let frames: Vec<String> =
            names.iter().map(|name| format!(r#"{{"function":"{name}","module":"kernel"}}"#)).collect();
        let mut place = 0;
        let stacks_of: Vec<String> = stacks
            .iter()
            .map(|(stack, low, high)| {
                let count = stack.split(' ').count();
                let frames: Vec<String> = (place..place + count).map(|place| place.to_string()).collect();
                place += count;
                let more = u64::from(number % 3);
                format!(
                    r#"{{"frames":[{}],"samples":[{low},{}]}}"#,
                    frames.join(","),
                    high + more * (high / 10)
                )
            })
            .collect();
        let all = |side: fn(&(&str, u64, u64)) -> u64| stacks.iter().map(side).sum::<u64>();
        lines.push(format!(
            r#"{{"type":"profile","system":"local","workload":"bind","variant":"","trial":{number},"name":"bind","direction":"up","event":"cpu-clock","period_seconds":1e-4,"low":{{"n_low":1,"n_high":250,"operations":100,"seconds":0.02,"samples":{}}},"high":{{"n_low":750,"n_high":999,"operations":100,"seconds":0.1,"samples":{}}},"frames":[{}],"stacks":[{}]}}"#,
            all(|one| one.1),
            all(|one| one.2),
            frames.join(","),
            stacks_of.join(",")
        ));
    }
    let lines: Vec<Line> = lines.iter().map(|line| record::parse_line(line).expect("a line")).collect();
    Recording::new(lines).expect("a run")
}

#[test]
fn shares_are_those_of_the_difference_and_not_of_the_time() {
    // Most of the time is in `copy` on both sides, and the growth is in `search`.
    let recording =
        recording(8, &[("copy bind", 500, 500), ("search bind", 10, 410), ("lock search bind", 0, 100)]);
    let blame = BlameAnswer::new(&recording, &Findings::from_recording(&recording));
    let [series] = &blame.series[..] else { panic!("{blame:?}") };
    assert!(series.is_seen && blame.unexplained.is_empty(), "{series:?}");
    let of = |name: &str| series.functions.iter().find(|one| one.name == name).expect("a function");
    let (search, copy, lock) = (of("search"), of("copy"), of("lock"));
    assert!(search.own.low < 0.8 && 0.75 < search.own.high, "{:?}", search.own);
    assert!(search.whole.value > search.own.value && search.whole.value > 0.9, "{:?}", search.whole);
    assert!(copy.own.value < 0.1 && lock.own.value > 0.1, "{copy:?} {lock:?}");
    assert_eq!(series.functions[0].name, "search");
    assert_eq!(series.holder.as_ref().map(|one| one.name.as_str()), Some("search"));
    let own: f64 = series.functions.iter().map(|one| one.own.value).sum();
    assert!((own - 1.0).abs() < 1e-9, "shares add up to {own}");
}

#[test]
fn where_no_function_holds_half_by_itself_the_innermost_that_holds_it_is_named() {
    let recording =
        recording(8, &[("a walk bind", 10, 110), ("b walk bind", 10, 110), ("c other bind", 10, 90)]);
    let blame = BlameAnswer::new(&recording, &Findings::from_recording(&recording));
    assert_eq!(blame.series[0].holder.as_ref().map(|one| one.name.as_str()), Some("walk"));
}

#[test]
fn samples_that_show_no_growth_and_too_few_trials_blame_nothing() {
    for (trials, stacks) in [(8, ("walk bind", 100, 100)), (2, ("walk bind", 10, 500))] {
        let recording = recording(trials, &[stacks]);
        let blame = BlameAnswer::new(&recording, &Findings::from_recording(&recording));
        let [series] = &blame.series[..] else { panic!("{blame:?}") };
        // One trial of three has more samples than the others, so the growth of the first is not certain.
        assert!(trials == 8 || !series.is_seen, "{series:?}");
        assert!(series.is_seen || series.functions.is_empty() && series.holder.is_none(), "{series:?}");
    }
}

#[test]
fn a_growth_without_samples_is_named() {
    let recording = recording(0, &[]);
    let blame = BlameAnswer::new(&recording, &Findings::from_recording(&recording));
    assert_eq!((blame.series.len(), blame.unexplained.len()), (0, 1));
}

//! Words and names of schema 1, which are fields and lines of today.

use record::{LimitedBy, Line, Reader, Recording, Result, SCHEMA, Shape, Side, Trial, TrialKey};

/// Lines as 0.1.0 wrote them.
const SCHEMA_1: &str = r#"{"type":"run","schema":1,"tool":{"name":"osdyno","version":"0.1.0","build":""},"started_at":"","command":[],"preset":"quick","seed":1,"budget_seconds":null,"looks":[],"pinned":true,"paired":false}
{"type":"workload","name":"race","version":1,"summary":"","page":"","grows":"connections","variants":[{"name":"epoll","summary":""}],"series":[{"name":"server cpu","direction":"up","expect":"constant","summary":"","sum_of":[],"unit":"s","both_ways":false}],"rivals":true}
{"type":"trial","system":"local","workload":"race","version":1,"variant":"epoll","trial":1,"n":5,"cpu":1,"seed":7,"allowance_seconds":null,"window_seconds":0.1,"timeout_seconds":60.0,"scratch":"/tmp","started_seconds":0.2,"elapsed_seconds":0.5,"clock":null,"outcome":{"ended":"complete"},"checks":[],"activity":{},"warnings":["disturbed at 5: others had the processor"]}
{"type":"end","status":"complete","elapsed_seconds":2.5}
"#;

/// The line of schema 1 as it is read today, and the lines that follow from it.
fn upgraded(line: &str) -> (Line, Vec<Line>) {
    let head = SCHEMA_1.lines().next().expect("its first line");
    let text = format!("{head}\n{}\n", line.replace('\n', ""));
    let lines = Reader::new(text.as_bytes(), "old").expect("a run").skip(1);
    let mut lines = lines.map(|line| line.expect("memory can be read"));
    (lines.next().expect("a line of schema 1"), lines.collect())
}

#[test]
fn a_file_of_schema_1_is_read_as_one_of_today() {
    let mut reader = Reader::new(SCHEMA_1.as_bytes(), "old").unwrap();
    assert_eq!(reader.schema(), 1);
    let lines: Vec<Line> = reader.by_ref().collect::<Result<_>>().unwrap();
    assert_eq!(reader.losses(), []);
    let recording = Recording::new(lines).unwrap();
    assert_eq!(recording.run.schema, SCHEMA);
    assert_eq!((recording.workloads[0].shape, recording.workloads[0].server), (Shape::Load, true));
    assert_eq!(recording.workloads[0].series[0].side, Side::Server);
    assert!(recording.trials[0].warnings.is_empty());
    let [limited] = &recording.limitations[..] else { panic!("one line") };
    assert_eq!((limited.n, limited.by, limited.of.trial), (Some(5), LimitedBy::Others, 1));
    assert!(recording.end.is_some(), "the lines after an upgraded line are there");
}

fn trial(checks: &str, warnings: &str) -> (Trial, Vec<(Option<u64>, LimitedBy, String)>) {
    let warnings = warnings.replace("SATURATED", concat!("limited by the", " generator"));
    let (line, more) = upgraded(&format!(
        r#"{{"type":"trial","system":"local","workload":"race","version":1,"variant":"epoll",
        "trial":3,"n":5,"cpu":null,"seed":7,"allowance_seconds":null,"timeout_seconds":60.0,"scratch":"/",
        "elapsed_seconds":1.0,"clock":null,"outcome":{{"ended":"complete"}},
        "checks":[{checks}],"warnings":[{warnings}]}}"#
    ));
    let Line::Trial(trial) = line else { panic!("a trial") };
    let limitation = |line| {
        let Line::Limited(limited) = line else { panic!("only limits follow a trial") };
        assert_eq!(limited.of, TrialKey::from_parameters(&trial.order));
        assert_eq!(limited.series, [""; 0]);
        (limited.n, limited.by, limited.why)
    };
    let more = more.into_iter().map(limitation).collect();
    (trial, more)
}

#[test]
fn remarks_of_the_generator_become_lines() {
    let (trial, limited) = trial(
        "",
        r#""SATURATED at 500: it was busy 98 % of the time",
           "2 of 9 requests failed: timeout at body.", "Disturbed at 2: others had the processor""#,
    );
    assert_eq!(trial.warnings, ["2 of 9 requests failed: timeout at body."]);
    let busy = (Some(500), LimitedBy::Generator, "it was busy 98 % of the time".to_owned());
    let others = (Some(2), LimitedBy::Others, "others had the processor".to_owned());
    assert_eq!(limited, [busy, others]);
}

#[test]
fn a_check_of_the_generator_becomes_lines_and_stays_a_check() {
    let claim = r#"{"claim":"the generator kept up at 20 and 1 000","held":false}"#;
    let (of_check, limited) = trial(claim, "");
    assert_eq!(of_check.checks.len(), 1);
    let line = |n| (Some(n), LimitedBy::Generator, String::new());
    assert_eq!(limited, [line(20), line(1000)]);
    let (_, limited) = trial(&claim.replace("false", "true"), "");
    assert_eq!(limited, []);
}

#[test]
fn words_without_a_level_mean_all() {
    let (_, limited) = trial("", r#""SATURATED""#);
    assert_eq!(limited, [(None, LimitedBy::Generator, String::new())]);
}

#[test]
fn levels_are_read_where_they_are_named() {
    let levels = |words: &str| -> Vec<Option<u64>> {
        let claim = format!(r#"{{"claim":"the generator kept up{words}","held":false}}"#);
        trial(&claim, "").1.into_iter().map(|(n, ..)| n).collect()
    };
    assert_eq!(levels(" at 1 000 connections"), [Some(1_000)]);
    assert_eq!(levels(" at n = 500 and 1000: 98 % busy"), [Some(500), Some(1_000)]);
    assert_eq!(levels(" at 20, 50 and 1\u{202f}000"), [20, 50, 1_000].map(Some));
    assert_eq!(levels(""), [None]);
    assert_eq!(levels(" at times"), [None]);
}

#[test]
fn loads_and_what_they_count_at_the_server_are_known_by_name() {
    let workload = |name: &str| {
        let kind = |name: &str, unit: &str| {
            format!(r#"{{"name":"{name}","direction":"up","expect":"linear","summary":"","unit":"{unit}"}}"#)
        };
        let kinds = [kind("p99", "s"), kind("server cpu", "s"), kind("user memory", "B")].join(",");
        let (line, more) = upgraded(&format!(
            r#"{{"type":"workload","name":"{name}","version":1,"summary":"","page":"","grows":"",
            "variants":[],"series":[{kinds}]}}"#
        ));
        let Line::Workload(workload) = line else { panic!("a workload") };
        assert_eq!(more, []);
        let sides: Vec<Side> = workload.series.iter().map(|kind| kind.side).collect();
        (workload.shape, workload.server, sides)
    };
    let sides = vec![Side::Client, Side::Server, Side::Server];
    assert_eq!(workload("race"), (Shape::Load, true, sides));
    assert_eq!(workload("fork"), (Shape::Curve, false, vec![Side::Client; 3]));
}

//! Run files of version 0.1.0, which wrote schema 1, are read, judged and ranked.
//!
//! `runs-0.1.0/NAME.snap` has the verdicts and ranks of `NAME.osdyno`, one fact a line. They were those of 0.1.0, and
//! change only where the statistics do: a change here shows its effect on real data.

use std::fs;
use std::path::Path;

use crate::common::run_well;
use serde_json::Value;

const RUNS: [&str; 5] = ["kernel", "limits", "loads", "race", "systems"];

#[test]
fn runs_of_schema_1_have_their_verdicts_and_ranks() {
    let runs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/runs-0.1.0");
    for name in RUNS {
        let folder = tempfile::tempdir().expect("a folder");
        let run = format!("{name}.osdyno");
        fs::copy(runs.join(&run), folder.path().join(&run)).expect("a run file");
        let document = run_well(folder.path(), &["report", &run, "--format", "json"]);
        let document: Value = serde_json::from_str(&document).expect("JSON");
        let mut found: Vec<String> = [verdicts(&document), ranks(&document)].concat();
        found.sort();
        insta::with_settings!({ snapshot_path => "../runs-0.1.0", prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(name, found.join("\n"));
        });
    }
}

#[test]
fn a_comment_is_markdown_and_comes_without_a_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let runs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/runs-0.1.0");
    fs::copy(runs.join("systems.osdyno"), folder.path().join("a.osdyno")).expect("a run file");
    for arguments in [&["report", "a.osdyno"][..], &["report", "-v", "a.osdyno"], &["compare", "a.osdyno"]] {
        let comment = run_well(folder.path(), &[arguments, &["--format", "markdown"]].concat());
        assert!(comment.lines().any(|line| line.starts_with("| --- |")), "{comment}");
        assert!(!comment.contains(['\u{1b}', '\u{202f}']), "{comment}");
    }
    assert!(!folder.path().join("a.html").exists(), "the answer is for a program");
}

fn verdicts(document: &Value) -> Vec<String> {
    let of = |series: &Value| {
        let class = match text(&series["verdict"]) {
            "composite" | "ambiguous" | "uneven" => "mixed",
            class => class,
        };
        let growth = ["value", "low", "high"].map(|end| number(&series["growth"][end]));
        let growth = if series["growth"].is_null() { "none".to_owned() } else { growth.join(" ") };
        let variant = Some(text(&series["variant"])).filter(|variant| !variant.is_empty()).unwrap_or("-");
        let [system, workload, name, direction] =
            ["system", "workload", "name", "direction"].map(|field| text(&series[field]));
        format!("verdict {system} {workload} {variant} {name} {direction}: {class} {growth}")
    };
    entries(&document["series"]).iter().map(of).collect()
}

fn ranks(document: &Value) -> Vec<String> {
    let mut ranks = Vec::new();
    for comparison in entries(&document["comparisons"]) {
        for series in entries(&comparison["series"]) {
            for contender in entries(&series["contenders"]) {
                let rank = &contender["rank"];
                let rank = match rank.is_null() {
                    true => "not ranked".to_owned(),
                    false => format!("{}-{} of {}", rank["best"], rank["worst"], rank["of"]),
                };
                let [system, workload] = ["system", "workload"].map(|field| text(&comparison[field]));
                let [name, direction] = ["name", "direction"].map(|field| text(&series[field]));
                let contender = text(&contender["contender"]);
                ranks.push(format!("rank {system} {workload} {contender} {name} {direction}: {rank}"));
            }
        }
    }
    ranks
}

fn entries(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Four digits: more than the growth of a series is known to.
fn number(value: &Value) -> String {
    let Some(number) = value.as_f64() else { return "none".to_owned() };
    let text = format!("{number:.3e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    format!("{digits}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
}

//! Measurements of other programs, compared.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};

use crate::common::{run, run_well, text};

/// Deviations of ten repetitions, in hundredths of their mean: neither drift nor outliers.
const DEVIATIONS: [f64; 10] = [0.3, -0.8, 0.6, 1.0, -0.5, -1.1, 0.9, -0.2, 0.4, -0.6];

fn repetitions(mean: f64) -> impl Iterator<Item = f64> {
    DEVIATIONS.into_iter().map(move |deviation| mean * (1.0 + deviation / 100.0))
}

/// The output of google-benchmark for benchmarks and their times in nanoseconds.
fn google_benchmark(folder: &Path, file: &str, benchmarks: &[(&str, f64)]) {
    let entry = |name: &str, index: usize, time: f64| {
        json!({
            "name": name, "run_name": name, "run_type": "iteration", "repetitions": 10, "threads": 1,
            "repetition_index": index, "iterations": 1000, "real_time": time, "cpu_time": time,
            "time_unit": "ns"
        })
    };
    let entries: Vec<Value> = benchmarks
        .iter()
        .flat_map(|(name, mean)| repetitions(*mean).enumerate().map(|(i, time)| entry(name, i, time)))
        .collect();
    let document = json!({"context": {"num_cpus": 2}, "benchmarks": entries});
    fs::write(folder.join(file), document.to_string()).expect("a file");
}

/// The output of `go test -bench`.
fn go(folder: &Path, file: &str, benchmarks: &[(&str, f64)]) {
    let mut lines = String::from("goos: linux\ngoarch: amd64\npkg: example.org/order\n");
    for (name, mean) in benchmarks {
        for time in repetitions(*mean) {
            writeln!(lines, "Benchmark{name}-2 \t 1000\t {time:.3} ns/op").expect("a line");
        }
    }
    fs::write(folder.join(file), lines).expect("a file");
}

/// The ratio of a benchmark in the JSON of a comparison, and its claim.
fn answers(folder: &Path, arguments: &[&str]) -> Vec<Value> {
    let printed = run_well(folder, &[&["compare", "--format", "json"], arguments].concat());
    let document: Value = serde_json::from_str(&printed).expect("JSON");
    document["series"].as_array().expect("series").clone()
}

fn refused(folder: &Path, arguments: &[&str]) -> String {
    let output: Output = run(folder, &[&["compare"], arguments].concat());
    assert!(!output.status.success(), "{}", text(&output.stdout));
    text(&output.stderr)
}

#[test]
fn files_of_google_benchmark_have_ratios_and_a_mean() {
    let folder = tempfile::tempdir().expect("a folder");
    let old = [("BM_copy/1024", 1000.0), ("BM_copy/4096", 4100.0), ("BM_hash", 52.0), ("BM_gone", 7.0)];
    let new = [("BM_copy/1024", 800.0), ("BM_copy/4096", 3280.0), ("BM_hash", 52.0)];
    google_benchmark(folder.path(), "old.json", &old);
    google_benchmark(folder.path(), "new.json", &new);
    let series = answers(folder.path(), &["old.json", "new.json"]);
    let labels: Vec<&str> = series.iter().filter_map(|one| one["label"].as_str()).collect();
    assert_eq!(labels, ["BM_copy", "BM_hash", "BM_gone"], "{series:#?}");
    let printed = run_well(folder.path(), &["compare", "old.json", "new.json", "--verbose"]);
    for part in ["BM_copy  1.25× faster", "BM_gone  not measured in new", "geometric mean of 2 series"] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    assert!(!printed.contains("differs:"), "nothing is known of the machines: {printed}");
}

/// Two programs, measured one after the other by google-benchmark 1.7.1 on a crowded machine: `std::sort` and
/// `std::stable_sort` of 256 to 65,536 numbers.
#[test]
fn real_files_of_two_programs_have_a_series_in_common() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/google-benchmark");
    let series = answers(&folder, &["sort.json", "stable-sort.json"]);
    assert_eq!(series.len(), 1, "the programs have two names, and one benchmark: {series:#?}");
    let printed = run_well(&folder, &["judge", "sort.json", "--format", "json"]);
    let document: Value = serde_json::from_str(&printed).expect("JSON");
    let judged = &document["series"][0];
    assert!(judged["limit"].is_null() && judged["steps"] == json!([]), "n log n has neither: {judged:#}");
    assert_eq!(judged["trend"], "grows");
}

#[test]
fn a_benchmark_has_the_same_n_on_both_sides() {
    let folder = tempfile::tempdir().expect("a folder");
    // By itself neither file shows which of the two numbers is n.
    google_benchmark(folder.path(), "old.json", &[("BM_find/8/100", 100.0), ("BM_find/8/200", 210.0)]);
    google_benchmark(folder.path(), "new.json", &[("BM_find/8/100", 50.0)]);
    let series = answers(folder.path(), &["old.json", "new.json"]);
    assert_eq!(series.len(), 1, "{series:#?}");
}

#[test]
fn several_files_are_one_side() {
    let folder = tempfile::tempdir().expect("a folder");
    for number in 1..=3 {
        go(folder.path(), &format!("old-{number}.txt"), &[("Order/1000", 5000.0 + f64::from(number))]);
        go(folder.path(), &format!("new-{number}.txt"), &[("Order/1000", 5500.0 + f64::from(number))]);
    }
    let sides =
        ["--old", "old-1.txt", "old-2.txt", "old-3.txt", "--new", "new-1.txt", "new-2.txt", "new-3.txt"];
    let printed = run_well(folder.path(), &[&["compare"], &sides[..], &["--verbose"]].concat());
    assert!(printed.contains("new against old") && printed.contains("1.10× slower"), "{printed}");
    let page = run_well(folder.path(), &[&["compare"], &sides[..], &["--out", "page.html"]].concat());
    assert!(page.contains("page.html") && folder.path().join("page.html").exists());
}

#[test]
fn tables_have_the_columns_that_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    for (file, mean) in [("a.csv", 10.0), ("b.csv", 20.0)] {
        let mut table = String::from("case;round;keys;p50\n");
        for (round, time) in repetitions(mean).enumerate() {
            writeln!(table, "lookup;{round};1000;{time:.4}").expect("a line");
        }
        fs::write(folder.path().join(file), table).expect("a file");
    }
    let columns = ["--trial", "round", "--n", "keys", "--value", "p50", "--unit", "ms"];
    let printed = run_well(folder.path(), &[&["compare", "a.csv", "b.csv"], &columns[..]].concat());
    assert!(
        printed.contains("lookup") && printed.contains("2.00× slower") && printed.contains("ms"),
        "{printed}"
    );
}

/// hyperfine calls a benchmark by its command, and two programs have two.
#[test]
fn two_commands_of_hyperfine_are_compared() {
    let folder = tempfile::tempdir().expect("a folder");
    for (file, command, mean) in [("a.json", "./old data", 0.02), ("b.json", "./new data", 0.03)] {
        let times: Vec<f64> = repetitions(mean).collect();
        let text = format!("{{\"results\": [{{\"command\": \"{command}\", \"times\": {times:?}}}]}}");
        fs::write(folder.path().join(file), text).expect("a file");
    }
    let output = run(folder.path(), &["compare", "a.json", "b.json"]);
    let (printed, told) = (text(&output.stdout), text(&output.stderr));
    assert!(
        printed.contains("./old data / ./new data") && printed.contains("1.50× slower"),
        "{printed} {told}"
    );
    let remark =
        "Each side has one command, and these are compared: a.json has ./old data and b.json has ./new";
    assert!(told.contains(remark), "{told}");
}

#[test]
fn sides_that_do_not_fit_are_refused_with_their_contents() {
    let folder = tempfile::tempdir().expect("a folder");
    go(folder.path(), "old.txt", &[("Order/1000", 5000.0)]);
    google_benchmark(folder.path(), "new.json", &[("BM_hash", 52.0)]);
    let nothing = refused(folder.path(), &["old.txt", "new.json"]);
    for part in ["no series in common", "old.txt has Order", "new.json has BM_hash"] {
        assert!(nothing.contains(part), "{part}: {nothing}");
    }
    run_well(folder.path(), &["run", "noop", "-n", "50", "--trials", "2", "--out", "run.osdyno"]);
    let mixed = refused(folder.path(), &["run.osdyno", "old.txt"]);
    assert!(mixed.contains("run.osdyno is a run file of osdyno and old.txt is not"), "{mixed}");
    let columns = refused(folder.path(), &["run.osdyno", "run.osdyno", "--n", "keys"]);
    assert!(columns.contains("have no columns"), "{columns}");
    let several = refused(folder.path(), &["--old", "run.osdyno", "run.osdyno", "--new", "run.osdyno"]);
    assert!(several.contains("--old takes several files only of other programs"), "{several}");
    let alone = refused(folder.path(), &["old.txt"]);
    assert!(alone.contains("needs two systems"), "{alone}");
    let missing = refused(folder.path(), &["old.txt", "missing.txt"]);
    assert!(missing.contains("cannot read missing.txt"), "{missing}");
}

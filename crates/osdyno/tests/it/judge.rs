//! `osdyno judge` as a user types it: input, verdicts, exit codes.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::Path;
use std::process::Output;

use crate::common::{osdyno, run, run_well, text};

/// Twelve trials of a flat cost and of a growing one.
fn table() -> String {
    let mut table = String::from("series,trial,direction,n,value\n");
    for trial in 1..=12_u64 {
        for n in 1..=1000_u64 {
            let noise = 1.0 + 0.02 * ((n * 7919 + trial * 104_729) % 97) as f64 / 97.0;
            writeln!(table, "flat,{trial},,{n},{}", 50.0 * noise).expect("memory");
            writeln!(table, "line,{trial},up,{n},{}", (50.0 + n as f64) * noise).expect("memory");
        }
    }
    table
}

fn document(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout).expect("JSON on standard output")
}

fn judge(folder: &Path, content: &[u8], more: &[&str]) -> Output {
    fs::write(folder.join("table.csv"), content).expect("a file");
    run(folder, &[&["judge", "table.csv"], more].concat())
}

#[test]
fn a_good_table_is_judged_in_every_form() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = judge(folder.path(), table().as_bytes(), &["--format", "json"]);
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""));
    let document = document(&output);
    assert_eq!(document["series"][0]["series"], "flat");
    assert_eq!(document["series"][0]["verdict"], "flat");
    assert_eq!(document["series"][0]["evidence"]["n_low"], 1, "nothing is left out as cold");
    assert_eq!(document["series"][1]["verdict"], "linear-like");
    let printed = run_well(folder.path(), &["judge", "table.csv", "--unit", "us"]);
    assert!(printed.contains("flat within") && printed.contains("µs"), "{printed}");
    let printed = run_well(folder.path(), &["judge", "table.csv", "--format", "html"]);
    assert!(printed.starts_with("<!DOCTYPE html>") && printed.trim_end().ends_with("</html>"));
    assert!(!folder.path().join("table.html").exists(), "standard output is a pipe");
    let to_file = ["judge", "table.csv", "--format", "html", "--out", "table.html"];
    let printed = run_well(folder.path(), &to_file);
    assert!(printed.contains("table.html"), "{printed}");
    let page = fs::read_to_string(folder.path().join("table.html")).expect("the page");
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("flat within"));
    assert!(!page.contains("How to repeat it"), "nobody knows how");
    let again = run(folder.path(), &to_file);
    assert_eq!(again.status.code(), Some(1));
    assert!(text(&again.stderr).contains("exists already"), "{}", text(&again.stderr));
    run_well(folder.path(), &[&to_file[..], &["--force"]].concat());
}

#[test]
fn the_largest_and_smallest_costs_fit_in_a_table_and_larger_numbers_are_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let printed = |low: f64, high: f64| {
        let mut table = String::from("series,trial,n,value\n");
        for trial in 1..=6_u64 {
            for n in 1..=300_u64 {
                writeln!(table, "huge,{trial},{n},{}", if n < 150 { low } else { high }).expect("memory");
            }
        }
        let output = judge(folder.path(), table.as_bytes(), &[]);
        let printed = text(&output.stdout);
        assert!(printed.lines().all(|line| line.chars().count() <= 132), "{printed}");
        printed
    };
    let costs = printed(1e-50, 1e50);
    assert!(costs.contains("1.00e50") && costs.contains("×1.00e100"), "{costs}");
    assert!(printed(1e158, 1e308).contains("None of 1800 values is a cost"));
}

/// A wave, a trial or two of something, and spikes: now and then by chance, or with time.
fn odd_table() -> String {
    let mut table = String::from("series,trial,n,value\n");
    for trial in 1..=12_u64 {
        for n in 1..=1000_u64 {
            let noise = ((n * 7919 + trial * 104_729) % 97) as f64 / 97.0;
            let wave = 100.0 + 30.0 * (n as f64 / 1000.0 * std::f64::consts::TAU * 2.0).sin() + noise;
            let chance = (n ^ (trial << 12)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
            let spiky = if chance % 100 == 0 { 1000.0 } else { 100.0 + 10.0 * noise };
            let beat = if (n + 7 * trial) % 50 == 0 { 1000 } else { 100 + (n * 31 + trial * 17) % 7 };
            writeln!(table, "wave,{trial},{n},{wave}").expect("memory");
            writeln!(table, "spiky,{trial},{n},{spiky}").expect("memory");
            writeln!(table, "beat,{trial},{n},{beat}").expect("memory");
            if trial < 3 {
                writeln!(table, "few,{trial},{n},{}", 50.0 + noise).expect("memory");
            }
        }
    }
    table
}

#[test]
fn words_say_what_they_rest_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = judge(folder.path(), odd_table().as_bytes(), &[]);
    let printed = text(&output.stdout).replace(['\u{202f}', '\u{a0}'], " ");
    let line =
        |name: &str| printed.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_owned();
    assert!(line("wave").contains("uneven: rises ×1.18 (1.18–1.18) until 99"), "{printed}");
    assert!(line("few").contains("inconclusive; "), "no bound rests on two trials: {printed}");
    assert!(printed.contains("spikes: 1 % of the calls, with "), "spikes by chance: {printed}");
    assert!(printed.contains("one whenever the values have added up to"), "no seconds: {printed}");
    let page = run_well(folder.path(), &["judge", "table.csv", "--format", "html"]);
    let tick = page.split("its tick is ").nth(1).unwrap_or_default();
    let tick = tick.split('.').next().unwrap_or_default();
    assert!(!tick.is_empty() && !tick.ends_with('s'), "no seconds: {tick}");
}

#[test]
fn columns_and_files_of_other_programs_are_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut table = String::from("kind,keys,run,mean_us\n");
    for (run, n) in (1..=12).flat_map(|run| (1..=500).map(move |n| (run, n))) {
        writeln!(table, "get,{n},run-{run},{}", 100 + (n * run) % 7).expect("memory");
    }
    let named = ["--series", "kind", "--n", "keys", "--value", "mean_us", "--format", "json"];
    let found = document(&judge(folder.path(), table.as_bytes(), &named));
    assert_eq!((&found["series"][0]["series"], &found["series"][0]["trials"]), (&"get".into(), &12.into()));
    let results: Vec<String> = [1000, 2000, 4000]
        .iter()
        .map(|n| {
            let times: Vec<f64> =
                (0..10).map(|run| f64::from(*n) * 1e-5 * (1.0 + f64::from(run) / 1e3)).collect();
            format!("{{\"command\":\"s {n}\",\"parameters\":{{\"n\":\"{n}\"}},\"times\":{times:?}}}")
        })
        .collect();
    let export = format!("{{\"results\":[{}]}}", results.join(","));
    let output = judge(folder.path(), export.as_bytes(), &[]);
    let printed = text(&output.stdout).replace(['\u{202f}', '\u{a0}'], " ");
    assert!(
        printed.contains("s {n}") && printed.contains("10.0 (10.0–10.1) ms"),
        "{printed}{}",
        text(&output.stderr)
    );
}

/// A cost without growth on a machine that slows down and speeds up by a third, and an operation beside it
/// that meets the same.
#[test]
fn noise_that_a_reference_shares_is_removed() {
    let mut random = fastrand::Rng::with_seed(3);
    let (mut with, mut without) = ("trial,n,value,reference\n".to_owned(), "trial,n,value\n".to_owned());
    for trial in 1..=12 {
        let begin = random.u32(..4000);
        for n in (0..4000).step_by(4) {
            let machine = if (n + begin) % 4000 < 1500 { 1.3 } else { 1.0 };
            let mut measured = |cost: f64| cost * machine * (1.0 + 0.02 * random.f64());
            let (cost, reference) = (measured(5.0), measured(0.2));
            with += &format!("{trial},{n},{cost},{reference}\n");
            without += &format!("{trial},{n},{cost}\n");
        }
    }
    let folder = tempfile::tempdir().expect("a folder");
    let [with, without] = [with, without].map(|table| {
        document(&judge(folder.path(), table.as_bytes(), &["--format", "json"]))["series"][0].clone()
    });
    let bound = |series: &serde_json::Value| series["bound_percent"].as_f64().expect("a bound");
    assert!(bound(&with) < 0.5 * bound(&without), "{} and {}", bound(&with), bound(&without));
    assert_eq!(
        (&with["verdict"], &with["adjustment"]["references"][0]["name"]),
        (&"flat".into(), &"reference".into())
    );
    assert_eq!(without["verdict"], "inconclusive");
}

#[test]
fn standard_input_is_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("in"), table()).expect("a file");
    let input = File::open(folder.path().join("in")).expect("the file");
    let mut command = osdyno(folder.path(), &["judge", "-", "--format", "json", "--from", "100"]);
    let output = command.stdin(input).output().expect("osdyno starts");
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(document(&output)["series"][0]["evidence"]["n_low"], 100);
}

#[test]
fn bad_lines_are_named_and_the_exit_code_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let bad = table().replacen("flat,1,,3,", "flat,1,,three,", 1) + &"?\n".repeat(30);
    let output = judge(folder.path(), bad.as_bytes(), &["--format", "json"]);
    assert_eq!(output.status.code(), Some(3));
    let told = text(&output.stderr);
    assert!(told.contains("table.csv line 6: n is \"three\" and no whole number"), "{told}");
    assert!(told.contains("11 more lines cannot be used"), "{told}");
    assert_eq!(document(&output)["series"][0]["verdict"], "flat");
}

#[test]
fn what_is_no_table_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    for (content, words) in [
        ("", "table.csv is empty; its first line must name the columns series, trial, n and value"),
        ("bind,1,up,1,0.5\n", "has no header but begins with"),
        ("series,trial,n\n", "has no column \"value\""),
        ("series;trial;n;value\na;1;1;0,84\n", "table.csv line 2: column \"value\" has \"0,84\""),
        ("{\"results\": []}", "no benchmark that is known"),
    ] {
        let output = judge(folder.path(), content.as_bytes(), &[]);
        assert_eq!(output.status.code(), Some(2), "{content}");
        assert!(text(&output.stderr).contains(words), "{}", text(&output.stderr));
    }
    let missing = run(folder.path(), &["judge", "missing.csv"]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(text(&missing.stderr).contains("cannot read missing.csv"), "{}", text(&missing.stderr));
    fs::create_dir(folder.path().join("sub")).expect("a folder");
    let directory = run(folder.path(), &["judge", "./sub"]);
    assert_eq!(directory.status.code(), Some(1));
    assert!(text(&directory.stderr).contains("cannot read ./sub:"), "{}", text(&directory.stderr));
    let empty = judge(folder.path(), b"series,trial,n,value\n", &["--format", "json"]);
    assert_eq!(empty.status.code(), Some(0));
    assert_eq!(document(&empty)["series"], serde_json::json!([]));
    assert!(text(&empty.stderr).contains("no series in it"), "{}", text(&empty.stderr));
}

#[test]
fn the_name_of_the_output_is_its_format() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("bench.txt"), "BenchmarkA/1 9 5 ns/op\n--- SKIP: BenchmarkB\n")
        .expect("a file");
    let output = run(folder.path(), &["judge", "bench.txt", "--out", "found.json"]);
    assert_eq!(output.status.code(), Some(3), "one was skipped: {}", text(&output.stderr));
    let found = fs::read(folder.path().join("found.json")).expect("the file");
    let found: serde_json::Value = serde_json::from_slice(&found).expect("JSON");
    let file = &found["files"][0];
    assert_eq!((&file["format"], &file["values"]), (&"text of go test -bench".into(), &1.into()), "{file}");
    assert_eq!(file["left_out"][0]["reasons"][0], "it was skipped", "{file}");
    assert!(
        found["notes"][1].as_str().is_some_and(|note| note.contains("B is left out")),
        "{}",
        found["notes"]
    );
    assert_eq!(run(folder.path(), &["judge", "bench.txt", "--out", "found.html"]).status.code(), Some(3));
    let page = fs::read_to_string(folder.path().join("found.html")).expect("the page");
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("B is left out: it was skipped"));
    let printed = text(&run(folder.path(), &["judge", "bench.txt"]).stdout);
    assert!(
        printed.contains("bench.txt: text of go test -bench") && printed.contains("B is left out"),
        "{printed}"
    );
    for (more, words) in [
        (&["--out", "found.txt"][..], "ends neither in .html, .json nor .md"),
        (&["--out", "a.json", "--format", "html"], "do not agree"),
        (&["--out", "a.html", "--format", "text"], "standard output"),
        (&["--force"], "--out names one"),
        (&["--trial", "run"], "no effect of --trial: bench.txt is text of go test -bench"),
        (&["--n", "keys"], "no effect of --n keys"),
        (&["--unit", "ms"], "no effect of --unit"),
    ] {
        let output = run(folder.path(), &[&["judge", "bench.txt"][..], more].concat());
        assert_eq!(output.status.code(), Some(2), "{more:?}");
        assert!(text(&output.stderr).contains(words), "{}", text(&output.stderr));
    }
}

#[test]
fn a_sample_of_criterion_has_its_name_beside_it() {
    let folder = tempfile::tempdir().expect("a folder");
    for n in [10, 20] {
        let of_run = folder.path().join(format!("target/criterion/g/f_of_{n}/new"));
        fs::create_dir_all(&of_run).expect("a folder");
        fs::write(of_run.join("benchmark.json"), format!("{{\"full_id\": \"g/f of/{n}\"}}")).expect("a file");
        fs::write(of_run.join("sample.json"), format!("{{\"iters\": [1], \"times\": [{n}]}}"))
            .expect("a file");
    }
    let files = [10, 20].map(|n| format!("target/criterion/g/f_of_{n}/new/sample.json"));
    let output = run(folder.path(), &["judge", &files[0], &files[1], "--format", "json"]);
    let found = document(&output);
    assert_eq!(found["series"].as_array().map(Vec::len), Some(1), "{found}");
    assert_eq!(found["series"][0]["series"], "g/f of", "{found}");
}

#[test]
fn files_of_2003_are_trials_of_a_program() {
    let folder = tempfile::tempdir().expect("a folder");
    let names = ["forkbench.1", "forkbench.2", "forkbench.3"];
    for (i, name) in names.iter().enumerate() {
        let lines: String = (0..500).map(|n| format!("{} {}\n", 200 + (n + i) % 5, 90 + n % 3)).collect();
        fs::write(folder.path().join(name), lines).expect("a file");
    }
    let output = run(folder.path(), &[&["judge", "--format", "json", "--unit", "us"][..], &names].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let document = document(&output);
    assert_eq!(document["series"][0]["series"], "forkbench fork");
    assert_eq!(document["series"][0]["trials"], 3);
    assert_eq!(document["series"][1]["direction"], "down");
}

#[test]
fn numbers_of_any_size_are_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut table = String::from("series,trial,n,value\n");
    for trial in 1..=10 {
        for n in [1, 1000, 1_000_000, record::N_MAX] {
            writeln!(table, "huge,{trial},{n},1e300\ntiny,{trial},{n},5e-324\nends,{trial},{n},{n}e290")
                .expect("memory");
        }
    }
    let output = judge(folder.path(), table.as_bytes(), &[]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    for name in ["huge", "tiny", "ends"] {
        assert!(text(&output.stdout).lines().any(|line| line.starts_with(name)), "{}", text(&output.stdout));
    }
}

//! Gates from the command line: exit codes, last lines, formats, and what docs/ci.md tells a newcomer to do.
#![cfg(target_os = "linux")]

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::common::{osdyno, text};

const CI: &str = include_str!("../../../../docs/ci.md");
const ACTION: &str = include_str!("../../../../action.yml");

/// The repetitions of eight benchmarks, as google-benchmark writes them; one is so many times as slow.
fn google_benchmark(folder: &Path, name: &str, seed: u64, ratio: f64) {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut entries: Vec<String> = Vec::new();
    for benchmark in ["sort", "find", "hash", "copy", "read", "join", "zip", "walk"] {
        for repetition in 0..10 {
            let cost = if benchmark == "copy" { 100.0 * ratio } else { 100.0 };
            let time = cost * (1.0 + 0.01 * (random.f64() - 0.5));
            entries.push(format!(
                "{{\"name\": \"BM_{benchmark}\", \"run_name\": \"BM_{benchmark}\", \"run_type\": \"iteration\", \
                 \"repetitions\": 10, \"repetition_index\": {repetition}, \"threads\": 1, \"iterations\": 1000, \
                 \"real_time\": {time}, \"cpu_time\": {time}, \"time_unit\": \"ns\"}}"
            ));
        }
    }
    let context = "{\"date\": \"2026-11-26T00:00:00+00:00\", \"host_name\": \"h\", \"num_cpus\": 2}";
    let text = format!("{{\"context\": {context}, \"benchmarks\": [{}]}}", entries.join(",\n"));
    fs::write(folder.join(name), text).expect("a file");
}

/// A folder with two files, of which the second has one benchmark that is so many times as slow.
fn two_files(ratio: f64) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    google_benchmark(folder.path(), "old.json", 1, 1.0);
    google_benchmark(folder.path(), "new.json", 2, ratio);
    folder
}

fn compared(folder: &Path, more: &[&str]) -> Output {
    osdyno(folder, &[&["compare", "old.json", "new.json"], more].concat()).output().expect("osdyno starts")
}

#[test]
fn two_files_pass_or_fail_and_the_last_lines_say_why() {
    let folder = two_files(1.0);
    let output = compared(folder.path(), &["--fail-on", "slower:5%"]);
    let printed = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{printed} {}", text(&output.stderr));
    assert!(printed.contains("slower:5%: excluded for 8 series"), "{printed}");

    let folder = two_files(1.3);
    let output = compared(folder.path(), &["--fail-on", "slower:5%"]);
    let printed = text(&output.stdout);
    assert_eq!(output.status.code(), Some(4), "{printed} {}", text(&output.stderr));
    let last: Vec<&str> = printed.trim_end().lines().rev().take(2).collect();
    assert!(last[0].contains("osdyno compare old.json new.json --fail-on slower:5%"), "{printed}");
    assert!(
        last[1].contains("failed") && last[1].contains("BM_copy") && last[1].contains("slower"),
        "{printed}"
    );
    assert_eq!(compared(folder.path(), &["--fail-on", "slower:50%"]).status.code(), Some(0));
}

#[test]
fn what_is_undecided_is_three_unless_it_is_to_pass_or_to_fail() {
    // The whole run is slower: the machine, or all of it.
    let folder = tempfile::tempdir().expect("a folder");
    google_benchmark(folder.path(), "old.json", 1, 1.0);
    let slower = fs::read_to_string(folder.path().join("old.json")).expect("a file");
    let slower = slower.replace("\"time_unit\": \"ns\"", "\"time_unit\": \"us\"");
    fs::write(folder.path().join("new.json"), slower).expect("a file");
    for (more, code) in [(&[][..], 3), (&["--undecided=pass"], 0), (&["--undecided=fail"], 4)] {
        let output = compared(folder.path(), &[&["--fail-on=slower"], more].concat());
        let printed = text(&output.stdout);
        assert_eq!(output.status.code(), Some(code), "{more:?} {printed}");
        let words: Vec<&str> = printed.split_whitespace().collect();
        assert!(words.join(" ").contains("the other series changed alike"), "{printed}");
    }
}

#[test]
fn wrong_claims_are_wrong_usage_in_clear_words() {
    let folder = two_files(1.0);
    for (claim, words) in [
        ("slowr", "there are slower, changed, grows, limit"),
        ("slower@fork*", "no series has that name; there are"),
        ("slower:many", "cannot read \"many\""),
    ] {
        let output = compared(folder.path(), &["--fail-on", claim]);
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{claim}: {told}");
        assert!(told.contains(words), "{claim}: {told}");
    }
    let output = osdyno(folder.path(), &["judge", "old.json", "--fail-on=slower"]).output().expect("osdyno");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("needs a baseline"), "{}", text(&output.stderr));
}

#[test]
fn every_format_is_written_and_the_gate_stands_on_standard_error() {
    let folder = two_files(1.3);
    let summary = folder.path().join("summary.md");
    for format in
        ["github", "junit", "openmetrics", "lkml", "benchmark-action", "bencher", "json", "markdown"]
    {
        let mut command = osdyno(folder.path(), &["compare", "old.json", "new.json", "--fail-on=slower"]);
        let output = command
            .args(["--format", format])
            .env("GITHUB_STEP_SUMMARY", &summary)
            .output()
            .expect("osdyno starts");
        let (printed, told) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(4), "{format}: {told}");
        match format {
            "github" => assert!(printed.contains("::error title=BM_copy%3A slower::BM_copy"), "{printed}"),
            "junit" => assert!(printed.contains("<failure type=\"slower\""), "{printed}"),
            "openmetrics" => assert!(printed.ends_with("# EOF\n"), "{printed}"),
            "lkml" => assert!(printed.lines().all(|line| line.chars().count() <= 72), "{printed}"),
            "markdown" => assert!(printed.contains("BM_copy"), "{printed}"),
            _ => {
                let value: Value = serde_json::from_str(&printed).expect(format);
                let gate = &value["gate"]["decision"];
                assert!(format != "json" || gate == "certain", "{value:#}");
            }
        }
        assert!(format == "markdown" || told.contains("failed"), "{format}: {told}");
    }
    let summary = fs::read_to_string(summary).expect("the summary of the step");
    assert!(summary.contains("BM_copy") && summary.contains("slower"), "{summary}");
}

/// The shell of a block of docs/ci.md, by its first lines.
fn block(language: &str, place: usize) -> String {
    let fence = format!("```{language}\n");
    let block = CI.split(&fence).nth(place).expect("a block");
    block.split("\n```").next().expect("an end").to_owned()
}

/// Makes the root of a container and runs a script in it: the programs of this system, osdyno, the folder of
/// the build, and nothing of the user.
const CONTAINER: &str = r#"
root=$1 folder=$2 program=$3 script=$4
shift 4
mount -t tmpfs tmpfs "$root"
for name in bin lib lib64 usr; do
    if [ -L "/$name" ]; then cp -P "/$name" "$root/$name"
    elif [ -d "/$name" ]; then mkdir "$root/$name"; mount --rbind "/$name" "$root/$name"
    fi
done
mkdir "$root/proc" "$root/dev" "$root/tmp" "$root/build" "$root/opt"
mount --rbind /proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --bind "$folder" "$root/build"
touch "$root/opt/osdyno"
mount --bind "$program" "$root/opt/osdyno"
cd "$root"
exec chroot . /usr/bin/env -i PATH=/opt:/usr/bin:/bin HOME=/build "$@" sh -ec "cd /build; $script"
"#;

/// Runs shell as a build does: in a root of its own with an empty environment, the folder being `/build`.
fn shell(folder: &Path, script: &str, variables: &[(&str, &str)]) -> Option<Output> {
    let namespaces = if sys::process::is_root() { "-m" } else { "-rm" };
    let is_possible = Command::new("unshare").args([namespaces, "true"]).output();
    if !is_possible.is_ok_and(|output| output.status.success()) {
        skipped!("unshare {namespaces} makes no mounts of its own here");
        return None;
    }
    let root = tempfile::tempdir().expect("a folder");
    let mut command = Command::new("unshare");
    command.args([namespaces, "sh", "-ec", CONTAINER, "container"]);
    command.args([root.path(), folder, Path::new(env!("CARGO_BIN_EXE_osdyno"))]).arg(script);
    command.args(variables.iter().map(|(name, value)| format!("{name}={value}")));
    Some(command.output().expect("a shell starts"))
}

#[test]
fn the_files_of_a_newcomer_are_gated_as_the_document_says() {
    let script = block("sh", 2);
    assert!(script.starts_with("osdyno compare old.json new.json"), "{script}");
    let Some(output) = shell(two_files(1.3).path(), &script, &[]) else { return };
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
    let unchanged = shell(two_files(1.0).path(), &script, &[]).expect("the same again");
    assert_eq!(unchanged.status.code(), Some(0), "{}", text(&unchanged.stderr));
}

/// Two programs of the same name in a folder, which sleep so many seconds.
fn two_programs(old: f64, new: f64) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, seconds) in [("old", old), ("new", new)] {
        let path = folder.path().join(name);
        fs::write(&path, format!("#!/bin/sh\nexec sleep {seconds}\n")).expect("a program");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("permissions");
    }
    folder
}

#[test]
fn the_programs_of_a_newcomer_are_compared_as_the_document_says() {
    let script = block("sh", 1);
    assert!(script.starts_with("osdyno run --vs ./old --fail-on slower:5% -- ./new"), "{script}");
    let few = |budget: &str| script.replace(" --fail-on", &format!(" {budget} --fail-on"));
    let Some(output) = shell(two_programs(0.1, 0.3).path(), &few("--trials 4"), &[]) else { return };
    let printed = text(&output.stdout);
    assert_eq!(output.status.code(), Some(4), "{printed} {}", text(&output.stderr));
    let failed = printed.lines().find(|line| line.contains("failed")).unwrap_or_default();
    assert!(failed.contains("command/./new time is ") && failed.contains("× slower than ./old"), "{printed}");
    assert!(printed.contains("repeat"), "{printed}");
    // The faster one is the new one: nothing is slower, whatever the machine does to both.
    let faster = shell(two_programs(0.4, 0.1).path(), &few("--trials 4"), &[]).expect("the same again");
    assert_eq!(faster.status.code(), Some(0), "{}", text(&faster.stdout));
}

/// A gate against the first command decides how long is measured, and is refused where there is no first.
#[test]
fn a_gate_between_commands_goes_on_until_it_is_decided() {
    let folder = two_programs(0.01, 0.08);
    let run = |more: &[&str]| {
        let words = ["run", "--budget=60s", "--fail-on=slower:5%", "--out=a.osdyno"];
        osdyno(folder.path(), &[&words, more, &["--", "./new"]].concat()).output().expect("osdyno starts")
    };
    let output = run(&["--vs", "./old", "--undecided=measure"]);
    assert_eq!(output.status.code(), Some(4), "{} {}", text(&output.stdout), text(&output.stderr));
    let recorded = record::read(folder.path().join("a.osdyno")).expect("a run file").0;
    assert!(recorded.trials.len() >= 6, "{}", recorded.trials.len());
    let report = ["report", "a.osdyno", "--fail-on", "slower:5%@*new time", "--format", "json", "--force"];
    let output = osdyno(folder.path(), &report).output().expect("osdyno starts");
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
    let answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(answer["gate"]["claims"][0]["series"][0]["baseline"], "./old", "{}", answer["gate"]);
    let output = run(&["--trials=2"]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("or two commands"), "{}", text(&output.stderr));
    let levels = ["run", "--levels=a,b", "--fail-on=slower", "--vs=./old {n}", "--", "./new {n}"];
    let output = osdyno(folder.path(), &levels).output().expect("osdyno starts");
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("run it for each of a, b alone"), "{}", text(&output.stderr));
}

#[test]
fn a_setting_is_gated_as_the_document_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut script = block("sh", 3);
    assert!(script.starts_with("osdyno run syscall noop --system base= --system head="), "{script}");
    // As much as a busy machine has time for.
    script.push_str(" --trials 4 -n 50 --seed 1");
    let Some(output) = shell(folder.path(), &script, &[]) else { return };
    let printed = text(&output.stdout);
    let code = output.status.code();
    assert!(matches!(code, Some(0 | 3 | 4)), "{code:?} {printed} {}", text(&output.stderr));
    let last = printed.trim_end().lines().last().unwrap_or_default().to_owned();
    assert!(last.contains("repeat") && last.contains("--fail-on slower:5%"), "{printed}");
    assert!(printed.contains("slower:5%: "), "{printed}");
}

/// `run:` of the composite action.
fn action_script() -> String {
    let run = ACTION.split("      run: |\n").nth(1).expect("a script");
    run.lines().fold(String::new(), |mut script, line| {
        let _ = writeln!(script, "{}", line.strip_prefix("        ").unwrap_or(line));
        script
    })
}

#[test]
fn the_composite_action_gates_annotates_and_writes_its_summary() {
    for input in ["command", "fail-on", "undecided", "osdyno"] {
        assert!(ACTION.contains(&format!("${{{{ inputs.{input} }}}}")), "{input} is used");
    }
    let folder = two_files(1.3);
    let summary = folder.path().join("summary.md");
    let variables = |undecided: &'static str| {
        [
            ("OSDYNO", "osdyno".to_owned()),
            ("COMMAND", "compare 'old.json' new.json".to_owned()),
            ("FAIL_ON", "slower:5%".to_owned()),
            ("UNDECIDED", undecided.to_owned()),
            ("GITHUB_STEP_SUMMARY", "/build/summary.md".to_owned()),
        ]
    };
    for undecided in ["", "pass"] {
        let variables = variables(undecided);
        let variables: Vec<(&str, &str)> =
            variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let Some(output) = shell(folder.path(), &action_script(), &variables) else { return };
        assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
        assert!(text(&output.stdout).contains("::error title=BM_copy"), "{}", text(&output.stdout));
    }
    assert!(fs::read_to_string(&summary).expect("a summary").contains("BM_copy"));
}

#[test]
fn gitlab_and_jenkins_get_a_report_and_the_exit_code() {
    let of_gitlab = block("yaml", 2);
    let line = of_gitlab.lines().find_map(|line| line.trim().strip_prefix("- osdyno")).expect("a script");
    let gitlab = format!("osdyno{line}");
    let of_jenkins = block("groovy", 1);
    let jenkins =
        of_jenkins.split('\'').find(|part| part.starts_with("osdyno")).expect("a script").to_owned();
    for script in [gitlab, jenkins] {
        let folder = two_files(1.3);
        let Some(output) = shell(folder.path(), &script, &[]) else { return };
        assert_eq!(output.status.code(), Some(4), "{script}: {}", text(&output.stderr));
        let report = fs::read_to_string(folder.path().join("osdyno.xml")).expect("a report");
        assert!(report.contains("tests=\"8\" failures=\"1\""), "{report}");
    }
}

/// Two runs of one machine: the file of the first is the baseline of the second.
#[test]
fn a_run_is_set_against_the_file_of_another() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = |out: &str, more: &[&str]| {
        let words = ["run", "noop", "-n", "60", "--trials", "4", "--out", out];
        osdyno(folder.path(), &[&words, more].concat()).output().expect("osdyno starts")
    };
    assert_eq!(run("base.osdyno", &[]).status.code(), Some(0));
    let output = run("head.osdyno", &["--baseline", "base.osdyno", "--fail-on", "slower:900%"]);
    let printed = text(&output.stdout);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{printed} {}", text(&output.stderr));
    assert!(printed.contains("slower:900%: "), "{printed}");
    // The names are known before time is spent.
    for (more, words) in [
        (&["--baseline", "base.osdyno", "--fail-on", "slower@fork"][..], "there are noop"),
        (&["--fail-on", "slower"], "needs a baseline"),
        (&["--fail-on", "grows", "--undecided", "measure"], "leave out --trials"),
    ] {
        let output = run("none.osdyno", more);
        assert_eq!(output.status.code(), Some(2), "{more:?} {}", text(&output.stderr));
        assert!(text(&output.stderr).contains(words), "{more:?} {}", text(&output.stderr));
        assert!(!folder.path().join("none.osdyno").exists());
    }
    let other = ["run", "syscall", "--trials=4", "--baseline=base.osdyno", "--out=none.osdyno"];
    let output = osdyno(folder.path(), &other).output().expect("osdyno starts");
    assert_eq!(output.status.code(), Some(2));
    let told = text(&output.stderr);
    assert!(
        told.contains("nothing of this run is in the baseline base.osdyno, which measured noop"),
        "{told}"
    );
    // The file of a run is judged by itself.
    let report = ["report", "base.osdyno", "--fail-on", "limit", "--force"];
    let output = osdyno(folder.path(), &report).output().expect("osdyno starts");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
}

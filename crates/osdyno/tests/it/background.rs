//! `--background`: a load beside the measurement, held, recorded, and gone at the end.
#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::{Output, Stdio};
use std::time::Duration;

use crate::common;
use crate::common::{expect_nothing_left, osdyno, processes_below, run, run_well, signal, text, until};
use record::{HeldBackground, Recording, Trial};

/// The role of the processes on their command line.
const ROLE: &str = " background ";

fn recording(folder: &Path, name: &str) -> Recording {
    record::read(folder.join(name)).expect("the run file").0
}

/// Whether this machine is too busy for a load. Then nothing is measured, and the reason is there.
fn is_refused_as_too_busy(output: &Output, folder: &Path) -> bool {
    let told = text(&output.stderr);
    if !told.contains("reaches") {
        return false;
    }
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(!folder.join("a.osdyno").exists(), "{told}");
    expect_nothing_left(folder);
    skipped!("this machine is too busy for the smallest loads: {told}");
    true
}

/// Loads that are so small that they are held beside other programs.
const SMALL: &str = "cpu:1%,syscalls:1k/s,connections:20@100/s";

/// A check of each load of the trial, with its result.
fn checked(trial: &Trial) -> Vec<(&HeldBackground, bool)> {
    assert_eq!(trial.held_background.len(), trial.order.background.len(), "{trial:?}");
    let of = |held| {
        let claim = background::check(held).claim;
        let check = trial.checks.iter().find(|check| check.claim == claim);
        (held, check.unwrap_or_else(|| panic!("{claim:?} is no check of {trial:?}")).held)
    };
    trial.held_background.iter().map(of).collect()
}

/// A run whose folder for files is on a disk, as /tmp is not everywhere.
fn on_disk() -> tempfile::TempDir {
    let beside = Path::new(env!("CARGO_BIN_EXE_osdyno")).parent().expect("a folder");
    tempfile::tempdir_in(beside).expect("a folder")
}

#[test]
fn every_second_of_every_load_is_recorded_and_checked() {
    let folder = on_disk();
    let loads = "cpu:10%,net:8mbit#0,disk:1MB/s,memory:4MB@20MB/s,connections:20@100/s,syscalls:2k/s";
    let arguments = ["run", "noop", "-n", "100", "--trials", "4", "--out", "a.osdyno", "--background", loads];
    let output = run(folder.path(), &arguments);
    let (printed, told) = (text(&output.stdout), text(&output.stderr));
    if is_refused_as_too_busy(&output, folder.path()) {
        return;
    }
    assert!(
        printed.contains("background cpu:10% on processor ") && printed.contains("per second)"),
        "{printed}"
    );
    let recording = recording(folder.path(), "a.osdyno");
    let mut held_once = [false; 6];
    for trial in &recording.trials {
        let loads: Vec<&str> = trial.order.background.iter().map(|one| one.load.as_str()).collect();
        let typed = [
            "cpu:10%",
            "net:8mbit#0",
            "disk:1MB/s",
            "memory:4MB@20MB/s",
            "connections:20@100/s",
            "syscalls:2k/s",
        ];
        assert_eq!(loads, typed);
        assert_eq!(trial.order.background[1].processor, Some(0), "as it was chosen");
        for (place, (held, is_proved)) in checked(trial).into_iter().enumerate() {
            assert!(held.ended.is_empty() && !held.rates.is_empty(), "{held:?}");
            assert_eq!(held.is_held, is_proved);
            held_once[place] |= held.is_held;
        }
    }
    let all = recording.trials.iter().flat_map(|trial| &trial.held_background).all(|held| held.is_held);
    assert_eq!(output.status.code(), Some(if all { 0 } else { 3 }), "some are not judged: {told}");
    // Others may have had the processor in some of them, but hardly in all.
    assert!(held_once.iter().filter(|held| **held).count() >= 3, "{held_once:?}");
    expect_nothing_left(folder.path());
}

/// The process is stopped while trials go on: their values were not measured under the load.
#[test]
fn a_trial_whose_load_was_not_held_is_marked_and_not_judged() {
    let folder = tempfile::tempdir().expect("a folder");
    let arguments =
        ["run", "fork", "-n", "2000", "--trials", "1", "--out", "a.osdyno", "--background", "syscalls:1k/s"];
    let mut command = osdyno(folder.path(), &[&arguments[..], &["--preset", "full"]].concat());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("osdyno starts");
    until("a worker runs", || !processes_below(folder.path(), " measure ").is_empty());
    signal(processes_below(folder.path(), ROLE)[0], "STOP");
    let output = child.wait_with_output().expect("an end");
    let recording = recording(folder.path(), "a.osdyno");
    let trial = &recording.trials[0];
    let (held, is_proved) = checked(trial)[0];
    assert!(!held.is_held && !is_proved && held.ended.contains("did not reply within"), "{held:?}");
    assert_eq!(recording.series().count(), 0, "nothing of it is judged");
    let excluded = &recording.excluded[0];
    assert!(
        !excluded.series.values.is_empty() && excluded.reason.to_string().contains("syscalls:1k/s"),
        "{excluded:?}"
    );
    let printed = text(&output.stdout);
    assert!(printed.contains("not held within 5 % in 1 of 1 trials, which are not judged"), "{printed}");
    expect_nothing_left(folder.path());
}

#[test]
fn levels_are_systems_that_are_compared() {
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = ["run", "noop", "-n", "100", "--trials", "2", "--background", "syscalls:0/s/1k/s/2k/s"];
    let output = run(folder.path(), &[&arguments[..], &["--out", "a.osdyno"]].concat());
    if is_refused_as_too_busy(&output, folder.path()) {
        return;
    }
    let recording = recording(folder.path(), "a.osdyno");
    let names: Vec<&str> = recording.systems.iter().map(|system| system.name.as_str()).collect();
    assert_eq!(names, ["syscalls:0/s", "syscalls:1k/s", "syscalls:2k/s"]);
    assert_eq!(recording.systems[1].prefix, ["--background", "syscalls:1k/s"]);
    assert!(recording.run.paired);
    let of = |name: &'static str| recording.trials.iter().filter(move |trial| trial.order.system == name);
    assert!(of("syscalls:0/s").all(|trial| trial.held_background.is_empty()), "nothing is held at zero");
    assert_eq!((of("syscalls:1k/s").count(), of("syscalls:2k/s").count()), (2, 2));
    let printed = text(&output.stdout);
    assert!(printed.contains("syscalls:2k/s · background syscalls:2k/s on processor"), "{printed}");

    // A run under another load is no equal of it.
    run_well(folder.path(), &["run", "noop", "-n", "100", "--trials", "2", "--out", "b.osdyno"]);
    let output = run(folder.path(), &["compare", "a.osdyno", "b.osdyno"]);
    let told = text(&output.stderr);
    let page = std::fs::read_to_string(folder.path().join("a.html")).expect("a page");
    assert!(
        page.contains("Cost over load") && page.contains("background: syscalls"),
        "the page has the curve"
    );
    let expected = "noop has different backgrounds: none or syscalls:1k/s or syscalls:2k/s in a syscalls:0/s";
    assert!(!output.status.success() && told.contains(expected), "{told}");
    assert!(told.contains("none in b"), "{told}");
}

#[test]
fn what_cannot_be_held_is_refused_before_anything_is_measured() {
    let folder = on_disk();
    let arguments = ["run", "noop", "-n", "100", "--out", "a.osdyno", "--background"];
    let told = |spec: &str, code: i32| {
        let output = run(folder.path(), &[&arguments[..], &[spec]].concat());
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{told}");
        assert!(!folder.path().join("a.osdyno").exists() && !folder.path().join("a.html").exists());
        expect_nothing_left(folder.path());
        told
    };
    let fast = told("disk:900GB/s", 1);
    assert!(
        fast.contains("disk:900GB/s: this disk reaches")
            && fast.contains("choose a lower rate, or wait until"),
        "{fast}"
    );
    let large = told("memory:900000G@1GB/s", 1);
    assert!(large.contains("half of the available memory is"), "{large}");
    let strange = told("cpu:5%#4000", 1);
    assert!(strange.contains("cannot stay on processor 4000"), "{strange}");
    assert!(told("gpu:50%", 2).contains("there is no load \"gpu\"; write it as in cpu:50%"));
    assert!(told("cpu:50", 2).contains("it has no unit; write 50%"));
    assert!(told("net:100mbps", 2).contains("is bits to most and bytes to some"));
}

/// Behind a command as here.
#[test]
fn the_load_is_on_the_system_that_is_measured() {
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = ["run", "noop", "-n", "100", "--trials", "1", "--out", "a.osdyno"];
    let systems = ["--system", "here=", "--system", "there=env --", "--background", "syscalls:1k/s"];
    let output = run(folder.path(), &[&arguments[..], &systems].concat());
    if is_refused_as_too_busy(&output, folder.path()) {
        return;
    }
    let recording = recording(folder.path(), "a.osdyno");
    let names: Vec<&str> = recording.systems.iter().map(|system| system.name.as_str()).collect();
    assert_eq!(names, ["here", "there"], "equal backgrounds are no part of a name");
    for trial in &recording.trials {
        assert!(!checked(trial)[0].0.rates.is_empty(), "{trial:?}");
    }
    expect_nothing_left(folder.path());
}

#[test]
fn killed_in_any_phase_it_leaves_no_load() {
    let folder = on_disk();
    let arguments =
        ["run", "fork", "-n", "3000", "--trials", "400", "--background", SMALL, "--out", "a.osdyno"];
    for (phase, words) in
        [("loads are tried", ROLE), ("a trial is supervised", " supervise "), ("it measures", " measure ")]
    {
        let mut command = osdyno(folder.path(), &arguments);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("osdyno starts");
        until(phase, || !processes_below(folder.path(), words).is_empty());
        if words != " measure " {
            std::thread::sleep(Duration::from_millis(100));
        }
        child.kill().expect("it has not ended yet");
        child.wait().expect("an end");
        expect_nothing_left(folder.path());
        for left in ["a.osdyno", "a.html"] {
            let _ = std::fs::remove_file(folder.path().join(left));
        }
    }
    // A load that does not react does not stay either.
    let mut command = osdyno(folder.path(), &arguments);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("osdyno starts");
    until("it measures", || !processes_below(folder.path(), " measure ").is_empty());
    processes_below(folder.path(), ROLE).into_iter().for_each(|process| signal(process, "STOP"));
    child.kill().expect("it has not ended yet");
    child.wait().expect("an end");
    expect_nothing_left(folder.path());
}

#[test]
fn a_load_generator_has_a_load_beside_it_too() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("page"), "hello").expect("a file");
    let server = common::served::Served::start(folder.path(), &["."]);
    let url = format!("http://{}/page", server.address);
    let arguments = ["load", &url, "-c", "2", "-d", "1500ms", "--background", "syscalls:1k/s"];
    let output = run(folder.path(), &arguments);
    let (printed, told) = (text(&output.stdout), text(&output.stderr));
    let json = run(folder.path(), &[&arguments[..], &["--format", "json"]].concat());
    if [&output, &json].into_iter().any(|output| is_refused_as_too_busy(output, folder.path())) {
        return;
    }
    assert!(printed.contains("background syscalls:1k/s on processor "), "{printed}{told}");
    let csv = text(&run(folder.path(), &[&arguments[..], &["--format", "csv"]].concat()).stdout);
    let lines: Vec<&str> = csv.lines().collect();
    if let [heading, level] = lines[..] {
        assert!(heading.ends_with(",background,background_rates,background_held"), "{csv}");
        let [held, rate, load] = level.rsplit(',').take(3).collect::<Vec<_>>()[..] else { panic!("{csv}") };
        assert!(
            load == "syscalls:1k/s" && rate.parse::<f64>().is_ok() && held.parse::<bool>().is_ok(),
            "{csv}"
        );
    }
    std::fs::write(folder.path().join("before.json"), &json.stdout).expect("a file");
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).expect("JSON");
    assert_eq!(json["background"][0], "syscalls:1k/s");
    let rates = json["held_background"][0][0]["rates"].as_array().expect("rates");
    assert!(!rates.is_empty(), "{json}");
    let output = run(folder.path(), &["load", &url, "-c", "2", "-d", "1s", "--baseline", "before.json"]);
    assert!(text(&output.stderr).contains("has other settings: background"), "{}", text(&output.stderr));
    let output = run(folder.path(), &["load", &url, "--background", "cpu:5%/10%"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("has several levels"), "{}", text(&output.stderr));
}

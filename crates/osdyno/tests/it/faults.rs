//! Faults during a measurement: no measurement is lost, and nothing is left behind.
#![cfg(target_os = "linux")]

use std::fs;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use crate::common::{
    expect_nothing_left, osdyno, processes_below, run, scratch_folders, signal, start_measuring, text, until,
};
use record::Outcome;

/// Long enough that a signal always meets it at work.
const LONG: [&str; 8] = ["run", "fork", "-n", "3000", "--trials", "400", "--out", "a.osdyno"];

fn trials(folder: &std::path::Path) -> Vec<record::Trial> {
    record::read(folder.join("a.osdyno")).expect("the run file").0.trials
}

#[test]
fn interrupted_it_keeps_what_is_measured_and_leaves_nothing_behind() {
    for name in ["INT", "TERM", "HUP"] {
        if name == "HUP" && sys::signal::ignores_hangup() {
            println!("HUP not tried: these tests were started with it ignored, as by nohup(1)");
            continue;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let child = start_measuring(folder.path(), &LONG);
        until("a trial is written", || {
            record::read(folder.path().join("a.osdyno")).is_ok_and(|(r, _)| !r.trials.is_empty())
        });
        signal(child.id(), name);
        let output = child.wait_with_output().expect("an end");
        assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
        let (recording, losses) = record::read(folder.path().join("a.osdyno")).expect("the run file");
        assert!(losses.is_empty() && !recording.trials.is_empty());
        assert_eq!(recording.end.expect("an end").status, record::EndStatus::Interrupted);
        assert!(folder.path().join("a.html").exists(), "the report of the measurements");
        assert!(text(&output.stdout).contains("fork"), "the verdicts of the measurements");
        expect_nothing_left(folder.path());
    }
}

/// As under nohup(1).
#[test]
fn a_hangup_that_is_ignored_stays_ignored() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = osdyno(folder.path(), &["run", "fork", "-n", "3000", "--trials", "3", "--out", "a.osdyno"]);
    let mut child = shell("trap '' HUP", &program, folder.path()).spawn().expect("a shell starts");
    until("a worker runs", || !processes_below(folder.path(), " measure ").is_empty());
    signal(child.id(), "HUP");
    assert!(child.wait().expect("an end").success());
}

#[test]
fn killed_it_leaves_a_readable_record_and_nothing_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut child = start_measuring(folder.path(), &LONG);
    until("a trial is written", || {
        record::read(folder.path().join("a.osdyno")).is_ok_and(|(r, _)| !r.trials.is_empty())
    });
    signal(child.id(), "KILL");
    child.wait().expect("an end");
    expect_nothing_left(folder.path());
    let recording = record::read(folder.path().join("a.osdyno")).expect("the run file").0;
    assert!(recording.end.is_none() && !recording.trials.is_empty());
    let output = run(folder.path(), &["report", "a.osdyno"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("the run was killed"), "{}", text(&output.stderr));
}

/// Also before it has begun to measure, whatever it is about to do.
#[test]
fn killed_at_any_moment_of_its_start_it_leaves_no_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    for milliseconds in 0..60 {
        let mut command = osdyno(folder.path(), &["run", "noop", "--out", "a.osdyno"]);
        let mut child = command.stderr(Stdio::null()).stdout(Stdio::null()).spawn().expect("osdyno starts");
        std::thread::sleep(Duration::from_millis(milliseconds));
        child.kill().expect("it has not ended yet");
        child.wait().expect("an end");
        expect_nothing_left(folder.path());
        for left in ["a.osdyno", "a.html"] {
            let _ = fs::remove_file(folder.path().join(left));
        }
    }
}

#[test]
fn a_trial_that_crashes_keeps_what_it_measured_and_the_run_goes_on() {
    // Not SIGSEGV: the handler that std installs for stack overflows ignores one that was sent. SIGKILL is
    // what the out-of-memory killer sends.
    for name in ["ABRT", "KILL"] {
        crash(name);
    }
}

fn crash(name: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    // The default preset may end the sweep before the signal arrives.
    let size = ["-n", "12000", "--trials", "2", "--preset", "full"];
    let arguments = [&["run", "fork", "--out", "a.osdyno"][..], &size].concat();
    let child = start_measuring(folder.path(), &arguments);
    signal(worker_at_work(child.id()), name);
    let output = child.wait_with_output().expect("an end");
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("crashed at n ="), "{}", text(&output.stderr));
    let (recording, _) = record::read(folder.path().join("a.osdyno")).expect("the run file");
    let [first, second] = &recording.trials[..] else { panic!("two trials, not {}", recording.trials.len()) };
    let Outcome::Crashed { n, reason } = &first.outcome else { panic!("{:?}", first.outcome) };
    assert!(*n > 0 && *reason == format!("killed by SIG{name}"), "{n} {reason}");
    let went_on = matches!(second.outcome, Outcome::Complete | Outcome::Allowance { .. });
    assert!(went_on, "{:?}", second.outcome);
    let key = record::SeriesKey {
        system: "local".to_owned(),
        workload: "fork".to_owned(),
        variant: String::new(),
        name: "fork".to_owned(),
        direction: record::Direction::Up,
    };
    let before_the_crash = recording.trials_of(&key).first().expect("its series");
    assert!(
        before_the_crash.trial == 1 && before_the_crash.values.len() as u64 >= *n,
        "measured before the crash"
    );
    expect_nothing_left(folder.path());
}

#[test]
fn a_trial_that_hangs_is_killed_in_time() {
    let folder = tempfile::tempdir().expect("a folder");
    // The default preset may end the sweep before the signal arrives, and on a busy machine a trial has begun
    // after seconds only.
    let size = ["-n", "12000", "--trials", "1", "--preset", "full", "--timeout", "20s"];
    let arguments = [&["run", "fork", "--out", "a.osdyno"][..], &size].concat();
    let child = start_measuring(folder.path(), &arguments);
    signal(worker_at_work(child.id()), "STOP");
    let output = child.wait_with_output().expect("an end");
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert!(
        matches!(trials(folder.path())[0].outcome, Outcome::TimedOut { n } if n > 0),
        "{:?}",
        trials(folder.path())
    );
    expect_nothing_left(folder.path());
}

#[test]
fn a_supervisor_that_is_killed_is_recorded_and_leaves_no_process() {
    let folder = tempfile::tempdir().expect("a folder");
    // Long enough to be found at work on a busy machine too; it is killed at the beginning.
    let arguments = ["run", "fork", "--preset", "full", "-n", "20000", "--trials", "1", "--out", "a.osdyno"];
    let child = start_measuring(folder.path(), &arguments);
    let is_supervisor = |number: &u32| processes_below(folder.path(), " supervise ").contains(number);
    let supervisor = children(child.id()).into_iter().find(is_supervisor).expect("a supervisor");
    signal(supervisor, "KILL");
    let output = child.wait_with_output().expect("an end");
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    let outcome = &trials(folder.path())[0].outcome;
    assert!(matches!(outcome, Outcome::Crashed { reason, .. } if reason.contains("SIGKILL")), "{outcome:?}");
    expect_nothing_left(folder.path());
}

#[test]
fn a_second_run_beside_it_is_not_disturbed_by_cleaning_up() {
    let folder = tempfile::tempdir().expect("a folder");
    let other = tempfile::tempdir().expect("a folder");
    let mut long = start_measuring(folder.path(), &LONG);
    let output = run(other.path(), &["run", "mmap", "-n", "100", "--trials", "1", "--out", "b.osdyno"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(!scratch_folders(folder.path()).is_empty(), "the other run's folder is its own");
    signal(long.id(), "TERM");
    long.wait().expect("an end");
    expect_nothing_left(folder.path());
}

/// SIGXFSZ kills by default, and nothing would be said.
#[test]
fn a_limit_on_the_size_of_files_is_reported_and_loses_no_finished_trial() {
    let folder = tempfile::tempdir().expect("a folder");
    let scratch = tempfile::tempdir().expect("a folder");
    let scratch = scratch.path().to_string_lossy().into_owned();
    let run = ["run", "socket", "-n", "3000", "--trials", "60", "--out", "a.osdyno", "--scratch", &scratch];
    // The programs are larger than the limit: they are unpacked before it is there.
    let program = osdyno(folder.path(), &run);
    let output = limited(
        "(until [ -s a.osdyno ]; do sleep 0.01; done; prlimit --pid $$ --fsize=65536) & :",
        &program,
        folder.path(),
    );
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{}: {told}", output.status);
    assert!(told.contains("ulimit -f") && told.contains("all trials before that are kept"), "{told}");
    assert!(text(&output.stdout).contains("socket"), "the verdicts of the measurements");
    let (recording, losses) = record::read(folder.path().join("a.osdyno")).expect("a readable record");
    assert!(losses.is_empty() && !recording.trials.is_empty(), "{losses:?}");
}

#[test]
fn too_few_descriptors_shorten_n_and_say_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = ["run", "ready/poll", "-n", "5000", "--trials", "2", "--out", "a.osdyno"];
    let program = osdyno(folder.path(), &arguments);
    let output = limited("ulimit -n 300", &program, folder.path());
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("RLIMIT_NOFILE is 300"), "{}", text(&output.stderr));
    for trial in trials(folder.path()) {
        assert!(trial.order.n < 300 && matches!(trial.outcome, Outcome::Complete), "{trial:?}");
    }
}

#[test]
fn helper_processes_hold_what_too_few_descriptors_leave_no_room_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = ["run", "socket/v4-hole", "bind/v4", "connect/bound", "files", "-n", "1000", "--trials", "2"];
    let program = osdyno(folder.path(), &[&run[..], &["--out", "a.osdyno", "--verbose"]].concat());
    let output = limited("ulimit -n 300", &program, folder.path());
    let (printed, told) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success() && !told.contains("RLIMIT_NOFILE"), "{told}");
    let remark = "One object in 4 was made and timed by the trial, and the others by 3";
    assert!(printed.contains(remark), "{printed}");
    let (recording, losses) = record::read(folder.path().join("a.osdyno")).expect("a readable record");
    assert!(losses.is_empty(), "{losses:?}");
    for trial in &recording.trials {
        assert!(matches!(trial.outcome, Outcome::Complete), "{trial:?}");
        assert!(trial.order.n > 990 && trial.checks.iter().all(|check| check.held), "{trial:?}");
    }
    let is_way =
        |direction| move |(key, _): &(&record::SeriesKey, &[record::Series])| key.direction == direction;
    let of = |direction| recording.series().filter(is_way(direction)).flat_map(|(_, trials)| trials);
    for series in
        of(record::Direction::Up).filter(|series| !["null-call", "stat"].contains(&series.name.as_str()))
    {
        assert!(series.n_first == 0 && series.n_step >= 4, "{series:?}");
    }
    expect_nothing_left(folder.path());
}

#[test]
fn where_not_a_single_object_fits_the_limit_is_the_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = osdyno(folder.path(), &["run", "files", "-n", "100", "--trials", "2", "--out", "a.osdyno"]);
    let output = limited("ulimit -n 24", &program, folder.path());
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    let printed = text(&output.stdout);
    assert!(printed.contains("unsupported") && printed.contains("RLIMIT_NOFILE is 24"), "{printed}");
}

#[test]
fn a_janitor_that_is_killed_leaves_nothing_behind() {
    let folder = tempfile::tempdir().expect("a folder");
    let child =
        start_measuring(folder.path(), &["run", "fork", "-n", "2000", "--trials", "3", "--out", "a.osdyno"]);
    let is_janitor = |number: &u32| {
        fs::read(format!("/proc/{number}/cmdline")).is_ok_and(|line| text(&line).contains("\0janitor\0"))
    };
    let janitor = children(child.id()).into_iter().find(is_janitor).expect("a janitor");
    signal(janitor, "KILL");
    assert!(child.wait_with_output().expect("an end").status.success());
    expect_nothing_left(folder.path());
}

/// Runs it as a user whose limit of processes nobody shares, because such limits do not bind root. `None` where
/// that cannot be.
fn run_with_processes(
    user: &str,
    processes: u32,
    folder: &std::path::Path,
    words: &[&str],
) -> Option<Output> {
    if !is_root() {
        skipped!("only root can become somebody whose processes are limited");
        return None;
    }
    let chown = Command::new("chown").args([user, &folder.to_string_lossy()]).status().expect("chown starts");
    assert!(chown.success());
    let program = osdyno(folder, words);
    let binary = folder.join("osdyno");
    fs::copy(program.get_program(), &binary).expect("a copy that somebody else may run");
    let mut setpriv = Command::new("setpriv");
    setpriv.args(["--reuid", user, "--clear-groups"]).arg(&binary).args(program.get_args());
    let limit = format!("export HOME=. XDG_STATE_HOME=. && prlimit --pid $$ --nproc={processes}:{processes}");
    let output = limited(&limit, &setpriv, folder);
    fs::remove_file(binary).expect("the copy");
    expect_nothing_left(folder);
    Some(output)
}

/// The system has more processes than that; those of others do not count.
#[test]
fn too_few_processes_are_a_limit_with_its_errno() {
    let folder = tempfile::tempdir().expect("a folder");
    let words = ["run", "thread", "-n", "2000", "--trials", "1", "--out", "a.osdyno"];
    let Some(output) = run_with_processes("57342", 100, folder.path(), &words) else { return };
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}\n{}", output.status, text(&output.stderr));
    let trials = trials(folder.path());
    let told = text(&output.stderr);
    let stopped =
        matches!(&trials[0].outcome, Outcome::Limit { error, n, .. } if error == "EAGAIN" && *n < 100);
    assert!(
        stopped || (told.contains("RLIMIT_NPROC") && (1..100).contains(&trials[0].order.n)),
        "{trials:?}\n{told}"
    );
}

/// At whichever of its processes and threads the limit is met, the reason is the limit: nothing has crashed.
#[test]
fn a_trial_for_which_there_are_too_few_processes_has_failed_with_that_reason() {
    let mut failed = 0;
    for processes in 5..16 {
        let folder = tempfile::tempdir().expect("a folder");
        let words = ["run", "socket/v4", "-n", "100", "--trials", "2", "--out", "a.osdyno"];
        let Some(output) = run_with_processes("57343", processes, folder.path(), &words) else { return };
        let told = text(&output.stderr);
        if output.status.code() == Some(1) {
            assert!(told.contains("ulimit -u"), "{processes}: {told}");
            continue;
        }
        for trial in trials(folder.path()) {
            match trial.outcome {
                Outcome::Complete => {}
                Outcome::Failed { reason } if reason.contains("ulimit -u") => failed += 1,
                outcome => panic!("{processes}: {outcome:?}\n{told}"),
            }
        }
    }
    assert!(failed > 0, "no trial met the limit");
}

#[test]
fn a_full_disk_ends_the_run_and_loses_no_finished_trial() {
    if !is_root() {
        skipped!("only root can mount a small disk");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let disk = folder.path().join("disk");
    fs::create_dir(&disk).expect("a folder");
    let script = format!(
        "mount -t tmpfs -o size=192k none {disk} && cd {disk} && exec \"$0\" \"$@\"",
        disk = disk.display()
    );
    let out = disk.join("a.osdyno");
    let copy = folder.path().join("kept.osdyno");
    // The disk is gone with its namespace, so what is on it is copied away before.
    let script = script.replace(
        "exec \"$0\" \"$@\"",
        &format!("\"$0\" \"$@\"; code=$?; cp a.osdyno {}; exit $code", copy.display()),
    );
    let program = osdyno(folder.path(), &[]);
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-c", &script])
        .arg(program.get_program())
        .args(["run", "socket", "-n", "4000", "--trials", "60", "--scratch"])
        .arg(folder.path())
        .args(["--out"])
        .arg(&out)
        .output()
        .expect("unshare starts");
    let told = text(&output.stderr);
    if told.contains("unshare failed") || told.contains("mount:") {
        skipped!("no small disk could be mounted: {told}");
        return;
    }
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(
        told.contains("No space left on device") && told.contains("all trials before that are kept"),
        "{told}"
    );
    assert!(text(&output.stdout).contains("socket"), "the verdicts of the measurements");
    let (recording, losses) = record::read(&copy).expect("a readable record");
    assert!(losses.is_empty() && !recording.trials.is_empty(), "{losses:?}");
    fs::remove_dir(&disk).expect("an empty folder");
    expect_nothing_left(folder.path());
}

/// Number of the worker, once it has forked more children than the discarded pass does.
fn worker_at_work(osdyno: u32) -> u32 {
    let mut found = None;
    until("children are forked", || {
        let below = children(osdyno).into_iter().flat_map(children);
        found = below.into_iter().find(|&worker| children(worker).len() > 50);
        found.is_some()
    });
    found.expect("a worker")
}

fn children(number: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{number}/task")).into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_whitespace().filter_map(|word| word.parse().ok()).collect::<Vec<_>>())
        .collect()
}

/// Runs the program below a limit that a shell sets.
fn limited(limit: &str, program: &Command, folder: &std::path::Path) -> std::process::Output {
    shell(limit, program, folder).output().expect("sh starts")
}

/// The program as a shell executes it after this command.
fn shell(before: &str, program: &Command, folder: &std::path::Path) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{before} && exec \"$0\" \"$@\"")]);
    shell.arg(program.get_program()).args(program.get_args());
    shell.current_dir(folder).env("TMPDIR", folder);
    shell
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n")
}

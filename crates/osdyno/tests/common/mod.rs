//! Runs the program as a user would.
#![allow(dead_code)]

/// Says why a test, or a part of it, cannot run here. The harness hides the output of a test that passes: a
/// person reads it on standard error, past the harness, and `cargo xtask` counts the printed reasons. A
/// harness that can ignore a test for it finds the reason in `SKIPPED`.
macro_rules! skipped {
    ($($words:tt)*) => {{
        let reason = format!($($words)*);
        println!("skipped: {reason}");
        $crate::common::SKIPPED.with_borrow_mut(|reasons| reasons.push(reason.clone()));
        let _ = std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("skipped: {reason}\n"));
    }};
}

thread_local! {
    /// The skips of this thread's test.
    pub(crate) static SKIPPED: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

#[cfg(unix)]
pub(crate) mod accounts;
pub(crate) mod control_group;
pub(crate) mod everywhere;
#[cfg(target_os = "linux")]
pub(crate) mod far;
#[cfg(unix)]
pub(crate) mod foreign;
#[cfg(target_os = "linux")]
pub(crate) mod killed;
#[cfg(target_os = "linux")]
pub(crate) mod lowered;
#[cfg(target_os = "linux")]
pub(crate) mod network;
#[cfg(target_os = "linux")]
pub(crate) mod rack;
#[cfg(target_os = "linux")]
pub(crate) mod served;
#[cfg(unix)]
pub(crate) mod wire;
#[cfg(unix)]
pub(crate) mod witness;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use record::{Outcome, Recording};

/// The program, in a folder of its own, with nobody watching.
pub(crate) fn osdyno(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_osdyno"));
    command.args(arguments).current_dir(folder).stdin(Stdio::null());
    command.env("TMPDIR", folder).env_remove("NO_COLOR");
    // Tests neither use nor change the stored noise floor of this machine.
    command.env("XDG_STATE_HOME", folder.join("state"));
    command
}

/// Runs it to its end.
pub(crate) fn run(folder: &Path, arguments: &[&str]) -> Output {
    osdyno(folder, arguments).output().expect("osdyno starts")
}

/// Runs it to its end, which must be a good one, and returns what it printed.
pub(crate) fn run_well(folder: &Path, arguments: &[&str]) -> String {
    let output = run(folder, arguments);
    assert!(output.status.success(), "{arguments:?}: {}\n{}", output.status, text(&output.stderr));
    text(&output.stdout)
}

/// Runs it to its end with a folder of programs before all others.
pub(crate) fn run_with(folder: &Path, programs: &Path, arguments: &[&str]) -> Output {
    let mut command = osdyno(folder, arguments);
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", programs.display())).output().expect("osdyno starts")
}

/// A program of that name in the folder, which a shell executes.
#[cfg(unix)]
pub(crate) fn program(folder: &Path, name: &str, script: &str) {
    let path = folder.join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a program");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(path, mode).expect("permissions");
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The run file `a.osdyno` of the folder.
pub(crate) fn recording(folder: &Path) -> Recording {
    record::read(folder.join("a.osdyno")).expect("the run file").0
}

/// How the trials of a system ended, in the order of time.
pub(crate) fn outcomes<'a>(recording: &'a Recording, system: &str) -> Vec<&'a Outcome> {
    let trials = recording.trials.iter().filter(|trial| trial.order.system == system);
    trials.map(|trial| &trial.outcome).collect()
}

/// How many trials of each host of a fleet went well.
pub(crate) fn complete(recording: &Recording) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for system in &recording.systems {
        let host = system.fleet.as_ref().expect("a host").host.clone();
        let ends = outcomes(recording, &system.name).into_iter();
        *counts.entry(host).or_default() += ends.filter(|end| **end == Outcome::Complete).count();
    }
    counts
}

/// A small run file of that name.
pub(crate) fn small_run(folder: &Path, name: &str) -> PathBuf {
    run_well(
        folder,
        &["run", "socket/v4", "noop", "-n", "300", "--trials", "4", "--seed", "5", "--out", name],
    );
    folder.join(name)
}

/// Starts it and returns once it measures: when its worker is there.
pub(crate) fn start_measuring(folder: &Path, arguments: &[&str]) -> Child {
    let mut command = osdyno(folder, arguments);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("osdyno starts");
    until("a worker runs", || !processes_below(folder, " measure ").is_empty());
    child
}

/// How much the program takes of a scratch folder.
pub(crate) fn program_bytes() -> u64 {
    std::fs::metadata(env!("CARGO_BIN_EXE_osdyno")).expect("the program").len()
}

/// Waits for something to become true, for at most two minutes: a disk that writes back gigabytes for others
/// has held an unlink(2) for longer than half a minute.
pub(crate) fn until(what: &str, is_true: impl FnMut() -> bool) {
    assert!(becomes_true(is_true), "not within 2 min: {what}");
}

/// Whether something becomes true within two minutes. After a long wait it looks less often: some looks are at
/// all processes, and the program under test needs the same processors.
pub(crate) fn becomes_true(mut is_true: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while !is_true() {
        let waited = start.elapsed();
        if waited > Duration::from_secs(120) {
            return false;
        }
        std::thread::sleep((waited / 8).clamp(Duration::from_millis(5), Duration::from_millis(50)));
    }
    true
}

/// Numbers of the processes whose program lies below the folder and whose command line, in words with a
/// space before and after each, holds `words`.
pub(crate) fn processes_below(folder: &Path, words: &str) -> Vec<u32> {
    let folder = folder.canonicalize().expect("a folder");
    let entries = std::fs::read_dir("/proc").expect("/proc").flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_ours = |number: &u32| {
        let Ok(line) = std::fs::read(format!("/proc/{number}/cmdline")) else { return false };
        let line = text(&line).replace('\0', " ");
        let program = || std::fs::read_link(format!("/proc/{number}/exe")).unwrap_or_default();
        format!(" {line} ").contains(words) && program().starts_with(&folder)
    };
    numbers.filter(is_ours).collect()
}

/// Sends a signal by its name.
pub(crate) fn signal(number: u32, name: &str) {
    let status =
        Command::new("kill").args([&format!("-{name}"), &number.to_string()]).status().expect("kill starts");
    assert!(status.success(), "kill -{name} {number}");
}

/// Nothing of a run is left: no process, no scratch folder.
pub(crate) fn expect_nothing_left(folder: &Path) {
    until("no process is left", || processes_below(folder, "").is_empty());
    until("no scratch folder is left", || scratch_folders(folder).is_empty());
}

pub(crate) fn scratch_folders(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path());
    entries.filter(|path| path.is_dir()).collect()
}

/// Why this machine cannot measure a file system in an image; `None` if it can.
pub(crate) fn why_no_image() -> Option<String> {
    let probe = "unshare --mount true && test -w /dev/loop-control && command -v mkfs.ext4";
    let probed = Command::new("sh").args(["-c", probe]).output().expect("a shell");
    let reason = "it takes root, /dev/loop-control and mkfs.ext4";
    (!probed.status.success()).then(|| format!("{reason}: {}", text(&probed.stderr)))
}

/// The images of loop devices that lie below the folder.
pub(crate) fn images_below(folder: &Path) -> Vec<String> {
    let folder = folder.to_string_lossy().into_owned();
    let devices = std::fs::read_dir("/sys/block").expect("block devices").flatten();
    let images =
        devices.filter_map(|device| std::fs::read_to_string(device.path().join("loop/backing_file")).ok());
    images.filter(|image| image.contains(&folder)).collect()
}

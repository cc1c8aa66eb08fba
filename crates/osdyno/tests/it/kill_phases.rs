//! SIGKILL in each phase of a run, of osdyno, of supervisors and of workers: no process, file, mount or loop
//! device is left, and what was not killed is measured.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::common::{images_below, osdyno, recording, scratch_folders, signal, text, until, why_no_image};
use record::Outcome;

/// Words on the command line of a role of ours.
const ROLES: [&str; 6] = ["janitor", "mounted", "agent", "describe", "supervise", "measure"];

struct Job {
    name: &'static str,
    /// Is there below the folder for files, or has its process running, when it works.
    path: &'static str,
    /// Make little of it.
    settings: &'static [&'static str],
}

const fn job(name: &'static str, path: &'static str, settings: &'static [&'static str]) -> Job {
    Job { name, path, settings }
}

const JOBS: [Job; 6] = [
    job("small-files/warm", "small-files", &["--set=files=100"]),
    job("tree", "tree/first", &[]),
    job("sql/postgresql", "sql/data", &["--set=rows=1000"]),
    job("network-copy/smb", "network-copy", &[]),
    job("network-copy/sftp", "network-copy/log", &[]),
    job("compile", "compile", &["--set=optimize=0"]),
];

/// A process that works for the run in the folder.
#[derive(Debug)]
struct Found {
    number: u32,
    words: Vec<String>,
}

/// The processes of the run whose files are in the folder: its programs and commands have the folder in
/// their names, and what they start works there or has it in its own.
fn processes(folder: &Path) -> Vec<Found> {
    let folder = folder.canonicalize().expect("a folder").to_string_lossy().into_owned();
    let entries = fs::read_dir("/proc").expect("/proc").flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let found = numbers.filter_map(|number| {
        let line = fs::read(format!("/proc/{number}/cmdline")).ok()?;
        let words: Vec<String> = text(&line).split('\0').map(str::to_owned).collect();
        let link = |name: &str| fs::read_link(format!("/proc/{number}/{name}")).unwrap_or_default();
        let places = [link("exe"), link("cwd")].map(|path| path.to_string_lossy().into_owned());
        let is_ours = words.iter().chain(&places).any(|word| word.contains(&folder));
        is_ours.then_some(Found { number, words })
    });
    found.collect()
}

/// A process in that role.
fn in_role(folder: &Path, role: &str) -> Option<u32> {
    let found = processes(folder).into_iter();
    let mut found = found.filter(|found| found.words.iter().any(|word| word == role));
    found.next().map(|found| found.number)
}

/// A worker that has made that path below its folder for files.
fn at_work(folder: &Path, path: &str) -> Option<u32> {
    let worker = in_role(folder, "measure")?;
    let scratch =
        scratch_folders(folder).into_iter().find(|path| path.to_string_lossy().contains("/osdyno-"))?;
    let scratch = scratch.strip_prefix("/").expect("an absolute path").join(path);
    PathBuf::from(format!("/proc/{worker}/root")).join(scratch).exists().then_some(worker)
}

fn expect_nothing(folder: &Path, phase: &str) {
    until(&format!("{phase}: no process is left"), || {
        let left = processes(folder);
        left.is_empty()
    });
    until(&format!("{phase}: no device is left"), || images_below(folder).is_empty());
    until(&format!("{phase}: no folder is left"), || scratch_folders(folder).is_empty());
    // The folder is that for temporary files, too: those of compilers, for example.
    let files = fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.file_name());
    let files: Vec<String> = files.map(|name| name.to_string_lossy().into_owned()).collect();
    assert!(files.iter().all(|name| name.starts_with("a.")), "{phase}: {files:?}");
    let mounts = fs::read_to_string("/proc/self/mountinfo").expect("mounts");
    assert!(!mounts.contains(&*folder.to_string_lossy()), "{phase}: {mounts}");
}

fn start(folder: &Path, arguments: &[&str]) -> Child {
    let mut command = osdyno(folder, &[&["run", "--out=a.osdyno"], arguments].concat());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("osdyno starts")
}

/// Whether the job can be measured here.
fn is_there(job: &str) -> bool {
    let command = match job {
        "sql/postgresql" => "ls /usr/lib/postgresql/*/bin/postgres",
        "network-copy/smb" => "command -v smbd",
        "network-copy/sftp" => "command -v ssh && ls /usr/sbin/sshd",
        "compile" => "command -v cc",
        _ => "true",
    };
    let is_there = Command::new("sh").args(["-c", command]).output().expect("a shell").status.success();
    if !is_there {
        skipped!("{job} is not installed here");
    }
    is_there
}

#[test]
fn osdyno_may_be_killed_whatever_it_waits_for() {
    if let Some(reason) = why_no_image() {
        return skipped!("{reason}");
    }
    for role in ROLES {
        let folder = tempfile::tempdir().expect("a folder");
        let mut child = start(folder.path(), &["small-files/warm", "--trials=500", "--fs=ext4,tmpfs"]);
        until(role, || in_role(folder.path(), role).is_some());
        signal(child.id(), "KILL");
        child.wait().expect("its end");
        expect_nothing(folder.path(), role);
    }
}

#[test]
fn osdyno_may_be_killed_whatever_is_measured() {
    for Job { name, path, .. } in JOBS.iter().filter(|job| is_there(job.name)) {
        let folder = tempfile::tempdir().expect("a folder");
        let mut child = start(folder.path(), &[name, "--trials=500"]);
        until(name, || at_work(folder.path(), path).is_some());
        signal(child.id(), "KILL");
        child.wait().expect("its end");
        expect_nothing(folder.path(), name);
    }
}

#[test]
fn a_worker_or_supervisor_that_is_killed_costs_one_trial() {
    for job in JOBS.iter().filter(|job| is_there(job.name)) {
        for role in ["measure", "supervise"] {
            let phase = format!("{role} of {}", job.name);
            // On a busy machine a trial may be over before it is looked for.
            let is_killed = (0..20).any(|_| kills_one_of_two(job, role, &phase));
            assert!(is_killed, "{phase}: the trials were over each time");
        }
    }
}

/// Kills a process of one of two trials at work; whether it did, and was not too late.
fn kills_one_of_two(job: &Job, role: &str, phase: &str) -> bool {
    let folder = tempfile::tempdir().expect("a folder");
    let small = [job.name, "-n2", "--trials=2", "--window=300ms"];
    let mut child = start(folder.path(), &[&small[..], job.settings].concat());
    until(phase, || at_work(folder.path(), job.path).is_some() || matches!(child.try_wait(), Ok(Some(_))));
    if let Some(victim) = in_role(folder.path(), role) {
        let mut kill = Command::new("kill");
        kill.args(["-KILL", &victim.to_string()]).stderr(Stdio::null()).status().expect("kill starts");
    }
    let output = child.wait_with_output().expect("its end");
    let told = text(&output.stderr);
    let recording = recording(folder.path());
    let outcomes: Vec<&Outcome> = recording.trials.iter().map(|trial| &trial.outcome).collect();
    let crashed = outcomes.iter().filter(|outcome| matches!(outcome, Outcome::Crashed { .. })).count();
    let complete = outcomes.iter().filter(|outcome| matches!(outcome, Outcome::Complete)).count();
    assert!(outcomes.len() == 2 && complete + crashed == 2, "{phase}: {outcomes:?}, {told}");
    assert!(crashed <= 1, "{phase}: {outcomes:?}, {told}");
    assert_eq!(output.status.code(), Some(if crashed == 1 { 3 } else { 0 }), "{phase}: {told}");
    expect_nothing(folder.path(), phase);
    crashed == 1
}

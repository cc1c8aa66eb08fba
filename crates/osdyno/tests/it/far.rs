//! Systems and servers that share no folder with osdyno: behind ssh, and behind commands that change the user
//! or the name space. Programs and files reach them through the command alone.
#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::Command;

use crate::common;
use crate::common::far::Far;
use crate::common::{expect_nothing_left, osdyno, recording, run_well, signal, start_measuring, until};
use record::{Outcome, Recording};

/// Every trial went well; the scratch folders of this system.
fn scratch_of<'a>(recording: &'a Recording, system: &str) -> Vec<&'a str> {
    for trial in &recording.trials {
        let is_well = matches!(trial.outcome, Outcome::Complete | Outcome::Allowance { .. });
        assert!(is_well && trial.checks.iter().all(|check| check.held), "{trial:?}");
    }
    let trials = recording.trials.iter().filter(|trial| trial.order.system == system);
    trials.map(|trial| trial.order.scratch.as_str()).collect()
}

#[test]
fn a_system_behind_ssh_needs_no_shared_folder() {
    let far = match Far::start() {
        Ok(far) => far,
        Err(reason) => return skipped!("no private sshd: {reason}"),
    };
    let folder = tempfile::tempdir().expect("a folder");
    let system = format!("--system=far={}", far.command());
    let tiny = ["run", "noop", "socket/v4", "files", "-n", "40", "--trials", "2", "--out=a.osdyno"];
    run_well(folder.path(), &[&tiny[..], &["--system=here=", &system]].concat());
    let recording = recording(folder.path());
    assert!(recording.systems.iter().all(|system| system.environment.contains_key("kernel.release")));
    let there = scratch_of(&recording, "far");
    assert_eq!(there.len(), 3 * 2);
    assert!(
        there.iter().all(|folder| Path::new(folder).parent() == Some(&std::env::temp_dir())),
        "{there:?}"
    );
    assert!(there.windows(2).all(|pair| pair[0] == pair[1]), "one session: {there:?}");
    until("no folder is left there", || far.folders().is_empty());
    expect_nothing_left(folder.path());
}

#[test]
fn a_server_behind_ssh_gets_its_program_and_its_files() {
    let far = match Far::start() {
        Ok(far) => far,
        Err(reason) => return skipped!("no private sshd: {reason}"),
    };
    let server = format!("127.0.0.1={}", far.command());
    for workload in ["race/epoll", "race/prefork", "web/590"] {
        let folder = tempfile::tempdir().expect("a folder");
        let arguments =
            ["run", workload, "-n", "3", "--trials", "1", "--window", "50ms", "--server", &server];
        run_well(folder.path(), &[&arguments[..], &["--out", "a.osdyno"]].concat());
        let recording = recording(folder.path());
        assert_eq!(scratch_of(&recording, "local").len(), 1);
        let names: Vec<&str> = recording.series().map(|(key, _)| key.name.as_str()).collect();
        assert!(names.contains(&"throughput"), "{workload}: {names:?}");
        until("no folder is left there", || far.folders().is_empty());
        expect_nothing_left(folder.path());
    }
}

#[test]
fn killed_it_leaves_nothing_on_the_other_machine() {
    let far = match Far::start() {
        Ok(far) => far,
        Err(reason) => return skipped!("no private sshd: {reason}"),
    };
    let folder = tempfile::tempdir().expect("a folder");
    let system = format!("--system=far={}", far.command());
    let long = ["run", "fork", "-n", "3000", "--trials", "400", "--out=a.osdyno", &system];
    let mut child = osdyno(folder.path(), &long).spawn().expect("osdyno starts");
    // A word of a command line on each line.
    let words = || far.run("cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n'");
    until("it measures there", || words().lines().any(|word| word == "measure"));
    let agent = far.folders();
    signal(child.id(), "KILL");
    child.wait().expect("an end");
    assert!(agent.starts_with("osdyno-"), "{agent}");
    until("no process is left there", || !words().contains(agent.trim()));
    until("no folder is left there", || far.folders().is_empty());
    expect_nothing_left(folder.path());
}

#[test]
fn commands_that_change_the_user_or_the_name_space_need_no_shared_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let commands = [
        ("nice", "nice -n 5"),
        ("mount", "unshare --mount"),
        ("user", "setpriv --reuid 57343 --regid 57343 --clear-groups"),
    ];
    let can_start = |command: &str| {
        let words: Vec<&str> = command.split(' ').collect();
        Command::new(words[0]).args(&words[1..]).arg("true").status().is_ok_and(|status| status.success())
    };
    let mut systems = Vec::new();
    for (name, command) in commands {
        match can_start(command) {
            true => systems.push(format!("--system={name}={command}")),
            false => skipped!("{command} is not permitted or not installed"),
        }
    }
    let systems: Vec<&str> = systems.iter().map(String::as_str).collect();
    let tiny = ["run", "noop", "files", "-n", "40", "--trials", "2", "--out=a.osdyno"];
    run_well(folder.path(), &[&tiny[..], &systems].concat());
    let recording = recording(folder.path());
    for (name, _) in commands {
        for scratch in scratch_of(&recording, name) {
            // Another user cannot look into the run's own folder.
            assert_eq!(Path::new(scratch).starts_with(folder.path()), name != "user", "{name}: {scratch}");
            assert!(!Path::new(scratch).exists(), "{name}: {scratch}");
        }
    }
    expect_nothing_left(folder.path());
}

#[test]
fn a_command_that_is_killed_between_trials_is_started_anew() {
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = ["run", "fork", "-n", "300", "--trials", "20", "--out=a.osdyno", "--system=nice=nice"];
    let child = start_measuring(folder.path(), &arguments);
    let agents = common::processes_below(folder.path(), " agent ");
    agents.into_iter().for_each(|agent| signal(agent, "KILL"));
    let output = child.wait_with_output().expect("an end");
    let recording = recording(folder.path());
    let crashed = |trial: &&record::Trial| matches!(trial.outcome, Outcome::Crashed { .. });
    assert!(recording.trials.iter().filter(crashed).count() <= 1, "{}", common::text(&output.stderr));
    assert_eq!(recording.trials.len(), 20);
    expect_nothing_left(folder.path());
}

//! Systems whose programs run on the real processor: the faults of a User-mode Linux that a script plays, and a
//! real one where there is one.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{expect_nothing_left, osdyno, outcomes, recording, run, signal, text, until};
use record::Outcome;

const TINY: [&str; 9] = ["noop", "socket/v4", "-n", "60", "--trials", "3", "--seed", "5", "--out=a.osdyno"];

/// A boot and a trial take seconds, and longer on a busy machine.
const BOOT: Duration = Duration::from_secs(120);

/// A program in the folder that does this.
fn program(folder: &Path, name: &str, script: &str) -> String {
    let path = folder.join(name);
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a file");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).expect("an executable file");
    path.to_string_lossy().into_owned()
}

/// A User-mode Linux that reports a release, and boots like this.
fn kernel(folder: &Path, script: &str) -> String {
    program(folder, "kernel", &format!("[ \"$1\" = --version ] && echo 7.2.7 && exit\n{script}"))
}

#[test]
fn what_cannot_be_started_is_refused_before_anything_is_measured() {
    let folder = tempfile::tempdir().expect("a folder");
    let kernel = format!("--uml={}", kernel(folder.path(), ""));
    for (words, code, word) in [
        (vec!["--uml=/nonexistent/linux"], 1, "cannot start the User-mode Linux /nonexistent/linux"),
        (vec!["--uml=false"], 1, "linux.uml of Debian's package"),
        (vec!["--uml=echo 'not a release'"], 1, "--version printed something else"),
        (vec!["--uml='"], 2, "invalid --uml"),
        (vec!["--uml=name="], 2, "invalid --uml"),
        (vec!["--gvisor=/nonexistent/runsc"], 1, "install gVisor's runsc"),
        (vec!["--gvisor=false"], 1, "cannot start false"),
        (vec!["--gvisor='"], 2, "invalid --gvisor"),
        (vec!["--wine=/nonexistent/wine"], 1, "install Wine"),
        (vec!["--wine='"], 2, "invalid --wine"),
        (vec!["--container=/nonexistent/root"], 1, "there is no such folder"),
        (vec!["--container="], 1, "it names no image"),
        (vec![&kernel, &kernel], 2, "two systems are called \"uml-7.2.7\""),
        (vec![], 2, "--kernel"),
    ] {
        let output = run(folder.path(), &[&["lab", "run"], &words[..], &TINY].concat());
        assert_eq!(output.status.code(), Some(code), "{words:?}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains(word), "{words:?}: {}", text(&output.stderr));
    }
    assert!(!folder.path().join("a.osdyno").exists());
}

#[test]
fn a_kernel_that_panics_is_recorded_with_its_console_and_the_others_are_measured() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = "echo \"$@\" >>arguments; echo 'Kernel panic - not syncing: no init' >&2; exit 1";
    let kernel = format!("--uml=linux={}", kernel(folder.path(), script));
    let words = ["lab", "run", &kernel, "--memory=64", "--cmdline=quiet"];
    let output = run(folder.path(), &[&words, &TINY[..]].concat());
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    let recording = recording(folder.path());
    let here = outcomes(&recording, "local");
    assert!(here.len() == 6 && here.iter().all(|outcome| **outcome == Outcome::Complete), "{here:?}");
    for system in ["linux", "linux quiet"] {
        let ends = outcomes(&recording, system);
        assert!(!ends.is_empty());
        for end in ends {
            let is_reported = matches!(end, Outcome::Failed { reason } if reason.contains("Kernel panic"));
            assert!(is_reported, "{system}: {end:?}");
        }
    }
    let arguments = fs::read_to_string(folder.path().join("arguments")).expect("what it was given");
    for word in ["mem=64M", "ssl1=fd:0,fd:1", "root=none", " quiet ", "-- init"] {
        assert!(arguments.contains(word), "{word}: {arguments}");
    }
    expect_nothing_left(folder.path());
}

#[test]
fn a_kernel_that_hangs_is_gone_when_osdyno_is_stopped_or_killed() {
    for (name, code) in [("INT", Some(130)), ("KILL", None)] {
        let folder = tempfile::tempdir().expect("a folder");
        let script = "trap '' HUP INT TERM; echo booting >&2; while :; do sleep 0.1; done";
        let kernel = kernel(folder.path(), script);
        let option = format!("--uml={kernel}");
        let mark = format!("/bin/sh\0{kernel}\0mem=");
        let child = started(folder.path(), &[&["lab", "run", &option], &TINY[..]].concat());
        until("it boots", || processes(&mark).len() == 1);
        signal(child.id(), name);
        let output = child.wait_with_output().expect("an end");
        assert_eq!(output.status.code(), code, "{}", text(&output.stderr));
        until("no kernel is left", || processes(&mark).is_empty());
        expect_nothing_left(folder.path());
    }
}

fn started(folder: &Path, words: &[&str]) -> Child {
    let mut command = osdyno(folder, words);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command.spawn().expect("osdyno starts")
}

/// Numbers of the processes whose command line, in words that each end with a null byte, holds this.
fn processes(mark: &str) -> Vec<u32> {
    let entries = fs::read_dir("/proc").expect("/proc").flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let line = |number: &u32| fs::read(format!("/proc/{number}/cmdline")).unwrap_or_default();
    numbers.filter(|number| text(&line(number)).contains(mark)).collect()
}

/// The program that the environment names, or the one of that name of this system.
fn real(variable: &str, name: &str) -> Option<String> {
    let named = std::env::var(variable).unwrap_or_else(|_| name.to_owned());
    let starts = Command::new(&named).arg("--version").stdin(Stdio::null()).output();
    match starts {
        Ok(output) if output.status.success() => Some(named),
        Ok(output) => {
            skipped!("{named} does not start ({}); {variable} names another", output.status);
            None
        }
        Err(error) => {
            skipped!("{named} does not start ({error}); {variable} names another");
            None
        }
    }
}

#[test]
fn user_mode_linux_is_measured_beside_this_machine() {
    let Some(kernel) = real("OSDYNO_TEST_UML", lab::UserModeLinux::PROGRAM) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let option = format!("--uml=linux={kernel}");
    let output = run(folder.path(), &[&["lab", "run", &option], &TINY[..]].concat());
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{told}");
    let recording = recording(folder.path());
    let [_, linux] = &recording.systems[..] else { panic!("two systems: {told}") };
    let ends = outcomes(&recording, "linux");
    assert!(ends.len() == 6 && ends.iter().all(|end| **end == Outcome::Complete), "{ends:?} {told}");
    let fact = |name: &str| linux.environment.get(name).map(String::as_str);
    assert_eq!(fact("machine.hypervisor"), Some("User Mode Linux"));
    assert_eq!(fact("machine.engine"), Some("native"));
    let release = lab::UserModeLinux::release(&[kernel]).expect("a kernel");
    assert_eq!(fact("kernel.release"), Some(release.as_str()));
    expect_nothing_left(folder.path());
}

/// A server that waits in accept(2) stops there too, although gVisor knows no time limit of that call.
#[test]
fn gvisor_is_measured_beside_this_machine() {
    let Some(runsc) = real("OSDYNO_TEST_RUNSC", lab::Gvisor::PROGRAM) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let option = format!("--gvisor={runsc}");
    let size = ["-n", "8", "--trials", "2", "--out=a.osdyno"];
    let words = [&["lab", "run", &option, "socket/v4", "race/thread", "race/fork"], &size[..]].concat();
    let output = run(folder.path(), &words);
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{told}");
    let recording = recording(folder.path());
    let [_, gvisor] = &recording.systems[..] else { panic!("two systems: {told}") };
    let ends = outcomes(&recording, "gvisor");
    let is_good = |end: &&Outcome| matches!(end, Outcome::Complete | Outcome::Allowance { .. });
    assert!(ends.len() == 6 && ends.iter().all(is_good), "{ends:?} {told}");
    let fact = |name: &str| gvisor.environment.get(name).map(String::as_str);
    assert_eq!((fact("machine.emulation"), fact("machine.engine")), (Some("gVisor"), Some("native")));
    assert_eq!(gvisor.prefix, ["--gvisor", runsc.as_str()]);
    expect_nothing_left(folder.path());
}

/// What each file system of a root has: programs with a shell, and folders to mount on.
#[test]
fn a_folder_is_measured_as_the_root_of_a_container() {
    let tried = Command::new("bwrap").args(["--unshare-all", "--ro-bind", "/", "/", "true"]).output();
    if !tried.is_ok_and(|output| output.status.success()) {
        skipped!("bwrap is not installed, or makes no container here");
        return;
    }
    let folder = tempfile::Builder::new().tempdir_in("/tmp").expect("a folder");
    let words = [&["lab", "run", "--container=root=/", "files"], &TINY[..]].concat();
    let output = run(folder.path(), &words);
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{told}");
    let recording = recording(folder.path());
    let [_, root] = &recording.systems[..] else { panic!("two systems: {told}") };
    let ends = outcomes(&recording, "root");
    assert!(ends.len() == 9 && ends.iter().all(|end| **end == Outcome::Complete), "{ends:?} {told}");
    assert_eq!(root.prefix, ["--container", "/"]);
    expect_nothing_left(folder.path());
}

#[test]
fn an_image_is_measured_by_what_starts_containers() {
    let folder = tempfile::tempdir().expect("a folder");
    // The words before the image are options of podman-run(1), and the shell follows it.
    let script = "[ \"$1\" = version ] && exit\n[ \"$*\" = 'run --rm --interactive --network=none debian:13 sh' ] \
                  || exit 7\nexec sh";
    program(folder.path(), "podman", script);
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap_or_default());
    let mut command = osdyno(folder.path(), &[&["lab", "run", "--container=debian:13"], &TINY[..]].concat());
    let output = command.env("PATH", path).output().expect("osdyno starts");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let recording = recording(folder.path());
    let ends = outcomes(&recording, "debian:13");
    assert!(ends.len() == 6 && ends.iter().all(|end| **end == Outcome::Complete), "{ends:?}");
    expect_nothing_left(folder.path());
}

#[test]
fn programs_for_windows_that_are_missing_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let own = folder.path().join("osdyno");
    fs::copy(env!("CARGO_BIN_EXE_osdyno"), &own).expect("a copy");
    let wine = program(folder.path(), "wine", "echo wine-9.0");
    let mut command = Command::new(&own);
    command.args(["lab", "run", &format!("--wine={wine}"), "noop"]).current_dir(folder.path());
    let output = command.output().expect("osdyno starts");
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    for word in ["osdyno-trial-x86_64-win7-windows-gnu.exe", "cargo xtask link-systems --release"] {
        assert!(told.contains(word), "{word}: {told}");
    }
}

#[test]
fn user_mode_linux_at_work_is_gone_when_osdyno_is_killed() {
    let Some(kernel) = real("OSDYNO_TEST_UML", lab::UserModeLinux::PROGRAM) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let option = format!("--uml=linux={kernel}");
    let words = ["lab", "run", &option, "noop", "--trials=400", "--out=a.osdyno"];
    killed_at_work(folder.path(), &words, "linux", "uml_dir=");
}

/// Starts it, kills it when the system has been measured once, and expects that nothing of the system is left.
/// The scratch folder of the run is in the words of the system's processes, after the mark.
fn killed_at_work(folder: &Path, words: &[&str], system: &str, mark: &str) {
    let child = started(folder, words);
    let has_measured = || {
        let recorded = record::read(folder.join("a.osdyno"));
        recorded.is_ok_and(|(recording, _)| !outcomes(&recording, system).is_empty())
    };
    let begun = Instant::now();
    while !has_measured() {
        assert!(begun.elapsed() < BOOT, "no trial on {system} within {BOOT:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
    let mark = format!("{mark}{}", folder.display());
    assert!(!processes(&mark).is_empty());
    signal(child.id(), "KILL");
    let _ = child.wait_with_output();
    until("no process of the system is left", || processes(&mark).is_empty());
    expect_nothing_left(folder);
}

//! `network-copy` with the smbd and the sshd of this system: copies that smbclient and sftp(1) have too, a server
//! that is missing, does not start, dies or finds no space, and a run that is killed.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::common;
use crate::common::{
    expect_nothing_left, processes_below, program, program_bytes, recording, run_well, run_with, signal,
    start_measuring, text, until,
};
use record::Outcome;

const SMBD: &str = "/usr/sbin/smbd";

const SSHD: &str = "/usr/sbin/sshd";

fn has_smbd() -> bool {
    has(&[SMBD])
}

fn has_ssh() -> bool {
    has(&[SSHD, "/usr/bin/ssh", "/usr/bin/sftp"])
}

fn has(programs: &[&str]) -> bool {
    let missing = programs.iter().find(|path| !Path::new(path).is_file());
    missing.iter().for_each(|path| skipped!("there is no {path}"));
    missing.is_none()
}

/// How the trials of a variant ended, in words.
fn outcomes(folder: &Path, variant: &str) -> String {
    let trials = recording(folder).trials.into_iter().filter(|trial| trial.order.variant == variant);
    format!("{:?}", trials.map(|trial| trial.outcome).collect::<Vec<_>>())
}

/// Processes that write to a log below the folder: servers and their children, whatever they are called.
fn servers(folder: &Path) -> usize {
    let folder = folder.canonicalize().expect("a folder");
    let processes = fs::read_dir("/proc").expect("/proc").flatten();
    let outputs = |process: &fs::DirEntry| {
        ["fd/1", "fd/2"].map(|output| fs::read_link(process.path().join(output)).unwrap_or_default())
    };
    let is_log = |output: &PathBuf| output.starts_with(&folder) && output.to_string_lossy().contains("/log");
    processes.filter(|process| outputs(process).iter().any(is_log)).count()
}

/// The file of that name that a trial has in a scratch folder now.
fn below_scratch(folder: &Path, name: &str) -> Option<PathBuf> {
    let mut folders = common::scratch_folders(folder);
    while let Some(folder) = folders.pop() {
        let found = folder.join(name);
        if found.is_file() {
            return Some(found);
        }
        folders.extend(
            fs::read_dir(&folder).ok()?.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()),
        );
    }
    None
}

#[test]
fn every_protection_copies_the_file_and_leaves_nothing() {
    if !has_smbd() {
        return;
    }
    for (protection, words) in [
        ("none", "neither signed nor encrypted"),
        ("signatures", "signed every"),
        ("encryption", "encrypted every"),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let set = format!("--set=protection={protection}");
        run_well(
            folder.path(),
            &["run", "network-copy/smb", "-n3", "--trials=1", "--window=50ms", "--out=a.osdyno", &set],
        );
        let trials = recording(folder.path()).trials;
        assert_eq!(trials[0].outcome, Outcome::Complete, "{protection}");
        assert!(trials[0].checks.iter().all(|check| check.held), "{:?}", trials[0].checks);
        assert!(trials[0].checks.iter().any(|check| check.claim.contains(words)), "{:?}", trials[0].checks);
        expect_nothing_left(folder.path());
        until("every smbd has ended", || servers(folder.path()) == 0);
    }
}

/// The size of the file that other programs copy too.
const MIB: usize = 20;

/// The server of a trial answers another client too: the same bytes, and the time beside ours. `client` is
/// told the folder of the run, that of the server, and where its copy is to be; it returns the original and
/// its command.
fn copies_the_same_bytes(
    variant: &str,
    name: &str,
    client: impl Fn(&Path, &Path, &Path) -> (PathBuf, Command),
) {
    let folder = tempfile::tempdir().expect("a folder");
    let workload = format!("network-copy/{variant}");
    let child = start_measuring(
        folder.path(),
        &["run", &workload, "-n20", "--trials=1", "--window=3s", "--out=a.osdyno"],
    );
    // The copies have begun, so the server serves.
    let mut copy = None;
    until("a copy is made", || {
        copy = below_scratch(folder.path(), "copy");
        copy.is_some()
    });
    let own = copy.expect("a copy");
    let target = folder.path().join("theirs");
    let (served, mut command) = client(folder.path(), own.parent().expect("a folder"), &target);
    let begun = Instant::now();
    let output = command.output().expect("the client starts");
    let elapsed = begun.elapsed();
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    let (theirs, original) = (fs::read(target).expect("their copy"), fs::read(served).expect("the original"));
    assert!(theirs.len() == MIB << 20 && theirs == original, "{name} copied other bytes");
    let ended = child.wait_with_output().expect("its end");
    assert!(ended.status.success(), "{}", text(&ended.stderr));
    let recording = recording(folder.path());
    let mut named = recording.series().flat_map(|(_, trials)| trials);
    let total = named.find(|series| series.name == "total").expect("a series");
    let (_, each) = total.points().last().expect("a value");
    println!(
        "{MIB} MiB: ours {:.3} s, {name} {:.3} s with its start, at once",
        each * MIB as f64,
        elapsed.as_secs_f64()
    );
    expect_nothing_left(folder.path());
}

#[test]
fn smbclient_copies_the_same_bytes() {
    if !has_smbd() || Command::new("smbclient").arg("--version").output().is_err() {
        return skipped!("smbd or smbclient is not installed");
    }
    copies_the_same_bytes("smb", "smbclient", |_, own, target| {
        let configuration = fs::read_to_string(own.join("smb.conf")).expect("the configuration");
        let value = |key: &str| {
            let line = configuration.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
            line.unwrap_or_else(|| panic!("{key}: {configuration}")).to_owned()
        };
        let passwords = fs::read_to_string(own.join("passwd")).expect("the file of users");
        let hash = passwords.split(':').nth(3).expect("a hash");
        let mut command = Command::new("smbclient");
        command
            .args(["--pw-nt-hash", "--user", &format!("nobody%{hash}"), "--port", &value("smb ports")])
            .args(["//127.0.0.1/files", "--command", &format!("get {MIB}.bin {}", target.display())]);
        (Path::new(&value("path")).join(format!("{MIB}.bin")), command)
    });
}

#[test]
fn a_missing_server_is_a_reason_and_http_is_measured() {
    let possible = Command::new("unshare").args(["--mount", "true"]).output();
    if !possible.is_ok_and(|output| output.status.success()) {
        return skipped!("to hide programs takes root");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let hide = "mount -t tmpfs none /usr/sbin && exec \"$0\" \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", hide, env!("CARGO_BIN_EXE_osdyno"), "run", "network-copy", "-n1"]);
    command.args(["--trials=1", "--window=50ms", "--out=a.osdyno"]).current_dir(folder.path());
    let output =
        command.env("TMPDIR", folder.path()).env("PATH", "/usr/bin:/bin").output().expect("osdyno starts");
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", text(&output.stderr));
    for (variant, package) in [("smb", "samba"), ("sftp", "openssh-server")] {
        let outcomes = outcomes(folder.path(), variant);
        let advice = format!("apt-get install {package}");
        assert!(outcomes.contains("Unsupported") && outcomes.contains(&advice), "{outcomes}");
    }
    let mut trials = recording(folder.path()).trials.into_iter();
    let http = trials.find(|trial| trial.order.variant == "http");
    assert_eq!(http.map(|trial| trial.outcome), Some(Outcome::Complete));
    expect_nothing_left(folder.path());
}

#[test]
fn a_server_that_does_not_start_is_reported_with_the_end_of_its_log() {
    for (variant, name) in [("smb", "smbd"), ("sftp", "sshd")] {
        let (folder, programs) =
            (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        program(programs.path(), name, "echo 'planted: no tables today' >&2; exit 7");
        let workload = format!("network-copy/{variant}");
        let arguments = ["run", &workload, "-n1", "--trials=1", "--out=a.osdyno"];
        run_with(folder.path(), programs.path(), &arguments);
        let outcomes = outcomes(folder.path(), variant);
        assert!(
            outcomes.contains("planted: no tables today") && outcomes.contains("exit status 7"),
            "{outcomes}"
        );
        expect_nothing_left(folder.path());
    }
}

#[test]
fn a_server_that_dies_at_work_has_crashed_and_its_log_says_why() {
    for (variant, name, path) in [("smb", "smbd", SMBD), ("sftp", "sshd", SSHD)] {
        if !has(&[path, "/usr/bin/ssh"]) {
            continue;
        }
        let (folder, programs) =
            (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        // It dies once a copy was made; it works in its own folder.
        let dies = "(until [ -s copy ]; do sleep 0.01; done; echo planted death >&2; kill -KILL $$) &";
        let version = format!("[ \"$1\" != --version ] || exec {path} --version");
        program(programs.path(), name, &format!("{version}\n{dies}\nexec {path} \"$@\""));
        let workload = format!("network-copy/{variant}");
        let arguments = ["run", &workload, "-n1", "--trials=1", "--window=60s", "--out=a.osdyno"];
        run_with(folder.path(), programs.path(), &arguments);
        let outcomes = outcomes(folder.path(), variant);
        let ending = format!("{name} has ended, killed by SIGKILL");
        assert!(outcomes.contains("Crashed") && outcomes.contains(&ending), "{outcomes}");
        assert!(outcomes.contains("planted death"), "{outcomes}");
        expect_nothing_left(folder.path());
        until("every server has ended", || servers(folder.path()) == 0);
    }
}

#[test]
fn a_killed_run_leaves_no_server_and_no_file() {
    for (workload, path) in [("network-copy/smb", SMBD), ("network-copy/sftp", SSHD)] {
        if !has(&[path, "/usr/bin/ssh"]) {
            continue;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let long = ["run", workload, "-n1", "--trials=50", "--window=5s", "--out=a.osdyno"];
        let mut child = start_measuring(folder.path(), &long);
        // The server, and those that it starts when it serves.
        until("the server serves", || servers(folder.path()) > 1);
        signal(child.id(), "KILL");
        child.wait().expect("its end");
        until("every process has ended", || processes_below(folder.path(), "").is_empty());
        until("every server has ended", || servers(folder.path()) == 0);
        until("the scratch folder is gone", || common::scratch_folders(folder.path()).is_empty());
    }
}

#[test]
fn every_cipher_copies_the_file_and_leaves_nothing() {
    if !has_ssh() {
        return;
    }
    for cipher in ["chacha20-poly1305", "aes128-gcm", "aes256-gcm"] {
        let folder = tempfile::tempdir().expect("a folder");
        let set = format!("--set=cipher={cipher}");
        run_well(
            folder.path(),
            &["run", "network-copy/sftp", "-n3", "--trials=1", "--window=50ms", "--out=a.osdyno", &set],
        );
        let recording = recording(folder.path());
        let trial = &recording.trials[0];
        assert_eq!(trial.outcome, Outcome::Complete, "{cipher}");
        assert!(trial.checks.iter().all(|check| check.held), "{:?}", trial.checks);
        assert!(trial.checks.iter().any(|check| check.claim.contains("cipher")), "{:?}", trial.checks);
        let mut measured: Vec<&str> = recording.series().map(|(key, _)| &*key.name).collect();
        measured.sort_unstable();
        let phases = ["authenticate", "close", "connect", "open", "receive", "total", "transfer", "write"];
        assert_eq!(measured, phases);
        let facts = &recording.systems[0].environment;
        let version = facts.get("software.ssh").map(ToString::to_string).unwrap_or_default();
        assert!(version.contains("OpenSSH"), "{version}");
        expect_nothing_left(folder.path());
        until("every sshd has ended", || servers(folder.path()) == 0);
    }
}

#[test]
fn sftp_copies_the_same_bytes() {
    if !has_ssh() {
        return;
    }
    copies_the_same_bytes("sftp", "sftp", |folder, own, target| {
        let beside = |name: &str| own.join(name).to_string_lossy().into_owned();
        let configuration = fs::read_to_string(own.join("sshd_config")).expect("the configuration");
        let port = configuration.lines().find_map(|line| line.strip_prefix("Port ")).expect("a port");
        let served = below_scratch(folder, &format!("{MIB}.bin")).expect("the file of the server");
        let served = served.canonicalize().expect("a path");
        let mut command = Command::new("sftp");
        command
            .args(["-q", "-F", "none", "-P", port, "-i", &beside("key"), "-o", "BatchMode=yes"])
            .args(["-o", &format!("UserKnownHostsFile={}", beside("known"))])
            .args(["-o", "Ciphers=chacha20-poly1305@openssh.com"])
            .arg(format!("nobody@127.0.0.1:{}", served.display()))
            .arg(target);
        (served, command)
    });
}

#[test]
fn a_disk_that_fills_up_under_a_copy_is_a_limit_with_advice() {
    let possible = Command::new("unshare").args(["--mount", "true"]).output();
    if !possible.is_ok_and(|output| output.status.success()) {
        return skipped!("a mount of one's own takes root");
    }
    let (folder, disk) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let disk = disk.path().display();
    // Somebody else fills it once a copy was made, and takes what the next copy gives back before it is written.
    let fill = format!(
        "until [ -s \"$(echo {disk}/*/*/copy)\" ]; do kill -0 $$ || exit; sleep 0.01; done
         while kill -0 $$; do cat /dev/zero >>{disk}/full; done"
    );
    let bytes = program_bytes() + (48 << 20);
    let mount = format!("mount -t tmpfs -o size={bytes} none {disk}");
    let script = format!("{mount} || exit 9\n({fill}) >/dev/null 2>&1 &\nexec \"$0\" \"$@\"");
    let scratch = format!("--scratch={disk}");
    let mut command = Command::new("unshare");
    command.args([
        "--mount",
        "sh",
        "-c",
        &script,
        env!("CARGO_BIN_EXE_osdyno"),
        "run",
        "network-copy/http",
        "-n1",
    ]);
    command.args(["--trials=1", "--window=30s", "--out=a.osdyno", &scratch]).current_dir(folder.path());
    let output = command.output().expect("osdyno starts");
    let outcome = format!("{:?}", recording(folder.path()).trials.first().map(|trial| &trial.outcome));
    assert!(outcome.contains("ENOSPC"), "{outcome}: {}", text(&output.stderr));
    expect_nothing_left(folder.path());
}

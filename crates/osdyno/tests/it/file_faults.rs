//! Jobs on files where something is missing or refused: clear words, the other items go on, nothing is left.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::common::{expect_nothing_left, osdyno, recording, run, run_well, text, until};
use record::Outcome;

/// One short trial of each workload that follows.
const RUN: [&str; 5] = ["run", "--trials=1", "--window=50ms", "--set=files=100", "--out=a.osdyno"];

fn outcome(folder: &Path, system: &str, workload: &str) -> Outcome {
    let recording = recording(folder);
    let is_it = |trial: &&record::Trial| {
        (trial.order.system.as_str(), trial.order.workload.as_str()) == (system, workload)
    };
    recording.trials.iter().find(is_it).expect("its trial").outcome.clone()
}

/// Whether this command can be prefixed to others here.
fn is_possible(prefix: &[&str]) -> bool {
    let output = Command::new(prefix[0]).args(&prefix[1..]).arg("true").output();
    let is_possible = output.is_ok_and(|output| output.status.success());
    if !is_possible {
        skipped!("{} takes root", prefix.join(" "));
    }
    is_possible
}

/// A run that a command starts, in place of itself.
fn through(prefix: &[&str], folder: &Path, arguments: &[&str]) -> Command {
    let run = osdyno(folder, arguments);
    let mut command = Command::new(prefix[0]);
    command.args(&prefix[1..]).arg(run.get_program()).args(run.get_args()).current_dir(folder);
    command.envs(run.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command
}

/// A short run, started by a command.
fn run_through(prefix: &[&str], folder: &Path, arguments: &[&str]) -> Output {
    through(prefix, folder, &[&RUN[..], arguments].concat()).output().expect("osdyno starts")
}

/// A run in a mount namespace in which the command of the shell was executed first.
fn after(mount: &str, folder: &Path, arguments: &[&str]) -> Command {
    let script = format!("{mount} && exec \"$0\" \"$@\"");
    through(&["unshare", "--mount", "sh", "-c", &script], folder, arguments)
}

fn run_after(mount: &str, folder: &Path, arguments: &[&str]) -> Output {
    after(mount, folder, &[&RUN[..], arguments].concat()).output().expect("osdyno starts")
}

#[test]
fn without_inodes_n_is_smaller_and_the_other_jobs_are_measured() {
    if !is_possible(&["unshare", "--mount"]) {
        return;
    }
    let (folder, disk) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let mount = format!("mount -t tmpfs -o size=300m,nr_inodes=300 none {}", disk.path().display());
    let scratch = format!("--scratch={}", disk.path().display());
    let jobs = ["directory/new", "tree", "small-files/warm", "crypto/embedded", "-n400", &scratch];
    let output = run_after(&mount, folder.path(), &jobs);
    let told = text(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}: {told}", output.status);
    assert!(told.contains("because number of free inodes is"), "{told}");
    for job in ["directory", "tree", "small-files", "crypto"] {
        let outcome = outcome(folder.path(), "local", job);
        assert!(matches!(outcome, Outcome::Complete | Outcome::Allowance { .. }), "{job}: {outcome:?}");
    }
    expect_nothing_left(folder.path());
}

#[test]
fn a_scratch_folder_that_cannot_be_written_is_refused_before_anything_is_measured() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("files")).expect("a folder");
    let arguments = ["small-files/warm", "-n8", "--scratch=files"];
    let expect = |output: &Output, reason: &str| {
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(told.contains("cannot create a scratch folder in files: "), "{told}");
        assert!(told.contains(reason) && told.contains("choose another with --scratch"), "{told}");
        assert!(!folder.path().join("a.osdyno").exists());
    };
    if is_possible(&["unshare", "--mount"]) {
        let output = run_after("mount -t tmpfs -o ro none files", folder.path(), &arguments);
        expect(&output, "Read-only file system");
    }
    // Root may write everywhere, unless it gives that up.
    let weak = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"];
    if is_possible(&weak) {
        let mode = fs::Permissions::from_mode(0o555);
        fs::set_permissions(folder.path().join("files"), mode).expect("a mode");
        expect(&run_through(&weak, folder.path(), &arguments), "Permission denied");
    }
}

#[test]
fn an_archive_that_is_cut_short_or_leads_out_of_its_folder_ends_only_its_own_job() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("source")).expect("a folder");
    for name in ["one", "two", "three"] {
        fs::write(folder.path().join("source").join(name), [7; 4000]).expect("a file");
    }
    let tar = |arguments: &[&str]| {
        let output = Command::new("tar").args(arguments).current_dir(folder.path()).output();
        assert!(output.expect("tar starts").status.success(), "tar {arguments:?}");
    };
    tar(&["cf", "whole.tar", "source"]);
    tar(&["cf", "out.tar", "-P", "--transform=s,source/,../outside-,", "source"]);
    fs::remove_dir_all(folder.path().join("source")).expect("removed");
    let whole = fs::read(folder.path().join("whole.tar")).expect("an archive");
    fs::write(folder.path().join("cut.tar"), &whole[..3000]).expect("an archive");
    let unpack = |archive: &str, n: &str| {
        let _ = fs::remove_file(folder.path().join("a.osdyno"));
        let _ = fs::remove_file(folder.path().join("a.html"));
        let setting = format!("--set=tar={archive}");
        run(
            folder.path(),
            &[&["run", "tree", "noop", "--trials=1", "--out=a.osdyno", n], &[&*setting][..]].concat(),
        );
        assert_eq!(outcome(folder.path(), "local", "noop"), Outcome::Complete);
        outcome(folder.path(), "local", "tree")
    };
    assert_eq!(unpack("whole.tar", "-n3"), Outcome::Complete);
    let reasons = [
        ("whole.tar", "-n4", "has only 3 files"),
        ("cut.tar", "-n3", "cut.tar"),
        ("out.tar", "-n3", "its name leads out of the archive"),
        ("missing.tar", "-n3", "missing.tar"),
    ];
    for (archive, n, reason) in reasons {
        let outcome = format!("{:?}", unpack(archive, n));
        assert!(outcome.contains(reason), "{archive}: {outcome}");
    }
    expect_nothing_left(folder.path());
}

/// rename(2) and FICLONE reach no other device: what a run makes there may need neither.
#[test]
fn files_archive_and_results_may_be_on_different_devices() {
    if !is_possible(&["unshare", "--mount"]) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["disk", "archives"] {
        fs::create_dir(folder.path().join(name)).expect("a folder");
    }
    let mount = "mount -t tmpfs none disk && mount -t tmpfs none archives && mkdir source \
                 && touch source/1 source/2 source/3 source/4 \
                 && tar cf archives/four.tar source && rm -r source";
    let jobs = ["tree", "copy/read-write", "mail-queue", "small-files/warm", "-n4", "--scratch=disk"];
    let output = run_after(mount, folder.path(), &[&jobs[..], &["--set=tar=archives/four.tar"]].concat());
    let told = text(&output.stderr);
    assert!(output.status.success(), "{}: {told}", output.status);
    for job in ["tree", "copy", "mail-queue", "small-files"] {
        assert_eq!(outcome(folder.path(), "local", job), Outcome::Complete, "{job}");
    }
    assert!(folder.path().join("a.html").is_file());
    for name in ["disk", "archives"] {
        fs::remove_dir(folder.path().join(name)).expect("it is empty, and nothing is mounted any more");
    }
    expect_nothing_left(folder.path());
}

#[test]
fn a_file_system_that_cannot_be_made_is_a_reason_and_the_others_are_measured() {
    let mountable = ["unshare", "--mount"];
    if !is_possible(&mountable) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let failing = folder.path().join("mkfs.xfs");
    fs::write(&failing, "#!/bin/sh\necho no blocks today >&2\nexit 1\n").expect("a program");
    fs::set_permissions(&failing, fs::Permissions::from_mode(0o755)).expect("a mode");
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap_or_default());
    let mut command =
        osdyno(folder.path(), &[&RUN[..], &["small-files/warm", "-n8", "--fs=xfs,tmpfs"]].concat());
    let output = command.env("PATH", path).output().expect("osdyno starts");
    let told = text(&output.stderr);
    assert!(output.status.code() == Some(3) && told.contains("mkfs.xfs failed"), "{told}");
    assert!(told.contains("no blocks today") && !told.contains("its command must start"), "{told}");
    let failed = outcome(folder.path(), "xfs", "small-files");
    let reason = "mkfs.xfs failed, exit status: 1: no blocks today".to_owned();
    assert_eq!(failed, Outcome::Failed { reason }, "{told}");
    assert_eq!(outcome(folder.path(), "tmpfs", "small-files"), Outcome::Complete);

    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("none"), "").expect("a file");
    if Path::new("/dev/loop-control").exists() {
        let mount = "mount --bind none /dev/loop-control";
        let output = run_after(mount, folder.path(), &["small-files/warm", "-n8", "--fs=ext2,tmpfs"]);
        let told = text(&output.stderr);
        assert!(output.status.code() == Some(3) && told.contains("cannot attach a loop device"), "{told}");
        assert!(told.contains("modprobe loop"), "{told}");
        let Outcome::Unsupported { reason } = outcome(folder.path(), "ext2", "small-files") else {
            panic!("{told}");
        };
        assert!(reason.contains("modprobe loop"), "{reason}");
        assert_eq!(outcome(folder.path(), "tmpfs", "small-files"), Outcome::Complete);
        expect_nothing_left(folder.path());
    }

    let weak = ["setpriv", "--bounding-set=-sys_admin"];
    if is_possible(&weak) {
        let folder = tempfile::tempdir().expect("a folder");
        let output = run_through(&weak, folder.path(), &["small-files/warm", "-n8", "--fs=ext4"]);
        assert!(text(&output.stderr).contains("run osdyno as root"), "{}", text(&output.stderr));
    }
}

/// Quotas of btrfs, because they bind root too, and need no option of the kernel.
#[test]
fn a_quota_ends_a_job_with_its_own_advice_and_no_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let mount = "truncate -s 300m disk && mkfs.btrfs -q -f disk && mkdir mounted && mount -o loop disk mounted \
                 && btrfs quota enable mounted && btrfs subvolume create mounted/own \
                 && btrfs qgroup limit 24M mounted/own";
    let probe = format!("cd {} && {mount}", folder.path().display());
    let probed = Command::new("unshare").args(["--mount", "sh", "-c", &probe]).output();
    match probed {
        Ok(output) if output.status.success() => {}
        other => return skipped!("it takes root and btrfs-progs: {other:?}"),
    }
    fs::remove_dir(folder.path().join("mounted")).expect("nothing is mounted any more");
    let jobs = ["copy/read-write", "small-files/warm", "-n40", "--files=mounted/own"];
    let output = run_after(mount, folder.path(), &jobs);
    let told = text(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}: {told}", output.status);
    match outcome(folder.path(), "mounted/own", "copy") {
        Outcome::Limit { error, advice, .. } => {
            assert!(error == "EDQUOT" && advice.contains("the quota of the user or folder"), "{advice}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(outcome(folder.path(), "mounted/own", "small-files"), Outcome::Complete);
    fs::remove_dir(folder.path().join("mounted")).expect("it is empty, and nothing is mounted any more");
    expect_nothing_left(folder.path());
}

#[test]
fn what_is_measured_after_its_mount_has_gone_away_does_not_count() {
    if !is_possible(&["unshare", "--mount"]) {
        return;
    }
    let (folder, disk) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    fs::create_dir(folder.path().join("mounted")).expect("a folder");
    let mount = format!("mount --bind {} mounted", disk.path().display());
    let jobs = ["small-files/warm", "tree", "noop", "-n8", "--files=mounted"];
    let running = ["run", "--trials=1", "--window=60s", "--out=a.osdyno"];
    let mut running = after(&mount, folder.path(), &[&running[..], &jobs].concat());
    let running = running.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("osdyno starts");
    let own = || fs::read_dir(disk.path()).expect("a folder").flatten().next();
    until("files are there", || own().is_some_and(|own| own.path().join("small-files").exists()));
    let process = running.id().to_string();
    let away = Command::new("nsenter")
        .args(["--target", &process, "--mount", "umount", "--lazy"])
        .arg(folder.path().join("mounted"))
        .status();
    assert!(away.is_ok_and(|status| status.success()), "the unmounting");
    let output = running.wait_with_output().expect("its end");
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{told}");
    assert!(told.contains("unmounted its file system"), "{told}");
    let outcome = |job| outcome(folder.path(), "mounted", job);
    assert!(matches!(outcome("small-files"), Outcome::Failed { .. }), "{:?}", outcome("small-files"));
    // It may have come first.
    assert!(matches!(outcome("tree"), Outcome::Failed { .. } | Outcome::Complete), "{:?}", outcome("tree"));
    assert_eq!(outcome("noop"), Outcome::Complete);
    until("nothing is left on the disk", || own().is_none());
    fs::remove_dir(folder.path().join("mounted")).expect("it is empty");
    expect_nothing_left(folder.path());
}

#[test]
fn files_of_the_user_that_have_the_names_of_ours_stay_as_they_are() {
    let (folder, own) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let jobs = ["small-files", "directory", "mail-queue", "copy", "fragmentation", "tree", "sql", "compile"];
    let names = jobs.iter().copied().chain(["tree-8.tar", "network-copy", "osdyno"]);
    let path = |name: &str| own.path().join(name);
    for name in names.clone() {
        fs::write(path(name), name).expect("a file");
    }
    let scratch = format!("--scratch={}", own.path().display());
    let files = format!("--files={}", own.path().display());
    let measured = ["small-files/warm", "directory/new", "mail-queue", "copy/read-write", "tree", "-n8"];
    for place in [scratch, files] {
        run_well(folder.path(), &[&RUN[..], &measured, &[&*place]].concat());
        for name in names.clone() {
            assert_eq!(fs::read_to_string(path(name)).expect("a file"), name);
        }
        assert_eq!(fs::read_dir(own.path()).expect("a folder").count(), names.clone().count());
        fs::remove_file(folder.path().join("a.osdyno")).expect("the run file");
        fs::remove_file(folder.path().join("a.html")).expect("the page");
    }
}

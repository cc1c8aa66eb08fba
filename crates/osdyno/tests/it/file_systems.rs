//! File systems as systems of one run: measured where their files are, and nothing left behind.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::Command;

use crate::common;
use crate::common::{
    expect_nothing_left, images_below, osdyno, processes_below, recording, run, run_well, signal,
    start_measuring, text, until, why_no_image,
};
use record::Outcome;

const TINY: [&str; 8] =
    ["run", "small-files/warm", "tree", "-n", "8", "--trials=2", "--set=files=20", "--out=a.osdyno"];

#[test]
fn each_file_system_is_measured_on_an_image_of_its_own() {
    if let Some(reason) = why_no_image() {
        return skipped!("{reason}");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file_systems = ["--fs", "ext2,ext4:nojournal:noatime,tmpfs"];
    let printed = run_well(folder.path(), &[&TINY[..], &file_systems].concat());
    let recording = recording(folder.path());
    let names: Vec<&str> = recording.systems.iter().map(|system| system.name.as_str()).collect();
    assert_eq!(names, ["ext2", "ext4:nojournal:noatime", "tmpfs"]);
    for (system, kind) in recording.systems.iter().zip(["ext2", "ext4", "tmpfs"]) {
        let found = system.environment.values().any(|value| value.to_string().contains(kind));
        assert!(found, "{} says nothing of {kind}: {:?}", system.name, system.environment);
        assert_eq!(system.prefix, ["--fs", &system.name], "as a user writes it");
    }
    assert_eq!(recording.trials.len(), 3 * 2 * 2);
    assert!(recording.trials.iter().all(|trial| trial.outcome == Outcome::Complete), "{printed}");
    assert_eq!(images_below(folder.path()), [""; 0]);
    expect_nothing_left(folder.path());
}

#[test]
fn what_cannot_be_made_is_said_and_the_others_are_measured() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = run(folder.path(), &[&TINY[..], &["--fs", "ext5"]].concat());
    let told = text(&output.stderr);
    assert!(output.status.code() == Some(2) && told.contains("the known kinds are ext2,"), "{told}");
    if let Some(reason) = why_no_image() {
        return skipped!("{reason}");
    }
    // Rivals may be unsupported, but not all of them.
    let rivals = ["copy/read-write", "copy/mmap", "--fs", "tmpfs,ext4:data=nonsense"];
    let output = run(folder.path(), &[&TINY[..], &rivals].concat());
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{told}");
    assert!(told.contains("cannot be measured: cannot mount ext4:data=nonsense on "), "{told}");
    for trial in recording(folder.path()).trials {
        match trial.order.system.as_str() {
            "tmpfs" => assert_eq!(trial.outcome, Outcome::Complete),
            _ => assert!(matches!(trial.outcome, Outcome::Unsupported { .. }), "{:?}", trial.outcome),
        }
    }
    // A folder of programs without any mkfs(8): only what osdyno itself starts is found there.
    let mut command = osdyno(folder.path(), &[&TINY[..7], &["--out=b.osdyno", "--fs=xfs"]].concat());
    let output = command.env("PATH", folder.path()).output().expect("osdyno starts");
    assert_eq!(output.status.code(), Some(1));
    let told = text(&output.stderr);
    let right = "error: the system \"xfs\" cannot be measured: mkfs.xfs is not installed; it is in the package \
                 xfsprogs: apt-get install xfsprogs\n";
    assert!(told.ends_with(right), "{told}");
    assert_eq!(images_below(folder.path()), [""; 0]);
    expect_nothing_left(folder.path());
}

/// The trial itself compares the extents of its files with what its variant promises, and its bytes with what was
/// written; it is unsupported where they are not so.
#[test]
fn files_lie_on_each_file_system_as_their_variant_says() {
    if let Some(reason) = why_no_image() {
        return skipped!("{reason}");
    }
    let is_there = |kind: &&str| {
        let found = Command::new("sh").args(["-c", &format!("command -v mkfs.{kind}")]).output();
        let is_there = found.is_ok_and(|found| found.status.success());
        if !is_there {
            skipped!("there is no mkfs.{kind}");
        }
        is_there
    };
    let kinds: Vec<&str> = ["ext2", "ext4", "xfs", "btrfs"].into_iter().filter(is_there).collect();
    let folder = tempfile::tempdir().expect("a folder");
    let file_systems = format!("--fs={},tmpfs", kinds.join(","));
    run(folder.path(), &["run", "fragmentation", "-n5", "--trials=1", "--out=a.osdyno", &file_systems]);
    let trials = recording(folder.path()).trials;
    assert_eq!(trials.len(), 3 * (kinds.len() + 1));
    for trial in trials {
        let name = format!("{} on {}: {:?}", trial.order.variant, trial.order.system, trial.outcome);
        if trial.order.system == "tmpfs" {
            assert!(name.contains("does not say where its files lie"), "{name}");
            continue;
        }
        assert_eq!(trial.outcome, Outcome::Complete, "{name}");
        assert!(trial.checks.len() > 1 && trial.checks.iter().all(|check| check.held), "{name}");
    }
    assert_eq!(images_below(folder.path()), [""; 0]);
    expect_nothing_left(folder.path());
}

#[test]
fn a_kill_leaves_neither_mount_nor_device() {
    if let Some(reason) = why_no_image() {
        return skipped!("{reason}");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let long = ["run", "small-files/warm", "--trials=500", "--out=a.osdyno", "--fs=ext4,tmpfs"];
    let mut child = start_measuring(folder.path(), &long);
    until("the image is mounted", || !images_below(folder.path()).is_empty());
    signal(child.id(), "KILL");
    child.wait().expect("its end");
    until("every process has ended", || processes_below(folder.path(), "").is_empty());
    until("the device is gone", || images_below(folder.path()).is_empty());
    until("the scratch folder is gone", || common::scratch_folders(folder.path()).is_empty());
}

#[test]
fn a_folder_of_the_user_keeps_what_it_had() {
    let (folder, own) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    fs::write(own.path().join("letter"), "hello").expect("a file");
    let path = own.path().to_str().expect("UTF-8");
    let name = format!("--files={path},.");
    run_well(folder.path(), &[&TINY[..], &[&*name]].concat());
    let recording = recording(folder.path());
    let names: Vec<&str> = recording.systems.iter().map(|system| system.name.as_str()).collect();
    assert_eq!(names, [path, "."]);
    assert!(recording.trials.len() == 8 && recording.trials.iter().all(|t| t.outcome == Outcome::Complete));
    expect_only_the_letter(own.path());
    expect_nothing_left(folder.path());

    // Also after SIGKILL.
    let long = ["run", "small-files/warm", "--trials=500", "--out=b.osdyno", "--files", path];
    let mut child = start_measuring(folder.path(), &long);
    until("files are there", || fs::read_dir(own.path()).expect("a folder").count() > 1);
    signal(child.id(), "KILL");
    child.wait().expect("its end");
    expect_nothing_left(folder.path());
    until("its folder is gone", || fs::read_dir(own.path()).expect("a folder").count() == 1);
    expect_only_the_letter(own.path());

    let output = run(folder.path(), &[&TINY[..6], &["--files=missing", "--out=c.osdyno"]].concat());
    let told = text(&output.stderr);
    assert!(output.status.code() == Some(1) && told.contains("choose another with --files"), "{told}");
    assert!(!folder.path().join("c.osdyno").exists());
    expect_nothing_left(folder.path());
}

fn expect_only_the_letter(folder: &Path) {
    let names: Vec<_> = fs::read_dir(folder).expect("a folder").flatten().map(|e| e.file_name()).collect();
    assert_eq!(names, ["letter"]);
    assert_eq!(fs::read_to_string(folder.join("letter")).expect("a file"), "hello");
}

/// A loop device of the test's own; detached at the end.
struct Device(String);

impl Device {
    fn of_bytes(folder: &Path, bytes: u64) -> Device {
        let image = folder.join("disk");
        fs::File::create(&image).expect("a file").set_len(bytes).expect("a size");
        let made = Command::new("losetup").args(["--find", "--show"]).arg(&image).output();
        let made = made.expect("losetup starts");
        assert!(made.status.success(), "{}", text(&made.stderr));
        Device(text(&made.stdout).trim().to_owned())
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.0]).status();
    }
}

/// Whether the image of a device in the folder has nothing but zeros.
fn is_untouched(folder: &Path) -> bool {
    let mut image = fs::File::open(folder.join("disk")).expect("the disk");
    let (mut part, zeros) = (vec![0; 1 << 20], vec![0; 1 << 20]);
    loop {
        match image.read(&mut part).expect("the disk") {
            0 => return true,
            count if part[..count] != zeros[..count] => return false,
            _ => {}
        }
    }
}

#[test]
fn a_device_is_formatted_for_each_trial_where_nothing_uses_it() {
    if let Some(reason) = why_no_image() {
        return skipped!("{reason}");
    }
    let (folder, disk) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let device = Device::of_bytes(disk.path(), 600 << 20);
    let refused = |arguments: &[&str], code: i32, reason: &str| {
        let output = run(folder.path(), &[&TINY[..], arguments].concat());
        let told = text(&output.stderr);
        assert!(output.status.code() == Some(code) && told.contains(reason), "{arguments:?}: {told}");
        assert!(!folder.path().join("a.osdyno").exists());
        assert!(is_untouched(disk.path()), "{arguments:?} wrote to the device");
    };
    let dev = &*device.0;
    refused(&["--fs=ext2", "--device", dev], 2, "--erase");
    refused(&["--device", dev, "--erase", dev], 2, "--fs");
    refused(&["--fs=ext2", "--device", dev, "--erase", "/dev/loop"], 1, "both must name the same");
    refused(&["--fs=ext2,tmpfs", "--device", dev, "--erase", dev], 1, "tmpfs is on no device");
    refused(&["--fs=ext2", "--device", "/dev/null", "--erase", "/dev/null"], 1, "not a block device");

    let on_device = ["--fs=ext2,ext4", "--device", dev, "--erase", dev];
    let printed = run_well(folder.path(), &[&TINY[..], &on_device].concat());
    let recording = recording(folder.path());
    assert!(recording.trials.len() == 8, "{printed}");
    assert!(recording.trials.iter().all(|trial| trial.outcome == Outcome::Complete), "{printed}");
    for (system, kind) in recording.systems.iter().zip(["ext2", "ext4"]) {
        let found = |value: &str| system.environment.values().any(|fact| fact.to_string().contains(value));
        assert!(found(kind) && found(dev.trim_start_matches("/dev/")), "{:?}", system.environment);
        assert_eq!(system.prefix, ["--fs", kind, "--device", dev]);
    }
    expect_nothing_left(folder.path());

    expect_no_format_where_it_is_mounted(folder.path(), disk.path(), &on_device);
}

/// Mounted, in this namespace or in another one, it is somebody's.
fn expect_no_format_where_it_is_mounted(folder: &Path, disk: &Path, on_device: &[&str]) {
    let dev = on_device[2];
    let mount = disk.join("mounted");
    fs::create_dir(&mount).expect("a folder");
    let script = format!("mount {dev} {} && exec \"$0\" \"$@\"", mount.display());
    let command = osdyno(folder, &[&TINY[..7], &["--out=b.osdyno"], on_device].concat());
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-c", &script])
        .arg(command.get_program())
        .args(command.get_args())
        .current_dir(folder)
        .output()
        .expect("unshare starts");
    let told = text(&output.stderr);
    assert!(output.status.code() == Some(1) && told.contains("it is mounted on"), "{told}");
    let mut other = Command::new("unshare")
        .args(["--mount", "sh", "-c", &format!("mount {dev} {} && echo && cat", mount.display())])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("unshare starts");
    let mut line = [0];
    let mut mounted = other.stdout.take().expect("a pipe");
    std::io::Read::read_exact(&mut mounted, &mut line).expect("it is mounted");
    let output = run(folder, &[&TINY[..7], &["--out=b.osdyno"], on_device].concat());
    drop(other.stdin.take());
    other.wait().expect("its end");
    let told = text(&output.stderr);
    assert!(output.status.code() == Some(1) && told.contains("it is in use"), "{told}");
}

/// A process that writes to it, as an emulator to the disk of its guest, keeps nobody else out.
#[test]
fn a_device_that_a_program_writes_to_is_not_formatted() {
    if let Some(reason) = why_no_image() {
        return skipped!("{reason}");
    }
    let (folder, disk) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let device = Device::of_bytes(disk.path(), 600 << 20);
    let dev = &*device.0;
    let refused = |reason: &str| {
        let on_device = ["--fs=ext2", "--device", dev, "--erase", dev];
        let output = run(folder.path(), &[&TINY[..], &on_device].concat());
        let told = text(&output.stderr);
        assert!(output.status.code() == Some(1) && told.contains(reason), "{reason}: {told}");
        assert!(is_untouched(disk.path()), "the device was written to");
    };
    let holder = fs::OpenOptions::new().read(true).write(true).open(dev).expect("the device");
    refused(&format!("process {} (", std::process::id()));
    refused("has it open for writing; end that first");
    drop(holder);
    let stacked = Command::new("losetup").args(["--find", "--show", dev]).output().expect("losetup starts");
    let stacked = Device(text(&stacked.stdout).trim().to_owned());
    refused(&format!("it is the image of {}", stacked.0));
}

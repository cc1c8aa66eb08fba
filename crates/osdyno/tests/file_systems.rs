//! File systems as systems of one run: measured where their files are, and nothing left behind.
#![cfg(target_os = "linux")]

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::{
    expect_nothing_left, osdyno, processes_below, run, run_well, signal, start_measuring, text, until,
};
use record::{Outcome, Recording};

const TINY: [&str; 8] =
    ["run", "small-files/warm", "tree", "-n", "8", "--trials=2", "--set=files=20", "--out=a.osdyno"];

fn recording(folder: &Path) -> Recording {
    record::read(folder.join("a.osdyno")).expect("the run file").0
}

/// Why this machine cannot measure a file system in an image; `None` if it can.
fn why_not() -> Option<String> {
    let probe = "unshare --mount true && test -w /dev/loop-control && command -v mkfs.ext4";
    let probed = Command::new("sh").args(["-c", probe]).output().expect("a shell");
    let reason = "it takes root, /dev/loop-control and mkfs.ext4";
    (!probed.status.success()).then(|| format!("{reason}: {}", text(&probed.stderr)))
}

/// The images of loop devices that lie below the folder.
fn images_below(folder: &Path) -> Vec<String> {
    let folder = folder.to_string_lossy().into_owned();
    let devices = fs::read_dir("/sys/block").expect("block devices").flatten();
    let images =
        devices.filter_map(|device| fs::read_to_string(device.path().join("loop/backing_file")).ok());
    images.filter(|image| image.contains(&folder)).collect()
}

#[test]
fn each_file_system_is_measured_on_an_image_of_its_own() {
    if let Some(reason) = why_not() {
        return println!("skipped: {reason}");
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
    if let Some(reason) = why_not() {
        return println!("skipped: {reason}");
    }
    let output = run(folder.path(), &[&TINY[..], &["--fs", "tmpfs,ext4:data=nonsense"]].concat());
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("cannot mount ext4:data=nonsense"), "{}", text(&output.stderr));
    let of_tmpfs = |trial: &&record::Trial| trial.order.system == "tmpfs";
    let recording = recording(folder.path());
    let mut trials = recording.trials.iter().filter(of_tmpfs);
    assert!(trials.all(|trial| trial.outcome == Outcome::Complete));
    // A folder of programs without any mkfs(8): only what osdyno itself starts is found there.
    let mut command = osdyno(folder.path(), &[&TINY[..7], &["--out=b.osdyno", "--fs=xfs"]].concat());
    let output = command.env("PATH", folder.path()).output().expect("osdyno starts");
    assert_eq!(output.status.code(), Some(1));
    let told = text(&output.stderr);
    assert!(told.contains("mkfs.xfs is not installed; it is in the package xfsprogs"), "{told}");
    assert_eq!(images_below(folder.path()), [""; 0]);
    expect_nothing_left(folder.path());
}

#[test]
fn a_kill_leaves_neither_mount_nor_device() {
    if let Some(reason) = why_not() {
        return println!("skipped: {reason}");
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

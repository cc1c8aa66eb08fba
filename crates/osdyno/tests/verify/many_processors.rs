//! Guests with more processors than most machines of tests: servers with several workers, several load
//! generators, and scalings. The processors are emulated, so that only the mechanics are tested.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Output;

use record::{Outcome, Recording};

use crate::common::{expect_nothing_left, outcomes, recording, run, text};
use crate::lab::real;

/// QEMU 7.2 loses at most a third of the boots of such guests.
const BOOTS_MOST: usize = 5;

/// The record of this `lab run` and its output, of the first attempt in which the guest was not lost.
fn booted(folder: &Path, words: &[&str]) -> (Recording, Output) {
    let always = ["lab", "run", "--boots=1", "--accel=tcg", "--timeout=10m", "--out=a.osdyno"];
    let mut reasons = Vec::new();
    for _ in 0..BOOTS_MOST {
        let output = run(folder, &[&always, words].concat());
        let recording = recording(folder);
        let lost = outcomes(&recording, "guest").into_iter().find_map(|outcome| match outcome {
            Outcome::Failed { reason } => Some(reason.clone()),
            _ => None,
        });
        let Some(reason) = lost else { return (recording, output) };
        reasons.push(reason);
        fs::remove_file(folder.join("a.osdyno")).expect("the run whose guest was lost");
    }
    panic!("the guest was lost each time: {reasons:#?}")
}

#[test]
fn in_a_guest_of_eight_processors_nothing_shares_one() {
    let Some(kernel) = real() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let named = format!("--kernel=guest={}", kernel.display());
    let load = ["--processors=8", "race/epoll", "-n6", "--trials=1", "--window=50ms"];
    let settings = [&named, "--set=workers=4", "--set=generators=3"];
    let (recording, output) = booted(folder.path(), &[&load[..], &settings].concat());
    let told = text(&output.stderr);
    let trial = recording.trials.iter().find(|trial| trial.order.system == "guest").expect("a trial");
    assert_eq!(trial.outcome, Outcome::Complete, "{told}");
    assert!(trial.checks.iter().all(|check| check.held), "{trial:?}");
    let order = &trial.order;
    let named = [order.cpu, order.server_cpu].into_iter().flatten().chain(order.spare_cpus.iter().copied());
    assert_eq!(named.collect::<BTreeSet<u32>>().len(), 8, "{order:?}");
    assert!(!trial.warnings.iter().any(|warning| warning.contains("share")), "{trial:?}");
    let top = recording.generators.iter().find(|level| level.of.system == "guest" && level.n == 6);
    assert_eq!(top.map(|level| level.generators), Some(3), "{:?}", recording.generators);
    expect_nothing_left(folder.path());
}

/// More than a word has bits, in several memory nodes.
#[test]
fn workers_of_scalings_have_each_of_72_and_nothing_is_judged() {
    let Some(kernel) = real() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let named = format!("--kernel=guest={}", kernel.display());
    let machine = [&named, "--processors=72", "--numa=3", "--memory=3072"];
    let measured = ["cores-syscall/threads", "cores-lock/processes", "--trials=1"];
    let (recording, output) = booted(folder.path(), &[&machine[..], &measured].concat());
    let (printed, told) = (text(&output.stdout), text(&output.stderr));
    assert!(printed.contains("guest: Scaling is not judged, because an emulator"), "{printed}\n{told}");
    let guest = recording.systems.iter().find(|system| system.name == "guest").expect("the guest");
    let processors = guest.processors.as_ref().expect("its processors");
    assert_eq!((processors.online, processors.usable.len()), (72, 72), "{told}");
    for workload in ["cores-syscall", "cores-lock"] {
        let is_of = |trial: &&record::Trial| {
            (trial.order.system.as_str(), trial.order.workload.as_str()) == ("guest", workload)
        };
        let trial = recording.trials.iter().find(is_of).expect("a trial");
        assert_eq!(trial.outcome, Outcome::Complete, "{told}");
        assert!(trial.warnings.is_empty(), "every level counts: {:?}", trial.warnings);
        let mut series = recording.series().flat_map(|(_, series)| series);
        let is_rate =
            |one: &&record::Series| one.system == "guest" && one.workload == workload && one.name == "rate";
        let rate = series.find(is_rate).expect("rates");
        let levels: Vec<u64> = rate.points().filter(|(_, rate)| *rate > 0.0).map(|(n, _)| n).collect();
        assert_eq!(levels, [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 36, 48, 64, 72]);
    }
    expect_nothing_left(folder.path());
}

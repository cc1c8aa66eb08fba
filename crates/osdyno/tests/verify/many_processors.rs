//! Scalings in a guest with more processors than a word has bits, in several memory nodes.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use crate::common::{expect_nothing_left, run, text};
use crate::lab::real;
use record::Outcome;

/// The file of each attempt.
const OUT: [[&str; 2]; 3] = [["--out", "a.osdyno"], ["--out", "b.osdyno"], ["--out", "c.osdyno"]];

#[test]
fn workers_have_each_of_72_processors_and_nothing_is_judged() {
    let Some(kernel) = real() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let named = format!("--kernel=guest={}", kernel.display());
    let machine = ["--accel=tcg", "--processors=72", "--numa=3", "--memory=3072"];
    let measured = ["cores-syscall/threads", "cores-lock/processes", "--trials=1", "--boots=1"];
    let all = [&["lab", "run", &named], &machine[..], &measured].concat();
    // Old emulators lose some boots of guests with several processors.
    let mut outputs =
        (0..3).map(|attempt| (attempt, run(folder.path(), &[&all[..], &OUT[attempt]].concat())));
    let booted = outputs.find(|(_, output)| text(&output.stdout).contains("guest: Scaling"));
    let Some((attempt, output)) = booted else {
        skipped!("a guest of 72 processors does not start with this emulator");
        return;
    };
    let (printed, told) = (text(&output.stdout), text(&output.stderr));
    assert!(printed.contains("guest: Scaling is not judged, because an emulator"), "{printed}\n{told}");
    let (recording, _) = record::read(folder.path().join(OUT[attempt][1])).expect("the run file");
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

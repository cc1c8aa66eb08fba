//! Servers with several workers, and several load generators, in a guest with more processors than most
//! machines of tests. Its processors are emulated, so that only the mechanics are tested.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::collections::BTreeSet;

use record::Outcome;

use crate::common::{expect_nothing_left, run, text};
use crate::lab::real;

#[test]
fn in_a_guest_of_eight_processors_nothing_shares_one() {
    let Some(kernel) = real() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let named = format!("--kernel=guest={}", kernel.display());
    let guest = ["lab", "run", &named, "--processors=8", "--boots=1", "--accel=tcg", "race/epoll"];
    let load = ["-n", "6", "--trials", "1", "--window", "50ms", "--out", "a.osdyno"];
    let settings = ["--set", "workers=4", "--set", "generators=3"];
    let told = text(&run(folder.path(), &[&guest[..], &load, &settings].concat()).stderr);
    let (recording, _) = record::read(folder.path().join("a.osdyno")).expect("the run file");
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

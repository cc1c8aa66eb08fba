//! Systems whose own counters are not read yet: getrusage(2) and the load average only.

use super::snapshot::Snapshot;

pub(super) fn read(snapshot: &mut Snapshot) {
    let mut load = [0.0_f64];
    // SAFETY: the call fills at most one number of the array, as its argument says.
    let filled = unsafe { libc::getloadavg(load.as_mut_ptr(), 1) };
    snapshot.level("load_1m", (filled == 1).then_some(load[0]));
}

//! What this process and its children used: getrusage(2).

use super::snapshot::Snapshot;

pub(super) fn read(snapshot: &mut Snapshot) {
    let own = usage(libc::RUSAGE_SELF);
    let children = usage(libc::RUSAGE_CHILDREN);
    let (Some(own), Some(children)) = (own, children) else { return };
    let sum = |field: fn(&libc::rusage) -> f64| Some(field(&own) + field(&children));

    snapshot.count("cpu_user_seconds", sum(|usage| seconds(usage.ru_utime)));
    snapshot.count("cpu_system_seconds", sum(|usage| seconds(usage.ru_stime)));
    snapshot.count("context_switches_voluntary", sum(|usage| usage.ru_nvcsw as f64));
    snapshot.count("context_switches_involuntary", sum(|usage| usage.ru_nivcsw as f64));
    snapshot.count("page_faults_minor", sum(|usage| usage.ru_minflt as f64));
    snapshot.count("page_faults_major", sum(|usage| usage.ru_majflt as f64));
}

fn seconds(time: libc::timeval) -> f64 {
    time.tv_sec as f64 + time.tv_usec as f64 * 1e-6
}

fn usage(who: libc::c_int) -> Option<libc::rusage> {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to a whole rusage of ours, which the call only fills; all of its fields are
    // plain numbers, for which the zeros it starts with are values too.
    unsafe { (libc::getrusage(who, usage.as_mut_ptr()) == 0).then(|| usage.assume_init()) }
}

//! Cost of calls on a set of processes while n sleep.
//!
//! **Question.** What does it cost to signal a group of n processes, to wait for any of n children, to poll
//! the descriptors of n processes, and to list them in /proc?
//!
//! **Method.** Children are forked, untimed, and sleep. After each fork one call is timed. `group`: kill(2)
//! of the process group with signal 0, which reaches every member and changes none. `children`: waitpid(2) of
//! any child, without waiting; none has ended. On the way down one child in random order is killed, untimed,
//! until its end is known, and waitpid(2) of any child, which finds it, is timed. `pidfd`: poll(2) of one
//! descriptor for each process, without waiting. `list`: one reading of the names in /proc, with those of all
//! other processes of the machine.
//!
//! **Expected answer.** Linear: each of these calls visits every process (`__kill_pgrp_info` and `do_wait` in
//! kernel/signal.c and kernel/exit.c of Linux, poll(2) and proc(5)). A service manager with thousands of
//! children pays this for each event, unless it waits for one process ID or watches descriptors with
//! epoll(7).

use workload::resource::{DESCRIPTORS, MEMORY, PROCESSES};
use workload::{Expect, Need, Operation, Variant, Workload, on_unix};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "process-set",
    source: workload::page!("process_set.rs"),
    grows: "sleeping processes",
    variants: &[
        Variant { name: "group", summary: "signal 0 to a process group" },
        Variant { name: "children", summary: "wait for any child" },
        Variant { name: "pidfd", summary: "poll descriptors of processes" },
        Variant { name: "list", summary: "names in /proc" },
    ],
    remedies: &[
        ("children", "wait by waitid(2) for a pidfd that epoll reports"),
        ("pidfd", "use epoll(7)"),
        ("list", "keep pidfds instead of reading /proc"),
    ],
    operations: &[
        Operation::up("signal", Expect::Linear, "kill(2) of the group with signal 0").only(&["group"]),
        Operation::up("wait", Expect::Linear, "waitpid(2) of any child, which finds none ended")
            .only(&["children"]),
        Operation::up("poll", Expect::Linear, "poll(2) of all descriptors, with time-out 0").only(&["pidfd"]),
        Operation::up("list", Expect::Linear, "all names in /proc").only(&["list"]),
        Operation::down("reap", Expect::Linear, "waitpid(2) of any child, which finds the one that ended")
            .only(&["children"]),
    ],
    needs: &[
        Need::new(PROCESSES, 1),
        Need::new(MEMORY, 160 << 10),
        Need::new(DESCRIPTORS, 1).only_in(&["pidfd"]),
    ],
    classic_n: 3000,
    run: on_unix!(measured::run, "this system has no fork(2)"),
    ..Workload::CURVE
};

#[cfg(unix)]
mod measured {
    use sys::process::{Child, ProcessWatch};
    use workload::{Trial, TrialError};

    use crate::fork::family;

    pub(super) fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
        let family = family()?;
        trial.warm(|| family.fork()?.reap());
        let mut watched = ProcessWatch::new();
        let mut found = Vec::new();
        let children = match trial.variant() {
            "group" => {
                let mut leader = None;
                trial.compact_steps(&["signal"], |_, lap| {
                    let child = family.fork()?;
                    let leader = *leader.get_or_insert(child.number());
                    child.join_group(leader)?;
                    lap.skip();
                    sys::process::probe_group(leader)?;
                    lap.mark();
                    Ok(child)
                })?
            }
            "children" => trial.compact_steps(&["wait"], |_, lap| {
                let child = family.fork()?;
                lap.skip();
                let ended = sys::process::ended_child()?;
                lap.mark();
                if ended.is_some() {
                    Err(std::io::Error::other("a child has ended by itself"))
                } else {
                    Ok(child)
                }
            })?,
            "pidfd" => trial.compact_steps(&["poll"], |_, lap| {
                let child = family.fork()?;
                watched.add(&child)?;
                lap.skip();
                let ended = watched.poll()?;
                lap.mark();
                if ended > 0 { Err(std::io::Error::other("a child has ended by itself")) } else { Ok(child) }
            })?,
            _ => trial.compact_steps(&["list"], |_, lap| {
                let child = family.fork()?;
                lap.skip();
                found.push(sys::process_table::count()?);
                lap.mark();
                Ok(child)
            })?,
        };
        let listed = found.iter().enumerate().all(|(n, &found)| found > n as u64);
        trial.check("every child was among the listed processes", listed);
        let mut children = trial.shuffled(children);
        if trial.variant() != "children" {
            return children.try_for_each(Child::reap).map_err(TrialError::at("to end a child"));
        }
        let mut reaped_its_own = true;
        trial.compact_steps_back(&["reap"], children, |child, lap| {
            child.end()?;
            lap.skip();
            let ended = sys::process::ended_child()?;
            lap.mark();
            reaped_its_own &= ended.is_some_and(|(number, _)| number == child.number());
            Ok(())
        })?;
        trial.check("the child that ended was the one that was reaped", reaped_its_own);
        Ok(())
    }
}

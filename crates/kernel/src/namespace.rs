//! Cost of one more namespace while n are alive.
//!
//! **Question.** What does it cost to make a namespace, to enter one and to end one, when thousands are
//! alive? A machine of containers has several for each of them.
//!
//! **Method.** The trial gives itself new namespaces by unshare(2), timed, keeps a descriptor of them, and
//! enters one of all that are alive, chosen at random, by setns(2), timed; then it goes back to its first
//! ones, untimed. On the way down the descriptors are closed in random order, each timed. The system ends
//! most namespaces later, in a thread of its own; so the next unshare(2), made while that goes on, is an
//! operation of its own. Each namespace has a number of its own, which is checked. Users other than root do
//! all that in a user namespace.
//!
//! **Expected answer.** Flat, but for `enter`: a random one of many is not in the caches of the processor.
//! `mount` is as expensive as the table of mounts is long, which is copied. `network` takes a large part of a
//! millisecond, because every part of the network registers itself; its ends are gathered and wait for grace
//! periods of RCU (`cleanup_net` in net/core/net_namespace.c of Linux). A growth means a list of all
//! namespaces that is searched. See namespaces(7), network_namespaces(7).

use workload::resource::{
    DESCRIPTORS, IPC_NAMESPACES, MEMORY, MOUNT_NAMESPACES, NETWORK_NAMESPACES, UTS_NAMESPACES,
};
use workload::{Expect, Need, Operation, Variant, Workload, on_linux};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "namespace",
    source: workload::page!("namespace.rs"),
    grows: "live namespaces",
    variants: &[
        Variant { name: "mount", summary: "mounts" },
        Variant { name: "network", summary: "network devices, ports and sockets" },
        Variant { name: "ipc", summary: "objects of System V and queues of POSIX" },
        Variant { name: "uts", summary: "the name of the host" },
        Variant { name: "all", summary: "one of each kind, as a container has" },
    ],
    operations: &[
        Operation::up("create", Expect::Constant, "one unshare(2)"),
        Operation::up("enter", Expect::Constant, "setns(2) to one of those alive, chosen at random"),
        Operation::down("end", Expect::Constant, "close(2) of the last descriptor, in random order"),
        Operation::down("next", Expect::Constant, "the unshare(2) that follows, while the other is ended")
            .detail(),
    ],
    needs: &[
        Need::new(DESCRIPTORS, 1),
        Need::new(DESCRIPTORS, 3).only_in(&["all"]),
        Need::new(MOUNT_NAMESPACES, 1).only_in(&["mount", "all"]),
        Need::new(NETWORK_NAMESPACES, 1).only_in(&["network", "all"]),
        Need::new(IPC_NAMESPACES, 1).only_in(&["ipc", "all"]),
        Need::new(UTS_NAMESPACES, 1).only_in(&["uts", "all"]),
        Need::new(MEMORY, 24 << 10),
        Need::new(MEMORY, 200 << 10).only_in(&["network", "all"]),
    ],
    top: Some(1000),
    run: on_linux!(
        measured::run,
        "namespaces are Linux's; jails and zones are not made by a process for itself"
    ),
    ..Workload::CURVE
};

#[cfg(target_os = "linux")]
mod measured {
    use sys::namespace::{NamespaceKind, Namespaces, permit, renew};
    use workload::{Trial, TrialError};

    use crate::socket::all_distinct;

    fn kinds(variant: &str) -> &'static [NamespaceKind] {
        use NamespaceKind::{Ipc, Mount, Network, Uts};
        match variant {
            "mount" => &[Mount],
            "network" => &[Network],
            "ipc" => &[Ipc],
            "uts" => &[Uts],
            _ => &[Mount, Network, Ipc, Uts],
        }
    }

    pub(super) fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
        let kinds = kinds(trial.variant());
        permit().map_err(TrialError::at("to be root in a user namespace"))?;
        let first = Namespaces::own(kinds).map_err(TrialError::at("to keep the first namespaces"))?;
        let mut random = fastrand::Rng::with_seed(trial.seed());
        let mut alive: Vec<Namespaces> = Vec::with_capacity(trial.n());
        let made = trial.compact_steps(&["create", "enter"], |_, lap| {
            renew(kinds)?;
            lap.mark();
            alive.push(Namespaces::own(kinds)?);
            let chosen = &alive[random.usize(..alive.len())];
            lap.skip();
            let entered = chosen.enter();
            lap.mark();
            first.enter().and(entered)
        })?;
        alive.truncate(made.len());
        let numbers = alive.iter().map(Namespaces::numbers);
        let numbers = TrialError::collect("to ask for the numbers of namespaces", numbers)?;
        for kind in 0..kinds.len() {
            let of_kind =
                numbers.iter().filter_map(|numbers| u32::try_from(*numbers.get(kind)?).ok()).collect();
            trial.check("every namespace is another", all_distinct(of_kind));
        }
        let alive = trial.shuffled(alive);
        trial.compact_steps_back(&["end", "next"], alive, |namespaces, lap| {
            namespaces.close()?;
            lap.mark();
            renew(kinds)?;
            lap.mark();
            first.enter()
        })
    }
}

//! Cost of one ready descriptor among n that are watched.
//!
//! **Question.** What does an event interface cost when n descriptors are watched and one of them is
//! ready? What does it cost to watch one more, or one less?
//!
//! **Method.** Descriptors that can be made ready (eventfd(2) on Linux, pipes elsewhere) are opened,
//! untimed, and added, each timed. After each, one of them is chosen at random and made ready, untimed.
//! Then one wait is timed, which must report that descriptor and no other; then it is reset. The wait has
//! a time-out, so it does all the work of a wait in a server. At the end all are removed in random order,
//! each timed. With select and poll, adding and removing are done in the program alone. The work that
//! happens when a descriptor becomes ready, such as the callback of epoll or the wake-up of io_uring, is
//! in the untimed part for every interface.
//!
//! **Expected answer.** epoll(7) and io_uring(7) are flat. select(2) and poll(2) are linear in n: at
//! every call the kernel checks all n, and enters and leaves the wait queue of each that comes before the
//! ready one. select ends where descriptors reach `FD_SETSIZE`, 1 024 on most systems.

use workload::{Expect, Needs, Operation, Variant, Workload};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "ready",
    source: include_str!("ready.rs"),
    grows: "watched descriptors",
    variants: INTERFACES,
    default_variants: &["poll", "epoll", "uring"],
    rivals: true,
    operations: &[
        Operation::up("add", Expect::Constant, "one descriptor added, for input").detail(),
        Operation::up("wait", Expect::Constant, "one wait that reports the ready descriptor")
            .except(&[("select", Expect::Linear), ("poll", Expect::Linear)]),
        Operation::down("remove", Expect::Constant, "one descriptor removed, in random order").detail(),
    ],
    needs: NEEDS,
    run: cfg_select! {
        unix => { Ok(measured::run) }
        _ => { Err("event interfaces are not implemented on this system yet") }
    },
    ..Workload::CURVE
};

/// The event interfaces that can be compared.
pub(crate) const INTERFACES: &[Variant] = &[
    Variant { name: "select", summary: "select(2)" },
    Variant { name: "poll", summary: "poll(2)" },
    Variant { name: "epoll", summary: "epoll_wait(2), level-triggered" },
    Variant { name: "uring", summary: "multishot polls of io_uring(7)" },
];

/// An eventfd, or both ends of a pipe, and its entry in the kernel's set.
pub(crate) const NEEDS: Needs = Needs {
    descriptors: if cfg!(target_os = "linux") { 1 } else { 2 },
    memory_bytes: 1024,
    ..Needs::NOTHING
};

#[cfg(unix)]
mod measured {
    use std::io;
    use std::os::fd::AsFd;
    use std::time::Duration;

    use sys::event::{Flag, Interest, Poll, Poller, Select, Uring};
    use workload::{Trial, TrialError};

    /// So long no wait lasts, for something is ready.
    const PATIENCE: Duration = Duration::from_secs(1);

    pub(super) fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
        match trial.variant() {
            "select" => measure(trial, Select::new()),
            "poll" => measure(trial, Poll::new()),
            "uring" => measure(trial, Uring::new()),
            #[cfg(target_os = "linux")]
            _ => measure(trial, sys::event::Epoll::new()),
            #[cfg(not(target_os = "linux"))]
            _ => measure::<Poll>(trial, Err(sys::Unsupported("epoll exists only on Linux").into())),
        }
    }

    fn measure<P: Poller>(trial: &mut Trial<'_>, poller: io::Result<P>) -> Result<(), TrialError> {
        let mut poller = poller.map_err(TrialError::at("to open the event interface"))?;
        let mut random = fastrand::Rng::with_seed(trial.seed());
        let mut flags: Vec<Flag> = Vec::with_capacity(trial.n());
        let mut events = Vec::with_capacity(trial.n());
        let mut wrong = 0;
        trial.timed_steps(&["add", "wait"], |n, lap| {
            let flag = Flag::new()?;
            lap.skip();
            poller.add(flag.as_fd(), n, Interest::Read)?;
            lap.mark();
            flags.push(flag);
            let chosen = random.usize(..=n);
            flags[chosen].raise()?;
            lap.skip();
            poller.wait(&mut events, Some(PATIENCE))?;
            lap.mark();
            wrong += usize::from(!matches!(events[..], [only] if only.token == chosen && only.readable));
            flags[chosen].lower()
        })?;
        trial.check("every wait reported the ready descriptor and no other", wrong == 0);
        // One may have been added whose wait was refused.
        flags.truncate(trial.n());
        let flags = trial.shuffled(flags.into_iter().enumerate().collect());
        trial.timed_steps_back(&["remove"], flags, |(token, flag), lap| {
            poller.remove(flag.as_fd(), token)?;
            lap.mark();
            drop(flag);
            lap.skip();
            Ok(())
        })
    }
}

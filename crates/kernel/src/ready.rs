//! Cost of one ready descriptor among n that are watched.
//!
//! **Question.** What does an event interface cost when n descriptors are watched and one of them is
//! ready? What does it cost to watch one more, or one less?
//!
//! **Method.** Descriptors that can be made ready (eventfd(2) on Linux, pipes on other Unixes, on Windows
//! UDP sockets that send to themselves) are opened, untimed, and added, each timed. After each, one of them
//! is chosen at random and made ready, untimed. Then one wait is timed, which must report that descriptor
//! and no other; then it is reset. The wait has a time-out, so it does all the work of a wait in a server.
//! At the end all are removed in random order, each timed. With select and poll, adding and removing are
//! done in the program alone. The work that happens when a descriptor becomes ready, such as the callback
//! of epoll or the wake-up of io_uring, is in the untimed part for every interface.
//!
//! **Expected answer.** epoll(7) and io_uring(7) are flat. select(2) and poll(2) are linear in n: at
//! every call the kernel checks all n, and enters and leaves the wait queue of each that comes before the
//! ready one. select ends where descriptors reach `FD_SETSIZE`, 1 024 on most systems.

use std::io;
use std::time::Duration;

use sys::event::{Flag, Interest, Poll, Poller};
use sys::handle::AsHandle;
use workload::resource::{DESCRIPTORS, EPOLL_WATCHES, MEMORY, PORTS};
use workload::{Expect, Need, Operation, Trial, TrialError, Variant, Workload};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "ready",
    source: workload::page!("ready.rs"),
    grows: "watched descriptors",
    variants: INTERFACES,
    rivals: true,
    operations: &[
        Operation::up("add", Expect::Constant, "one descriptor added, for input").detail(),
        Operation::up("wait", Expect::Constant, "one wait that reports the ready descriptor")
            .except(&[("select", Expect::Linear), ("poll", Expect::Linear)]),
        Operation::down("remove", Expect::Constant, "one descriptor removed, in random order").detail(),
    ],
    needs: &NEEDS,
    run: Ok(run),
    ..Workload::CURVE
};

/// The event interfaces that can be compared.
pub(crate) const INTERFACES: &[Variant] = &[
    Variant { name: "select", summary: "select(2)" },
    Variant { name: "poll", summary: "poll(2)" },
    Variant { name: "epoll", summary: "epoll_wait(2), level-triggered" },
    Variant { name: "uring", summary: "multishot polls of io_uring(7)" },
];

/// An eventfd, both ends of a pipe or a socket, and its entry in the kernel's set.
pub(crate) const NEEDS: [Need; 4] = [
    Need::new(DESCRIPTORS, if cfg!(any(target_os = "linux", windows)) { 1 } else { 2 }),
    Need::new(PORTS, if cfg!(windows) { 1 } else { 0 }),
    Need::new(MEMORY, 1024),
    Need::new(EPOLL_WATCHES, 1).only_in(&["epoll"]),
];

/// No wait lasts this long, because something is ready.
const PATIENCE: Duration = Duration::from_secs(1);

fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
    match trial.variant() {
        "poll" => measure(trial, Poll::new()),
        #[cfg(unix)]
        "select" => measure(trial, sys::event::Select::new()),
        #[cfg(not(unix))]
        "select" => missing(trial, "select(2) takes arrays on Windows, which is not written; poll is"),
        #[cfg(unix)]
        "uring" => measure(trial, sys::event::Uring::new()),
        #[cfg(not(unix))]
        "uring" => missing(trial, "io_uring exists only on Linux"),
        #[cfg(target_os = "linux")]
        _ => measure(trial, sys::event::Epoll::new()),
        #[cfg(not(target_os = "linux"))]
        _ => missing(trial, "epoll exists only on Linux"),
    }
}

#[cfg(not(target_os = "linux"))]
fn missing(trial: &mut Trial<'_>, reason: &'static str) -> Result<(), TrialError> {
    measure::<Poll>(trial, Err(sys::Unsupported(reason).into()))
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
        poller.add(flag.handle(), n, Interest::Read)?;
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
        poller.remove(flag.handle(), token)?;
        lap.mark();
        drop(flag);
        lap.skip();
        Ok(())
    })
}

//! Accepting connections from one port, by several workers at once.
//!
//! **Question.** Should the workers of a server share one listening socket, or have one each on the same port
//! (SO_REUSEPORT)? If they share one and watch it with epoll, does `EPOLLEXCLUSIVE` matter?
//!
//! **Method.** Each worker connects to the port, accepts a connection without waiting, perhaps that of
//! another worker, and closes both ends with a reset: with `…-shared` from one listener, otherwise from one
//! of its own. The kernel selects the listener by a hash of the addresses, so that some queues are empty for
//! a moment: then the worker goes on, and another worker accepts two. With `…-epoll` and `…-exclusive`,
//! processes share one listener, each watches it with an epoll set of its own, and waits for the set, at most
//! 10 ms, before it accepts; with `…-exclusive` a connection wakes one of the sets that are waited for, and
//! not all.
//!
//! **Expected answer.** Own listeners scale better: each has a queue of its own. With epoll each connection
//! is also entered into the sets of all workers, under the lock of each, which costs more with each worker.
//! `EPOLLEXCLUSIVE` makes no difference while all workers are at work: the kernel looks for a worker that
//! sleeps, finds none, and has told all sets then.

use workload::{PROCESSES_SHARED, THREADS, THREADS_SHARED, Variant, Workload, on_linux};

const PROCESSES_EPOLL: Variant = Variant {
    name: "processes-epoll",
    summary: "processes with one listener, each watches it with an epoll set of its own",
};
const PROCESSES_EXCLUSIVE: Variant =
    Variant { name: "processes-exclusive", summary: "the same with EPOLLEXCLUSIVE" };

pub(crate) const WORKLOAD: Workload = Workload {
    name: "cores-accept",
    source: workload::page!("accept.rs"),
    variants: &[THREADS, THREADS_SHARED, PROCESSES_SHARED, PROCESSES_EPOLL, PROCESSES_EXCLUSIVE],
    run: on_linux!(measured::run, "SO_REUSEPORT distributes connections on Linux only"),
    ..Workload::SCALING
};

#[cfg(target_os = "linux")]
mod measured {
    use std::io;
    use std::net::{Ipv4Addr, SocketAddr};
    use std::time::Duration;

    use sys::event::{Epoll, Event, Interest, Poller};
    use sys::handle::AsHandle;
    use sys::tcp::{Connection, Listener, Listening, Waiting};
    use workload::{Trial, TrialError};

    use super::{PROCESSES_EPOLL, PROCESSES_EXCLUSIVE};

    /// A worker that waits has connected, so that a connection is there for it, or another has taken that
    /// and leaves its own. This is for a kernel that loses one.
    const WAIT_MAX: Duration = Duration::from_millis(10);

    pub(super) fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
        let watch = match trial.variant() {
            name if name == PROCESSES_EPOLL.name => Some(Watch::Shared),
            name if name == PROCESSES_EXCLUSIVE.name => Some(Watch::Exclusive),
            _ => None,
        };
        trial.scale(listeners, |listeners, worker| {
            let listener = listeners.get(worker.object()).ok_or(io::ErrorKind::NotFound)?;
            let address = listener.address()?;
            let mut set = watch.map(|watch| Set::new(listener, watch)).transpose()?;
            worker.repeat(|| {
                let client = Connection::connect(address, None, Waiting::Blocking)?;
                client.reset_on_close()?;
                if let Some(set) = &mut set {
                    set.wait()?;
                }
                let server = listener.accept(Waiting::NonBlocking);
                client.close()?;
                match server {
                    Ok(server) => server.close(),
                    // Another worker has, or will have it.
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
                    Err(error) => Err(error),
                }
            })
        })
    }

    fn listeners(count: usize) -> io::Result<Vec<Listener>> {
        let how = Listening { share_port: true, ..Listening::default() };
        let first = Listener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), how)?;
        let address = first.address()?;
        let more = (1..count).map(|_| Listener::bind(address, how));
        std::iter::once(Ok(first)).chain(more).collect()
    }

    /// Whether a connection wakes all sets that watch the listener.
    #[derive(Clone, Copy)]
    enum Watch {
        Shared,
        Exclusive,
    }

    struct Set {
        epoll: Epoll,
        events: Vec<Event>,
    }

    impl Set {
        fn new(listener: &Listener, watch: Watch) -> io::Result<Set> {
            let mut epoll = Epoll::with_capacity(1)?;
            match watch {
                Watch::Shared => epoll.add(listener.handle(), 0, Interest::Read)?,
                Watch::Exclusive => epoll.add_exclusive(listener.handle(), 0)?,
            }
            Ok(Set { epoll, events: Vec::with_capacity(1) })
        }

        fn wait(&mut self) -> io::Result<()> {
            self.epoll.wait(&mut self.events, Some(WAIT_MAX))
        }
    }
}

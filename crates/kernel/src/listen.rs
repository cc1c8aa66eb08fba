//! Cost of one more listener in a group that shares a port.
//!
//! **Question.** What do listen(2), a connection, and close(2) cost when n listeners share a port by
//! `SO_REUSEPORT`? Servers have one for each thread or process.
//!
//! **Method.** Stream sockets are opened and bound to one port of loopback, untimed; listen(2) is timed.
//! After each, a client connects to the port, timed: the system chooses the listener by a hash of the
//! client's address. epoll(7) reports which one it is, untimed; exactly one must be, it must accept that
//! client, and with 16 listeners or more several of them must be chosen in the course of the trial. The
//! client resets its connection. At the end all listeners are closed in random order, each close(2) timed.
//!
//! **Expected answer.** Flat for connect: the group is an array (net/core/sock_reuseport.c). A new member is
//! linear if it looks through the list of listeners of its port for a group of the same user; listeners of
//! one port share a list (`inet_reuseport_add_sock` in net/ipv4/inet_hashtables.c), and the first one is
//! enough. The array is copied whenever it doubles. close(2) searches the array for the member: linear with a
//! small slope.

use workload::resource::{DESCRIPTORS, EPOLL_WATCHES, MEMORY};
use workload::{Expect, Need, Operation, Workload, on_linux};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "listen",
    source: workload::page!("listen.rs"),
    grows: "listeners of a port",
    operations: &[
        Operation::up("listen", Expect::Constant, "one listen(2) of a socket that is bound to the port"),
        Operation::up("connect", Expect::Constant, "one connect(2), until it is established for the client"),
        Operation::down("close", Expect::Linear, "one close(2) of a listener, in random order"),
    ],
    needs: &[Need::new(DESCRIPTORS, 1), Need::new(EPOLL_WATCHES, 1), Need::new(MEMORY, 6 << 10)],
    run: on_linux!(measured::run, "connections are spread over the listeners of a port on Linux only"),
    ..Workload::CURVE
};

#[cfg(target_os = "linux")]
mod measured {
    use std::net::{Ipv4Addr, SocketAddr};
    use std::time::Duration;

    use sys::event::{Epoll, Interest, Poller};
    use sys::handle::AsHandle;
    use sys::tcp::{BoundSocket, Connection, Listening, Waiting};
    use workload::{Trial, TrialError};

    /// No wait lasts this long, because a connection has arrived.
    const PATIENCE: Duration = Duration::from_secs(1);
    /// With fewer listeners all connections may reach one of them by chance.
    const SPREAD_MIN: usize = 16;
    const BACKLOG: u16 = 16;

    pub(super) fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
        let how = Listening { share_port: true, backlog: BACKLOG, ..Listening::default() };
        let loopback = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0);
        // It keeps the port, and does not listen.
        let holder = BoundSocket::bind(loopback, how).map_err(TrialError::at("to bind to a port"))?;
        let to = holder.address().map_err(TrialError::at("to ask for the port"))?;
        let mut group = Epoll::new().map_err(TrialError::at("to open an instance of epoll"))?;
        trial.warm(|| BoundSocket::bind(to, how)?.listen(BACKLOG)?.close());
        let (mut listeners, mut events) = (Vec::with_capacity(trial.n()), Vec::new());
        let (mut wrong, mut chosen) = (0, vec![false; trial.n()]);
        let kept = trial.compact_steps(&["listen", "connect"], |n, lap| {
            let socket = BoundSocket::bind(to, how)?;
            lap.skip();
            let listener = socket.listen(BACKLOG)?;
            lap.mark();
            group.add(listener.handle(), n, Interest::Read)?;
            listeners.push(listener);
            let client = Connection::prepare(to, None, Waiting::Blocking)?;
            client.reset_on_close()?;
            lap.skip();
            client.begin(to)?;
            lap.mark();
            group.wait(&mut events, Some(PATIENCE))?;
            match events[..] {
                [event] => {
                    let accepted = listeners[event.token].accept(Waiting::NonBlocking)?;
                    wrong += usize::from(accepted.peer()? != client.local()?);
                    chosen[event.token] = true;
                }
                _ => wrong += 1,
            }
            client.close()?;
            lap.skip();
            Ok(())
        })?;
        trial.check("every connection reached one listener of the group", wrong == 0);
        let spread = chosen.iter().filter(|is_chosen| **is_chosen).count();
        trial.check("connections were spread over the listeners", kept.len() < SPREAD_MIN || spread > 1);
        listeners.truncate(kept.len());
        let listeners = trial.shuffled(listeners);
        trial.compact_down("close", listeners, |listener| listener.close())
    }
}

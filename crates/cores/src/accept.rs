//! Accepting connections from one port, by several workers at once.
//!
//! **Question.** Should the workers of a server share one listening socket, or have one each on the same port
//! (SO_REUSEPORT)?
//!
//! **Method.** Each worker connects to the port, accepts a connection without waiting, perhaps that of
//! another worker, and closes both ends with a reset: with `…-shared` from one listener, otherwise from one
//! of its own. The kernel selects the listener by a hash of the addresses, so that some queues are empty for
//! a moment: then the worker goes on, and another worker accepts two.
//!
//! **Expected answer.** Own listeners scale better: each has a queue of its own.

use workload::{PROCESSES_SHARED, THREADS, THREADS_SHARED, Workload};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "cores-accept",
    source: workload::page!("accept.rs"),
    variants: &[THREADS, THREADS_SHARED, PROCESSES_SHARED],
    run: cfg_select! {
        target_os = "linux" => { Ok(run) }
        _ => { Err("SO_REUSEPORT distributes connections on Linux only") }
    },
    ..Workload::SCALING
};

#[cfg(target_os = "linux")]
fn run(trial: &mut workload::Trial<'_>) -> Result<(), workload::TrialError> {
    use std::io;
    use std::net::{Ipv4Addr, SocketAddr};
    use sys::tcp::{Connection, Listener, Listening, Waiting};

    trial.scale(
        |objects| {
            let how = Listening { share_port: true, ..Listening::default() };
            let first = Listener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), how)?;
            let address = first.address()?;
            let more = (1..objects).map(|_| Listener::bind(address, how));
            std::iter::once(Ok(first)).chain(more).collect::<io::Result<Vec<Listener>>>()
        },
        |listeners, worker| {
            let listener = listeners.get(worker.object()).ok_or(io::ErrorKind::NotFound)?;
            let address = listener.address()?;
            worker.repeat(|| {
                let client = Connection::connect(address, None, Waiting::Blocking)?;
                client.reset_on_close()?;
                let server = listener.accept(Waiting::NonBlocking);
                client.close()?;
                match server {
                    Ok(server) => server.close(),
                    // Another worker has, or will have it.
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
                    Err(error) => Err(error),
                }
            })
        },
    )
}

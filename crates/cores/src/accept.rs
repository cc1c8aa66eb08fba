//! Accepting connections from one port, by several workers at once.
//!
//! **Question.** Should the workers of a server share one listening socket, or have one each on the same port
//! (SO_REUSEPORT)?
//!
//! **Method.** Each worker connects to the port and accepts a connection, perhaps that of another worker, and
//! closes both ends with a reset: with `…-shared` from one listener, otherwise from one of its own, to which
//! it connects until the kernel has chosen it, because a hash of the addresses selects the listener.
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

    let is_shared = trial.is_shared();
    trial.scale(
        |workers| {
            let how = Listening { share_port: true, ..Listening::default() };
            let first = Listener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), how)?;
            let mut listeners = vec![first];
            let address = listeners[0].address()?;
            let more = if is_shared { 0 } else { workers - 1 };
            for _ in 0..more {
                listeners.push(Listener::bind(address, how)?);
            }
            Ok(listeners)
        },
        |listeners, worker| {
            let listener = listeners.get(worker.number()).or(listeners.first());
            let listener = listener.ok_or(io::ErrorKind::NotFound)?;
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

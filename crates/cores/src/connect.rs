//! Connecting over loopback, by several workers at once.
//!
//! **Question.** Do P processors connect P times as often as one?
//!
//! **Method.** Each worker connects to a listener, accepts the connection, and closes both ends with a reset,
//! so that none waits in TIME_WAIT: to a listener of its own from an address of its own (127.0.1.1,
//! 127.0.1.2, …), or all to one listener from one address, where each may accept the connection of another.
//!
//! **Expected answer.** Own listeners scale. One has one queue with one lock, and all look for free ports in
//! one range.

use workload::{PROCESSES, PROCESSES_SHARED, THREADS, THREADS_SHARED, Workload, on_linux};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "cores-connect",
    source: workload::page!("connect.rs"),
    variants: &[THREADS, PROCESSES, THREADS_SHARED, PROCESSES_SHARED],
    run: on_linux!(run, "every address of 127.0.0.0/8 is this machine on Linux only"),
    ..Workload::SCALING
};

#[cfg(target_os = "linux")]
fn listener() -> std::io::Result<sys::tcp::Listener> {
    use std::net::{Ipv4Addr, SocketAddr};

    use sys::tcp::{Listener, Listening};

    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    Listener::bind(any, Listening { blocking: true, ..Listening::default() })
}

#[cfg(target_os = "linux")]
fn run(trial: &mut workload::Trial<'_>) -> Result<(), workload::TrialError> {
    use std::net::{Ipv4Addr, SocketAddr};
    use sys::tcp::{Connection, Waiting};

    trial.scale(
        |_| listener(),
        |shared, worker| {
            let own = listener()?;
            let listener = worker.choose(shared, &own);
            let address = listener.address()?;
            let [high, low] = (worker.number() as u16 + 1).to_be_bytes();
            let from = SocketAddr::from((Ipv4Addr::new(127, 1, high, low), 0));
            let from = (!worker.is_shared()).then_some(from);
            worker.repeat(|| {
                let client = Connection::connect(address, from, Waiting::Blocking)?;
                client.reset_on_close()?;
                let server = listener.accept(Waiting::Blocking)?;
                client.close()?;
                server.close()
            })
        },
    )
}

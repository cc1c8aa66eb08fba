//! A byte through a TCP connection on loopback, by several workers at once.
//!
//! **Question.** Do P processors send P times as many small messages over loopback as one?
//!
//! **Method.** Each worker has both ends of a connection of its own, sends a byte into one and receives it
//! from the other.
//!
//! **Expected answer.** It scales: the packet goes through the queue of the processor that sent it
//! (`softnet_data`).

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use sys::tcp::{Connection, Listener, Listening, Waiting};
use workload::{PROCESSES, THREADS, Trial, TrialError, Workload};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "cores-tcp",
    source: workload::page!("tcp.rs"),
    variants: &[THREADS, PROCESSES],
    run: Ok(run),
    ..Workload::SCALING
};

fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
    trial.in_workers(|worker| {
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let listener = Listener::bind(any, Listening { blocking: true, ..Listening::default() })?;
        let client = Connection::connect(listener.address()?, None, Waiting::Blocking)?;
        let server = listener.accept(Waiting::Blocking)?;
        client.send_at_once()?;
        let mut byte = [0];
        worker.repeat(|| {
            let (sent, received) = (client.send(b"."), server.receive(&mut byte));
            if sent? == 1 && received? == 1 { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
        })
    })
}

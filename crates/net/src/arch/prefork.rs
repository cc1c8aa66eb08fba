//! A fixed pool of processes, each of which accepts and serves one connection at a time.
//!
//! **Design.** The processes are forked before the first connection arrives. All wait in accept(2) on the
//! same listener, and the kernel wakes one of them. The parent serves no connections; it replaces
//! processes that exit.
//!
//! **Use.** Apache 1.3 and the prefork module of its successor work in this way, and so do most mail
//! servers (postfix uses each process for a hundred connections) and the servers of languages whose
//! interpreter has one thread.
//!
//! **Cost.** Nothing is created or destroyed for a connection, so a short one costs little more than its
//! system calls. At most as many connections are served at a time as there are processes: an open idle
//! connection occupies a process, and when all are occupied, further connections wait in the accept
//! queue. `--pool N` sets the number of processes.

use std::io;

use super::blocking::{self, Live, Terms};
use super::crew::Crew;
use super::definition::Architecture;
use crate::site::{Count, Site};

pub(super) const ARCHITECTURE: Architecture = Architecture {
    name: "prefork",
    source: include_str!("prefork.rs"),
    blocking: true,
    workers: false,
    probe: || Ok(()),
    serve: super::definition::on_unix(serve),
};

fn serve(site: &Site) -> io::Result<()> {
    Crew {
        // More would serve more connections at a time than may be.
        size: site.pool.min(site.limits.connections),
        stop: &site.stop,
        grace: site.limits.grace,
        tally: &|number| site.tally.of_worker(1 + number),
        work: &|number| work(site, 1 + number),
        stopping: &|| site.listener.finish(),
    }
    .keep(&mut || ())
}

/// The life of a process: one connection after the other.
fn work(site: &Site, row: usize) -> io::Result<()> {
    let tally = site.tally.of_worker(row);
    while !site.stop.is_ordered() {
        if let Some(connection) = blocking::accept(site, &tally)? {
            blocking::serve(Terms::of(site, &tally), &Live::new(connection));
            tally.add(Count::Ended, 1);
        }
    }
    Ok(())
}

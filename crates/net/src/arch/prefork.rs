//! A fixed pool of processes, each of which accepts and serves one connection at a time.
//!
//! **What it is.** The processes are forked before the first connection comes. All wait in accept(2) on the
//! same listener, and the kernel wakes one of them. The parent serves nobody: it replaces those that end.
//!
//! **When.** Apache 1.3 and its successor's prefork, most mail servers (postfix keeps each of its processes
//! for a hundred connections), and what runs below every program in a language whose interpreter has one
//! thread.
//!
//! **What it costs.** Nothing is created or ended for a connection, so a short one costs little more than its
//! system calls. But no more connections are served at a time than there are processes: one that is open and
//! idle keeps a whole process, and when all are kept, others wait in the listener's queue. `--pool N` says
//! how many there are.

use std::io;

use super::Architecture;
use super::blocking::{self, Live, Terms};
use super::crew::Crew;
use crate::site::{Count, Site};

pub(super) const ARCHITECTURE: Architecture = Architecture {
    name: "prefork",
    source: include_str!("prefork.rs"),
    blocking: true,
    workers: false,
    probe: || Ok(()),
    serve: super::on_unix(serve),
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

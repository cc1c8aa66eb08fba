//! A thread for every connection.
//!
//! **What it is.** One thread accepts. Each connection gets a thread of its own, which serves it with calls
//! that wait and ends with it. The program reads like a conversation with one client; the kernel does the
//! juggling.
//!
//! **When.** The usual server of the nineties wherever threads were cheap, and of Java until its event
//! interfaces came. Still what most database servers are, and the first thing to write when connections are
//! few.
//!
//! **What it costs.** Creating and ending a thread for every connection, some ten microseconds; a stack, of
//! which the pages that were touched stay for as long as the connection, and kernel memory of much the same
//! size; a switch to another thread for every piece of input. Ten thousand idle connections are ten thousand
//! stacks.

use std::io;
use std::thread::Builder;

use super::Architecture;
use super::blocking::{self, Registry, STACK_BYTES, Terms};
use crate::site::{Count, Site};

pub(super) const ARCHITECTURE: Architecture = Architecture {
    name: "thread",
    source: include_str!("thread.rs"),
    blocking: true,
    workers: false,
    probe: || Ok(()),
    serve: super::on_unix(serve),
};

fn serve(site: &Site) -> io::Result<()> {
    let registry = Registry::default();
    std::thread::scope(|scope| {
        let mut outcome = Ok(());
        while outcome.is_ok() && !site.stop.is_ordered() {
            outcome = blocking::accept(site, &site.tally).map(|connection| {
                let Some(connection) = connection else { return };
                if registry.len() >= site.limits.connections {
                    return blocking::refuse(&site.tally, connection);
                }
                let registered = registry.enter(&site.tally, connection);
                let work = move || blocking::serve(Terms::of(site, &site.tally), &registered.live);
                // Where no thread can be had, what it was given is dropped, and the connection closed with
                // it.
                if Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, work).is_err() {
                    site.tally.add(Count::Refused, 1);
                    blocking::exhausted(&site.tally);
                }
            });
        }
        site.refuse_more();
        registry.end(site.limits.grace);
        outcome
    })
}

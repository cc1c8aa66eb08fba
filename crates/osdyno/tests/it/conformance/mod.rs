//! Every architecture with every service and every client of it: one table, through the program, from outside.
//!
//! A server is started for each pair of architecture and service; the checks follow one another on it, then
//! the clients of the load generator, and at its end its counters are compared with those of the clients. The
//! pairs are computed from the lists of `net`; a service without a row of checks here fails.
#![cfg(target_os = "linux")]

mod busy;
mod case;
mod clients;
mod echo;
mod http;
mod smtp;

use std::path::Path;

use net::arch::{ALL, Architecture, ServedBy};

use self::case::{Book, Case, POOL, Row};
use crate::common;
use crate::common::everywhere::{architectures, each};
use crate::common::served::{Ended, Served};
use crate::common::until;

/// Pairs that are at work at the same time.
const AT_ONCE: usize = 4;

/// The checks of each service.
const ROWS: &[Row] = &[busy::ROW, echo::ROW, http::ROW, smtp::ROW];

/// Services that no client of the load generator speaks to: their server speaks first and goes on, and one
/// request has several replies. The delivery engine does (`crates/mail`).
const WITHOUT_CLIENT: &[&str] = &["smtp"];

#[test]
fn every_service_has_a_row_and_a_client() {
    for service in net::service::ALL {
        let name = service.name;
        assert!(
            ROWS.iter().any(|row| row.service == name),
            "crates/osdyno/tests/conformance has no row for {name}: make {name}.rs"
        );
        let has_client = net::client::ALL.iter().any(|client| client.service == name);
        assert_ne!(has_client, WITHOUT_CLIENT.contains(&name), "whether a client speaks to {name}");
    }
    for client in net::client::ALL {
        assert!(net::service::find(client.service).is_ok(), "{} speaks to {}", client.name, client.service);
    }
    for row in ROWS {
        assert!(net::service::find(row.service).is_ok(), "a row for {}, which is no service", row.service);
    }
}

#[test]
fn every_architecture_serves_every_service() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    std::fs::create_dir(&root).unwrap();
    ROWS.iter().for_each(|row| (row.prepare)(&root));
    let pairs = architectures().flat_map(|architecture| {
        ROWS.iter().map(move |row| (format!("{} × {}", architecture.name, row.service), (architecture, row)))
    });
    each(AT_ONCE, pairs.collect(), |(architecture, row)| conform(architecture, row, &root));
}

/// What cannot run here says why; and here that is what other systems have, or what this kernel was built
/// without.
#[test]
fn what_is_unsupported_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let mut unsupported = Vec::new();
    for architecture in ALL {
        let Some(reason) = architecture.unavailable_reason() else { continue };
        println!("unsupported: {}: {reason}", architecture.name);
        unsupported.push(architecture.name);
        let words = ["serve", "--arch", architecture.name, "--listen", "127.0.0.1:0"];
        let output = common::run(folder.path(), &words);
        let errors = common::text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{}: {errors}", architecture.name);
        assert!(errors.contains(&format!("{} is unsupported here: {reason}", architecture.name)), "{errors}");
    }
    let elsewhere = ["kqueue", "devpoll", "event-ports", "iocp"];
    let by_kernel: Vec<_> = unsupported.iter().filter(|name| !elsewhere.contains(name)).collect();
    assert!(elsewhere.iter().all(|name| unsupported.contains(name)), "{unsupported:?}");
    assert!(by_kernel.iter().all(|name| **name == "uring"), "{unsupported:?}");
}

fn conform(architecture: &'static Architecture, row: &Row, root: &Path) {
    let service = row.service;
    let pool = POOL.to_string();
    let words = ["--arch", architecture.name, "--service", service, "--pool", &pool];
    let served = Served::start(root, &words);
    let mut case = Case { architecture, served: &served, book: Book::default() };
    // Whatever is opened once for good is open now.
    (row.first_use)(&mut case);
    let settled = || (served.processes().len(), served.descriptors());
    until("the first connections have ended", || served.counter("ended") == served.counter("accepted"));
    let before = settled();
    for (name, check) in row.checks {
        println!("{} × {service}: {name}", architecture.name);
        check(&mut case);
    }
    for client in net::client::ALL.iter().filter(|client| client.service == service) {
        println!("{} × {service} × client {}", architecture.name, client.name);
        clients::load(&mut case, row, client);
    }
    until("all connections have ended", || served.counter("ended") == case.book.connections);
    // Each process of a pool keeps files open that it was asked for; three are there.
    let kept = if architecture.served_by == ServedBy::PooledProcess { 2 * 3 * POOL } else { 0 };
    until(&format!("no descriptor and no process is left over: {before:?}, {:?}", settled()), || {
        let (processes, descriptors) = settled();
        processes == before.0 && (before.1..=before.1 + kept).contains(&descriptors)
    });
    println!("{} × {service}: stop", architecture.name);
    (row.stop)(&mut case);
    let book = case.book;
    agree(&served.end(), &book);
}

/// Counters of server and clients agree. What an echo counts as a response depends on how its input was cut.
fn agree(ended: &Ended, book: &Book) {
    let accepted = ended.count("accepted");
    assert_eq!(ended.count("ended"), accepted, "{ended:?}");
    assert!((book.connections..=book.connections + book.late).contains(&accepted), "{ended:?}");
    let bytes = ["received_bytes", "sent_bytes"].map(|name| ended.count(name));
    assert_eq!(bytes, [book.sent_bytes, book.received_bytes], "received, sent: {ended:?}");
    if book.responses > 0 {
        assert_eq!(ended.count("responses"), book.responses, "{ended:?}");
    }
    for name in ["refused", "broken", "slow", "exhausted", "restarts"] {
        assert_eq!(ended.count(name), 0, "{name}: {ended:?}");
    }
    assert_eq!(ended.open, 0, "{ended:?}");
    assert!(ended.peak > 0 && ended.peak <= ended.count("accepted"), "{ended:?}");
}

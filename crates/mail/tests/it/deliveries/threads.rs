//! Several engines that share a list.

use std::collections::HashMap;
use std::net::IpAddr;
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mail::{DeliveryEnding, DeliveryPlan, EngineSettings, MailError, Mode, QueueSettings, Recipients};

use net::load::Sources;

use super::server::Server;
use super::{Full, Kept, generated, settings};

/// Seven connections at most, which three threads cannot divide evenly.
fn plan(stop: &AtomicBool) -> DeliveryPlan<'_> {
    DeliveryPlan {
        interface: "poll",
        threads: NonZero::<u32>::MIN.saturating_add(2),
        connections: 7,
        connections_per_source: 100,
        // Longer than any of these takes; the rest then shows as queued.
        duration: Duration::from_secs(120),
        grace: Duration::from_secs(5),
        stop,
    }
}

#[test]
fn every_recipient_ends_once_and_limits_hold_for_all_threads_together() {
    let addresses: Vec<String> = (0..900)
        .map(|user| format!("user{user}@domain{}.test", user % 10))
        .chain(["broken".to_owned()])
        .collect();
    let list = Recipients::from_addresses(addresses.iter().map(String::as_str));
    for (connections_per_host, connections_max) in [(100, 7), (4, 4), (1, 1)] {
        // The engine closes a connection, and opens another, after the reply to QUIT.
        let connections = Arc::new(Mutex::new((0, 0)));
        let counted = connections.clone();
        let server = Server::start(move |command| {
            let mut counted = counted.lock().expect("no other thread has panicked here");
            let (open, most) = &mut *counted;
            match command {
                "CONNECT" => (*open, *most) = (*open + 1, (*most).max(*open + 1)),
                "QUIT" => *open -= 1,
                _ => {}
            }
            let is_refused = command.starts_with("RCPT") && command.contains("user7@");
            Some(if is_refused { "550 5.1.1 no such user".to_owned() } else { String::new() })
        });
        let settings = settings(&server, Mode::Test);
        let queue = QueueSettings { connections_per_host, ..settings.queue };
        let (kept, stop, mut begun) = (Kept::default(), AtomicBool::new(false), 0);
        let settings = EngineSettings { queue, ..settings };
        let delivered = mail::deliver(&list, &settings, kept.clone(), plan(&stop), || begun += 1).unwrap();
        assert_eq!(begun, 1);
        let counts = delivered.measured.counts;
        assert_eq!((counts.tested, counts.failed, counts.queued), (899, 2, 0));
        let (endings, _) = kept.endings(list.len());
        assert_eq!(endings[&DeliveryEnding::Tested], 899);
        assert_eq!(server.taken().tested.len(), 899);
        let (_, most) = *connections.lock().expect("no other thread has panicked here");
        assert!((1..=connections_max).contains(&most), "{most} connections");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn no_source_has_more_connections_than_it_may() {
    let peers = Arc::new(Mutex::new(HashMap::<IpAddr, (usize, usize)>::new()));
    let counted = peers.clone();
    let server = Server::start_with_peers(move |peer, command| {
        let mut counted = counted.lock().expect("no other thread has panicked here");
        let (open, most) = counted.entry(peer).or_default();
        match command {
            "CONNECT" => (*open, *most) = (*open + 1, (*most).max(*open + 1)),
            "QUIT" => *open -= 1,
            _ => {}
        }
        Some(String::new())
    });
    let (list, stop) = (generated(600, 20), AtomicBool::new(false));
    let sources = Sources::parse("127.0.0.2,127.0.0.3").unwrap();
    let settings = EngineSettings { sources, ..settings(&server, Mode::Test) };
    let plan = DeliveryPlan { connections_per_source: 2, ..plan(&stop) };
    let delivered = mail::deliver(&list, &settings, Kept::default(), plan, || {}).unwrap();
    assert_eq!(delivered.measured.counts.tested, 600);
    let peers = peers.lock().expect("no other thread has panicked here");
    assert_eq!(peers.len(), 2);
    assert!(peers.values().all(|&(open, most)| open == 0 && most <= 2), "{peers:?}");
}

#[test]
fn an_engine_that_fails_stops_the_others() {
    let (list, server, stop) =
        (generated(2000, 50), Server::start(|_| Some(String::new())), AtomicBool::new(false));
    let failed = mail::deliver(&list, &settings(&server, Mode::Test), Full, plan(&stop), || {});
    assert!(failed.unwrap_err().to_string().contains("write results"));
    assert!(stop.load(Ordering::Relaxed));
    assert!(server.taken().tested.len() < 2000);
}

#[test]
fn what_cannot_begin_is_an_error_before() {
    let (list, server, stop) =
        (generated(10, 2), Server::start(|_| Some(String::new())), AtomicBool::new(false));
    let plan = DeliveryPlan { interface: "carrier pigeon", ..plan(&stop) };
    let failed = mail::deliver(&list, &settings(&server, Mode::Test), Kept::default(), plan, || {
        panic!("nothing has begun");
    });
    assert!(matches!(failed, Err(MailError::NoInterface(_))));
}

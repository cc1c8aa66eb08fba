//! Several engines that share a list.

use std::io;
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mail::{
    DeliveryEnding, DeliveryPlan, DeliveryResult, EngineSettings, MailError, Mode, QueueSettings, Recipients,
    Results,
};

use super::server::Server;
use super::{Kept, generated, settings};

/// Seven connections at most, which three threads cannot divide evenly.
fn plan(stop: &AtomicBool) -> DeliveryPlan<'_> {
    DeliveryPlan {
        interface: "poll",
        threads: NonZero::<u32>::MIN.saturating_add(2),
        connections: 7,
        // Longer than any of these takes; what is left then is seen as queued.
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
    let list = Recipients::of(addresses.iter().map(String::as_str));
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
        assert_eq!((counts.delivered, counts.failed, counts.queued), (899, 2, 0));
        let (endings, _) = kept.endings(list.len());
        assert_eq!(endings[&DeliveryEnding::Delivered], 899);
        assert_eq!(server.taken().tested.len(), 899);
        let (_, most) = *connections.lock().expect("no other thread has panicked here");
        assert!((1..=connections_max).contains(&most), "{most} connections");
    }
}

#[test]
fn an_engine_that_fails_stops_the_others() {
    struct Full;
    impl Results for Full {
        fn put(&mut self, _: &DeliveryResult<'_>) -> io::Result<()> {
            Err(io::ErrorKind::StorageFull.into())
        }
    }
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

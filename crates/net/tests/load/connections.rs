//! The source addresses of connections, and their lifetimes.

use std::time::Duration;

use net::load::{Generator, Load, LoadSettings, OffersLoad, Sources, closed_loop, unwatched};

use crate::server::{OK, http, ms, offer, ok, serve};

#[test]
fn a_new_connection_for_every_request() {
    let server = serve(|_| Some(OK.to_vec()));
    // This server does not look at `Connection: close`, so it is the client's limit that closes.
    let settings = LoadSettings { requests_per_connection: Some(1), ..http(server.address) };
    let load = Load { requests: Some(300), duration: Duration::from_secs(20), ..closed_loop(3, ms(1)) };
    let level = offer(settings, &load);
    assert_eq!((level.requests.completed, level.requests.failed), (300, 0));
    assert_eq!(server.requests(), 300);
    assert!((300..=303).contains(&server.connections()), "{}", server.connections());
}

#[test]
fn connections_come_from_many_addresses() {
    let server = serve(ok);
    let sources = Sources::parse("127.0.0.2-127.0.0.6,127.0.9.0/30").unwrap();
    let settings = LoadSettings { sources, idle: 5, ..http(server.address) };
    let level = offer(settings, &closed_loop(9, ms(100)));
    assert!(level.requests.completed > 0);
    assert_eq!(level.connections, 9);
    assert_eq!(server.sources.lock().unwrap().len(), 7);
    assert_eq!(server.connections(), 14, "nine that ask, and five that are silent");
}

#[test]
fn connections_stay_while_levels_rise() {
    let server = serve(ok);
    let mut generator = Generator::new(http(server.address)).unwrap();
    for connections in [1, 20, 5, 40] {
        let grown = generator.grow_to(connections).unwrap();
        assert_eq!((grown.connections, generator.connections()), (connections, connections));
        let requests = 4 * connections as u64;
        let load = Load {
            requests: Some(requests),
            duration: Duration::from_secs(20),
            ..closed_loop(connections, ms(1))
        };
        let level = generator.offer(&load, &mut unwatched).unwrap();
        assert_eq!(
            (level.connections, level.requests.completed, level.requests.failed),
            (connections, requests, 0)
        );
    }
    // 20, fifteen of them closed, and 35 more.
    assert_eq!(server.connections(), 55);
    let before = server.requests();
    for number in [0, 39, 17] {
        assert!(generator.ask_once(number).unwrap() < Duration::from_secs(5));
    }
    assert_eq!(server.requests(), before + 3);
    assert!(generator.ask_once(40).is_err());
}

//! The ends of connections and of loads: the side that closes, and the number of requests sent by then.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::serve_over_tls;
use crate::common::{run, run_well, text};
use crate::identity::{Identity, Signed, Validity};

/// A web server that has this to say on each connection, and counts the requests of each.
fn server_of_connections(
    talk: impl Fn(&mut TcpStream, &mut dyn FnMut()) + Send + Sync + 'static,
) -> (SocketAddr, Arc<Mutex<Vec<usize>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let counts = Arc::new(Mutex::new(Vec::new()));
    let (counter, talk) = (Arc::clone(&counts), Arc::new(talk));
    std::thread::spawn(move || {
        for (place, stream) in listener.incoming().enumerate() {
            let mut stream = stream.expect("a connection");
            let (counter, talk) = (Arc::clone(&counter), Arc::clone(&talk));
            counter.lock().expect("counts").push(0);
            std::thread::spawn(move || {
                talk(&mut stream, &mut || counter.lock().expect("counts")[place] += 1)
            });
        }
    });
    (address, counts)
}

/// Calls this for every request that comes, until it is false or the client closes.
fn each_request(stream: &mut TcpStream, mut respond: impl FnMut(&mut TcpStream) -> bool) {
    let (mut received, mut piece) = (Vec::new(), [0; 4096]);
    while let Ok(read @ 1..) = stream.read(&mut piece) {
        received.extend_from_slice(&piece[..read]);
        while let Some(end) = received.windows(4).position(|four| four == b"\r\n\r\n") {
            received.drain(..end + 4);
            if !respond(stream) {
                return;
            }
        }
    }
}

const GOOD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const LAST: &[u8] = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok";

#[test]
fn a_connection_that_the_server_does_not_close_as_announced_is_closed() {
    let folder = tempfile::tempdir().expect("a folder");
    let (address, _) = server_of_connections(|stream, count| {
        each_request(stream, |stream| {
            count();
            stream.write_all(LAST).is_ok()
        });
    });
    let url = format!("http://{address}/");
    for way in [&[][..], &["--new-connections"]] {
        let out =
            run_well(folder.path(), &[&["load", "-c", "2", "-n", "10", "-d", "8s", &url], way].concat());
        assert!(out.contains("10 correct") && out.contains("left open"), "{way:?}: {out}");
        assert!(out.contains("announces that it closes the connection, and leaves it open"), "{out}");
    }
}

#[test]
fn as_many_requests_are_sent_as_were_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    for (words, expected) in [
        (&["-n", "11", "-c", "1", "--pipeline", "4"][..], 11),
        (&["-n", "11", "-c", "3", "--pipeline", "5"], 11),
        (&["-n", "2", "-c", "1", "--pipeline", "3"], 2),
        (&["-n", "20", "-c", "1", "--pipeline", "4", "--per-connection", "6"], 20),
    ] {
        let (address, counts) = server_of_connections(|stream, count| {
            each_request(stream, |stream| {
                count();
                stream.write_all(GOOD).is_ok()
            });
        });
        let url = format!("http://{address}/");
        let out = run_well(folder.path(), &[&["load", "-d", "20s", &url], words].concat());
        assert!(
            out.contains(&format!("{expected} correct")) && out.contains("none failed"),
            "{words:?}: {out}"
        );
        let counts = counts.lock().expect("counts").clone();
        assert_eq!(counts.iter().sum::<usize>(), expected, "{words:?}");
        let most = if words.contains(&"--per-connection") { 6 } else { expected };
        assert!(counts.iter().all(|&count| count <= most), "{words:?}: {counts:?}");
    }
}

#[test]
fn a_server_that_closes_unannounced_is_told_with_what_to_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let (address, _) = server_of_connections(|stream, _| {
        let mut served = 0;
        each_request(stream, |stream| {
            served += 1;
            served <= 3 && stream.write_all(GOOD).is_ok()
        });
    });
    let out = run(folder.path(), &["load", "-c", "2", "-n", "100", &format!("http://{address}/")]);
    let out = text(&out.stdout);
    assert!(out.contains("closed early") || out.contains("ECONNRESET"), "{out}");
    assert!(out.contains("closes connections without an announcement"), "{out}");
    assert!(out.contains("--per-connection N"), "{out}");
}

#[test]
fn a_server_that_demands_a_certificate_is_named_as_such() {
    let folder = tempfile::tempdir().expect("a folder");
    for version in [&rustls::version::TLS13, &rustls::version::TLS12] {
        let by_itself = Signed::ByItself { is_authority: true };
        let identity = Identity::new(&["localhost"], Validity::Now, by_itself);
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("https://{}/", listener.local_addr().expect("an address"));
        serve_over_tls(listener, identity.demanding(&[version]));
        let output = run(folder.path(), &["load", "-k", "-c", "2", "-n", "4", "-d", "5", &url]);
        let out = text(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{out}");
        assert!(out.contains("a certificate of its clients (mutual TLS)"), "{version:?}: {out}");
    }
}

/// A repeated level would meet the same bad luck again.
#[test]
fn each_level_has_arrivals_of_its_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let (address, _) = super::server();
    let url = format!("http://{address}/");
    let words = ["load", "-r", "400,400,400", "-d", "500ms", "--format", "json", &url];
    let intended = || {
        let out = super::json(&run_well(folder.path(), &words));
        let levels = out["levels"].as_array().expect("levels").clone();
        levels.iter().map(|level| level["intended"].as_u64().expect("a count")).collect::<Vec<_>>()
    };
    let first = intended();
    assert!(first[0] != first[1] || first[1] != first[2], "{first:?}");
    std::thread::sleep(Duration::from_millis(10));
    assert_eq!(intended(), first, "the seed decides");
}

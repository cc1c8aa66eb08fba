//! One rule for all architectures: how long a client may take, and what it hears when a server gives up.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use net::service::ServiceSettings;
use net::service::http::HttpSettings;
use net::worker::{Counter, Limits};

use crate::server::{MUCH, Server, each_and_threads, much};

const GET: &[u8] = b"GET /file HTTP/1.1\r\nHost: h\r\n\r\n";

fn site() -> (tempfile::TempDir, Arc<dyn net::service::OpenService>) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), vec![b'x'; 200_000]).unwrap();
    let settings = HttpSettings { root: folder.path().to_owned(), ..HttpSettings::default() };
    let service = settings.open(false).unwrap();
    (folder, service)
}

/// The server answers before the upload has come, and reads on: a close would be a reset, which can destroy
/// the answer (RFC 9112, section 9.6).
#[test]
fn a_large_upload_hears_why_it_is_refused() {
    each_and_threads(|architecture| {
        let (_folder, service) = site();
        let server = Server::start(architecture, service, Limits::default());
        let mut client = server.connect();
        let bytes = 20 << 20;
        write!(client, "POST /file HTTP/1.1\r\nHost: h\r\nContent-Length: {bytes}\r\n\r\n").unwrap();
        let piece = vec![b'u'; 1 << 20];
        for _ in 0..bytes / piece.len() {
            client.write_all(&piece).unwrap_or_else(|error| panic!("{}: {error}", architecture.name));
        }
        let mut heard = String::new();
        client.read_to_string(&mut heard).unwrap();
        assert!(heard.starts_with("HTTP/1.1 405 "), "{}: {heard:?}", architecture.name);
        drop(client);
        server.until(Counter::Ended, 1);
        server.end();
    });
}

#[test]
fn a_client_that_takes_nothing_is_given_up_in_time() {
    let send = Duration::from_millis(1000);
    each_and_threads(|architecture| {
        let server = Server::of_lines(architecture, Limits { send, ..Limits::default() });
        let mut deaf = server.connect();
        deaf.write_all(b"file\n").unwrap();
        let begin = Instant::now();
        server.until(Counter::Slow, 1);
        let took = begin.elapsed();
        assert!(took >= send && took < send * 5 / 2, "{}: {took:?}", architecture.name);
        server.until(Counter::Ended, 1);
        server.end();
    });
}

/// It acknowledges something within every limit, but takes many limits for the whole.
#[test]
fn a_client_that_reads_slowly_gets_everything() {
    let send = Duration::from_millis(1000);
    each_and_threads(|architecture| {
        let server = Server::of_lines(architecture, Limits { send, ..Limits::default() });
        for request in ["file\n", "shared\n"] {
            let mut client = server.connect();
            client.write_all(request.as_bytes()).unwrap();
            let mut heard = vec![0; MUCH];
            let (begin, mut at) = (Instant::now(), 0);
            while begin.elapsed() < send * 4 {
                at += client.read(&mut heard[at..at + (150 << 10)]).unwrap();
                std::thread::sleep(Duration::from_millis(200));
            }
            client
                .read_exact(&mut heard[at..])
                .unwrap_or_else(|error| panic!("{}: {error}", architecture.name));
            assert!(heard == much()[..], "{}", architecture.name);
        }
        assert_eq!(server.end()[Counter::Slow as usize], 0);
    });
}

/// The length was announced by what the file was up to a second ago. What there still is leaves, and then the
/// connection ends: the client sees a body that is too short, never a close instead of an answer.
#[test]
fn a_file_that_became_shorter_is_a_body_that_is_too_short() {
    each_and_threads(|architecture| {
        let (folder, service) = site();
        let server = Server::start(architecture, service, Limits::default());
        for _ in 0..20 {
            let path = folder.path().join("file");
            std::fs::write(&path, vec![b'x'; 200_000]).unwrap();
            // Long enough ago to be kept, and in a new second.
            std::thread::sleep(Duration::from_millis(1100));
            let mut client = server.connect();
            client.write_all(GET).unwrap();
            while client.read(&mut [0; 65_536]).unwrap() == 65_536 {}
            File::options().write(true).open(&path).unwrap().set_len(5000).unwrap();
            let mut client = server.connect();
            client.write_all(GET).unwrap();
            let _ = client.shutdown(std::net::Shutdown::Write);
            let mut heard = Vec::new();
            let end = client.read_to_end(&mut heard);
            assert!(end.as_ref().map_err(|error| error.kind()) != Err(ErrorKind::ConnectionReset), "{end:?}");
            let head = heard.windows(4).position(|window| window == b"\r\n\r\n");
            let head = head.unwrap_or_else(|| panic!("{}: {} bytes", architecture.name, heard.len())) + 4;
            assert_eq!(heard.len() - head, 5000, "{}", architecture.name);
            let text = String::from_utf8_lossy(&heard[..head]);
            // In another second the file was looked at again.
            if text.contains("Content-Length: 200000") {
                server.end();
                return;
            }
        }
        panic!("{}: never asked within the second", architecture.name);
    });
}

//! Paths to files that must not be read, and a file that changes while it is read.

use std::fs::File;
use std::time::Duration;

use super::{SECRET, SMALL, refused};
use crate::common::served::Served;
use crate::common::text;
use crate::common::wire::{Response, Wire, get, get_and_close};

/// Paths to files that must not be read, and the right responses.
const PATHS: &[(&str, &[u16])] = &[
    ("/../secret", &[400]),
    ("/folder/../../secret", &[400]),
    ("/%2e%2e/secret", &[400]),
    ("/%2E%2e/%2e./secret", &[400]),
    ("/folder/..%2f..%2fsecret", &[400]),
    ("/..%5csecret", &[400]),
    ("/..\\secret", &[400]),
    ("/folder/%2e%2e%2f%2e%2e%2fsecret", &[400]),
    ("http://test/../secret", &[400]),
    ("/index.html%00.png", &[400]),
    ("/%00", &[400]),
    ("/%", &[400]),
    ("/%2", &[400]),
    ("/%zz", &[400]),
    ("../secret", &[400]),
    ("secret", &[400]),
    ("file:///etc/passwd", &[400]),
    // Decoded once and not twice.
    ("/%252e%252e/secret", &[404]),
    ("/%25%32%65%25%32%65/secret", &[404]),
    // Not the shortest form of a dot, hence none.
    ("/%c0%ae%c0%ae/secret", &[404]),
    ("//etc/passwd", &[404]),
    ("///../secret", &[400]),
    ("/absolute", &[403, 404]),
    ("/relative", &[403, 404]),
    ("/folder/out/secret", &[403, 404]),
    ("/folder/out/", &[403, 404]),
    ("/magic", &[403, 404]),
    ("/endless", &[403, 404]),
    ("/loop", &[403, 404]),
    ("/a", &[403, 404]),
    ("/pipe", &[403, 404]),
    ("/socket", &[403, 404]),
    ("/zero", &[403, 404]),
    ("/.htpasswd", &[403, 404]),
    ("/%2ehtpasswd", &[403, 404]),
    ("/./.htpasswd", &[403, 404]),
    ("/folder/", &[403]),
    ("/index.html/", &[404]),
    ("/index.html/more", &[404]),
];

pub(crate) fn paths(served: &Served) {
    for (path, right) in PATHS {
        for request in [get_and_close(path), format!("GET {path} HTTP/1.0\r\n\r\n")] {
            expect_status(&refused(served, &request), right, path);
        }
    }
    // A name, and a path, longer than the system has them.
    for path in [format!("/{}", "n".repeat(300)), "/n".repeat(3000), format!("/{}", "folder/".repeat(1200))] {
        expect_status(&refused(served, get_and_close(&path)), &[404, 414], &path[..20]);
    }
    // Where the path ends, nothing else begins.
    for path in ["/?../secret", "/index.html?%00", "/index.html?a=/../.."] {
        assert_eq!(refused(served, get_and_close(path)).body, SMALL, "{path}");
    }
}

fn expect_status(response: &Response, right: &[u16], what: &str) {
    assert!(right.contains(&response.status), "{what:?}: {}", response.head);
    let tells = response.body.windows(SECRET.len()).any(|window| window == SECRET);
    assert!(!tells && !text(&response.body).contains("root:"), "{what:?} tells what is outside");
}

/// A file that is kept open, and not in memory.
pub(crate) const LONG: usize = 200_000;

/// The length was announced by what the file was up to a second ago. What there still is leaves, and then the
/// connection ends: the client sees a body that is too short, never a close instead of a response.
pub(crate) fn shrinking_files(served: &Served) {
    const SHORT: usize = 5000;
    let path = served.folder.join("shrinks");
    for _ in 0..20 {
        std::fs::write(&path, vec![b'x'; LONG]).unwrap();
        // Long enough ago to be kept, and in a new second.
        std::thread::sleep(Duration::from_millis(1100));
        // The same connection twice: where each has a process, only that one keeps the file.
        let mut wire = Wire::connect(served.address);
        wire.send(get("/shrinks"));
        assert_eq!(wire.response().body.len(), LONG);
        File::options().write(true).open(&path).unwrap().set_len(SHORT as u64).unwrap();
        wire.send(get("/shrinks"));
        let head = wire.head();
        if head.field("content-length") == Some(&LONG.to_string()) {
            assert_eq!(wire.rest().len(), SHORT);
            return;
        }
        // In another second the file was looked at again.
        assert_eq!(wire.take(SHORT).len(), SHORT);
    }
    panic!("never asked within the second");
}

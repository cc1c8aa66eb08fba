//! Any bytes from a client of the service `http`, in pieces of any size: no panic, the same responses as to
//! the whole at once, as many as are counted and logged, and every line of the log is printable.
//!
//! The first byte says how many follow that are lengths of pieces; the rest is what is sent.
#![no_main]

use std::sync::{Arc, OnceLock};

use libfuzzer_sys::fuzz_target;
use net::output::Output;
use net::service::http::HttpSettings;
use net::service::{Flow, OpenService, ServiceSettings};

fuzz_target!(|data: &[u8]| {
    let Some((&count, rest)) = data.split_first() else { return };
    let Some((lengths, stream)) = rest.split_at_checked(usize::from(count % 16)) else { return };
    let whole = converse(&[stream]);
    let mut pieces = Vec::new();
    let mut left = stream;
    for length in lengths {
        let (piece, further) = left.split_at(usize::from(*length).min(left.len()));
        pieces.push(piece);
        left = further;
    }
    pieces.push(left);
    assert_eq!(converse(&pieces), whole);
    assert_eq!(converse(&stream.chunks(1).collect::<Vec<_>>()), whole);
});

fn converse(pieces: &[&[u8]]) -> (String, String) {
    let mut session = machine().session(None);
    let mut output = Output::default();
    let mut flow = Flow::More;
    for piece in pieces {
        let now = session.on_input(piece, &mut output);
        assert!(flow == Flow::More || now != Flow::More, "an ended session goes on");
        flow = now;
    }
    let mut sent = Vec::with_capacity(1 << 20);
    output.fill(&mut sent).expect("files can be read");
    let sent = undated(String::from_utf8(sent).expect("all that is served is ASCII"), "Date: ", "\r\n");
    let log = String::from_utf8(std::mem::take(&mut output.log)).expect("the log is ASCII");
    assert!(log.bytes().all(|byte| byte == b'\n' || (b' '..=b'~').contains(&byte)));
    assert_eq!(log.lines().count() as u64, output.take_responses());
    (sent, undated(log, "- - [", "]"))
}

/// The text without the parts between these.
fn undated(text: String, begin: &str, end: &str) -> String {
    let mut parts = text.split(begin);
    let mut kept = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        kept.push_str(part.split_once(end).map_or(part, |(_, rest)| rest));
    }
    kept
}

/// A folder with a few files, for as long as the fuzzer runs.
fn machine() -> &'static Arc<dyn OpenService> {
    static MACHINE: OnceLock<Arc<dyn OpenService>> = OnceLock::new();
    MACHINE.get_or_init(|| {
        let folder = std::env::temp_dir().join("osdyno-fuzz-http");
        std::fs::create_dir_all(folder.join("d")).expect("a folder");
        for (name, content) in [("a", "0123456789"), ("a.gz", "zipped"), ("d/index.html", "<p>")] {
            std::fs::write(folder.join(name), content).expect("a file");
        }
        let settings = HttpSettings { root: folder, listing: true, head_bytes: 256 };
        settings.open(true).expect("the folder")
    })
}

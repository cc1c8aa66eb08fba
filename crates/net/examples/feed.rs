//! How long the service `http` takes for a request, without sockets: `cargo run --release --example feed -p
//! net`.
//!
//! Prints nanoseconds per request for files of several sizes and heads as wrk and a browser send them.

use std::hint::black_box;
use std::time::Instant;

use net::output::Output;
use net::service::ServiceSettings;
use net::service::http::HttpSettings;

const REQUESTS: u32 = 100_000;

/// The fastest counts, because other programs disturb the rest.
const ROUNDS: u32 = 20;

const BROWSER: &str = "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r\n\
    Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n\
    Accept-Language: en-US,en;q=0.5\r\nAccept-Encoding: gzip, deflate, br, zstd\r\nConnection: keep-alive\r\n\
    Upgrade-Insecure-Requests: 1\r\n\
    Sec-Fetch-Dest: document\r\nSec-Fetch-Mode: navigate\r\nPriority: u=0, i\r\n";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    for bytes in [590, 20_000, 200_000] {
        std::fs::write(folder.path().join(format!("{bytes}.html")), vec![b'x'; bytes])?;
    }
    let settings = HttpSettings { root: folder.path().to_owned(), ..HttpSettings::default() };
    let machine = settings.open(false)?;
    for (client, fields) in [("wrk", ""), ("browser", BROWSER)] {
        for bytes in [590, 20_000, 200_000] {
            let request = format!("GET /{bytes}.html HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n{fields}\r\n");
            let mut session = machine.session(None);
            let mut output = Output::default();
            // One output for each request, emptied as a connection that takes everything would.
            let mut chunk = Vec::with_capacity(1 << 20);
            let mut best_ns = u128::MAX;
            for _ in 0..ROUNDS {
                let start = Instant::now();
                for _ in 0..REQUESTS {
                    black_box(session.on_input(request.as_bytes(), &mut output));
                    if bytes > 590 {
                        output = Output::default();
                    } else {
                        chunk.clear();
                        output.fill(&mut chunk)?;
                    }
                }
                best_ns = best_ns.min(start.elapsed().as_nanos() / u128::from(REQUESTS));
            }
            println!("{client:8} {bytes:7} bytes  {best_ns:5} ns");
        }
    }
    Ok(())
}

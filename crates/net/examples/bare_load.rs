//! The lower bound of a load generator: a closed loop that sends the same request and counts the bytes of
//! responses, whose length it takes from the first. `benches/http.sh` measures it beside the generators;
//! their cost beyond it is that of their own work.
//!
//!     cargo run --release -p net --example bare_load -- epoll 127.0.0.1:8080 /FILE 50 SECONDS
//!
//! It prints the requests that were completed, and those of each second. `uring` in place of `epoll` hands
//! sends and receives to io_uring(7), many with one call.

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [events, address, path, count, seconds] = &words[..] else {
        return Err("bare_load epoll|uring ADDRESS PATH CONNECTIONS SECONDS".into());
    };
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n").into_bytes();
    let mut load = closed_loop::Load::open(address.parse()?, request, count.parse()?)?;
    let begun = std::time::Instant::now();
    let until = begun + std::time::Duration::from_secs_f64(seconds.parse()?);
    match events.as_str() {
        "epoll" => load.by_epoll(until)?,
        "uring" => load.by_uring(until)?,
        _ => return Err(format!("{events} is neither epoll nor uring").into()),
    }
    println!("{} {:.1}", load.completed, load.completed as f64 / begun.elapsed().as_secs_f64());
    Ok(())
}

#[cfg(target_os = "linux")]
mod closed_loop {
    use std::io;
    use std::net::SocketAddr;
    use std::os::fd::AsFd;
    use std::time::{Duration, Instant};

    use sys::event::{Epoll, Interest, Poller};
    use sys::ring::{Ring, RingSettings};
    use sys::tcp::{Connection, Waiting};

    pub(crate) struct Load {
        connections: Vec<Connection>,
        /// Bytes that each still waits for.
        missing: Vec<usize>,
        request: Vec<u8>,
        response_bytes: usize,
        pub(crate) completed: u64,
    }

    /// The end is checked at least this often.
    const PATIENCE: Duration = Duration::from_millis(100);
    /// The token of sends; receives have the number of their connection.
    const SENT: u64 = u64::MAX;

    impl Load {
        pub(crate) fn open(to: SocketAddr, request: Vec<u8>, count: usize) -> io::Result<Load> {
            let mut connections = Vec::with_capacity(count);
            for _ in 0..count {
                let connection = Connection::connect(to, None, Waiting::Blocking)?;
                connection.send_at_once()?;
                connections.push(connection);
            }
            let Some(first) = connections.first() else { return Err(io::ErrorKind::InvalidInput.into()) };
            first.send(&request)?;
            std::thread::sleep(PATIENCE);
            let response_bytes = first.receive(&mut vec![0; 1 << 20])?;
            Ok(Load {
                missing: vec![response_bytes; count],
                connections,
                request,
                response_bytes,
                completed: 0,
            })
        }

        pub(crate) fn by_epoll(&mut self, until: Instant) -> io::Result<()> {
            let mut epoll = Epoll::new()?;
            for (token, connection) in self.connections.iter().enumerate() {
                epoll.add(connection.as_fd(), token, Interest::Read)?;
                connection.send(&self.request)?;
            }
            let (mut events, mut input) = (Vec::new(), vec![0; 64 << 10]);
            while Instant::now() < until {
                epoll.wait(&mut events, Some(PATIENCE))?;
                for event in &events {
                    let received = self.connections[event.token].receive(&mut input)?;
                    if self.is_complete(event.token, received)? {
                        self.connections[event.token].send(&self.request)?;
                    }
                }
            }
            Ok(())
        }

        pub(crate) fn by_uring(&mut self, until: Instant) -> io::Result<()> {
            let mut ring = Ring::new(RingSettings::default())?;
            let mut requests = vec![self.request.clone(); self.connections.len()];
            for (number, connection) in self.connections.iter().enumerate() {
                ring.recv_multishot(connection.as_fd(), number as u64)?;
                ring.send(connection.as_fd(), requests.pop().unwrap_or_default(), SENT)?;
            }
            while Instant::now() < until {
                ring.wait(Some(PATIENCE))?;
                while let Some(completion) = ring.completion() {
                    let result = completion.result?;
                    if completion.token == SENT {
                        requests.extend(completion.returned);
                        continue;
                    }
                    let (number, more) = (completion.token as usize, completion.more);
                    let socket = self.connections[number].as_fd();
                    if !more {
                        ring.recv_multishot(socket, number as u64)?;
                    }
                    if self.is_complete(number, result as usize)? {
                        let request = requests.pop().unwrap_or_else(|| self.request.clone());
                        ring.send(self.connections[number].as_fd(), request, SENT)?;
                    }
                }
            }
            Ok(())
        }

        /// Whether the response of this connection has arrived.
        fn is_complete(&mut self, number: usize, received: usize) -> io::Result<bool> {
            if received == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let missing = &mut self.missing[number];
            *missing = missing.saturating_sub(received);
            let complete = *missing == 0;
            if complete {
                *missing = self.response_bytes;
                self.completed += 1;
            }
            Ok(complete)
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("there is neither epoll nor io_uring here");
}

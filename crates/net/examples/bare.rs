//! The lower bound of a web server: an epoll loop that sends the same bytes for any input. `benches/http.sh`
//! measures it beside the servers; their cost beyond it is that of their own work.
//!
//!     cargo run --release -p net --example bare -- 127.0.0.1:8080 FILE

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    use std::os::fd::AsFd;

    use sys::event::{Epoll, Interest, Poller};
    use sys::tcp::{Listener, Listening, Waiting};

    let mut words = std::env::args().skip(1);
    let (Some(address), Some(file)) = (words.next(), words.next()) else {
        return Err("bare ADDRESS FILE".into());
    };
    let body = std::fs::read(file)?;
    let mut response = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len()).into_bytes();
    response.extend_from_slice(&body);

    let listener = Listener::bind(address.parse()?, Listening::default())?;
    let mut epoll = Epoll::new()?;
    let mut connections = slab::Slab::new();
    const LISTENER: usize = u32::MAX as usize - 1;
    epoll.add(listener.as_fd(), LISTENER, Interest::Read)?;
    let (mut events, mut input) = (Vec::new(), vec![0; 64 << 10]);
    loop {
        epoll.wait(&mut events, None)?;
        for event in &events {
            if event.token == LISTENER {
                while let Ok(connection) = listener.accept(Waiting::NonBlocking) {
                    let entry = connections.vacant_entry();
                    epoll.add(connection.as_fd(), entry.key(), Interest::Read)?;
                    entry.insert(connection);
                }
                continue;
            }
            let Some(connection): Option<&sys::tcp::Connection> = connections.get(event.token) else {
                continue;
            };
            match connection.receive(&mut input) {
                Ok(1..) => drop(connection.send(&response)?),
                _ => drop(connections.remove(event.token)),
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("there is no epoll here");
}

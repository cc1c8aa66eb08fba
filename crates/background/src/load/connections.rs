//! Connections: a number of them stay open, and new ones replace the oldest.

use std::collections::VecDeque;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use sys::limit::{Resource, ceiling};
use sys::tcp::{Connection, Listener, Listening, Waiting};

use super::work::{Means, Work, failed};

/// A port of the server for so many connections: the ports of the client's side are used once for each.
const PER_LISTENER: u64 = 10_000;
/// What a connection takes: one descriptor for each of its ends.
const DESCRIPTORS: u64 = 2;
/// What is made at once at most, so that no step takes long.
const AT_ONCE: f64 = 1000.0;

pub(super) struct Connections {
    listeners: Vec<(Listener, SocketAddr)>,
    /// Both ends of each, the oldest first.
    open: VecDeque<(Connection, Connection)>,
    next: usize,
    made: u64,
}

impl Connections {
    pub(super) fn new(count: u64) -> Result<Connections, String> {
        // What cannot be raised is a limit as it stands.
        let _ = sys::limit::raise_soft_to_hard();
        if let Ok(bound) = ceiling(Resource::Descriptors)
            && count * DESCRIPTORS > bound.usable
        {
            return Err(format!(
                "{count} connections take {} descriptors, and {} is {}; {}",
                count * DESCRIPTORS,
                bound.limit,
                bound.value,
                bound.advice
            ));
        }
        let listen = || -> io::Result<(Listener, SocketAddr)> {
            let how = Listening { blocking: true, ..Listening::default() };
            let listener = Listener::bind((Ipv4Addr::LOCALHOST, 0).into(), how)?;
            let address = listener.address()?;
            Ok((listener, address))
        };
        let listeners = (0..count.div_ceil(PER_LISTENER)).map(|_| listen()).collect::<io::Result<_>>();
        let listeners = listeners.map_err(failed("listen on 127.0.0.1"))?;
        let mut connections = Connections { listeners, open: VecDeque::new(), next: 0, made: 0 };
        for made in 0..count {
            connections.make().map_err(failed(&format!("make connection {} of {count}", made + 1)))?;
        }
        connections.made = 0;
        Ok(connections)
    }

    fn make(&mut self) -> io::Result<()> {
        self.next = (self.next + 1) % self.listeners.len();
        let (listener, address) = &self.listeners[self.next];
        let client = Connection::connect(*address, None, Waiting::Blocking)?;
        // A port in TIME_WAIT would be one less for the next minute, also for what is measured.
        client.reset_on_close()?;
        let server = listener.accept(Waiting::Blocking)?;
        self.open.push_back((client, server));
        self.made += 1;
        Ok(())
    }
}

impl Work for Connections {
    fn work(&mut self, amount: f64) -> io::Result<()> {
        for _ in 0..amount.clamp(1.0, AT_ONCE) as u64 {
            self.open.pop_front();
            self.make()?;
        }
        Ok(())
    }

    fn counted(&mut self) -> io::Result<f64> {
        Ok(self.made as f64)
    }

    fn counted_of_system(&mut self) -> Option<f64> {
        sys::kernel_counter::connections_opened().ok().map(|opened| opened as f64)
    }

    fn holds(&mut self) -> Option<f64> {
        Some(self.open.len() as f64)
    }

    fn means(&self) -> Means {
        Means { grain: 1.0, counter: "", system_counter: "/proc/net/snmp ActiveOpens" }
    }
}

//! One process, one thread, and edge-triggered epoll(7): the kernel reports each change once.
//!
//! The server must continue until nothing is left, because it is not notified again. That saves the
//! kernel from checking a connection again, and costs the server one additional recv(2) per request,
//! which finds nothing. Leaving that call out after a short read would miss an end of input that came
//! together with the last bytes.
//!
//! Expected: as `epoll`, and no faster for small requests.

use super::{Architecture, ServedBy};
use crate::worker::Accept;

pub(super) const ARCHITECTURE: Architecture = Architecture {
    name: "epoll-et",
    source: record::page!("epoll_et.rs"),
    served_by: ServedBy::Loop,
    accepts: &Accept::ALL,
    probe: || Ok(()),
    serve: cfg_select! {
        target_os = "linux" => { Ok(super::reactor::serve::<sys::event::EpollEdge>) }
        _ => { Err("epoll exists only on Linux") }
    },
};

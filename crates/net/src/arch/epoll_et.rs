//! One process, one thread, and epoll(7) with edges: the kernel tells of a change once.
//!
//! Who is told must go on until nothing is left, for nobody reminds it. That spares the kernel from looking
//! at a connection again, and costs the server one recv(2) more for each request, which finds nothing;
//! leaving it out after a short one would miss an end of input that came together with the last bytes.
//!
//! Expected: as `epoll`, and no faster for small requests.

use super::Architecture;

pub(super) const ARCHITECTURE: Architecture = Architecture {
    name: "epoll-et",
    source: include_str!("epoll_et.rs"),
    blocking: false,
    workers: true,
    probe: || Ok(()),
    serve: cfg_select! {
        target_os = "linux" => { Ok(super::reactor::serve::<sys::event::EpollEdge>) }
        _ => { Err("epoll is an interface of Linux") }
    },
};

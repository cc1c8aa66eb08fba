//! The definition of an architecture, and its declaration.

use std::io;

use crate::worker::WorkerContext;

/// A way to serve many connections.
#[derive(Debug)]
pub struct Architecture {
    /// Name on the command line.
    pub name: &'static str,
    /// The text of its own file; its leading `//!` lines are the page.
    pub source: &'static str,
    /// Whether accept and the connections are to wait.
    pub blocking: bool,
    /// Whether several workers, each with a listener of its own, can share the port.
    pub workers: bool,
    /// Whether it can run here and now; an `Unsupported` error says why not.
    pub probe: fn() -> io::Result<()>,
    /// Serves until the order to stop, and then until the answers under way have left. Or why this system
    /// cannot have it.
    pub serve: Result<Serve, &'static str>,
}

/// What serves a worker.
pub type Serve = fn(&WorkerContext) -> io::Result<()>;

/// For what needs no more than sockets that are descriptors.
pub(super) const fn on_unix(serve: Serve) -> Result<Serve, &'static str> {
    cfg_select! {
        unix => { Ok(serve) }
        _ => { let _ = serve; Err("servers are not implemented on this system yet") }
    }
}

impl Architecture {
    /// The text that opens its file: what it is, when it was used, what it costs.
    pub fn page(&self) -> String {
        crate::page::page(self.source)
    }

    /// The page's first sentence.
    pub fn summary(&self) -> String {
        crate::page::summary(self.source)
    }

    /// Why it cannot run here, where it cannot.
    pub fn unavailable_reason(&self) -> Option<String> {
        match self.serve {
            Err(reason) => Some(reason.to_owned()),
            Ok(_) => (self.probe)().err().map(|error| error.to_string()),
        }
    }
}

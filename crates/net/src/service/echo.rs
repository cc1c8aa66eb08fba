//! Sends back everything that it receives, until the client has finished sending (RFC 862).
//!
//! This is the least that a server with persistent connections can do.

use std::net::SocketAddr;
use std::sync::Arc;

use super::{Flow, Machine, Service, Session, Stage};
use crate::output::Output;

pub(super) const SERVICE: Service =
    Service { name: "echo", source: include_str!("echo.rs"), open: |_| Ok(Arc::new(Echo)) };

struct Echo;

impl Machine for Echo {
    fn session(&self, _peer: Option<SocketAddr>) -> Box<dyn Session> {
        Box::new(Echo)
    }
}

impl Session for Echo {
    fn feed(&mut self, input: &[u8], output: &mut Output) -> Flow {
        output.bytes().extend_from_slice(input);
        output.answered();
        Flow::More
    }

    fn stage(&self) -> Stage {
        Stage::Idle
    }
}

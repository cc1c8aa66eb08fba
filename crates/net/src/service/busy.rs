//! Answers every connection with `450 too busy` and closes it.
//!
//! The server of the comparison of 2001: the least that a server can do, so that what is measured is the
//! architecture and nothing else. The line is what a mail server says that takes no more mail for now.

use std::net::SocketAddr;
use std::sync::Arc;

use super::{Flow, Machine, Service, Session, Stage};
use crate::output::Output;

pub(super) const SERVICE: Service =
    Service { name: "busy", source: include_str!("busy.rs"), open: |_| Ok(Arc::new(Busy)) };

/// What is said; a reply of SMTP (RFC 5321, section 4.2).
const ANSWER: &[u8] = b"450 too busy\r\n";

struct Busy;

impl Machine for Busy {
    fn session(&self, _peer: Option<SocketAddr>) -> Box<dyn Session> {
        Box::new(Busy)
    }
}

impl Session for Busy {
    fn begin(&mut self, output: &mut Output) -> Flow {
        output.bytes().extend_from_slice(ANSWER);
        output.answered();
        Flow::Close
    }

    fn feed(&mut self, _input: &[u8], _output: &mut Output) -> Flow {
        Flow::Close
    }

    fn stage(&self) -> Stage {
        Stage::Idle
    }
}

//! Answers every connection with `450 too busy` and closes it.
//!
//! This was the server of the comparison of 2001. It is the least that a server can do, so that the
//! architecture dominates the result. The line is the reply of a mail server that temporarily accepts no
//! mail.

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

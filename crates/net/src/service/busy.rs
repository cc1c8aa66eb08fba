//! Answers every connection with `450 too busy` and closes it.
//!
//! This was the server of the comparison of 2001. It is the least that a server can do, so that the
//! architecture dominates the result. The line is the reply of a mail server that temporarily accepts no
//! mail.

use std::net::SocketAddr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Flow, OpenService, ServiceSettings, Session, SessionStage};
use crate::Error;
use crate::output::Output;

/// There is nothing to choose.
#[derive(Clone, Copy, Debug, Default, clap::Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BusySettings {}

impl ServiceSettings for BusySettings {
    const NAME: &'static str = "busy";
    const SOURCE: &'static str = record::page!("busy.rs");

    fn open(&self, _access_log: bool) -> Result<Arc<dyn OpenService>, Error> {
        Ok(Arc::new(Busy))
    }
}

/// The line; a reply of SMTP (RFC 5321, section 4.2).
const RESPONSE: &[u8] = b"450 too busy\r\n";

struct Busy;

impl OpenService for Busy {
    fn session(&self, _peer: Option<SocketAddr>) -> Box<dyn Session> {
        Box::new(Busy)
    }
}

impl Session for Busy {
    fn begin(&mut self, output: &mut Output) -> Flow {
        output.bytes().extend_from_slice(RESPONSE);
        output.answered();
        Flow::Close
    }

    fn on_input(&mut self, _input: &[u8], _output: &mut Output) -> Flow {
        Flow::Close
    }

    fn stage(&self) -> SessionStage {
        SessionStage::Idle
    }
}

//! Sends back everything that it receives, until the client has finished sending (RFC 862).
//!
//! This is the least that a server with persistent connections can do.

use std::net::SocketAddr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Flow, OpenService, ServiceSettings, Session, SessionStage};
use crate::Error;
use crate::output::Output;

/// There is nothing to choose.
#[derive(Clone, Copy, Debug, Default, clap::Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EchoSettings {}

impl ServiceSettings for EchoSettings {
    const NAME: &'static str = "echo";
    const SOURCE: &'static str = record::page!("echo.rs");

    fn open(&self, _access_log: bool) -> Result<Arc<dyn OpenService>, Error> {
        Ok(Arc::new(Echo))
    }
}

struct Echo;

impl OpenService for Echo {
    fn session(&self, _peer: Option<SocketAddr>) -> Box<dyn Session> {
        Box::new(Echo)
    }
}

impl Session for Echo {
    fn on_input(&mut self, input: &[u8], output: &mut Output) -> Flow {
        output.bytes().extend_from_slice(input);
        output.answered();
        Flow::More
    }

    fn stage(&self) -> SessionStage {
        SessionStage::Idle
    }
}

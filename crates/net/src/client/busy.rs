//! Reads the line `450 too busy` and the close that follows it.
//!
//! The line is a reply of SMTP (RFC 5321, section 4.2): three digits, a space, a text. It is parsed, because
//! a server under load may send something else, and that counts as a failure.

use serde::{Deserialize, Serialize};

use super::{Client, ClientSettings, Received, ResponseError, ResponseState};
use crate::Error;

/// There is nothing to choose.
#[derive(Clone, Copy, Debug, Default, clap::Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BusyClientSettings {}

impl ClientSettings for BusyClientSettings {
    const NAME: &'static str = "busy";
    const SOURCE: &'static str = record::page!("busy.rs");
    const SERVICE: &'static str = "busy";

    type Client = BusyClient;

    fn open(&self) -> Result<BusyClient, Error> {
        Ok(BusyClient)
    }

    fn server_closes(&self) -> bool {
        true
    }
}

/// The client.
#[derive(Clone, Copy, Debug, Default)]
pub struct BusyClient;

/// The state of the line.
#[derive(Clone, Copy, Debug, Default)]
pub struct BusySession {
    /// Bytes so far.
    length: u16,
    /// The digits so far, as a number.
    code: u16,
    whole: bool,
}

/// The longest line, with its end (RFC 5321, section 4.5.3.1.5).
const LINE_MAX: u16 = 512;

/// "Mailbox unavailable": the reply of a busy server.
const EXPECTED: u16 = 450;

impl Client for BusyClient {
    type Session = BusySession;

    const SERVER_BEGINS: bool = true;

    fn session(&mut self) -> BusySession {
        BusySession::default()
    }

    fn request<'a>(&'a self, session: &'a mut BusySession) -> &'a [u8] {
        *session = BusySession::default();
        &[]
    }

    fn on_input(&mut self, session: &mut BusySession, input: &[u8]) -> Result<Received, ResponseError> {
        if session.whole && !input.is_empty() {
            return Err(ResponseError::Unasked);
        }
        for (index, &byte) in input.iter().enumerate() {
            match (session.length, byte) {
                (0..3, b'0'..=b'9') => session.code = session.code * 10 + u16::from(byte - b'0'),
                (0..3, _) => return Err(ResponseError::Malformed),
                (3, b' ') => {}
                (3, _) | (LINE_MAX.., _) => return Err(ResponseError::Malformed),
                (_, b'\n') => {
                    session.whole = true;
                    let wrong = (session.code != EXPECTED).then_some(ResponseError::Status(session.code));
                    return Ok(Received {
                        taken: index + 1,
                        state: ResponseState::Last,
                        error: wrong,
                        status: session.code,
                    });
                }
                _ => {}
            }
            session.length += 1;
        }
        Ok(Received::partial(input.len()))
    }

    fn end(&mut self, _session: &mut BusySession) -> Result<Received, ResponseError> {
        Err(ResponseError::Short)
    }
}

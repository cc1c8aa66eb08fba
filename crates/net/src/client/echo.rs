//! Sends bytes and receives the same bytes (RFC 862).
//!
//! Every request differs from the one before, so that a response to an earlier request is detected.

use serde::{Deserialize, Serialize};

use super::{Client, ClientSettings, Received, ResponseError, ResponseState};
use crate::Error;
use crate::options::count;

/// The settings of the requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::Args, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EchoClientSettings {
    /// Size of an echo request, in bytes
    #[arg(
        long,
        value_name = "N",
        default_value_t = EchoClientSettings::default().bytes,
        value_parser = count::<usize>()
    )]
    pub bytes: usize,
}

impl Default for EchoClientSettings {
    fn default() -> EchoClientSettings {
        EchoClientSettings { bytes: 64 }
    }
}

/// The least that both ends' buffers hold, so that neither waits for the other to read first.
const BYTES_MAX: usize = 64 << 10;

impl ClientSettings for EchoClientSettings {
    const NAME: &'static str = "echo";
    const SOURCE: &'static str = record::page!("echo.rs");
    const SERVICE: &'static str = "echo";

    type Client = EchoClient;

    fn open(&self) -> Result<EchoClient, Error> {
        if !(1..=BYTES_MAX).contains(&self.bytes) {
            return Err(Error::Settings(format!("an echo has from 1 to {BYTES_MAX} bytes")));
        }
        let mut random = fastrand::Rng::with_seed(862);
        let text = (0..self.bytes + WINDOWS).map(|_| random.u8(..)).collect();
        Ok(EchoClient { text, bytes: self.bytes })
    }
}

/// The client. Its bytes are always the same ones.
#[derive(Clone, Debug)]
pub struct EchoClient {
    /// Requests are windows into these bytes, each a byte further than the one before.
    text: Box<[u8]>,
    bytes: usize,
}

/// The state of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub struct EchoSession {
    asked: u32,
    answered: u32,
    /// Bytes of the present response that have come.
    came: usize,
}

/// So many different requests there are.
const WINDOWS: usize = 251;

impl EchoClient {
    fn window(&self, number: u32) -> &[u8] {
        let start = number as usize % WINDOWS;
        &self.text[start..start + self.bytes]
    }
}

impl Client for EchoClient {
    type Session = EchoSession;

    fn session(&mut self) -> EchoSession {
        EchoSession::default()
    }

    fn request<'a>(&'a self, session: &'a mut EchoSession) -> &'a [u8] {
        let number = session.asked;
        session.asked = session.asked.wrapping_add(1);
        self.window(number)
    }

    fn on_input(&mut self, session: &mut EchoSession, input: &[u8]) -> Result<Received, ResponseError> {
        if input.is_empty() {
            return Ok(Received::partial(0));
        }
        if session.asked == session.answered {
            return Err(ResponseError::Unasked);
        }
        let expected = &self.window(session.answered)[session.came..];
        let taken = expected.len().min(input.len());
        // The beginning of the next response would be unknown.
        if expected[..taken] != input[..taken] {
            return Err(ResponseError::Content);
        }
        if taken < expected.len() {
            session.came += taken;
            return Ok(Received::partial(taken));
        }
        session.came = 0;
        session.answered = session.answered.wrapping_add(1);
        Ok(Received { taken, state: ResponseState::Complete, error: None, status: 0 })
    }

    fn end(&mut self, _session: &mut EchoSession) -> Result<Received, ResponseError> {
        Err(ResponseError::Short)
    }
}

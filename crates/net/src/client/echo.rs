//! Sends bytes and has them back (RFC 862).
//!
//! Every request differs from the one before, so that an answer to an earlier one does not pass for its own.

use serde::{Deserialize, Serialize};

use super::{Answer, Client, Fed, Wrong};

/// What is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// Bytes of a request, at least 1.
    pub bytes: usize,
}

/// The client.
#[derive(Clone, Debug)]
pub struct Echo {
    /// Requests are windows into these bytes, each a byte further than the one before.
    text: Box<[u8]>,
    bytes: usize,
}

/// Where a connection stands.
#[derive(Clone, Copy, Debug, Default)]
pub struct Session {
    asked: u32,
    answered: u32,
    /// Bytes of the present answer that have come.
    came: usize,
}

/// So many different requests there are.
const WINDOWS: usize = 251;

impl Echo {
    /// A client whose bytes are always the same ones.
    pub fn new(settings: Settings) -> Echo {
        let bytes = settings.bytes.max(1);
        let mut random = fastrand::Rng::with_seed(862);
        let text = (0..bytes + WINDOWS).map(|_| random.u8(..)).collect();
        Echo { text, bytes }
    }

    fn window(&self, number: u32) -> &[u8] {
        let start = number as usize % WINDOWS;
        &self.text[start..start + self.bytes]
    }
}

impl Client for Echo {
    type Session = Session;

    fn session(&mut self) -> Session {
        Session::default()
    }

    fn request<'a>(&'a self, session: &'a mut Session) -> &'a [u8] {
        let number = session.asked;
        session.asked = session.asked.wrapping_add(1);
        self.window(number)
    }

    fn feed(&mut self, session: &mut Session, input: &[u8]) -> Result<Fed, Wrong> {
        if input.is_empty() {
            return Ok(Fed::partial(0));
        }
        if session.asked == session.answered {
            return Err(Wrong::Unasked);
        }
        let expected = &self.window(session.answered)[session.came..];
        let taken = expected.len().min(input.len());
        // Nothing tells where the next answer would begin.
        if expected[..taken] != input[..taken] {
            return Err(Wrong::Content);
        }
        if taken < expected.len() {
            session.came += taken;
            return Ok(Fed::partial(taken));
        }
        session.came = 0;
        session.answered = session.answered.wrapping_add(1);
        Ok(Fed { taken, answer: Answer::Whole, wrong: None })
    }

    fn end(&mut self, _session: &mut Session) -> Result<Fed, Wrong> {
        Err(Wrong::Short)
    }
}

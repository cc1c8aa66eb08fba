//! Protocols, the client's side: machines that say what to send and check what comes back, and never touch a
//! socket. A new client is a new file here, its `mod` line and its line in [`Ask`].

pub mod busy;
pub mod echo;
pub mod http;

use serde::{Deserialize, Serialize};

/// How a server is asked; what all connections of a generator share.
///
/// What belongs to one connection is its [`Client::Session`]: small, for there may be a hundred thousand.
pub trait Client {
    /// One connection's worth of asking. It holds no buffer while no answer is under way.
    type Session;

    /// Whether the server speaks first, and no request is sent.
    const SERVER_BEGINS: bool = false;

    /// A session for a new connection.
    fn session(&mut self) -> Self::Session;

    /// The next request, as it is to be sent. Empty where the server speaks first.
    fn request<'a>(&'a self, session: &'a mut Self::Session) -> &'a [u8];

    /// Takes input, cut anywhere, as the answer to the oldest request that has none yet. What follows a
    /// complete answer is left: it belongs to the next.
    ///
    /// # Errors
    /// What is wrong with the answer, where nothing can be understood after it; the connection must be
    /// closed.
    fn feed(&mut self, session: &mut Self::Session, input: &[u8]) -> Result<Fed, Wrong>;

    /// The server has closed the connection: whether that completes the answer.
    ///
    /// # Errors
    /// [`Wrong::Short`] in the middle of an answer.
    fn end(&mut self, session: &mut Self::Session) -> Result<Fed, Wrong>;
}

/// What came of some input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fed {
    /// Bytes that were taken: all of them while the answer is partial.
    pub taken: usize,
    /// How far the answer is.
    pub answer: Answer,
    /// What is wrong with a complete answer that was understood to its end, so that the connection is still
    /// good.
    pub wrong: Option<Wrong>,
}

impl Fed {
    fn partial(taken: usize) -> Fed {
        Fed { taken, answer: Answer::Partial, wrong: None }
    }
}

/// What is known of an answer so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// More has to come.
    Partial,
    /// It is complete, and another request may follow on the connection.
    Whole,
    /// It is complete, and the server will close, or has closed.
    Last,
}

/// What can be wrong with an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Wrong {
    /// It is none of the protocol.
    Malformed,
    /// The status is none of success.
    Status(u16),
    /// The body is not what it was the first time, or not what was sent.
    Content,
    /// The connection ended in the middle of it.
    Short,
    /// Something came that nobody had asked for.
    Unasked,
}

/// Which client, and what it asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// Wait for `450 …` and the close.
    Busy,
    /// Send bytes and have them back.
    Echo(echo::Settings),
    /// Ask a web server for files.
    Http(http::Settings),
}

impl Ask {
    /// The client's name on the command line.
    pub fn name(&self) -> &'static str {
        match self {
            Ask::Busy => "busy",
            Ask::Echo(_) => "echo",
            Ask::Http(_) => "http",
        }
    }

    /// Whether every request needs a connection of its own.
    pub fn closes(&self) -> bool {
        match self {
            Ask::Busy => true,
            Ask::Echo(_) => false,
            Ask::Http(settings) => settings.close,
        }
    }
}

//! What can keep a server or a generator from starting.

use std::io;

/// What was attempted, on what, and what came of it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No service, architecture or client of that name.
    #[error("no {kind} is called {name:?}; there are {known}")]
    Unknown {
        /// `service`, `architecture` or `client`.
        kind: &'static str,
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// The system lacks what it needs.
    #[error("{name} is unsupported here: {reason}")]
    Unsupported {
        /// The architecture.
        name: String,
        /// Why.
        reason: String,
    },
    /// What was asked for makes no sense together.
    #[error("{0}")]
    Settings(String),
    /// The system refused.
    #[error("cannot {attempted}: {error}")]
    System {
        /// "listen at 127.0.0.1:80".
        attempted: String,
        /// What the system said.
        error: io::Error,
    },
}

impl Error {
    /// For `map_err`: says what was attempted.
    pub fn at(attempted: impl Into<String>) -> impl FnOnce(io::Error) -> Error {
        let attempted = attempted.into();
        move |error| Error::System { attempted, error }
    }
}

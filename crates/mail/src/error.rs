//! What can go wrong with an engine as a whole. What goes wrong with a recipient is a result.

use std::io;

use crate::permission::NotPermitted;

/// What was attempted, and what came of it.
#[derive(Debug, thiserror::Error)]
pub enum MailError {
    /// The system refused something that everything needs.
    #[error("{attempted}: {source}")]
    System {
        /// What was attempted.
        attempted: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// This system has no such event interface, or nobody has.
    #[error("this system has no event interface {0}; there are poll, select, epoll, uring and kqueue")]
    NoInterface(String),
    /// Settings make no sense. The message says which.
    #[error("{0}")]
    Settings(String),
    /// An address that must not be connected to.
    #[error(transparent)]
    NotPermitted(#[from] NotPermitted),
    /// The DNS that routes need.
    #[error(transparent)]
    Dns(#[from] crate::dns::DnsError),
    /// Something of a server or a load generator, which the engine shares with them.
    #[error(transparent)]
    Net(#[from] net::Error),
}

impl MailError {
    pub(crate) fn at(attempted: &'static str) -> impl Fn(io::Error) -> MailError {
        move |source| MailError::System { attempted, source }
    }
}

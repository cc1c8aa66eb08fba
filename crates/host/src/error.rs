//! Why a role could not start or did not reply.

use crate::pipe::with_stderr;
use crate::{CommandRefusal, FrameError};
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// The attempt, its object, and the result.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system refused to start a program.
    #[error("cannot start {command}: {source}")]
    Start {
        /// The program.
        command: String,
        /// Why it was not.
        source: io::Error,
    },
    /// A file that is to be sent cannot be read.
    #[error("cannot read {} to send it: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A role did not reply.
    #[error("{}", with_stderr(&format!("{role} {reason}"), stderr))]
    NoReply {
        /// The role, in words: "the supervisor of the trial".
        role: String,
        /// Why there is no reply.
        reason: NoReply,
        /// The end of what it wrote to standard error.
        stderr: String,
    },
    /// The command says why it starts no shell.
    #[error("{}", .0.reason)]
    NoShell(CommandRefusal),
    /// The agent of a system refused a request.
    #[error("the agent there cannot {attempted}: {reason}")]
    Refused {
        /// The request.
        attempted: String,
        /// Why it refused.
        reason: String,
    },
}

/// Why there is no reply.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoReply {
    /// The process has ended.
    #[error("ended without a reply: {0}")]
    Exited(String),
    /// The system's loader has ended the process before the first instruction of its program.
    #[error("could not be loaded: {0}")]
    NotLoaded(String),
    /// The time is over.
    #[error("did not reply within {} s", .0.as_secs())]
    Deadline(Duration),
    /// The reply is not needed any more.
    #[error("was interrupted")]
    Interrupted,
    /// Its output is no stream of frames.
    #[error("replied with {0}")]
    Frame(#[from] FrameError),
    /// The frame holds no such reply.
    #[error("sent an unexpected reply: {0}")]
    Unexpected(String),
}

impl Error {
    /// Why there is no reply, where that is the error.
    pub fn no_reply(&self) -> Option<&NoReply> {
        match self {
            Error::NoReply { reason, .. } => Some(reason),
            _ => None,
        }
    }
}

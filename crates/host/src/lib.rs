//! Starts a role somewhere, sends it its program, exchanges messages with it, and leaves nothing behind.
//!
//! A *role* is the task of a process of ours: to describe a system, to supervise a trial, to serve, to
//! generate load. It takes requests on standard input and replies on standard output, in frames. A program
//! that plays roles has all of them behind one word, [`TRIAL`], beside its other commands.
//!
//! - `frame` frames with length and checksum, and the side of a role: typed requests and replies in them;
//! - `process` the side that started it: a deadline for every reply, and the end of the process;
//! - `pipe` threads around its pipes, and the last words of standard error, which every error carries;
//! - `session` a system behind a command: roles start there, and no folder need be shared with it;
//! - `bootstrap` the script for the shell that the command starts, which receives the first program;
//! - `agent` that program, which starts the roles; `message` its requests and replies;
//! - `init` the first process of a guest, which has the agent from the start;
//! - `guard` ends all that a command started, and removes a folder that processes may still use.
//!
//! Must never: know a workload, a server or a record.

mod agent;
mod bootstrap;
mod frame;
mod guard;
mod init;
mod message;
mod pipe;
mod process;
mod session;

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub use agent::agent;
pub use bootstrap::CommandRefusal;
pub use frame::{FrameError, FrameReader, FrameWriter, Frames, Incoming, Outgoing, encode};
pub use guard::{ORDERLY, guard, janitor};
pub use init::{INIT, PROGRAMS, SYSCTL, init};
pub use pipe::with_stderr;
pub use process::{Deadline, Ending, Interrupter, Process, until_loaded};
pub use session::Host;

/// The word in front of every role, in the arguments of a program that plays it.
pub const TRIAL: &str = "trial";

/// The command that makes a program play a role on this machine.
pub fn role(program: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.arg(TRIAL).args(words);
    command
}

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
        /// The end of its standard error.
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

/// Locks a value that threads share. A thread that panicked left no step half done: each holds a lock for one
/// step.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

//! Starts a role somewhere, sends it its program, exchanges messages with it, and leaves nothing behind.
//!
//! A *role* is the task of a process of ours: to describe a system, to supervise a trial, to serve, to
//! generate load. It takes requests on standard input and replies on standard output, in frames. A program
//! that plays roles has all of them behind one word, [`TRIAL`], beside its other commands.
//!
//! - `frame` frames with length and checksum, and the parser of a stream of them;
//! - `channel` the side of a role: typed requests and replies;
//! - `process` the side that started it: a deadline for every reply, and the end of the process;
//! - `pipe` threads around its pipes, and the last words of standard error, which every error carries;
//! - `session` a system behind a command: roles start there, and no folder need be shared with it (`stream`);
//! - `bootstrap` the script for the shell that the command starts, which receives the first program;
//! - `agent` that program, which starts the roles; `message` its requests and replies, `packed` long ones;
//! - `init` the first process of a guest, which has the agent from the start;
//! - `guard` ends all that a command started; `folder` removes a folder that processes may still use.
//!
//! Must never: know a workload, a server or a record.

mod agent;
mod bootstrap;
mod channel;
mod error;
mod folder;
mod frame;
mod guard;
mod init;
mod message;
mod packed;
mod pipe;
mod process;
mod session;
mod stream;

pub use agent::agent;
pub use bootstrap::CommandRefusal;
pub use channel::{FrameReader, FrameWriter, Incoming, Outgoing};
pub use error::{Error, NoReply};
pub use folder::{ORDERLY, janitor};
pub use frame::{FrameError, Frames, encode};
pub use guard::guard;
pub use init::{INIT, PROGRAMS, SYSCTL, init};
pub use pipe::with_stderr;
pub use process::{Deadline, Ending, Interrupter, Process, until_loaded};
pub use session::Host;

use std::path::Path;
use std::process::Command;

/// The word in front of every role, in the arguments of a program that plays it.
pub const TRIAL: &str = "trial";

/// The command that makes a program play a role on this machine.
pub fn role(program: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.arg(TRIAL).args(words);
    command
}

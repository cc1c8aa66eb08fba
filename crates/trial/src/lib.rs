//! The roles of a trial: each is a process of its own, started with `trial ROLE …`.
//!
//! The group `kernel` is measured by a small program of its own (`src/bin/kernel.rs`), linked dynamically and
//! statically: fork(2) copies the process that calls it, so servers, clients and an asynchronous runtime in
//! the same program would be part of what `fork` measures. All other groups are measured by osdyno itself in
//! these roles ([`servers`]).
//!
//! The runner starts a program as supervisor, here or through the agent behind a command prefix. The
//! supervisor starts the worker, which measures into memory that both share, waits for its end, and then
//! replies with the lines of the record. So no measurement is lost in a crash, and nothing is written during
//! measurement.
//!
//! Must never: judge, plan, or write anywhere but on standard output and in its scratch folder.

mod describe;
mod place;
mod profile;
#[cfg(feature = "servers")]
pub mod servers;
mod supervisor;
mod windows;
mod worker;

use std::error::Error;
use std::io::Write;
use std::process::ExitCode;

use workload::{Group, Workload};

/// The result of a role.
pub type Done = Result<(), Box<dyn Error>>;

/// A further role of a program, by its words; `None` for words that it does not know.
pub type Role = fn(&[&str]) -> Option<Done>;

/// Plays the role that the arguments of the process name: one of a trial of these groups, or a further one.
/// `None` where the arguments are not those of a role.
pub fn play(groups: &[Group], further: Role) -> Option<ExitCode> {
    let arguments: Vec<String> =
        std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned()).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let [host::TRIAL, ref role @ ..] = arguments[..] else { return None };
    let done = match role[..] {
        ["supervise"] => supervisor::supervise(groups),
        ["measure"] => worker::measure(groups),
        ["describe"] => describe::describe(),
        ["examine"] => describe::examine(),
        ["clock"] => describe::tell_time(),
        [background::ROLE] => background::hold().map_err(Into::into),
        ["agent", folder] => host::agent(folder).map_err(Into::into),
        ["guard", ref words @ ..] => host::guard(words).map_err(Into::into),
        _ => further(role).unwrap_or_else(|| Err(USAGE.into())),
    };
    Some(end(done))
}

/// Does the work of the first process of a guest, which a kernel starts with words of its own before ours.
pub fn first_process() -> ExitCode {
    let words: Vec<String> =
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    end(match words[..] {
        [ref words @ .., host::INIT] => host::init(words).map_err(Into::into),
        _ => Err(USAGE.into()),
    })
}

/// The workload of that name in these groups.
pub(crate) fn find(groups: &[Group], name: &str) -> Option<&'static Workload> {
    groups.iter().find_map(|group| group.find(name))
}

/// Reports a failure.
fn end(done: Done) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The reader may have ended.
            let _ = writeln!(std::io::stderr(), "osdyno trial: {error}");
            ExitCode::FAILURE
        }
    }
}

const USAGE: &str = "its roles are started by osdyno: supervise | describe | examine | clock | background | \
     agent FOLDER | guard SECONDS COMMAND";

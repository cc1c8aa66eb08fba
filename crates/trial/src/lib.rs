//! The measured programs: small separate programs, so that the measured process contains no command line, no
//! report and no judgement, and so that the same code can be linked dynamically and statically.
//!
//! Each measures some groups of workloads (`src/bin/`). `kernel` has a program of its own: fork(2) copies the
//! process that calls it, so servers, clients and an asynchronous runtime in the same program would be part
//! of what `fork` measures.
//!
//! The runner starts a program as supervisor, here or through the agent behind a command prefix. The
//! supervisor starts the worker, which measures into memory that both share, waits for its end, and then
//! replies with the lines of the record. So no measurement is lost in a crash, and nothing is written during
//! measurement.
//!
//! Must never: judge, plan, or write anywhere but on standard output and in its scratch folder.

mod common;
mod describe;
mod examine;
mod place;
mod profile;
mod supervisor;
mod windows;
mod worker;

use std::io::Write;
use std::process::ExitCode;

pub use common::Done;

use workload::Group;

/// A further role of a program, by its arguments; `None` for arguments that it does not know.
pub type Role = fn(&[&str]) -> Option<Done>;

/// Performs the role that the arguments of the process name: one of a trial of these groups, or a further one
/// of this program.
pub fn run(groups: &[Group], further: Role) -> ExitCode {
    let arguments: Vec<String> =
        std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned()).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        ["supervise"] => supervisor::supervise(groups),
        ["measure"] => worker::measure(groups),
        ["describe"] => describe::describe(),
        ["examine"] => examine::examine(),
        [background::ROLE] => background::hold().map_err(Into::into),
        ["agent", folder] => host::agent(folder).map_err(Into::into),
        ["guard", ref words @ ..] => host::guard(words).map_err(Into::into),
        [ref words @ .., host::INIT] => host::init(words).map_err(Into::into),
        _ => further(&arguments).unwrap_or_else(|| Err(USAGE.into())),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The reader may have ended.
            let _ = writeln!(std::io::stderr(), "osdyno-trial: {error}");
            ExitCode::FAILURE
        }
    }
}

const USAGE: &str = "osdyno-trial is started by osdyno: supervise | describe | examine | background | \
     agent FOLDER | guard SECONDS COMMAND | init";

//! The measured process: a program of its own, so that what is measured carries no command line, no report
//! and no judgement, and so that the same code can be linked dynamically and statically.
//!
//! It carries what the loads need: servers, clients and the runtime of asynchronous ones, in `net`. That code
//! lies idle while anything else is measured, but a process that is copied is copied with it: the median
//! of `fork` rose by some 4 % when it came, while nothing certain was seen of `reap` and `fork-static`. Those
//! that depend on its size have another version since, and are not compared with records from before.
//!
//! The runner starts it as a keeper, here or behind any command prefix. The keeper starts the measurer,
//! which measures into memory they share, waits for whatever end it takes, and then writes the record's
//! lines on standard output. So nothing measured is lost in a crash, and nothing is written while it is
//! measured.
//!
//! May import: kernel, net, record (without files), servers, sys, workload. Must never: judge, plan, or write
//! anywhere but on standard output and in its scratch folder.

mod describe;
mod groups;
mod guard;
mod janitor;
mod keeper;
mod measurer;
mod server;

use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> =
        std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned()).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        ["keep"] => keeper::keep(),
        ["measure", order, region] => measurer::measure(order, region),
        ["describe", scratch] => describe::describe(scratch),
        ["guard", program, ref arguments @ ..] => guard::guard(program, arguments),
        ["janitor", folder] => janitor::wait_and_remove(folder),
        ["serve", plan] => server::serve(plan),
        ["session", order] => server::session(order),
        _ => {
            Err("osdyno-trial is started by osdyno: keep | describe FOLDER | guard COMMAND | janitor FOLDER"
                .into())
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody may be listening any more.
            let _ = writeln!(std::io::stderr(), "osdyno-trial: {error}");
            ExitCode::FAILURE
        }
    }
}

type Done = Result<(), Box<dyn std::error::Error>>;

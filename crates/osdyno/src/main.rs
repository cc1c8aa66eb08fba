//! osdyno: a dynamometer for operating systems and the servers that run on them.
//!
//! `main` is the table of contents: one verb per line, each a file in `cmd/`. Exit codes, colour and the
//! printing of errors are decided here and nowhere else.
//!
//! May import: every crate below it. Must never: measure, judge, or hold what a library could.

#![warn(clippy::print_stderr, clippy::print_stdout)]

mod cmd;
mod console;
mod failure;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::console::Console;

/// Measures what an operating system's services cost as sockets, processes, mappings and files pile up,
/// and says, with its uncertainty, what stays flat and what grows.
#[derive(Parser)]
#[command(
    name = "osdyno",
    version,
    max_term_width = 100,
    after_help = EXIT_CODES,
    subcommand_required = true
)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Measure this system, print verdicts, write a run file and a report
    Run(cmd::run::Args),
    /// Show all workloads, server architectures and services
    List(cmd::list::Args),
    /// Show the page of a workload, an architecture or a service
    Explain(cmd::explain::Args),
    /// Judge a run file again: verdicts here, and one HTML page
    Report(cmd::report::Args),
    /// Judge numbers that anybody measured: a CSV file, or what the bench programs of 2003 printed
    Judge(cmd::judge::Args),
    /// Compare runs: which system is faster, by how much, how surely
    Compare(cmd::compare::Args),
    /// Write every measurement of a run as CSV, JSON or Parquet
    Export(cmd::export::Args),
    /// Judge simulated sweeps of known truth: how often verdicts are right and wrong
    Selftest(cmd::selftest::Args),
    /// Serve a folder, or any other service, with a server architecture of choice
    Serve(cmd::serve::Args),
    /// Serve the connection on standard input; `serve --arch inetd` executes it
    #[command(hide = true, name = cmd::serve::SESSION)]
    Session(cmd::serve::SessionArgs),
    /// Load a server: as fast as it answers, or at a rate that is fixed in advance
    Load(cmd::load::Args),
    /// Load together with other processes; `load --workers` executes it
    #[command(hide = true, name = cmd::load::WORKER)]
    LoadWorker,
    /// Print a completion script for a shell
    Completions(cmd::completions::Args),
}

const EXIT_CODES: &str = "\
Exit codes: 0 done · 1 failed · 2 wrong usage · 3 done, but something could not be measured · \
130 stopped by the user, what was measured is kept";

fn main() -> ExitCode {
    let cli = Cli::parse();
    let console = Console::of_process();
    let done = match cli.verb {
        Verb::Run(args) => cmd::run::run(args, &console),
        Verb::List(args) => cmd::list::list(&args, &console),
        Verb::Explain(args) => cmd::explain::explain(&args, &console),
        Verb::Report(args) => cmd::report::report(&args, &console),
        Verb::Judge(args) => cmd::judge::judge(&args, &console),
        Verb::Compare(args) => cmd::compare::compare(&args, &console),
        Verb::Export(args) => cmd::export::export(&args, &console),
        Verb::Selftest(args) => cmd::selftest::selftest(&args, &console),
        Verb::Serve(args) => cmd::serve::serve(args),
        Verb::Session(args) => cmd::serve::session(&args),
        Verb::Load(args) => cmd::load::load(&args, &console),
        Verb::LoadWorker => cmd::load::worker(),
        Verb::Completions(args) => cmd::completions::completions(&args),
    };
    done.unwrap_or_else(|failure| failure.tell())
}

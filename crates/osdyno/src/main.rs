//! osdyno: a dynamometer for operating systems and the servers that run on them.
//!
//! `main` is the table of contents: one verb per line, each a file in `cmd/`. Only this crate decides exit
//! codes and colour and prints errors.
//!
//! Must never: measure, judge, or hold what a library could.

#![warn(clippy::print_stderr, clippy::print_stdout)]

mod cmd;
mod console;
mod help;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use crate::console::{Colour, Console, tell};

/// Measures the cost of operating system services, and of the servers that run on them, as sockets,
/// processes, mappings, files and connections pile up. Reports, with confidence intervals, which costs stay
/// flat, which grow, and which system or server architecture is faster.
#[derive(Parser)]
#[command(
    name = "osdyno",
    version,
    max_term_width = WIDTH_MAX,
    after_help = EXIT_CODES,
    subcommand_required = true
)]
struct Cli {
    /// When to use colour
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value = "auto")]
    color: Colour,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Measure this system: print verdicts, write a run file and an HTML report
    Run(Box<cmd::run::Args>),
    /// Check this machine: how far every workload gets, limits to raise, causes of doubtful figures
    Doctor(cmd::doctor::Args),
    /// Probe the hosts of a fleet: reachable, free or busy, kernel, and how far each clock is off
    Hosts(cmd::hosts::Args),
    /// Raise the settings that doctor names, and put them back
    Tune(cmd::tune::Args),
    /// Measure other kernels: each boots in an emulator, as a system of the run
    Lab(cmd::lab::Args),
    /// List all workloads, server architectures and services
    List(cmd::list::Args),
    /// Print the page of a workload, a server architecture or a service
    Explain(cmd::explain::Args),
    /// Judge a run file again: print verdicts, write an HTML report
    Report(cmd::report::Args),
    /// Judge measurements of other programs: CSV files, or output of other benchmarks
    Judge(cmd::judge::Args),
    /// Compare systems: which is faster and by how much, with confidence intervals
    Compare(cmd::compare::Args),
    /// Profile each cost that grows, and name the functions responsible
    Blame(cmd::blame::Args),
    /// Estimate whether a cost matters: its share in a user's waiting time, and in capacity
    Impact(cmd::impact::Args),
    /// Recognize the architecture of a running server, without its source
    Snoop(cmd::snoop::Args),
    /// Show the course of costs over a folder of runs: which changed, when, and by how much
    History(cmd::history::Args),
    /// Show a folder of runs in a browser: any run against any, and every cost over time
    View(cmd::view::Args),
    /// Join run files of several hosts into one run of a fleet
    Merge(cmd::merge::Args),
    /// Export every measurement of a run as CSV, JSON or Parquet
    Export(cmd::export::Args),
    /// Measure the error rates of the verdicts on simulated sweeps
    Selftest(cmd::selftest::Args),
    /// Serve a folder, or another service, with a server architecture of your choice
    Serve(cmd::serve::Args),
    /// Take mail over SMTP and throw it away, with configurable faults
    Sink(cmd::serve::SinkArgs),
    /// Load a server in a closed loop, or at a fixed rate
    Load(cmd::load::Args),
    /// Deliver one message to many recipients, or test every step of it
    Mail(cmd::mail::Args),
    /// Serve DNS for the generated mail domains, with configurable faults
    Dns(cmd::dns::Args),
    /// Remove a folder when standard input ends; `run` executes it
    #[command(hide = true, name = runner::JANITOR)]
    Janitor(cmd::hidden::JanitorArgs),
    /// Execute a command on a new file system of its own; `run --fs` executes it
    #[command(hide = true, name = runner::MOUNTED)]
    Mounted(cmd::hidden::MountedArgs),
    /// Print a completion script for a shell
    Completions(cmd::completions::Args),
    /// Write the manual pages into a folder
    Man(cmd::man::Args),
}

/// The verbs in the order of the help, the most used first in each group. Hidden ones, which only osdyno
/// itself executes, are in no group.
const GROUPS: help::Groups = &[
    ("Measure", &["run", "load", "mail", "lab", "selftest"]),
    ("Read", &["report", "compare", "history", "view", "judge", "list", "explain", "merge", "export"]),
    ("Ask", &["doctor", "hosts", "tune", "snoop", "blame", "impact"]),
    ("Serve", &["serve", "sink", "dns"]),
    ("Other", &["completions", "man", "help"]),
];

/// Columns of the help on a wide terminal.
const WIDTH_MAX: usize = 100;

const EXIT_CODES: &str = "\
Exit codes:
  0    done
  1    failed
  2    wrong usage
  3    done, but something could not be measured, delivered, or decided
  4    done, and a claim of --fail-on is certain
  130  stopped by the user; finished measurements are kept";

#[global_allocator]
static ALLOCATOR: sys::memory::Allocator = sys::memory::Allocator;

fn main() -> ExitCode {
    // Before the command line is parsed, because parsing would be part of the measurement.
    if let Some(done) = trial::servers::play() {
        return done;
    }
    sys::memory::explain_abort();
    let cli = Cli::try_parse().unwrap_or_else(|error| explain(error));
    sys::signal::ignore_file_size_signal();
    let console = Console::of_process(cli.color);
    let done = match cli.verb {
        Verb::Run(args) => cmd::run::run(&args, &console),
        Verb::Doctor(args) => cmd::doctor::doctor(&args, &console),
        Verb::Hosts(args) => cmd::hosts::hosts(&args, &console),
        Verb::Tune(args) => cmd::tune::tune(&args, &console),
        Verb::Lab(args) => cmd::lab::lab(args, &console),
        Verb::List(args) => cmd::list::list(&args, &console),
        Verb::Explain(args) => cmd::explain::explain(&args, &console),
        Verb::Report(args) => cmd::report::report(&args, &console),
        Verb::Judge(args) => cmd::judge::judge(&args, &console),
        Verb::Compare(args) => cmd::compare::compare(args, &console),
        Verb::Blame(args) => cmd::blame::blame(&args, &console),
        Verb::Impact(args) => cmd::impact::impact(&args, &console),
        Verb::Snoop(args) => cmd::snoop::snoop(&args, &console),
        Verb::History(args) => cmd::history::history(&args, &console),
        Verb::View(args) => cmd::view::view(&args),
        Verb::Merge(args) => cmd::merge::merge(&args, &console),
        Verb::Export(args) => cmd::export::export(&args, &console),
        Verb::Selftest(args) => cmd::selftest::selftest(&args, &console),
        Verb::Serve(args) => cmd::serve::serve(args, &console),
        Verb::Sink(args) => cmd::serve::serve(args.0, &console),
        Verb::Load(args) => cmd::load::load(&args, &console),
        Verb::Mail(args) => cmd::mail::mail(&args, &console),
        Verb::Dns(args) => cmd::dns::dns(args, &console),
        Verb::Janitor(args) => cmd::hidden::janitor(&args),
        Verb::Mounted(args) => cmd::hidden::mounted(&args),
        Verb::Completions(args) => cmd::completions::completions(&args, Cli::command()),
        Verb::Man(args) => cmd::man::man(&args, Cli::command()),
    };
    done.unwrap_or_else(|failure| failure.tell())
}

/// Ends the program with its help or an error. Only now are the verbs grouped, so that a run starts without.
fn explain(error: clap::Error) -> ! {
    let width = Console::of_process(Colour::Auto).style.width.min(WIDTH_MAX);
    let mut program = help::grouped(Cli::command(), GROUPS, width);
    let error = program.try_get_matches_from_mut(std::env::args_os()).err().unwrap_or(error);
    refuse(&help::suggest(error, &program))
}

/// Ends the program over its command line, which an error quotes: the name of a file is untrusted.
fn refuse(error: &clap::Error) -> ! {
    let text = error.render().to_string();
    if text.lines().all(|line| report::printable(line) == line) {
        error.exit();
    }
    tell(text.trim_end());
    std::process::exit(error.exit_code())
}

//! `osdyno tune`: raises the settings that `doctor` names, and puts them back.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ::report::document::terminal::Length;
use inspect::doctor::{MachineDemand, shortfalls};
use inspect::tune::{TuneAnswer, TunePlan, UndoAnswer};
use runner::{Examined, RunOptions, RunPlan};

use super::doctor::{examined, prognoses};
use super::run::{interrupt, refuse_taken};
use super::{Done, Format, print_answer};
use crate::console::{Console, Failure, completion};

/// Raise the settings of this system that are too low: print the changes and their reasons, make them, or put
/// old values back
///
/// Without --apply and --undo nothing changes. Only settings that `osdyno doctor` names are changed, and only
/// until the next boot. The old values are on the disk before the first change, so --undo works even after
/// SIGKILL. The exit code is 3 if a part is left to do.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Demand that this machine must hold, such as connections=100000; see `osdyno doctor --help` [default:
    /// that of `osdyno run` without names]
    #[arg(long = "for", value_name = "KIND=COUNT", conflicts_with = "undo")]
    demand: Option<MachineDemand>,
    /// Make the changes; needs root
    #[arg(long, conflicts_with = "undo")]
    apply: bool,
    /// Put back the old values of --apply: FILE is the record that it wrote
    ///
    /// A value that was changed again since then is left alone, and named.
    #[arg(long, value_name = "FILE")]
    undo: Option<PathBuf>,
    /// File for the old values of --apply [default: osdyno-undo-DATE.json in this folder]
    #[arg(long, value_name = "FILE", requires = "apply")]
    out: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

pub(crate) fn tune(args: &Args, console: &Console) -> Done {
    if let Some(path) = &args.undo {
        return undo(path, args.format, console);
    }
    let plan = plan(args.demand.as_ref())?;
    let path = args.out.clone().unwrap_or_else(default_name);
    let is_applied = args.apply && !plan.changes.is_empty();
    if is_applied {
        refuse_taken(&path)?;
        inspect::tune::apply(&plan.bare(), &path)?;
    }
    let answer = TuneAnswer {
        schema: 1,
        is_applied,
        undo: is_applied.then(|| path.to_string_lossy().into_owned()),
        changes: plan.changes,
        left: plan.left,
        demand: args.demand.clone(),
        is_asked: args.apply,
    };
    print_answer(&answer, TuneAnswer::document, Length::All, args.format, console)?;
    let is_done = !args.apply || answer.left.is_empty();
    Ok(completion(is_done))
}

/// The shortfalls of this system for the demand, or for a run without names.
fn plan(demand: Option<&MachineDemand>) -> Result<TunePlan, Failure> {
    // For a demand no workload is measured, but a plan has one.
    let workloads = demand.map(|_| "noop".to_owned()).into_iter().collect();
    let run = RunPlan::make(&RunOptions { workloads, ..RunOptions::default() })?;
    let interrupt = interrupt()?;
    let mut systems = examined(&run, false, &interrupt)?;
    let shortfalls = systems.pop().map(|Examined { system, extents, .. }| match demand {
        Some(_) => shortfalls(&system, &[], demand),
        None => shortfalls(&system, &prognoses(&run, extents, &system), None),
    });
    Ok(TunePlan::of(shortfalls.unwrap_or_default())?)
}

fn undo(path: &Path, format: Format, console: &Console) -> Done {
    let answer = UndoAnswer { schema: 1, undone: inspect::tune::undo(path)? };
    print_answer(&answer, UndoAnswer::document, Length::All, format, console)?;
    Ok(completion(answer.is_back()))
}

/// `osdyno-undo-2026-11-24T08-00-00.json`, in UTC.
fn default_name() -> PathBuf {
    let time = runner::rfc3339(SystemTime::now()).replace(':', "-");
    PathBuf::from(format!("osdyno-undo-{}.json", &time[..19]))
}

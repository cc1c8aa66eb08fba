//! `osdyno doctor`: the limits of this machine, and causes of doubtful figures.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use ::report::document::terminal::Length;
use clap::builder::PossibleValuesParser;
use inspect::doctor::{
    Diagnosis, DoctorAnswer, MachineDemand, Prognosis, RECIPES, Recipe, diagnose, document, recipe_document,
};
use record::{System, units};
use runner::{Examined, RunOptions, RunPlan, Target};

use super::run::interrupt;
use super::{Done, Format, command_line, print_answer};
use crate::console::{Console, Failure, completion};

/// Check this machine: how far every workload gets and the limit that stops it, limits to raise, and causes
/// of doubtful figures
///
/// It changes nothing. For about two seconds it repeats a system call, to see whether another program uses
/// the processor. LIMITED means that some workloads end before the wanted n. The exit code is 3 for NOT FIT,
/// where a run cannot give its answers, and otherwise 0.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Workloads to predict, as for `run` [default: those of a run without names; none with --for]
    #[arg(
        value_name = "WORKLOAD", value_parser = command_line::workload_names(), hide_possible_values = true
    )]
    workloads: Vec<String>,
    /// Demand that this machine must hold, such as connections=100000 or threads=5000,watches=1M
    ///
    /// Kinds are connections (which a server accepts), clients (connections from one address to one server),
    /// files, processes, threads, mappings, watches and inotify.
    #[arg(long = "for", value_name = "KIND=COUNT")]
    demand: Option<MachineDemand>,
    /// Largest n, instead of that of the preset
    #[arg(short, value_name = "N", value_parser = units::counts::<u64>(1..=10_000_000))]
    n: Option<u64>,
    /// Range of n, as for `run`: quick, standard, full or classic
    #[arg(short, long, default_value = "standard")]
    preset: String,
    /// A system to examine where it runs, as for `run`
    #[arg(long = "system", value_name = "NAME=COMMAND", value_parser = Target::parse)]
    systems: Vec<Target>,
    /// The machine of a server, examined through its command, as for `run`
    #[arg(long, value_name = "ADDRESS=COMMAND", value_parser = runner::parse_server)]
    server: Option<record::Server>,
    /// Folder for files of the workloads [default: the temporary folder of the system]
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
    /// Print the recipe of another system: limits to raise, by its manual, and the successors of its recipe
    /// of 2001
    #[arg(
        long, value_name = "SYSTEM", conflicts_with_all = ["workloads", "systems", "server"],
        value_parser = PossibleValuesParser::new(RECIPES.iter().map(|recipe| recipe.system))
    )]
    os: Option<String>,
    /// Print every workload, and every note
    #[arg(short, long)]
    verbose: bool,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

/// The default demand of a recipe.
const RECIPE_COUNT: u64 = 100_000;

pub(crate) fn doctor(args: &Args, console: &Console) -> Done {
    let extent = Length::of(args.verbose);
    if let Some(recipe) = args.os.as_deref().and_then(Recipe::find) {
        let largest = args.demand.as_ref().and_then(|demand| demand.items().map(|(_, n)| n).max());
        let answer = recipe.answer(largest.unwrap_or(RECIPE_COUNT));
        print_answer(&answer, recipe_document, extent, args.format, console)?;
        return Ok(ExitCode::SUCCESS);
    }
    let answer =
        DoctorAnswer { schema: DoctorAnswer::SCHEMA, demand: args.demand.clone(), systems: diagnoses(args)? };
    print_answer(&answer, |answer| document(answer, args.verbose), extent, args.format, console)?;
    Ok(completion(answer.is_fit()))
}

/// Examines all systems, and the machine of the server.
fn diagnoses(args: &Args) -> Result<Vec<Diagnosis>, Failure> {
    let mut diagnoses = Vec::new();
    let server = match &args.server {
        Some(server) if server.prefix.is_empty() => {
            let text = "--server needs the command that leads to the server's machine, such as \
                        '10.0.0.2=ssh host'; an address alone tells nothing of it";
            return Err(Failure::Usage(text.to_owned()));
        }
        server => server.as_ref(),
    };
    let interrupt = interrupt()?;
    let of_server =
        server.map(|server| vec![Target::of_command(server.address.clone(), server.prefix.clone())]);
    for targets in [Some(args.systems.clone()), of_server].into_iter().flatten() {
        let plan = plan(args, targets)?;
        for examined in examined(&plan, true, &interrupt)? {
            diagnoses.push(diagnosis(args, &plan, examined));
        }
    }
    Ok(diagnoses)
}

/// The plan of the run to predict.
fn plan(args: &Args, targets: Vec<Target>) -> Result<RunPlan, Failure> {
    let largest = args.demand.as_ref().and_then(|demand| demand.items().map(|(_, n)| n).max());
    Ok(RunPlan::make(&RunOptions {
        workloads: args.workloads.clone(),
        preset: Some(args.preset.clone()),
        n: args.n.or(largest),
        scratch: args.scratch.clone(),
        targets,
        ..RunOptions::default()
    })?)
}

/// Examines the systems of a plan, each of which must reply.
pub(super) fn examined(
    plan: &RunPlan,
    thorough: bool,
    interrupt: &AtomicBool,
) -> Result<Vec<Examined>, Failure> {
    let examined = runner::examine(plan, thorough, interrupt)?;
    Ok(examined.into_iter().collect::<Result<_, _>>()?)
}

fn diagnosis(args: &Args, plan: &RunPlan, examined: Examined) -> Diagnosis {
    let Examined { system, extents, examination } = examined;
    let is_asked = args.demand.is_none() || !args.workloads.is_empty();
    let prognoses = if is_asked { prognoses(plan, extents, &system) } else { Vec::new() };
    diagnose(&system, prognoses, args.demand.as_ref(), &examination)
}

/// How far the workloads of a plan come.
pub(super) fn prognoses(plan: &RunPlan, extents: Vec<workload::Extent>, system: &System) -> Vec<Prognosis> {
    let items = plan.items.iter().zip(extents);
    items.map(|(item, extent)| Prognosis::of(item.workload, item.variant.name, extent, system)).collect()
}

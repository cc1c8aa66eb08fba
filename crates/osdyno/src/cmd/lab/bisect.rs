//! `osdyno lab bisect`: the first kernel of an ordered list from which a cost differs.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use ::report::bisect::{BisectAnswer, Bisection, Proof};
use ::report::document::terminal::Length;
use judge::Findings;
use judge::bisect::{Round, Search, Steps};
use record::{Recording, units};
use runner::{Ran, RunOptions, RunPlan, StepOptions, Target};

use super::kernel_list::{ListOptions, targets};
use super::machine;
use crate::cmd::run::{Screen, default_name, interrupt};
use crate::cmd::{Done, Format, compare_systems, print_answer, refuse_unwritable, write_file};
use crate::console::{Console, tell};
use crate::failure::{Failure, INCOMPLETE, INTERRUPTED};

#[derive(clap::Args)]
#[group(skip)]
pub(super) struct Args {
    /// First kernel of the list
    #[arg(long, value_name = "[NAME=]KERNEL[ WORDS]")]
    good: String,
    /// Last kernel of the list
    #[arg(long, value_name = "[NAME=]KERNEL[ WORDS]")]
    bad: String,
    /// A kernel between them; repeat the option, in the order of the list
    #[arg(long = "step", value_name = "[NAME=]KERNEL[ WORDS]")]
    steps: Vec<String>,
    /// All kernels of a folder, or of Debian, whose releases are between those of the first and the last
    #[arg(long, value_name = "DIR|debian", conflicts_with = "steps")]
    among: Option<String>,
    /// The smallest change that matters
    #[arg(
        long, value_name = "PERCENT", default_value = "3",
        value_parser = crate::cmd::report::margin
    )]
    margin: f64,
    /// Boots of each kernel after which a step stays open; rounds take 8, 16, 32 or 64
    #[arg(
        long, value_name = "COUNT", default_value_t = 32,
        value_parser = clap::value_parser!(u32).range(i64::from(StepOptions::BOOTS_LEAST)..=1000)
    )]
    boots: u32,
    /// Range of n: quick, standard or full
    #[arg(short, long, default_value = "quick")]
    preset: String,
    /// Largest n, instead of that of the preset
    #[arg(short, value_name = "N", value_parser = units::counts::<u64>(1..=10_000_000))]
    n: Option<u64>,
    /// Seed of every random choice; it is recorded [default: random]
    #[arg(long)]
    seed: Option<u64>,
    /// Run file of the first round; the others get the same name with -2, -3 and so on
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
    #[command(flatten)]
    machine: machine::Args,
    /// Workloads to measure, as for `osdyno run`
    #[arg(value_name = "WORKLOAD", required = true, value_parser = crate::cmd::suggested::workloads(),
          hide_possible_values = true)]
    workloads: Vec<String>,
}

pub(super) fn bisect(args: &Args, console: &Console) -> Done {
    let version = args.machine.version()?;
    let list = targets(&ListOptions {
        version: &version,
        good: &args.good,
        bad: &args.bad,
        steps: &args.steps,
        among: args.among.as_deref(),
        machine: &args.machine,
    })?;
    let file = args.out.clone().unwrap_or_else(|| default_name(&["bisect".to_owned()]));
    let interrupt =
        interrupt().map_err(|error| Failure::Refused(format!("cannot handle signals: {error}")))?;
    let bisecting = Bisecting { args, list: &list, file: &file, interrupt: &interrupt, console };
    let mut search = Search::new(list.len());
    let mut proofs = Vec::new();
    for number in 1.. {
        let Some(round) = search.next() else { break };
        let measured = bisecting.measure(&round, number)?;
        let Some((ran, path)) = measured else { return Ok(ExitCode::from(INTERRUPTED)) };
        let steps = Steps::new(&ran.recording, &ran.findings, args.margin);
        let known = search.changes().len();
        search.learn(&round, &steps.answers(&round.places));
        if search.changes().len() > known {
            bisecting.write_page(&ran.recording, &ran.findings, &path)?;
            proofs.push(Proof { steps, file: path.display().to_string() });
        }
    }
    let names: Vec<String> = list.iter().map(|target| target.name.clone()).collect();
    let found = Bisection { names: &names, search: &search, proofs: &proofs, margin: args.margin };
    let document = |_: &BisectAnswer<'_>| ::report::bisect::document(&found);
    print_answer(&found.answer(), document, Length::All, args.format, console)?;
    Ok(if found.is_certain() { ExitCode::SUCCESS } else { ExitCode::from(INCOMPLETE) })
}

/// The common part of all rounds.
struct Bisecting<'a> {
    args: &'a Args,
    list: &'a [Target],
    file: &'a Path,
    interrupt: &'a AtomicBool,
    console: &'a Console,
}

impl Bisecting<'_> {
    /// Measures a round; `None` where the user stopped it.
    fn measure(&self, round: &Round, number: u32) -> Result<Option<(Ran, PathBuf)>, Failure> {
        let args = self.args;
        let targets: Vec<Target> = round.places.iter().map(|place| self.list[*place].clone()).collect();
        let names: Vec<String> = targets.iter().map(|target| target.name.clone()).collect();
        tell(&format!("  round {number}: {}", ::report::printable(&::report::words::list(&names))));
        let options = RunOptions {
            workloads: args.workloads.clone(),
            preset: Some(args.preset.clone()),
            n: args.n,
            seed: args.seed.map(|seed| seed.wrapping_add(u64::from(number))),
            targets,
            steps: Some(StepOptions { margin: args.margin, boots: args.boots }),
            ..RunOptions::default()
        };
        let plan = RunPlan::make(&options)?;
        let path = numbered(self.file, number);
        refuse_unwritable(&path)?;
        let mut screen = Screen::new(self.console, true);
        screen.notes(&plan.notes);
        let command = super::super::command_line::recorded_in(&path, &plan.targets);
        let ran = runner::run(&plan, &path, command, self.interrupt, &mut |event| screen.show(&event))?;
        screen.clear();
        match ran.unwritten {
            Some(error) => Err(error.into()),
            None => Ok((!ran.interrupted).then_some((ran, path))),
        }
    }

    /// The report of two neighbours.
    fn write_page(&self, recording: &Recording, findings: &Findings, path: &Path) -> Result<(), Failure> {
        let compared = compare_systems(recording, findings, path);
        let systems = compared.as_ref().and_then(|compared| compared.as_ref().ok());
        let page = path.with_extension("html");
        write_file(&page, false, |out| ::report::html::write(recording, findings, systems, out))
    }
}

/// The file of a round.
fn numbered(file: &Path, number: u32) -> PathBuf {
    if number == 1 {
        return file.to_owned();
    }
    let stem = file.file_stem().unwrap_or(file.as_os_str()).to_string_lossy();
    let extension = file.extension().map(|own| format!(".{}", own.to_string_lossy())).unwrap_or_default();
    file.with_file_name(format!("{stem}-{number}{extension}"))
}

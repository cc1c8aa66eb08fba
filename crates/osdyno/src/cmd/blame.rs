//! `osdyno blame`: the functions that take the extra time of a cost that grows.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ::report::document::page;
use ::report::document::terminal::Length;
use inspect::blame::{BlameAnswer, pprof};
use judge::Findings;
use record::{Recording, TrialParameters};
use runner::{BlameOptions, RunOptions, RunPlan, Target};

use super::run::{Screen, interrupt, wait_for};
use super::{
    Done, Format, command_line, print_answer, print_places, read, refuse_existing, refuse_input,
    refuse_unwritable, warn, write_file,
};
use crate::console::{Console, Failure, INTERRUPTED, completion, results};

/// Find the functions that take the extra time, for each cost in a run that grows or steps
///
/// Stacks of the kernel and of programs are sampled in trials of their own, where an operation is cheap and
/// where it is expensive. They are written into a run file beside RUN. A run that has samples is only read.
/// Linux only; it needs root or CAP_PERFMON where kernel.perf_event_paranoid is above 1, and it changes no
/// setting.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Run file; one without samples is sampled on this machine
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// Run file to write for the samples [default: RUN-blame.osdyno]
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// HTML page to write, with flame graphs [default: where it samples, RUN-blame.html]
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// Also write folded stacks, with the samples at low and at high n, as difffolded.pl does
    #[arg(long, value_name = "FILE")]
    folded: Option<PathBuf>,
    /// Also write a profile for pprof: nanoseconds for a million operations, at low n, at high n, and the
    /// growth
    #[arg(long, value_name = "FILE")]
    pprof: Option<PathBuf>,
    /// Number of sampled trials of each workload, instead of as many as are needed
    #[arg(short, long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(3..=1000))]
    trials: Option<u32>,
    /// Sample here although the run was measured on another machine or kernel
    #[arg(long)]
    anyway: bool,
    /// Folder for files of the workloads [default: the temporary folder of the system]
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
    /// Overwrite the page, the folded stacks and the profile
    #[arg(long)]
    force: bool,
    /// Print every function
    #[arg(short, long)]
    verbose: bool,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

pub(crate) fn blame(args: &Args, console: &Console) -> Done {
    for file in [&args.page, &args.folded, &args.pprof].into_iter().flatten() {
        refuse_input(file, std::slice::from_ref(&args.run))?;
        refuse_existing(file, args.force)?;
    }
    let measured = read(&args.run)?;
    let is_sampled = !measured.profiles.is_empty() || !measured.sampled_trials.is_empty();
    let findings = Findings::from_recording(&measured);
    let grows = !BlameAnswer::new(&measured, &findings).unexplained.is_empty();
    if is_sampled || !grows {
        if let Some(out) = &args.out {
            let why = if is_sampled { "has samples already" } else { "has no cost that grows" };
            warn(&format!("{} {why}, so nothing is written to {}", args.run.display(), out.display()));
        }
        return answer(args, (&measured, &findings), args.page.as_deref(), Vec::new(), console);
    }
    sample(args, (measured, findings), console)
}

/// Samples the costs that grow in the run, and answers.
fn sample(args: &Args, measured: (Recording, Findings), console: &Console) -> Done {
    let file = args.out.clone().unwrap_or_else(|| beside(&args.run, "osdyno"));
    let page = args.page.clone().unwrap_or_else(|| file.with_extension("html"));
    if let (None, true) = (&args.out, file.exists()) {
        let text = format!(
            "{0} exists already, with earlier samples: osdyno blame {0} reads them; \
             choose another name with --out",
            file.display()
        );
        return Err(Failure::Refused(text));
    }
    refuse_unwritable(&file)?;
    refuse_existing(&page, args.force)?;
    let plan = RunPlan::make(&options(args, measured)?)?;
    let interrupt = interrupt()?;
    let mut screen = Screen::new(console, plan.targets.len() > 1);
    let command = command_line::recorded_in(&file, &plan.targets);
    let ran = runner::run(&plan, &file, command, &interrupt, &mut |event| screen.show(&event))?;
    screen.clear();
    if let Some(error) = ran.unwritten {
        return Err(error.into());
    }
    let done = answer(args, (&ran.recording, &ran.findings), Some(&page), vec![("run", &file)], console);
    wait_for(ran.removal, &interrupt);
    if ran.interrupted { done.map(|_| ExitCode::from(INTERRUPTED)) } else { done }
}

/// The plan that repeats the workloads of a run, as its trials were ordered.
fn options(args: &Args, measured: (Recording, Findings)) -> Result<RunOptions, Failure> {
    let mut targets = Vec::new();
    let run = &measured.0;
    for system in &run.systems {
        let first = system.prefix.first().map(String::as_str).unwrap_or_default();
        if first.starts_with("--") {
            let made = system.prefix.join(" ");
            let text = format!(
                "{} is a system that the run made; sample it in that run: osdyno run --blame {made}",
                system.name
            );
            return Err(Failure::Refused(text));
        }
        targets.push(Target::of_command(system.name.clone(), system.prefix.clone()));
    }
    let orders = || run.trials.iter().map(|trial| &trial.order);
    let name = |order: &TrialParameters| workload::full_name(&order.workload, &order.variant);
    let mut workloads: Vec<String> = orders().map(name).collect();
    workloads.sort();
    workloads.dedup();
    let known = workloads.iter().filter(|name| runner::select(std::slice::from_ref(name)).is_ok()).cloned();
    let known: Vec<String> = known.collect();
    if known.is_empty() {
        return Err(Failure::Refused("nothing in the run is a workload of this osdyno".to_owned()));
    }
    let settings: BTreeMap<String, String> = orders().flat_map(|order| order.settings.clone()).collect();
    Ok(RunOptions {
        workloads: known,
        settings: settings.into_iter().collect(),
        seed: Some(run.run.seed),
        scratch: args.scratch.clone(),
        targets,
        // The run was permitted already.
        allow_public: true,
        trials: Some(1),
        blame: Some(BlameOptions { trials: args.trials, run: Some(measured), anyway: args.anyway }),
        ..RunOptions::default()
    })
}

/// Prints and writes the answer about a run.
fn answer<'a>(
    args: &'a Args,
    (recording, findings): (&Recording, &Findings),
    page: Option<&'a Path>,
    mut places: Vec<(&'static str, &'a Path)>,
    console: &Console,
) -> Done {
    let blame = BlameAnswer::new(recording, findings);
    // Before anything is printed: a reader may close the pipe.
    if let Some(file) = page {
        write_file(file, args.force, |out| page::write(&blame.document(findings), out))?;
        places.push(("page", file));
    }
    if let Some(file) = &args.folded {
        write_file(file, args.force, |out| blame.write_folded(out))?;
        places.push(("folded", file));
    }
    if let Some(file) = &args.pprof {
        write_file(file, args.force, |out| out.write_all(&pprof::profile(&blame)))?;
        places.push(("pprof", file));
    }
    let extent = Length::of(args.verbose);
    print_answer(&blame, |blame| blame.document(findings), extent, args.format, console)?;
    print_places(&places, args.format)?;
    Ok(completion(blame.is_complete()))
}

/// `a.osdyno` becomes `a-blame.osdyno`.
pub(super) fn beside(run: &Path, extension: &str) -> PathBuf {
    let name = run.file_stem().unwrap_or(run.as_os_str()).to_string_lossy();
    run.with_file_name(format!("{name}-blame.{extension}"))
}

/// Prints the answer of a run that has just sampled, and writes its page.
pub(super) fn print_of_run(
    (recording, findings): (&Recording, &Findings),
    file: &Path,
    verbose: bool,
    console: &Console,
) -> Done {
    let blame = BlameAnswer::new(recording, findings);
    let document = blame.document(findings);
    write_file(file, false, |out| page::write(&document, out))?;
    writeln!(results())?;
    console.print(&document, Length::of(verbose))?;
    Ok(completion(blame.is_complete()))
}

//! `osdyno run`: measures, prints verdicts, and writes a run file and a report.

mod command;
mod screen;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use background::BackgroundSpec;
use record::Outcome;
use record::units::{self, Unreadable};
use runner::{BlameOptions, FileSystem, Removal, RunOptions, RunPlan, Target};
use signal_hook::consts::{SIGINT, SIGTERM};

use self::command::{CommandArgs, Levels};
pub(super) use self::screen::Screen;
use super::export::write_compact;
use super::gate::{RunGate, RunGateArgs};
use super::hosts::FleetArgs;
use super::{
    Detail, Done, Format, ResultFormat, command_line, print_findings, print_noise_floor, print_places,
    refuse_unwritable, warn, warn_refused, write_file,
};
use crate::console::{Console, Failure, INCOMPLETE, INTERRUPTED, tell};

/// Measure this system: print verdicts, write a run file and an HTML report
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Workloads to measure: names and globs, such as `bind`, `bind/v6` or 'fork*', or a group: `kernel`,
    /// `servers`, `jobs`, `all` or `default`, one or two variants of each workload of the kernel
    /// [default: default]
    #[arg(
        value_name = "WORKLOAD", value_parser = command_line::workload_names(), hide_possible_values = true
    )]
    workloads: Vec<String>,
    /// Range of n, number of trials and time: quick, standard, full or classic
    #[arg(short, long, default_value = "standard")]
    preset: String,
    /// Run file to write; the report gets the same name with .html
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Time limit for all trials together, such as 2m
    #[arg(short, long, value_name = "TIME", value_parser = units::time)]
    budget: Option<Duration>,
    /// Content of the run file: points, or compact, medians that give the same verdicts in a fiftieth of the
    /// room [default: points; with --history compact]
    ///
    /// While it measures, the file has all points, so that nothing is lost in a crash. At the end `compact`
    /// replaces them, as osdyno export --compact does; an interrupted run keeps its points.
    #[arg(long, value_name = "CONTENT", value_enum)]
    keep: Option<Keep>,
    /// Largest n, instead of that of the preset
    #[arg(short, value_name = "N", value_parser = units::counts::<u64>(1..=10_000_000))]
    n: Option<u64>,
    /// Levels of n for workloads that are measured at levels, as 1k,10k; for commands words too, as zstd,gzip
    #[arg(long, value_name = "LEVEL,…", value_delimiter = ',', conflicts_with = "n")]
    levels: Vec<String>,
    /// Number of trials of each workload, instead of as many as the verdicts need
    #[arg(short, long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    trials: Option<u32>,
    /// Do not pin trials to one processor
    #[arg(long)]
    unpinned: bool,
    /// Do not time references, operations that cannot depend on n, among the operations of curves
    #[arg(long)]
    no_references: bool,
    /// Time to hold a load at each level, such as 1s [default: by the preset]
    #[arg(long, value_name = "TIME", value_parser = window)]
    window: Option<Duration>,
    /// Change a setting of a workload, such as per-folder=1000; osdyno explain WORKLOAD lists its settings
    ///
    /// It applies to every workload of the run that has a setting of that name. Runs with different settings
    /// are not compared. Several values, as workers=1,2, are interleaved systems, compared with the first.
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = runner::parse_setting)]
    settings: Vec<(String, String)>,
    /// Address of the servers of a load, as the clients see it [default: loopback]
    ///
    /// COMMAND starts the server program there, as in '10.0.0.2=ip netns exec other' or '10.0.0.2=ssh host'.
    /// It is split into words like a shell command. An address alone means that a server already runs there.
    #[arg(long, value_name = "ADDRESS[=COMMAND]", value_parser = runner::parse_server)]
    server: Option<record::Server>,
    /// Hosts that load the servers of `race` and `web`: n1,n[2-4] by ssh, or NAME=COMMAND [default: the
    /// system that is measured]
    ///
    /// COMMAND is split into words like a shell command, and leads to a shell there, as for `load --from`.
    /// All hosts offer one load together. A load during which not all were at work is offered again, three
    /// times at most. Runs with different clients are not compared. Other machines need an address that they
    /// can reach: --server ADDRESS=COMMAND, where the COMMAND env starts the server here.
    #[arg(long, value_name = "HOST,…", conflicts_with = "hosts")]
    clients: Vec<String>,
    /// Allow a public address in --server and --set url=; load only servers that you may load
    #[arg(long)]
    allow_public: bool,
    /// Kill a trial that takes longer than this; the windows of a load do not count
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = units::time)]
    timeout: Duration,
    /// Seed of every random choice; it is recorded [default: random]
    #[arg(long)]
    seed: Option<u64>,
    /// Folder for files of the workloads [default: the temporary folder of the system]
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
    /// A system to measure; repeat the option to measure several in one run and compare them
    ///
    /// Trials start through COMMAND, as in 'nice=nice -n 10', 'noaslr=setarch -R', 'ns=unshare -n' or
    /// 'other=ssh host'; NAME= alone is this system. The command is split into words like a shell command,
    /// without any expansion. It starts once for all trials and receives the programs on standard input. It
    /// must pass on standard input and output, and must not exit before the programs do. The trials of all
    /// systems are interleaved, and trials with equal numbers are compared as pairs.
    #[arg(long = "system", value_name = "NAME=COMMAND", value_parser = Target::parse)]
    systems: Vec<Target>,
    #[command(flatten)]
    fleet: FleetArgs,
    /// File systems to measure, each as a system of its own: kinds with options, as ext4,ext4:nojournal,tmpfs
    ///
    /// Each is made in an image in the scratch folder, and all trials of that system have their files on it.
    /// The kinds are ext2, ext3, ext4, xfs, btrfs, f2fs and tmpfs, as far as this kernel has them and their
    /// mkfs(8) is installed; options are those of mount(8), and nojournal. It needs root.
    #[arg(
        long = "fs",
        value_name = "KIND[:OPTION]",
        value_delimiter = ',',
        value_parser = FileSystem::parse,
        conflicts_with = "systems"
    )]
    file_systems: Vec<FileSystem>,
    /// Block device on which the file systems of --fs are made, in place of images
    #[arg(long, value_name = "DEV", requires_all = ["erase", "file_systems"])]
    device: Option<String>,
    /// The same device again: all that is on it is lost
    #[arg(long, value_name = "DEV", requires = "device")]
    erase: Option<String>,
    /// Folders for files of the workloads, each as a system of its own: /mnt/disk,/srv/share
    ///
    /// The run makes a folder of its own in each, touches nothing else there, and removes it at the end, also
    /// after SIGKILL. Programs are executed from the scratch folder.
    #[arg(
        long,
        value_name = "DIR",
        value_delimiter = ',',
        value_parser = Target::of_files,
        conflicts_with = "systems"
    )]
    files: Vec<Target>,
    /// Load each system beside its trials: cpu:50%, net:100mbit, disk:20MB/s, memory:2GiB@5GB/s,
    /// connections:5000@200/s, syscalls:1M/s, or several with commas between them
    ///
    /// Each load is held by a process of its own, on the processor behind #, as in cpu:50%#1, or else on one
    /// that trials and servers leave free. Before anything is measured each load must come within 2 % of its
    /// rate. The rate of every second is recorded as the kernel counts it, and a trial in which one was off
    /// by more than 5 % is not judged. Several levels, as cpu:0%/25%/50%/75%, are systems of their own, which
    /// are compared. Loads stay on the system: net and connections on its loopback interface, disk in the
    /// folder for files.
    #[arg(long, value_name = "LOAD,…", value_parser = BackgroundSpec::parse)]
    background: Option<BackgroundSpec>,
    /// Measure the system against itself, and store its noise floor for later comparisons
    ///
    /// Every workload gets at least ten trials on each side, even beyond the budget. Every difference found
    /// is noise. The run prints the rate of false alarms and the noise floor, the smallest difference that
    /// this machine can resolve; no later comparison of runs on this machine claims a smaller one.
    #[arg(long)]
    aa: bool,
    /// Profile each cost that grows, in separate trials, and name the functions responsible
    ///
    /// Linux only. It needs root or CAP_PERFMON where kernel.perf_event_paranoid is above 1. The samples are
    /// in the run file, and osdyno blame prints the answer again.
    #[arg(long, conflicts_with = "aa")]
    blame: bool,
    #[command(flatten)]
    gate: RunGateArgs,
    #[arg(skip)]
    boots: Option<u32>,
    /// Print every series, with its spikes, modes and remarks
    #[arg(short, long)]
    verbose: bool,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: ResultFormat,
    #[command(flatten)]
    command: CommandArgs,
}

/// The content of a run file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Keep {
    /// Every measurement
    Points,
    /// Medians and verdicts
    Compact,
}

impl Args {
    /// Adds these systems beside this one, unless the user names others or measures one of them against
    /// itself.
    pub(crate) fn beside(mut self, systems: Vec<Target>) -> Args {
        if self.systems.is_empty() && !self.aa {
            self.systems.push(Target::local());
        }
        self.systems.extend(systems);
        self
    }

    /// Spreads the trials of booted systems over so many boots.
    pub(crate) fn over_boots(self, boots: u32) -> Args {
        Args { boots: Some(boots), ..self }
    }
}

/// The files that a run writes.
struct Places {
    file: PathBuf,
    /// None for a run that is kept in a folder: osdyno view makes the pages of those.
    page: Option<PathBuf>,
    blame_page: Option<PathBuf>,
}

impl Places {
    /// Refuses names that are taken, before time is spent.
    fn new(args: &Args, workloads: &[String]) -> Result<Places, Failure> {
        let (file, page) = match args.gate.history() {
            Some(folder) => {
                std::fs::create_dir_all(folder).map_err(Failure::writing(folder))?;
                (folder.join(kept_name(workloads)), None)
            }
            None => {
                let file = args.out.clone().unwrap_or_else(|| default_name(workloads));
                let page = file.with_extension("html");
                (file, Some(page))
            }
        };
        if page.as_ref() == Some(&file) {
            let text = "the run file cannot end in .html, because the report gets that name";
            return Err(Failure::Usage(text.to_owned()));
        }
        let blame_page = args.blame.then(|| super::blame::beside(&file, "html"));
        [&file].into_iter().chain(&page).chain(&blame_page).try_for_each(|path| refuse_taken(path))?;
        Ok(Places { file, page, blame_page })
    }
}

pub(crate) fn run(args: &Args, console: &Console) -> Done {
    let gate = args.gate.prepare(args.trials)?;
    let options = options(args, &gate)?;
    let plan = RunPlan::make(&options)?;
    gate.check(&plan)?;
    if let (Some(device), Some(erase)) = (&args.device, &args.erase) {
        args.file_systems.iter().try_for_each(|file_system| file_system.expect_erasable(device, erase))?;
    }
    let Places { file, page, blame_page } = Places::new(args, &options.workloads)?;

    let interrupt = interrupt()?;
    let mut screen = Screen::new(console, plan.targets.len() > 1);
    screen.notes(&plan.notes);
    let command = command_line::recorded_in(&file, &plan.targets);
    let ran = runner::run(&plan, &file, command, &interrupt, &mut |event| screen.show(&event))?;
    screen.clear();

    let findings = ran.findings;
    let format = args.format.shared();
    let detail = match Detail::of(args.verbose) {
        Detail::Overview if format == Format::Text && sys::handle::are_outputs_one() => {
            Detail::OverviewAfterMachine
        }
        detail => detail,
    };
    // A system against itself has a noise floor instead.
    let compared = gate.compare(&file, &ran.recording, &findings).filter(|_| !plan.aa);
    let systems = compared.as_ref().and_then(|compared| compared.as_ref().ok());
    if let Some(error) = ran.unwritten {
        print_findings(&findings, systems, None, (detail, args.format), console)?;
        print_places(&[("run", &file)], format)?;
        return Err(error.into());
    }
    // The verdicts first: a page of millions of points takes seconds. A reader that closes the pipe has the
    // page too.
    let decided = gate.decide((&ran.recording, &findings), compared.as_ref());
    let of_gate = decided.as_ref().ok().and_then(Option::as_ref);
    let printed = print_findings(&findings, systems, of_gate, (detail, args.format), console);
    let write = |out: &mut dyn std::io::Write| ::report::html::write(&ran.recording, &findings, systems, out);
    let written = page.as_ref().map_or(Ok(()), |page| write_file(page, false, write));
    printed?;
    if plan.aa {
        print_noise_floor(&ran.recording, format, console)?;
    }
    warn_refused(compared.as_ref());
    let usual = if args.gate.history().is_some() { Keep::Compact } else { Keep::Points };
    let compacted = match args.keep.unwrap_or(usual) {
        Keep::Compact if !ran.interrupted => write_compact(&file, &ran.recording, &findings, (&file, true)),
        Keep::Compact | Keep::Points => Ok(()),
    };
    let kept = ran.floor_kept.and_then(|kept| kept.inspect_err(|error| warn(&error.to_string())).ok());
    // JSON has only one answer: `osdyno blame` prints the other.
    let blame_page = blame_page.filter(|_| format == Format::Text);
    let blamed = blame_page
        .as_ref()
        .map(|page| super::blame::print_of_run((&ran.recording, &findings), page, args.verbose, console));
    let blamed = blamed.transpose();
    let page = page.as_ref().filter(|_| written.is_ok());
    let blame_page = blame_page.as_ref().filter(|_| matches!(blamed, Ok(Some(_))));
    let places = [("run", Some(&file)), ("report", page), ("blame", blame_page), ("floor", kept.as_ref())];
    let places: Vec<(&str, &Path)> =
        places.into_iter().filter_map(|(name, path)| Some((name, path?.as_path()))).collect();
    print_places(&places, format)?;
    wait_for(ran.removal, &interrupt);
    written?;
    compacted?;
    let blamed = blamed?;
    let code = match (ran.interrupted, is_complete(&plan, &ran.recording)) {
        (true, _) => return Ok(ExitCode::from(INTERRUPTED)),
        (false, true) => blamed.unwrap_or(ExitCode::SUCCESS),
        (false, false) => ExitCode::from(INCOMPLETE),
    };
    super::gate::end(decided?.as_ref(), code, format, console)
}

/// Fails where a file cannot be written, or exists already.
pub(super) fn refuse_taken(path: &Path) -> Result<(), Failure> {
    if path.exists() {
        let text = format!("{} exists already; choose another name with --out", path.display());
        return Err(Failure::Refused(text));
    }
    refuse_unwritable(path)
}

/// Waits until the files of the workloads are removed, which may take seconds. From here on one Ctrl-C is
/// enough: the process that removes them goes on by itself.
pub(super) fn wait_for(removal: Option<Removal>, interrupt: &AtomicBool) {
    let Some(mut removal) = removal else { return };
    interrupt.store(true, Ordering::Relaxed);
    if let Some(folder) = removal.pending() {
        tell(&format!("  removing {}; Ctrl-C does not wait for that", folder.display()));
    }
}

/// The run options of the command line.
fn options(args: &Args, gate: &RunGate) -> Result<RunOptions, Failure> {
    let levels = Levels::parse(&args.levels)?;
    let device = args.device.as_deref();
    let file_systems = args.file_systems.iter().map(|file_system| file_system.target(device));
    Ok(RunOptions {
        workloads: args.command.workloads(&args.workloads)?,
        preset: Some(args.preset.clone()),
        n: args.n,
        own_variants: args.command.variants(&levels, args.n.is_some(), gate.needs_baseline_of_run())?,
        levels: if let Levels::Numbers(numbers) = levels { numbers } else { Vec::new() },
        trials: args.trials,
        budget: args.budget,
        timeout: Some(args.timeout),
        window: args.window,
        settings: args.settings.clone(),
        server: args.server.clone(),
        clients: fleet::listed(&args.clients)?,
        allow_public: args.allow_public,
        unpinned: args.unpinned,
        no_references: args.no_references,
        seed: args.seed,
        scratch: args.scratch.clone(),
        targets: args.systems.iter().chain(&args.files).cloned().chain(file_systems).collect(),
        fleet: args.fleet.options()?,
        background: args.background.clone(),
        aa: args.aa,
        boots: args.boots,
        steps: None,
        blame: args.blame.then(BlameOptions::default),
        gate: gate.options(),
    })
}

/// Longest time that a load may be held at one level.
const WINDOW_MAX: Duration = Duration::from_secs(3600);

fn window(text: &str) -> Result<Duration, Unreadable> {
    let window = units::time(text)?;
    let fits = (Duration::from_millis(1)..=WINDOW_MAX).contains(&window);
    if fits { Ok(window) } else { Err(Unreadable::new(text, "a window is from 1ms to 1h")) }
}

/// `bind-2026-11-21T20-14.osdyno`: its content, and the time of the measurement in UTC.
pub(super) fn default_name(workloads: &[String]) -> PathBuf {
    let subject = match workloads {
        [one] if one.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-') => one,
        _ => "run",
    };
    let time = runner::rfc3339(SystemTime::now()).replace(':', "-");
    let name = |seconds: bool| format!("{subject}-{}.osdyno", &time[..if seconds { 19 } else { 16 }]);
    let short = PathBuf::from(name(false));
    // A second run within the minute gets the seconds too.
    if short.exists() || short.with_extension("html").exists() { PathBuf::from(name(true)) } else { short }
}

/// The same with the number of this process: several runs may be added to a folder at the same time.
fn kept_name(workloads: &[String]) -> PathBuf {
    let name = default_name(workloads).with_extension("");
    PathBuf::from(format!("{}-{}.osdyno", name.display(), std::process::id()))
}

/// Set by a signal that stops a run.
pub(super) fn interrupt() -> Result<Arc<AtomicBool>, Failure> {
    let failed = |error| Failure::Refused(format!("cannot handle signals: {error}"));
    let flag = Arc::new(AtomicBool::new(false));
    // A closed terminal cannot show the verdicts, but the page is still wanted; under nohup(1) the run goes
    // on.
    #[cfg(unix)]
    let hangup = (!sys::signal::ignores_hangup()).then_some(signal_hook::consts::SIGHUP);
    #[cfg(not(unix))]
    let hangup = None;
    for signal in [SIGINT, SIGTERM].into_iter().chain(hangup) {
        // The second time the process ends at once, and the janitor cleans up.
        signal_hook::flag::register_conditional_shutdown(signal, i32::from(INTERRUPTED), Arc::clone(&flag))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&flag)))
            .map_err(failed)?;
    }
    Ok(flag)
}

/// Whether every workload was measured, as far as the system's limits and the time allowed.
fn is_complete(plan: &RunPlan, recording: &record::Recording) -> bool {
    let names =
        |order: &record::TrialParameters| [&order.workload, &order.variant, &order.system].map(String::clone);
    let tried: HashSet<[String; 3]> = recording.trials.iter().map(|trial| names(&trial.order)).collect();
    let was_tried = |(item, target): (&runner::Item, &Target)| {
        tried.contains(&[item.workload.name, item.variant.name, &target.name].map(str::to_owned))
    };
    let went = |trial: &record::Trial| {
        matches!(trial.outcome, Outcome::Complete | Outcome::Limit { .. } | Outcome::Allowance { .. })
    };
    // Among rivals a missing facility is a result, if others were measured.
    let races = |name: &str| plan.items.iter().any(|item| item.workload.rivals && item.workload.name == name);
    let has_rivals = |order: &record::TrialParameters| {
        let is_rival = |other: &record::TrialParameters| {
            (&other.workload, &other.system) == (&order.workload, &order.system)
        };
        races(&order.workload) && recording.trials.iter().any(|trial| is_rival(&trial.order) && went(trial))
    };
    let went_well = |trial: &record::Trial| {
        went(trial) || matches!(trial.outcome, Outcome::Unsupported { .. }) && has_rivals(&trial.order)
    };
    let all = plan.items.iter().flat_map(|item| plan.targets.iter().map(move |target| (item, target)));
    // An A/A run has a noise floor as its aim.
    let has_floor = recording.systems.iter().all(|system| system.noise_floor.is_some());
    (has_floor || !plan.aa)
        && all.into_iter().all(was_tried)
        && recording.excluded.is_empty()
        && recording.trials.iter().all(went_well)
}

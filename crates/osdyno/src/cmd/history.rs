//! `osdyno history`: the course of costs over a folder of runs, and the folder itself.

mod check;

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use ::history::{RunSummary, SeriesSummary, Store, StoredRun};
use ::report::document::terminal::Length;
use ::report::document::{Column, Document, Narrow, Table, Text, Tone};
use ::report::words::{some_of, things};
use clap::{Subcommand, ValueEnum};
use record::units;
use serde::Serialize;

use super::{Done, Format, print_answer, warn};
use crate::console::{Console, Failure, completion, results, tell, write_results};

/// Show the course of costs over a folder of runs: which changed, when, and by how much
///
/// Every run file in the folder, and in folders in it, is a night. Costs are set against each other on one
/// machine: the same processor, memory and virtualization. A change of microcode, of the compiler of osdyno
/// or of the version of a workload begins them anew, and is no alarm. An index beside the files,
/// .osdyno-index, makes the next look fast; it can be deleted.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Args {
    /// Folder of run files
    #[arg(value_name = "DIR", required = true)]
    folder: Option<PathBuf>,
    /// Show changes from this day on, as 2026-11-01; older runs still define the usual costs
    #[arg(long, value_name = "DAY", value_parser = day, conflicts_with = "check")]
    since: Option<String>,
    /// Print every change, every series, and operations that were measured beside others
    #[arg(short, long)]
    verbose: bool,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: HistoryFormat,
    #[command(flatten)]
    check: check::CheckArgs,
    #[command(subcommand)]
    work: Option<Work>,
}

/// Work on the folder.
#[derive(Subcommand)]
enum Work {
    /// Copy run files into the folder, each under the time and seed of its run
    Add {
        /// Folder of run files
        #[arg(value_name = "DIR")]
        folder: PathBuf,
        /// Run files
        #[arg(value_name = "FILE", required = true)]
        files: Vec<PathBuf>,
    },
    /// List the runs of the folder, the newest first
    List {
        /// Folder of run files
        #[arg(value_name = "DIR")]
        folder: PathBuf,
        /// Words that a run must have, in its file, time, tags, command or the names of its series [default:
        /// every run is listed]
        #[arg(value_name = "WORD")]
        words: Vec<String>,
        /// Output format
        #[arg(long, value_enum, default_value = "text")]
        format: Format,
    },
    /// Give a run a name, as for --baseline tag:NAME
    Tag {
        /// Folder of run files
        #[arg(value_name = "DIR")]
        folder: PathBuf,
        /// The tag; the run that had it before loses it
        #[arg(value_name = "NAME")]
        tag: String,
        /// The run: its file, or its id or the beginning of that [default: the newest run]
        #[arg(value_name = "RUN", conflicts_with = "remove")]
        run: Option<String>,
        /// Take the tag away
        #[arg(long)]
        remove: bool,
    },
    /// Remove old runs that have no tag
    Prune {
        /// Folder of run files
        #[arg(value_name = "DIR")]
        folder: PathBuf,
        /// Runs that began so long before the newest one, as 400d
        #[arg(long, value_name = "TIME", value_parser = units::time)]
        older_than: Duration,
        /// Remove them; without this they are only listed
        #[arg(long)]
        yes: bool,
    },
}

/// Format of a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum HistoryFormat {
    /// A table
    Text,
    /// JSON; docs/answers.md describes the fields
    Json,
    /// Markdown
    Markdown,
    /// A row for each value of each run
    Csv,
    /// Gauges for Prometheus and its textfile collector
    Openmetrics,
}

impl HistoryFormat {
    /// The format of every verb, for an answer that has no other.
    fn shared(self) -> Result<Format, Failure> {
        match self {
            HistoryFormat::Text => Ok(Format::Text),
            HistoryFormat::Json => Ok(Format::Json),
            HistoryFormat::Markdown => Ok(Format::Markdown),
            HistoryFormat::Csv | HistoryFormat::Openmetrics => {
                Err(Failure::Usage("--check prints text, json or markdown".to_owned()))
            }
        }
    }
}

fn day(text: &str) -> Result<String, String> {
    match humantime::parse_rfc3339_weak(&format!("{text}T00:00:00Z")) {
        Ok(_) if text.len() == "2026-11-01".len() => Ok(text.to_owned()),
        _ => Err("write a day as 2026-11-01".to_owned()),
    }
}

pub(crate) fn history(args: &Args, console: &Console) -> Done {
    match (&args.work, &args.folder) {
        (Some(Work::Add { folder, files }), _) => add(folder, files),
        (Some(Work::List { folder, words, format }), _) => list(folder, &words.join(" "), *format, console),
        (Some(Work::Tag { folder, tag, run, remove }), _) => tag_run(folder, tag, run.as_deref(), *remove),
        (Some(Work::Prune { folder, older_than, yes }), _) => prune(folder, *older_than, *yes),
        (None, Some(folder)) if args.check.is_wanted() => {
            args.check.run(folder, args.format.shared()?, console)
        }
        (None, Some(folder)) => course(folder, args, console),
        (None, None) => Err(Failure::Usage("name the folder of run files".to_owned())),
    }
}

/// Opens a folder, and says so while files that are new to it are read and judged.
pub(super) fn open(folder: &Path) -> Result<Store, Failure> {
    let progress = |done: usize, of: usize| {
        let each = PROGRESS_EACH.max(of / PROGRESS_MOST);
        if done.is_multiple_of(each) || done == of && of > each {
            tell(&format!("  {done} of {of} new run files read"));
        }
    };
    let store = Store::open(folder, &progress)?;
    if let Some(reason) = &store.without_index {
        warn(&format!(
            "{}: the index cannot be written ({reason}), so the next look is as slow",
            folder.display()
        ));
    }
    Ok(store)
}

/// The file of a baseline: `last`, `tag:NAME`, `date:DAY` or the name of a run.
pub(super) fn baseline(folder: &Path, name: &str) -> Result<PathBuf, Failure> {
    let store = open(folder)?;
    let (stored, _) = store.baseline(name)?;
    Ok(store.path(stored))
}

/// The files of runs that are compared, behind that of their baseline: each a file, or a run of the folder by
/// name. Without any, the newest run.
pub(super) fn named(
    folder: &Path,
    names: &[PathBuf],
    baseline: Option<&str>,
) -> Result<Vec<PathBuf>, Failure> {
    let mut store = open(folder)?;
    let newest = [PathBuf::from("last")];
    let names = if names.is_empty() { &newest } else { names };
    let file = |name: &PathBuf| {
        if name.is_file() {
            return Ok(name.clone());
        }
        let (stored, _) = store.baseline(&name.to_string_lossy())?;
        Ok(store.path(stored))
    };
    let mut files = names.iter().map(file).collect::<Result<Vec<PathBuf>, Failure>>()?;
    if let Some(name) = baseline {
        // A run that is named may be of any machine.
        if name == "last" || name.starts_with("date:") {
            store.keep_baselines_of(&files);
        }
        let (stored, _) = store.baseline(name)?;
        files.insert(0, store.path(stored));
    }
    Ok(files)
}

/// Workloads that a line of the list names.
const NAMED_MOST: usize = 3;

/// New files between two lines of progress, and how many lines at the most.
const PROGRESS_EACH: usize = 50;
const PROGRESS_MOST: usize = 20;

fn course(folder: &Path, args: &Args, console: &Console) -> Done {
    let store = open(folder)?;
    let mut answer = ::history::history(&store);
    if let Some(day) = &args.since {
        answer.keep_changes_since(day);
    }
    let extent = if args.verbose { Length::All } else { Length::Short };
    match args.format {
        HistoryFormat::Csv => write_results(|out| ::report::history::write_csv(&answer, out))?,
        HistoryFormat::Openmetrics => {
            write_results(|out| ::report::history::write_openmetrics(&answer, out))?;
        }
        format => print_answer(&answer, ::report::history::document, extent, format.shared()?, console)?,
    }
    let is_whole = answer.left_out.iter().all(|one| one.reason != ::history::LeftOutRunReason::Unreadable);
    Ok(completion(is_whole))
}

fn add(folder: &Path, files: &[PathBuf]) -> Done {
    std::fs::create_dir_all(folder).map_err(Failure::writing(folder))?;
    let store = open(folder)?;
    for file in files {
        let (path, is_new) = store.add(file)?;
        let said = if is_new { "added as" } else { "is there already:" };
        writeln!(results(), "{} {said} {}", file.display(), path.display())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The answer of `history list`.
#[derive(Debug, Serialize)]
pub(crate) struct RunListAnswer<'a> {
    /// Version of this answer.
    schema: u32,
    /// The runs, the newest first.
    runs: Vec<ListedRun<'a>>,
}

/// A run of a folder.
#[derive(Debug, Serialize)]
pub(crate) struct ListedRun<'a> {
    /// Its id.
    run: &'a str,
    /// Its file.
    file: &'a str,
    /// Size of the file.
    bytes: u64,
    /// When it began.
    started_at: &'a str,
    /// Whether it has an end.
    has_end: bool,
    /// Its machines.
    machines: Vec<String>,
    /// Their kernels.
    kernels: Vec<String>,
    /// How many series.
    series: usize,
    /// Their workloads.
    workloads: Vec<&'a str>,
    /// Its tags.
    tags: &'a [String],
}

fn list(folder: &Path, words: &str, format: Format, console: &Console) -> Done {
    let store = open(folder)?;
    let runs = store.summaries().rev().filter(|(stored, run)| store.has_words(stored, run, words));
    let runs = runs.map(|(stored, run)| ListedRun::new(&store, stored, run));
    let answer = RunListAnswer { schema: 1, runs: runs.collect() };
    print_answer(&answer, list_document, Length::All, format, console)?;
    Ok(ExitCode::SUCCESS)
}

impl<'a> ListedRun<'a> {
    fn new(store: &'a Store, stored: &'a StoredRun, run: &'a RunSummary) -> ListedRun<'a> {
        let series: Vec<&SeriesSummary> = run.series.iter().filter(|series| !series.detail).collect();
        let workloads: BTreeSet<&str> = series.iter().map(|series| series.workload.as_str()).collect();
        ListedRun {
            run: &run.id,
            file: &stored.state.file,
            bytes: stored.state.bytes,
            started_at: &run.started_at,
            has_end: run.end.is_some(),
            machines: run.systems.iter().map(::report::history::run_machine).collect(),
            kernels: run.systems.iter().map(::report::history::run_kernel).collect(),
            series: series.len(),
            workloads: workloads.into_iter().collect(),
            tags: store.tags_of(run),
        }
    }
}

fn list_document(answer: &RunListAnswer<'_>) -> Document {
    let mut document = Document::default();
    if answer.runs.is_empty() {
        document.say("no run");
        return document;
    }
    let columns = vec![
        "Run".into(),
        "Begun".into(),
        Column::from("Machine").narrow(Narrow::LeftOut),
        "Kernel".into(),
        Column::number("Series"),
        Column::from("Workloads").narrow(Narrow::LeftOut),
        "Tags".into(),
    ];
    let mut table = Table::of_columns(columns);
    for run in &answer.runs {
        let end = if run.has_end { "" } else { " (no end)" };
        table.push([
            Text::toned(run.run, Tone::Strong),
            format!("{}{end}", ::report::history::when(run.started_at)).into(),
            run.machines.join(", ").into(),
            run.kernels.join(", ").into(),
            run.series.to_string().into(),
            some_of(&run.workloads, NAMED_MOST).into(),
            run.tags.join(", ").into(),
        ]);
    }
    document.push(table);
    document
}

fn tag_run(folder: &Path, tag: &str, run: Option<&str>, remove: bool) -> Done {
    let store = open(folder)?;
    if remove {
        store.remove_tag(tag)?;
        return Ok(ExitCode::SUCCESS);
    }
    let (_, run) = match run {
        Some(name) => store.find(name)?,
        None => store.baseline("last")?,
    };
    store.tag(tag, run)?;
    writeln!(results(), "{tag} is {} ({})", run.id, ::report::history::when(&run.started_at))?;
    Ok(ExitCode::SUCCESS)
}

fn prune(folder: &Path, older_than: Duration, yes: bool) -> Done {
    let store = open(folder)?;
    let old: Vec<_> = store.older_than(older_than.as_secs_f64()).collect();
    for (stored, _) in &old {
        if yes {
            store.remove(stored)?;
        }
        writeln!(results(), "{}", store.path(stored).display())?;
    }
    let count = things(old.len(), "run", "runs");
    let said = if yes {
        format!("{count} removed")
    } else {
        format!("{count} would be removed; --yes removes them")
    };
    tell(&said);
    Ok(ExitCode::SUCCESS)
}

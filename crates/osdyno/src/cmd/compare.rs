//! `osdyno compare`: which system is faster and by how much, with confidence intervals.

use std::path::{Path, PathBuf};

use ::report::compare::ComparisonAnswer;
use ::report::document::terminal::Length;
use ::report::fleet::FleetAnswer;
use ::report::formats::BuildResults;
use import::Import;
use judge::compare::{Comparison, Refusal};
use judge::{Findings, Fleet, FleetHostState};
use record::Recording;

use super::gate::GateArgs;
use super::judge::{ImportArgs, import_failure, is_run_file, read_into, tell_bad_lines};
use super::{
    Done, ResultFormat, print_answer, print_for_build, print_places, read as read_run, refuse_existing,
    refuse_input, warn, write_file,
};
use crate::console::{Console, Failure, completion};

/// Compare systems: which is faster and by how much, with confidence intervals
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Run files, one run file of several systems, or files of other programs; all others are compared with
    /// the first
    ///
    /// With --history also runs of that folder by name: last, tag:NAME, date:DAY or the id of a run. Without
    /// any, its newest run is compared with --baseline.
    #[arg(value_name = "FILE", num_args = 1.., required_unless_present_any = ["old", "baseline"])]
    files: Vec<PathBuf>,
    /// Files of another program that are the first side together
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "new", conflicts_with = "files")]
    old: Vec<PathBuf>,
    /// Files of another program that are the second side together
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "old")]
    new: Vec<PathBuf>,
    /// The run that all others are compared with: last, tag:NAME, date:DAY or a run of the folder --history
    ///
    /// last is the newest run on the same machine before the compared one.
    #[arg(long, value_name = "RUN", requires = "history", conflicts_with = "old")]
    baseline: Option<String>,
    /// Folder of run files in which runs are found by name
    #[arg(long, value_name = "DIR", conflicts_with = "old")]
    history: Option<PathBuf>,
    /// Also write the comparison as an HTML page
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Overwrite the page
    #[arg(long)]
    force: bool,
    /// The smallest difference that matters
    #[arg(long, value_name = "PERCENT", default_value = "3", value_parser = super::report::margin)]
    margin: f64,
    /// Print every ratio, with its notes
    #[arg(short, long)]
    verbose: bool,
    #[command(flatten)]
    gate: GateArgs,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: ResultFormat,
    #[command(flatten)]
    import: ImportArgs,
}

pub(crate) fn compare(mut args: Args, console: &Console) -> Done {
    if let Some(folder) = &args.history {
        args.files = super::history::named(folder, &args.files, args.baseline.as_deref())?;
    }
    let args = &args;
    let sides = args.sides();
    if let Some(page) = &args.out {
        sides.iter().try_for_each(|side| refuse_input(page, side.files))?;
        refuse_existing(page, args.force)?;
    }
    let (compared, is_complete) = match are_runs(&sides)? {
        true => {
            let recordings = read_runs(&sides, args)?;
            if let Some(fleet) = of_fleets(&sides, &recordings, args)? {
                return compare_fleets(fleet, args, console);
            }
            (of_runs(&sides, &recordings, args), true)
        }
        false => of_measurements(&sides, args)?,
    };
    let gate = args.gate.decide(None, Some(&compared))?;
    let comparison = compared.map_err(|refusal| Failure::Refused(::report::compare::refusal(&refusal)))?;

    let format = args.format.shared();
    let document = || match args.verbose {
        true => ::report::compare::document(&comparison),
        false => ::report::overview::systems(&comparison),
    };
    let extent = if args.verbose { Length::All } else { ::report::overview::SCREEN };
    if let Some(format) = args.format.build() {
        print_for_build(format, BuildResults::from_comparison(&comparison), gate.as_ref(), &document())?;
    } else {
        let of_gate = gate.as_ref().map(|gate| &gate.answer);
        let answer = ComparisonAnswer { gate: of_gate, ..ComparisonAnswer::new(&comparison) };
        print_answer(&answer, |_| document(), extent, format, console)?;
    }
    if let Some(page) = &args.out {
        write_file(page, args.force, |out| ::report::compare::write_html(&comparison, out))?;
        print_places(&[("report", page)], format)?;
    }
    let (judged, all) = comparison.judged();
    let code = completion(is_complete && judged == all);
    super::gate::end(gate.as_ref(), code, format, console)
}

type Compared = Result<Comparison, Refusal>;

/// Files that are compared as one.
struct SideFiles<'a> {
    name: String,
    files: &'a [PathBuf],
}

impl Args {
    fn sides(&self) -> Vec<SideFiles<'_>> {
        if self.files.is_empty() {
            let side = |name: &str, files| SideFiles { name: name.to_owned(), files };
            return vec![side("old", &self.old), side("new", &self.new)];
        }
        let files = self.files.chunks(1);
        names(&self.files).into_iter().zip(files).map(|(name, files)| SideFiles { name, files }).collect()
    }
}

/// Whether all files are run files of osdyno, or none is.
fn are_runs(sides: &[SideFiles<'_>]) -> Result<bool, Failure> {
    let (mut run, mut other) = (None, None);
    for file in sides.iter().flat_map(|side| side.files) {
        *(if is_run_file(file)? { &mut run } else { &mut other }) = Some(file);
    }
    match (run, other) {
        (Some(run), Some(other)) => Err(Failure::Usage(format!(
            "{} is a run file of osdyno and {} is not: they have no series in common",
            run.display(),
            other.display()
        ))),
        (run, _) => Ok(run.is_some()),
    }
}

fn read_runs(sides: &[SideFiles<'_>], args: &Args) -> Result<Vec<Recording>, Failure> {
    if let Some(several) = sides.iter().find(|side| side.files.len() > 1) {
        return Err(Failure::Usage(format!(
            "--{} takes several files only of other programs; a run of osdyno is one file, and --trials \
             makes it longer",
            several.name
        )));
    }
    if args.import.is_given() {
        return Err(Failure::Usage(
            "run files of osdyno have no columns; options for files of other programs have no effect".into(),
        ));
    }
    sides.iter().map(|side| read_run(&side.files[0])).collect()
}

fn of_runs(sides: &[SideFiles<'_>], recordings: &[Recording], args: &Args) -> Compared {
    let named: Vec<_> = sides.iter().map(|side| side.name.as_str()).zip(recordings).collect();
    Comparison::with_margin(&named, args.margin)
}

/// A run on a fleet, or two of them, folded over their hosts; `None` where none is of a fleet. The hosts of a
/// fleet are never set against each other, or against another system.
fn of_fleets(
    sides: &[SideFiles<'_>],
    recordings: &[Recording],
    args: &Args,
) -> Result<Option<Result<Fleet, Refusal>>, Failure> {
    if !recordings.iter().any(Fleet::is_of) {
        return Ok(None);
    }
    match (sides, recordings) {
        ([_], [run]) => {
            let findings = Findings::from_recording(run);
            Ok(Fleet::from_findings(run, &findings, args.margin).map(Ok))
        }
        ([old, new], [first, second]) if Fleet::is_of(first) && Fleet::is_of(second) => {
            Ok(Fleet::of_runs([(&old.name, first), (&new.name, second)], args.margin))
        }
        _ => {
            let text = "a run of several hosts is compared with one other run of these hosts";
            Err(Failure::Usage(text.to_owned()))
        }
    }
}

fn compare_fleets(fleet: Result<Fleet, Refusal>, args: &Args, console: &Console) -> Done {
    let fleet = fleet.map_err(|refusal| Failure::Refused(::report::compare::refusal(&refusal)))?;
    let gate = args.gate.decide_fleet(&fleet)?;
    let format = args.format.shared();
    let document = || ::report::fleet::compared(&fleet);
    if let Some(format) = args.format.build() {
        print_for_build(format, BuildResults::from_fleet(&fleet), gate.as_ref(), &document())?;
    } else {
        let extent = if args.verbose { Length::All } else { ::report::overview::SCREEN };
        let answer = FleetAnswer::new(&fleet, gate.as_ref().map(|gate| &gate.answer));
        print_answer(&answer, |_| document(), extent, format, console)?;
    }
    if let Some(page) = &args.out {
        write_file(page, args.force, |out| ::report::fleet::write_html(&fleet, out))?;
        print_places(&[("report", page)], format)?;
    }
    let is_whole = fleet.hosts.iter().all(|host| host.state == FleetHostState::Judged);
    let code = completion(is_whole);
    super::gate::end(gate.as_ref(), code, format, console)
}

/// The comparison, and whether every line of the files could be used.
fn of_measurements(sides: &[SideFiles<'_>], args: &Args) -> Result<(Compared, bool), Failure> {
    let mut imports = Vec::new();
    for side in sides {
        let mut import = Import::new(args.import.options());
        side.files.iter().try_for_each(|file| read_into(&mut import, file))?;
        imports.push(import);
    }
    let imported = import::finish_together(imports).map_err(|error| import_failure(error, None))?;
    for imported in &imported {
        imported.remarks.iter().for_each(|remark| warn(remark));
        tell_bad_lines(&imported.bad_lines);
    }
    let recordings = imported.iter().map(|imported| &imported.recording);
    let named: Vec<_> = sides.iter().map(|side| side.name.as_str()).zip(recordings).collect();
    let is_complete = imported.iter().all(|imported| imported.bad_lines.count == 0 && imported.failed == 0);
    Ok((Comparison::of_imports(&named, args.margin), is_complete))
}

/// The files' names, with their folders only where the names alone are the same.
fn names(runs: &[PathBuf]) -> Vec<String> {
    let short = |path: &Path| path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let is_shared = |path: &PathBuf| runs.iter().filter(|other| short(other) == short(path)).count() > 1;
    let name =
        |path: &PathBuf| if is_shared(path) { path.to_string_lossy().into_owned() } else { short(path) };
    runs.iter().map(name).collect()
}

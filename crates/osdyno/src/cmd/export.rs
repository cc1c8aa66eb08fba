//! `osdyno export`: writes a run as tables for other programs.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use judge::Findings;
use record::{Line, Reader, Recording};
use report::export::{Format, Partition, PartitionKey, SideTable};

use super::{Done, read, refuse_input, write_file};
use crate::console::{Console, Failure, write_results};

/// Export the measurements of a run, or another of its tables, as CSV, JSON or Parquet; or the run in medians
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Run file
    run: PathBuf,
    /// Output format: csv, json, parquet, or hyperfine, the JSON of that program for the commands of a run
    #[arg(long, value_parser = parse_format, required_unless_present = "compact")]
    format: Option<ExportFormat>,
    /// Write a run file that has medians in place of points: all verdicts and comparisons stay the same
    ///
    /// The file keeps the verdict of each series, the environment, trials and loads; every verb reads it.
    /// Below n = 100 each n has its point, above that one median stands for 2 to 5 % of n. Single points,
    /// references and verdicts with another --margin need the points.
    #[arg(long, requires = "out", conflicts_with_all = ["format", "table", "partition"])]
    compact: bool,
    /// Table to export
    #[arg(long, value_enum, default_value = "values")]
    table: Table,
    /// File to write, or with --partition the folder [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write a tree of Parquet files, as host=n1/workload=bind/part.parquet, which DuckDB and ClickHouse read
    /// as one table
    #[arg(long, value_name = "COLUMN,…", value_enum, value_delimiter = ',', requires = "out")]
    partition: Vec<PartitionColumn>,
    /// Overwrite the file
    #[arg(long)]
    force: bool,
}

/// The tables of a run.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Table {
    /// Every measurement
    Values,
    /// The load generator's own observations, for each load
    Generator,
    /// The latencies of loads: the count of each value
    Histograms,
    /// Facts about each system, and its processors
    Systems,
    /// The limits of each system
    Limits,
    /// The rate of every second of each load of --background
    Background,
}

/// A column of the long table that makes folders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum PartitionColumn {
    /// Host of a fleet; of another run the system
    Host,
    /// Configuration of the host
    Configuration,
    /// System
    System,
    /// Workload
    Workload,
    /// Variant
    Variant,
}

impl PartitionColumn {
    fn key(self) -> PartitionKey {
        match self {
            PartitionColumn::Host => PartitionKey::Host,
            PartitionColumn::Configuration => PartitionKey::Configuration,
            PartitionColumn::System => PartitionKey::System,
            PartitionColumn::Workload => PartitionKey::Workload,
            PartitionColumn::Variant => PartitionKey::Variant,
        }
    }
}

/// The form of the output.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ExportFormat {
    /// One of the tables.
    Table(Format),
    /// The commands of a run, as hyperfine writes them.
    Hyperfine,
}

/// Its name on the command line.
const HYPERFINE: &str = "hyperfine";

fn parse_format(text: &str) -> Result<ExportFormat, String> {
    if text == HYPERFINE {
        return Ok(ExportFormat::Hyperfine);
    }
    text.parse().map(ExportFormat::Table).map_err(|_| {
        let tables = Format::ALL.map(|format| format.to_string()).join(", ");
        format!("unknown format; known formats are {tables} and {HYPERFINE}")
    })
}

pub(crate) fn export(args: &Args, console: &Console) -> Done {
    if let Some(path) = &args.out {
        refuse_input(path, std::slice::from_ref(&args.run))?;
    }
    match (args.format, &args.out) {
        (Some(format), _) => export_table(args, format, console),
        (None, Some(path)) => {
            let recording = read(&args.run)?;
            write_compact(&args.run, &recording, &Findings::from_recording(&recording), (path, args.force))?;
            Ok(ExitCode::SUCCESS)
        }
        (None, None) => Err(Failure::Usage("--compact needs a file, --out FILE".to_owned())),
    }
}

/// Writes the run without its points, which `recording` and `findings` were read from and made of.
pub(super) fn write_compact(
    run: &Path,
    recording: &Recording,
    findings: &Findings,
    (path, force): (&Path, bool),
) -> Result<(), Failure> {
    let lines = Reader::open(run)?.collect::<Result<Vec<Line>, record::Error>>()?;
    let lines = judge::compact(recording, findings, lines);
    write_file(path, force, |out| record::write_dense(&lines, out))
}

fn export_table(args: &Args, format: ExportFormat, console: &Console) -> Done {
    let is_tree = !args.partition.is_empty();
    if is_tree && !(format == ExportFormat::Table(Format::Parquet) && matches!(args.table, Table::Values)) {
        let text = "--partition divides the measurements, as --format parquet; no other table or format";
        return Err(Failure::Usage(text.to_owned()));
    }
    if format == ExportFormat::Hyperfine && !matches!(args.table, Table::Values) {
        return Err(Failure::Usage("--format hyperfine writes times, and no other --table".to_owned()));
    }
    let recording = read(&args.run)?;
    if format == ExportFormat::Hyperfine && !report::export::has_commands(&recording) {
        let text = "no command was measured in this run; osdyno run -- COMMAND measures one";
        return Err(Failure::Refused(text.to_owned()));
    }
    match &args.out {
        Some(folder) if !args.partition.is_empty() => write_tree(args, &recording, folder)?,
        Some(path) => write_file(path, args.force, |out| write(args, format, &recording, out))?,
        None => {
            if format == ExportFormat::Table(Format::Parquet) && console.terminal {
                let text = "Parquet is binary; name a file with --out, or pipe it into a program";
                return Err(Failure::Usage(text.to_owned()));
            }
            write_results(|out| write(args, format, &recording, out))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the tree of files. The folder must be new or empty: files that stand in it already would be read as
/// part of the table.
fn write_tree(args: &Args, recording: &Recording, folder: &Path) -> Result<(), Failure> {
    let is_taken = match fs::read_dir(folder) {
        Ok(mut inside) => inside.next().is_some(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => false,
        Err(error) => return Err(Failure::writing(folder)(error)),
    };
    if is_taken {
        let text = format!("{} is not empty; choose a new folder with --out", folder.display());
        return Err(Failure::Refused(text));
    }
    let mut keys: Vec<PartitionKey> = Vec::new();
    for key in args.partition.iter().map(|column| column.key()) {
        if keys.contains(&key) {
            return Err(Failure::Usage(format!("--partition names {} twice", key.name())));
        }
        keys.push(key);
    }
    for part in Partition::all(recording, &keys) {
        let path = folder.join(part.path());
        let inside = path.parent().unwrap_or(folder);
        fs::create_dir_all(inside).map_err(Failure::writing(inside))?;
        write_file(&path, false, |out| part.write(recording, out))?;
    }
    Ok(())
}

fn write(args: &Args, format: ExportFormat, recording: &Recording, out: &mut dyn Write) -> io::Result<()> {
    let ExportFormat::Table(format) = format else {
        return report::export::write_hyperfine(recording, out);
    };
    let table = match args.table {
        Table::Values => return report::export::write(format, recording, out),
        Table::Generator => SideTable::Generator,
        Table::Histograms => SideTable::Histograms,
        Table::Systems => SideTable::Systems,
        Table::Limits => SideTable::Limits,
        Table::Background => SideTable::Background,
    };
    report::export::write_table(format, table, recording, out)
}

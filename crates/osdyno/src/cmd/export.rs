//! `osdyno export`: writes a run as tables for other programs.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use record::Recording;
use report::export::SideTable;

use super::{Done, read, refuse_input, write_file};
use crate::console::{Console, results};
use crate::failure::Failure;

/// Export the measurements of a run, or another of its tables, as CSV, JSON or Parquet
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Run file
    run: PathBuf,
    /// Output format: csv, json or parquet
    #[arg(long, value_parser = parse_format)]
    format: report::export::Format,
    /// Which table
    #[arg(long, value_enum, default_value = "values")]
    table: Table,
    /// File to write [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Overwrite the file
    #[arg(long)]
    force: bool,
}

/// The tables of a run.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Table {
    /// Every measurement
    Values,
    /// What the load generator measured of itself, for each load
    Generator,
    /// The latencies of loads: how many there were of each value
    Histograms,
    /// Facts about each system, and its processors
    Systems,
    /// The limits of each system
    Limits,
    /// The rate of every second of each load of --background
    Background,
}

fn parse_format(text: &str) -> Result<report::export::Format, String> {
    text.parse().map_err(|_| {
        format!(
            "unknown format; known formats are {}",
            report::export::Format::ALL.map(|f| f.to_string()).join(", ")
        )
    })
}

pub(crate) fn export(args: &Args, console: &Console) -> Done {
    if let Some(path) = &args.out {
        refuse_input(path, std::slice::from_ref(&args.run))?;
    }
    let recording = read(&args.run)?;
    match &args.out {
        Some(path) => write_file(path, args.force, |out| write(args, &recording, out))?,
        None => {
            if args.format == report::export::Format::Parquet && console.terminal {
                let text = "Parquet is binary; name a file with --out, or pipe it into a program";
                return Err(Failure::Usage(text.to_owned()));
            }
            let mut out = BufWriter::new(results());
            write(args, &recording, &mut out)?;
            out.flush()?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn write(args: &Args, recording: &Recording, out: &mut dyn Write) -> io::Result<()> {
    let table = match args.table {
        Table::Values => return report::export::write(args.format, recording, out),
        Table::Generator => SideTable::Generator,
        Table::Histograms => SideTable::Histograms,
        Table::Systems => SideTable::Systems,
        Table::Limits => SideTable::Limits,
        Table::Background => SideTable::Background,
    };
    report::export::write_table(args.format, table, recording, out)
}

//! `osdyno export`: writes every measurement of a run for other programs.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use super::{Done, read, refuse_input, write_file};
use crate::console::Console;
use crate::failure::Failure;

/// Export every measurement of a run as CSV, JSON or Parquet
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Run file
    run: PathBuf,
    /// Output format: csv, json or parquet
    #[arg(long, value_parser = parse_format)]
    format: report::export::Format,
    /// File to write [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Overwrite the file
    #[arg(long)]
    force: bool,
}

fn parse_format(text: &str) -> Result<report::export::Format, String> {
    text.parse().map_err(|_| {
        format!(
            "unknown format; known formats are {}",
            report::export::Format::ALL.map(|f| f.to_string()).join(", ")
        )
    })
}

pub(crate) fn export(args: &Args, _console: &Console) -> Done {
    if let Some(path) = &args.out {
        refuse_input(path, std::slice::from_ref(&args.run))?;
    }
    let recording = read(&args.run)?;
    match &args.out {
        Some(path) => {
            write_file(path, args.force, |out| report::export::write(args.format, &recording, out))?
        }
        None => {
            if args.format == report::export::Format::Parquet && io::stdout().is_terminal() {
                let text = "Parquet is binary; name a file with --out, or pipe it into a program";
                return Err(Failure::Usage(text.to_owned()));
            }
            let mut out = BufWriter::new(io::stdout().lock());
            report::export::write(args.format, &recording, &mut out)?;
            out.flush()?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

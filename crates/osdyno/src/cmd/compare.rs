//! `osdyno compare`: which system is faster and by how much, with confidence intervals.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ::report::document::terminal::Length;
use judge::compare::Comparison;

use super::gate::GateArgs;
use super::{Done, Format, print_places, read, refuse_existing, refuse_input, write_file};
use crate::console::{Console, results};
use crate::failure::{Failure, INCOMPLETE};

/// Compare systems: which is faster and by how much, with confidence intervals
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Run files, or one run file of several systems; all others are compared with the first
    #[arg(value_name = "RUN", num_args = 1.., required = true)]
    runs: Vec<PathBuf>,
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
    format: Format,
}

pub(crate) fn compare(args: &Args, console: &Console) -> Done {
    if let Some(page) = &args.out {
        refuse_input(page, &args.runs)?;
        refuse_existing(page, args.force)?;
    }
    let recordings = args.runs.iter().map(|path| read(path)).collect::<Result<Vec<_>, _>>()?;
    let names = names(&args.runs);
    let named: Vec<_> = names.iter().map(String::as_str).zip(&recordings).collect();
    let comparison = Comparison::with_margin(&named, args.margin)
        .map_err(|refusal| Failure::Refused(::report::compare::refusal(&refusal)))?;

    let gate = args.gate.decide(None, Some(&comparison))?;
    let document = |compared: &Comparison| match args.verbose {
        true => ::report::compare::document(compared),
        false => ::report::overview::systems(compared),
    };
    let extent = if args.verbose { Length::All } else { ::report::overview::SCREEN };
    match args.format {
        Format::Text => console.print(&document(&comparison), extent)?,
        Format::Json => {
            let mut out = BufWriter::new(results());
            ::report::compare::write_json(&comparison, &mut out)?;
            out.flush()?;
        }
    }
    if let Some(page) = &args.out {
        write_file(page, args.force, |out| ::report::compare::write_html(&comparison, out))?;
        print_places(&[("report", page)], args.format)?;
    }
    let (judged, all) = comparison.judged();
    let code = if judged == all { ExitCode::SUCCESS } else { ExitCode::from(INCOMPLETE) };
    super::gate::end(gate.as_ref(), code, args.format, console)
}

/// The files' names, with their folders only where the names alone are the same.
fn names(runs: &[PathBuf]) -> Vec<String> {
    let short = |path: &Path| path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let is_shared = |path: &PathBuf| runs.iter().filter(|other| short(other) == short(path)).count() > 1;
    let name =
        |path: &PathBuf| if is_shared(path) { path.to_string_lossy().into_owned() } else { short(path) };
    runs.iter().map(name).collect()
}

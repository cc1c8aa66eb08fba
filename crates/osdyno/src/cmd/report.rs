//! `osdyno report`: judges a run file again.

use std::path::PathBuf;
use std::process::ExitCode;
use std::slice;

use judge::Findings;
use judge::compare::Comparison;
use record::Recording;

use super::{
    Detail, Done, Format, compare_systems, print_findings, print_noise_floor, print_places, read,
    refuse_existing, refuse_input, warn_refused, write_file,
};
use crate::console::{Console, tell};
use crate::failure::Failure;

/// Judge a run file again: print verdicts, write an HTML report
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Run file
    run: PathBuf,
    /// HTML page to write [default: the name of the run file with .html]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace the page; without this a page that is there already is kept
    #[arg(long)]
    force: bool,
    /// The smallest growth that matters
    #[arg(long, value_name = "PERCENT", default_value_t = 10.0, value_parser = parse_percent)]
    margin: f64,
    /// Print every series, with its spikes, modes and remarks
    #[arg(short, long)]
    verbose: bool,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

pub(crate) fn parse_percent(text: &str) -> Result<f64, String> {
    let value: f64 = text.trim_end_matches('%').parse().map_err(|_| "not a number".to_owned())?;
    if value > 0.0 && value < 1000.0 { Ok(value) } else { Err("must be above 0 and below 1000".to_owned()) }
}

pub(crate) fn report(args: &Args, console: &Console) -> Done {
    let page = args.out.clone().unwrap_or_else(|| args.run.with_extension("html"));
    refuse_input(&page, slice::from_ref(&args.run))?;
    // The page that the run wrote is no reason to withhold the verdicts; one that is named is meant.
    let is_kept = args.out.is_none() && !args.force && page.exists();
    if !is_kept {
        refuse_existing(&page, args.force)?;
    }
    let recording = read(&args.run)?;
    let findings = Findings::with_margin(&recording, args.margin / 100.0);
    let compared = compare_systems(&recording, &args.run);
    let systems = compared.as_ref().and_then(|compared| compared.as_ref().ok());
    if is_kept {
        print(&recording, &findings, systems, args, console)?;
        warn_refused(compared.as_ref());
        tell(&format!("  {} is there already and was kept; --force replaces it", page.display()));
        return Ok(ExitCode::SUCCESS);
    }
    // Before anything is printed: a reader may close the pipe. The verdicts are printed in any case.
    let written =
        write_file(&page, args.force, |out| ::report::html::write(&recording, &findings, systems, out));
    print(&recording, &findings, systems, args, console)?;
    written?;
    print_places(&[("report", &page)], args.format)?;
    warn_refused(compared.as_ref());
    Ok(ExitCode::SUCCESS)
}

/// Prints what the run printed.
fn print(
    recording: &Recording,
    findings: &Findings,
    systems: Option<&Comparison>,
    args: &Args,
    console: &Console,
) -> Result<(), Failure> {
    print_findings(findings, systems, Detail::of(args.verbose), args.format, console)?;
    if recording.measured_noise_floor().is_some() {
        print_noise_floor(recording, args.format, console)?;
    }
    Ok(())
}

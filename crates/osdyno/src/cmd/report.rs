//! `osdyno report`: judges a run file again.

use std::path::PathBuf;
use std::process::ExitCode;
use std::slice;

use judge::Findings;
use judge::compare::Comparison;
use record::Recording;
use record::units::{self, Unreadable};

use super::gate::{Decided, GateArgs};
use super::{
    Detail, Done, Format, ResultFormat, compare_systems, print_findings, print_noise_floor, print_places,
    read, refuse_existing, refuse_input, warn_refused, write_file,
};
use crate::console::{Console, Failure, tell};

/// Judge a run file again: print verdicts, write an HTML report
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Run file
    run: PathBuf,
    /// HTML page to write [default: the name of the run file with .html; with --format text
    /// only]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace the page; without this a page that is there already is kept
    #[arg(long)]
    force: bool,
    /// The smallest growth that matters
    #[arg(long, value_name = "PERCENT", default_value = "10", value_parser = margin)]
    margin: f64,
    /// Print every series, with its spikes, modes and remarks
    #[arg(short, long)]
    verbose: bool,
    #[command(flatten)]
    gate: GateArgs,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: ResultFormat,
}

/// A margin in percent, as a share of the cost.
pub(crate) fn margin(text: &str) -> Result<f64, Unreadable> {
    match units::percent(text)? {
        margin if margin > 0.0 && margin < 10.0 => Ok(margin),
        _ => Err(Unreadable::new(text, "a margin is above 0% and below 1000%, such as 5%")),
    }
}

pub(crate) fn report(args: &Args, console: &Console) -> Done {
    let page = Page::of(args)?;
    let recording = read(&args.run)?;
    let findings = Findings::with_margin(&recording, args.margin);
    let compared = compare_systems(&recording, &findings, &args.run);
    let systems = compared.as_ref().and_then(|compared| compared.as_ref().ok());
    let gate = args.gate.decide(Some((&recording, &findings)), compared.as_ref())?;
    // The verdicts first: a page of millions of points takes seconds. A reader that closes the pipe has the
    // page too.
    let printed = print(&recording, &findings, (systems, gate.as_ref()), args, console);
    let written = match &page {
        Page::Drawn(page) => {
            write_file(page, args.force, |out| ::report::html::write(&recording, &findings, systems, out))
        }
        Page::Kept(_) | Page::None => Ok(()),
    };
    printed?;
    written?;
    warn_refused(compared.as_ref());
    match &page {
        Page::Drawn(page) => print_places(&[("report", page)], args.format.shared())?,
        Page::Kept(page) => {
            tell(&format!("  {} is there already and was kept; --force replaces it", page.display()));
        }
        Page::None => (),
    }
    super::gate::end(gate.as_ref(), ExitCode::SUCCESS, args.format.shared(), console)
}

/// The page beside the verdicts.
enum Page {
    Drawn(PathBuf),
    /// It is there already.
    Kept(PathBuf),
    /// An answer in JSON or Markdown is for a program, which gets a page only where it names one.
    None,
}

impl Page {
    fn of(args: &Args) -> Result<Page, Failure> {
        let page = match &args.out {
            Some(page) => page.clone(),
            None if args.format.shared() != Format::Text => return Ok(Page::None),
            None => args.run.with_extension("html"),
        };
        refuse_input(&page, slice::from_ref(&args.run))?;
        // An existing page of the run does not prevent the verdicts; one that is named does.
        if args.out.is_none() && !args.force && page.exists() {
            return Ok(Page::Kept(page));
        }
        refuse_existing(&page, args.force)?;
        Ok(Page::Drawn(page))
    }
}

/// Prints the output of the run.
fn print(
    recording: &Recording,
    findings: &Findings,
    (systems, gate): (Option<&Comparison>, Option<&Decided>),
    args: &Args,
    console: &Console,
) -> Result<(), Failure> {
    print_findings(findings, systems, gate, (Detail::of(args.verbose), args.format), console)?;
    if recording.measured_noise_floor().is_some() {
        print_noise_floor(recording, args.format.shared(), console)?;
    }
    Ok(())
}

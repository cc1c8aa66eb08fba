//! `osdyno impact`: whether what an operating system costs matters to anyone.

mod answer;
mod json;
mod page;
mod picture;
mod text;

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use inspect::impact::{
    Cost, Demand, Impact, ImpactQuestion, KNOWN_PATHS, NetworkPath, UsedOperation, measured_costs,
};
use judge::Findings;
use record::units::{self, Quantity, Unreadable};

use answer::Answer;

use super::{Done, Format, print_places, read, refuse_existing, refuse_input, write_file};
use crate::console::{Console, results};
use crate::failure::Failure;

/// Estimate whether it matters: the share of the operating system in what a user waits for, what a system
/// twice as fast would gain, and from which rate on it matters for capacity
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Run files with measured costs; with several systems, what going from the first to another gains
    #[arg(value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// What lies between server and user: parts with a name, a time or a rate or both, such as 'server 2ms,
    /// lan 1gbit 0.3ms, isp 15ms, dsl 16mbit' [default: some paths of today]
    #[arg(long, value_name = "PATH", value_parser = NetworkPath::parse)]
    path: Option<NetworkPath>,
    /// A cost that was not measured here: accept=2us, read=20x5us, copy=30ms/MB, or with its error
    /// copy=95s+-2s/50MB
    #[arg(long, value_name = "NAME=TIME", value_parser = Cost::parse)]
    cost: Vec<Cost>,
    /// Operations of the runs that one response uses, and how often: 'accept, 20x read*' [default: each by
    /// itself]
    #[arg(long = "use", value_name = "OPERATION", value_delimiter = ',', value_parser = UsedOperation::parse)]
    used: Vec<UsedOperation>,
    /// All costs are parts of one response, so they add up; --use says so too
    #[arg(long)]
    together: bool,
    /// How much is transferred
    #[arg(long, value_name = "SIZE", default_value = "50MB", value_parser = inspect::impact::bytes)]
    size: f64,
    /// Responses per second that are wanted, for the number of cores
    #[arg(long, value_name = "PER_SECOND", value_parser = per_second)]
    rate: Option<f64>,
    /// Price of a core in any currency: what the cores are worth that a faster system saves at --rate
    #[arg(long, value_name = "PRICE", value_parser = price, requires = "rate")]
    core_price: Option<f64>,
    /// Also write the answer as an HTML page, with a picture
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Overwrite the page
    #[arg(long)]
    force: bool,
    /// Print every cost
    #[arg(short, long)]
    verbose: bool,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

fn per_second(text: &str) -> Result<f64, Unreadable> {
    above_zero(text, Quantity::EventRate)
}

fn price(text: &str) -> Result<f64, Unreadable> {
    above_zero(text, Quantity::Count)
}

fn above_zero(text: &str, quantity: Quantity) -> Result<f64, Unreadable> {
    match units::parse(text, quantity)? {
        number if number > 0.0 => Ok(number),
        _ => Err(Unreadable::new(text, "a number above zero is wanted, such as 20k")),
    }
}

pub(crate) fn impact(args: &Args, console: &Console) -> Done {
    if let Some(page) = &args.out {
        refuse_input(page, &args.runs)?;
        refuse_existing(page, args.force)?;
    }
    let answer = answer(args)?;
    // Before anything is printed: a reader may close the pipe.
    if let Some(page) = &args.out {
        write_file(page, args.force, |out| page::write(&answer, out))?;
    }
    let mut out = BufWriter::new(results());
    match args.format {
        Format::Text => text::write(&answer, args.verbose, &console.style, &mut out)?,
        Format::Json => writeln!(out, "{:#}", json::of(&answer))?,
    }
    out.flush()?;
    drop(out);
    if let Some(page) = &args.out {
        print_places(&[("page", page)], args.format)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn answer(args: &Args) -> Result<Answer, Failure> {
    let costs = costs(args)?;
    let are_parts = args.together || !args.used.is_empty();
    let demand = Demand { per_second: args.rate, core_price: args.core_price };
    let question = |path| ImpactQuestion { path, bytes: args.size, demand };
    let elsewhere = KNOWN_PATHS.iter().filter_map(|known| Some((known.name, known.path()?)));
    let elsewhere =
        elsewhere.map(|(name, path)| (name, Impact::of(&costs, are_parts, &question(path)))).collect();
    // Without a path of the user's, the first line is about a line that many have.
    let usual = || KNOWN_PATHS.iter().find(|known| known.name.starts_with("fibre"))?.path();
    let path = args.path.clone().or_else(usual);
    let path = path.ok_or_else(|| Failure::Usage("no path is known; describe one with --path".to_owned()))?;
    let question = question(path);
    let impact = Impact::of(&costs, are_parts, &question);
    Ok(Answer { impact, question, has_path: args.path.is_some(), elsewhere })
}

/// What was typed, and what the runs measured.
fn costs(args: &Args) -> Result<Vec<Cost>, Failure> {
    if args.runs.is_empty() && args.cost.is_empty() {
        let text = "there is no cost: name a run file, or type one with --cost, such as --cost 'accept=2us'";
        return Err(Failure::Usage(text.to_owned()));
    }
    let mut costs = args.cost.clone();
    let mut labels = Vec::new();
    for path in &args.runs {
        let findings = Findings::of(&read(path)?);
        let mut measured = measured_costs(&findings, &args.used);
        if args.runs.len() > 1 {
            for cost in &mut measured {
                cost.system = system_of(path, &findings, &cost.system);
            }
        }
        labels.extend(findings.series.iter().map(|series| series.label.clone()));
        costs.extend(measured);
    }
    for used in &args.used {
        let matcher = wildmatch::WildMatch::new(used.pattern());
        if !labels.iter().any(|label| matcher.matches(label)) {
            let nearest = runner::nearest(used.pattern(), labels.iter().map(String::as_str));
            let hint = match nearest {
                Some(nearest) => format!("; did you mean \"{nearest}\"?"),
                None => format!("; osdyno report {} -v shows all", args.runs[0].display()),
            };
            let text = format!("no operation of the runs is called \"{}\"{hint}", used.pattern());
            return Err(Failure::Usage(text));
        }
    }
    if costs.is_empty() {
        let text = "nothing in the runs has a time that could be judged; measure with more trials, or type a \
                    cost with --cost";
        return Err(Failure::Refused(text.to_owned()));
    }
    Ok(costs)
}

/// The name of a system among several files: that of the file, with that of the system where the file has
/// several.
fn system_of(path: &Path, findings: &Findings, system: &str) -> String {
    let file = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy();
    if findings.systems.len() > 1 { format!("{file} {system}") } else { file.into_owned() }
}

//! `osdyno impact`: whether a cost of the operating system matters to anyone.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ::report::document::page;
use ::report::document::terminal::Length;
use inspect::impact::{Cost, Demand, ImpactAnswer, NetworkPath, UsedOperation, measured_costs};
use judge::Findings;
use record::units::{self, Quantity, Unreadable};

use super::{Done, Format, print_answer, print_places, read, refuse_existing, refuse_input, write_file};
use crate::console::{Console, Failure};

/// Estimate whether a cost matters: the share of the operating system in a user's waiting time, the gain of a
/// system twice as fast, and the rate from which it matters for capacity
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Run files with measured costs; with several systems, the gain of going from the first to another
    #[arg(value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// The path between server and user: parts with a name, a time or a rate or both, such as 'server 2ms,
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
    /// Size of the transfer
    #[arg(long, value_name = "SIZE", default_value = "50MB", value_parser = inspect::impact::bytes)]
    size: f64,
    /// Demanded responses per second, for the number of cores
    #[arg(long, value_name = "PER_SECOND", value_parser = per_second)]
    rate: Option<f64>,
    /// Price of a core in any currency, for the worth of the cores that a faster system saves at --rate
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
    let demand = Demand { per_second: args.rate, core_price: args.core_price };
    let are_parts = args.together || !args.used.is_empty();
    let answer = ImpactAnswer::new(&costs(args)?, are_parts, args.path.clone(), args.size, demand);
    // Before anything is printed: a reader may close the pipe.
    if let Some(file) = &args.out {
        write_file(file, args.force, |out| page::write(&answer.document(), out))?;
    }
    let extent = Length::of(args.verbose);
    print_answer(&answer, ImpactAnswer::document, extent, args.format, console)?;
    if let Some(file) = &args.out {
        print_places(&[("page", file)], args.format)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The costs that were typed, and those that the runs measured.
fn costs(args: &Args) -> Result<Vec<Cost>, Failure> {
    if args.runs.is_empty() && args.cost.is_empty() {
        let text = "there is no cost: name a run file, or type one with --cost, such as --cost 'accept=2us'";
        return Err(Failure::Usage(text.to_owned()));
    }
    let mut costs = args.cost.clone();
    let mut labels = Vec::new();
    for path in &args.runs {
        let findings = Findings::from_recording(&read(path)?);
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
        if !labels.iter().any(|label| used.matches(label)) {
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

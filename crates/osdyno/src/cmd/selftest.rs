//! `osdyno selftest`: measures the error rates of the verdicts on simulated sweeps, and with `--years` the
//! alarms of a history in simulated years.

use std::collections::BTreeMap;
use std::io::{BufWriter, Write};
use std::num::NonZero;
use std::process::ExitCode;
use std::time::SystemTime;

use ::report::document::terminal::Length;
use ::report::document::{Document, Element, Section, Table};
use ::selftest::cells::{TruthCell, all};
use ::selftest::counts::{CLASSES, CellCounts};
use ::selftest::rate::{Rate, RateTarget};
use ::selftest::run::{Plan, dump, run};
use ::selftest::scalings;
use ::selftest::sheets::{Sheet, sheets, standing, word};
use ::selftest::table::{CellRow, Standing, table};
use ::selftest::text;
use ::selftest::years::{self, YearRow};
use clap::ValueEnum;
use serde::Serialize;
use wildmatch::WildMatch;

use super::{Done, write_json};
use crate::console::{Console, Failure, results, tell};

/// Measure the error rates of the verdicts on simulated sweeps
///
/// A cell is a true curve, a noise, a plan of sizes and a number of trials, such as
/// `step+20-0.6/low/log20/10`. Every cell is simulated and judged many times; then the measured error rates
/// are compared with the promised ones. The exit code is 1 if a promise is missed.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Number of simulations of each cell
    #[arg(long, value_name = "COUNT", default_value = "100")]
    replicates: NonZero<u64>,

    /// 2,000 simulations of each cell; takes three hours of processor time
    #[arg(long, conflicts_with = "replicates")]
    nightly: bool,

    /// Seed of every random choice; the same seed gives the same table
    #[arg(long, default_value = "1")]
    seed: u64,

    /// Only cells whose names match, such as 'step*/low/*'; may be repeated. Also prints the cells
    #[arg(long, value_name = "GLOB")]
    only: Vec<String>,

    /// Print the measurements of one replicate as CSV, for `osdyno judge`
    #[arg(long, value_name = "CELL:REPLICATE", conflicts_with_all = ["nightly", "only"])]
    dump: Option<String>,

    /// Instead, simulate so many years of each kind, of nights as real runs scatter: the alarms of osdyno
    /// history, and those of other rules
    #[arg(long, value_name = "COUNT", conflicts_with_all = ["replicates", "nightly", "only", "dump"])]
    years: Option<NonZero<usize>>,

    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Tables
    Text,
    /// JSON: promises and cells
    Json,
    /// The tables of docs/error-rates.md
    Markdown,
}

/// The line of progress.
const PROGRESS: &str = "  judging    {bar:24}  {percent:>3} %   {eta} left";

/// Replicates of the published table: a rate of 5 % then has a standard error of half a point.
const NIGHTLY: u64 = 2_000;

pub(crate) fn selftest(args: &Args, console: &Console) -> Done {
    let mut out = BufWriter::new(results());
    if let Some(wanted) = &args.dump {
        let (cell, replicate) = replicate(wanted)?;
        dump(&cell, args.seed, replicate, &mut out)?;
        out.flush()?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(count) = args.years {
        return alarms(count.get(), args.seed, args.format, console);
    }
    let (cells, scalings) = cells(&args.only)?;
    let plan =
        Plan { replicates: if args.nightly { NIGHTLY } else { args.replicates.get() }, seed: args.seed };
    let bar = console.progress(cells.len() as u64 * plan.replicates, PROGRESS);
    let all_counts = run(&cells, plan, &|replicates| bar.inc(replicates));
    bar.finish_and_clear();

    let is_wanted = |name: &str| scalings.iter().any(|wanted| wanted == name);
    let scalings = scalings::table(&scalings::counts(plan, is_wanted));
    let rows: Vec<CellRow> = table(&all_counts).into_iter().chain(scalings.iter().cloned()).collect();
    match args.format {
        Format::Text => console.print(
            &SelftestAnswer::new(&all_counts, (&rows, &scalings), plan).document(!args.only.is_empty()),
            Length::Short,
        )?,
        Format::Markdown => {
            writeln!(out, "`{}`, {}: {}.\n", command(args, plan), today(), extent(&all_counts, plan))?;
            text::markdown(&sheets(&all_counts, &scalings), &mut out)?;
        }
        Format::Json => write_json(&SelftestAnswer::new(&all_counts, (&rows, &scalings), plan), &mut out)?,
    }
    out.flush()?;
    let missed: Vec<&CellRow> = rows.iter().filter(|row| row.standing == Standing::Missed).collect();
    for row in &missed {
        let (all, worst) = (100.0 * row.all.value(), 100.0 * row.worst_rate.value());
        tell(&format!("missed: {}: {all:.1} %; {worst:.1} % in {}", row.claim, row.worst));
    }
    Ok(if missed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// `--years`: the alarms of a history in simulated years.
fn alarms(count: usize, seed: u64, format: Format, console: &Console) -> Done {
    let bar = console.progress((years::ALL.len() * count) as u64, PROGRESS);
    let rows = years::rows(count, seed, &|| bar.inc(1));
    bar.finish_and_clear();
    let mut out = BufWriter::new(results());
    match format {
        Format::Text => {
            let mut document = Document { title: "Alarms".into(), ..Document::default() };
            years::sheets(&rows).into_iter().for_each(|sheet| document.push(section(sheet)));
            document.say(format!("{count} years of each kind, seed {seed}"));
            console.print(&document, Length::Short)?;
        }
        Format::Markdown => {
            let command = format!("osdyno selftest --years {count} --seed {seed} --format markdown");
            writeln!(out, "`{command}`, {}.\n", today())?;
            text::markdown(&years::sheets(&rows), &mut out)?;
        }
        Format::Json => write_json(&YearsAnswer::new(&rows, count, seed), &mut out)?,
    }
    out.flush()?;
    let promises = years::promises(&rows);
    let missed: Vec<_> = promises.iter().filter(|promise| promise.standing == Standing::Missed).collect();
    for promise in &missed {
        tell(&format!("missed: {}, {} years: {}", promise.claim, promise.year, promise.measured));
    }
    Ok(if missed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The cells of sweeps, and the names of those of scalings.
fn cells(only: &[String]) -> Result<(Vec<TruthCell>, Vec<String>), Failure> {
    let globs: Vec<WildMatch> = only.iter().map(|glob| WildMatch::new(glob)).collect();
    let mut cells = all();
    let is_wanted = |name: &str| globs.is_empty() || globs.iter().any(|glob| glob.matches(name));
    cells.retain(|cell| is_wanted(&cell.name()));
    let mut scalings = scalings::names();
    scalings.retain(|name| is_wanted(name));
    if cells.is_empty() && scalings.is_empty() {
        let text =
            format!("no cell is called {}; a name is like step+20-0.6/low/log20/10", only.join(" or "));
        return Err(Failure::Usage(text));
    }
    Ok((cells, scalings))
}

fn replicate(wanted: &str) -> Result<(TruthCell, u64), Failure> {
    let parts = wanted.rsplit_once(':').and_then(|(name, number)| Some((name, number.parse().ok()?)));
    let found = parts.and_then(|(name, number)| {
        all().into_iter().find(|cell| cell.name() == name).map(|cell| (cell, number))
    });
    found.ok_or_else(|| {
        Failure::Usage(format!("no replicate is called {wanted}; give a cell and a number, as in CELL:0"))
    })
}

fn extent(all_counts: &[CellCounts], plan: Plan) -> String {
    format!("{} cells, {} replicates each, seed {}", all_counts.len(), plan.replicates, plan.seed)
}

fn command(args: &Args, plan: Plan) -> String {
    let often = if args.nightly { "--nightly".into() } else { format!("--replicates {}", plan.replicates) };
    let only: String = args.only.iter().map(|glob| format!(" --only '{glob}'")).collect();
    format!("osdyno selftest {often} --seed {}{only} --format markdown", plan.seed)
}

fn today() -> String {
    runner::rfc3339(SystemTime::now()).chars().take(10).collect()
}

/// The answer of `osdyno selftest`.
#[derive(Serialize)]
struct SelftestAnswer<'a> {
    /// Seed of every random choice.
    seed: u64,
    /// Simulations of each cell.
    replicates: u64,
    /// The promises.
    promises: Vec<PromiseAnswer<'a>>,
    /// The cells.
    cells: Vec<CellAnswer>,
    /// The counts.
    #[serde(skip)]
    all_counts: &'a [CellCounts],
    /// The promises about scaling.
    #[serde(skip)]
    scalings: &'a [CellRow],
    /// The promises.
    #[serde(skip)]
    rows: &'a [CellRow],
}

/// One promise.
#[derive(Serialize)]
struct PromiseAnswer<'a> {
    /// The promise.
    promise: &'static str,
    /// Bounds that are promised.
    least: f64,
    /// See `least`.
    most: f64,
    /// Over all cells, with Wilson's interval.
    measured: RateAnswer,
    /// How many cells were counted.
    cells: usize,
    /// The cell that is farthest on the wrong side.
    worst_cell: &'a str,
    /// Its rate; the intervals of all cells hold together.
    worst: RateAnswer,
    /// `ok`, `open` or `MISSED`.
    standing: &'static str,
}

/// A rate with its interval.
#[derive(Serialize)]
struct RateAnswer {
    /// How many.
    count: usize,
    /// Of how many.
    of: usize,
    /// Their quotient.
    rate: f64,
    /// Lower end of its 95 % interval.
    low: f64,
    /// Upper end of its 95 % interval.
    high: f64,
}

/// One cell.
#[derive(Serialize)]
struct CellAnswer {
    /// The cell.
    cell: String,
    /// Simulations of each cell.
    replicates: usize,
    /// Verdicts, each with its number.
    words: BTreeMap<&'static str, usize>,
    /// Verdicts that name the true curve.
    right: usize,
    /// Verdicts that contradict it.
    wrong: usize,
    /// Those in which growth was found.
    found: usize,
    /// Simulations in which systems were called different.
    different: usize,
    /// The steps.
    steps: usize,
}

impl<'a> SelftestAnswer<'a> {
    fn new(
        all_counts: &'a [CellCounts],
        (rows, scalings): (&'a [CellRow], &'a [CellRow]),
        plan: Plan,
    ) -> SelftestAnswer<'a> {
        let promise = |row: &'a CellRow| {
            let (least, most) = match row.target {
                RateTarget::AtMost(most) => (0.0, most),
                RateTarget::AtLeast(least) => (least, 1.0),
                RateTarget::Within(least, most) => (least, most),
            };
            PromiseAnswer {
                promise: row.claim,
                least,
                most,
                measured: RateAnswer::new(row.all, row.interval),
                cells: row.cells,
                worst_cell: &row.worst,
                worst: RateAnswer::new(row.worst_rate, row.worst_interval),
                standing: standing(row.standing),
            }
        };
        let cell = |counts: &CellCounts| {
            let words = counts.classes.iter().zip(CLASSES).filter(|(count, _)| **count > 0);
            CellAnswer {
                cell: counts.cell.name(),
                replicates: counts.replicates,
                words: words.map(|(count, class)| (word(class), *count)).collect(),
                right: counts.right(),
                wrong: counts.wrong(),
                found: counts.found(),
                different: counts.different(),
                steps: counts.steps,
            }
        };
        SelftestAnswer {
            seed: plan.seed,
            replicates: plan.replicates,
            promises: rows.iter().map(promise).collect(),
            cells: all_counts.iter().map(cell).collect(),
            all_counts,
            scalings,
            rows,
        }
    }

    /// The tables of the answer as a document, below the cells where these are wanted.
    fn document(&self, with_cells: bool) -> Document {
        let mut document = Document { title: "Error rates".into(), ..Document::default() };
        if with_cells {
            let mut cells = Vec::new();
            // A vector takes all.
            let _ = text::cells(self.all_counts, &mut cells);
            document.push(Element::Code(String::from_utf8_lossy(&cells).into_owned()));
        }
        sheets(self.all_counts, self.scalings).into_iter().for_each(|sheet| document.push(section(sheet)));
        let with = |standing| self.rows.iter().filter(|row| row.standing == standing).count();
        let [kept, open, missed] = [Standing::Kept, Standing::Open, Standing::Missed].map(with);
        let plan = Plan { seed: self.seed, replicates: self.replicates };
        let extent = extent(self.all_counts, plan);
        document.say(format!("{extent}: {kept} promises kept, {open} open, {missed} missed"));
        document
    }
}

/// A table under its title.
fn section(Sheet { title, head, rows, .. }: Sheet) -> Section {
    let columns = head.into_iter().map(Into::into).collect();
    let mut table = Table { is_split: true, ..Table::of_columns(columns) };
    rows.into_iter().for_each(|row| table.push(row));
    Section { blocks: vec![table.into()], ..Section::new(title) }
}

impl RateAnswer {
    fn new(rate: Rate, (low, high): (f64, f64)) -> RateAnswer {
        RateAnswer { count: rate.count, of: rate.of, rate: rate.value(), low, high }
    }
}

/// The answer of `osdyno selftest --years`.
#[derive(Serialize)]
struct YearsAnswer {
    /// Seed of every random choice.
    seed: u64,
    /// Simulated years of each kind.
    years: usize,
    /// The promises.
    promises: Vec<YearPromiseAnswer>,
    /// The counts of each rule in each kind of year.
    rules: Vec<YearRuleAnswer>,
}

/// A promise about years.
#[derive(Serialize)]
struct YearPromiseAnswer {
    /// The promise.
    promise: &'static str,
    /// The kind of year.
    year: &'static str,
    /// Its target.
    target: String,
    /// The figure with its 95 % interval.
    measured: String,
    /// `ok`, `open` or `MISSED`.
    standing: &'static str,
}

/// The counts of one rule.
#[derive(Serialize)]
struct YearRuleAnswer {
    /// The kind of year.
    year: &'static str,
    /// The rule.
    rule: &'static str,
    /// Alarms that no planted change explains.
    false_alarms: usize,
    /// Planted changes.
    changes: usize,
    /// Found in three nights.
    found: usize,
    /// Found in 30 nights.
    found_late: usize,
    /// Of these, the night was right to one.
    right_night: usize,
    /// Series measured again.
    measured_again: usize,
    /// Nights.
    nights: usize,
}

impl YearsAnswer {
    fn new(rows: &[YearRow], years: usize, seed: u64) -> YearsAnswer {
        let rule = |row: &YearRow| YearRuleAnswer {
            year: row.truth.name,
            rule: row.rule,
            false_alarms: row.counts.false_alarms,
            changes: row.counts.found.of,
            found: row.counts.found.count,
            found_late: row.counts.found_late.count,
            right_night: row.counts.right_night.count,
            measured_again: row.counts.remeasured,
            nights: row.counts.nights,
        };
        let promised = years::promises(rows).into_iter().map(|promise| YearPromiseAnswer {
            promise: promise.claim,
            year: promise.year,
            target: promise.target,
            measured: promise.measured,
            standing: standing(promise.standing),
        });
        YearsAnswer { seed, years, promises: promised.collect(), rules: rows.iter().map(rule).collect() }
    }
}

//! `osdyno selftest`: measures the error rates of the verdicts on simulated sweeps.

use std::io::{BufWriter, Write};
use std::num::NonZero;
use std::process::ExitCode;
use std::time::SystemTime;

use ::selftest::cells::{Cell, all};
use ::selftest::counts::{CLASSES, CellCounts};
use ::selftest::run::{Plan, dump, run};
use ::selftest::sheets::{sheets, standing, word};
use ::selftest::table::{Rate, RateTarget, Row, Standing, table};
use ::selftest::text;
use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Value, json};
use wildmatch::WildMatch;

use super::Done;
use crate::console::{Console, results, tell};
use crate::failure::Failure;

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
    let cells = cells(&args.only)?;
    let plan =
        Plan { replicates: if args.nightly { NIGHTLY } else { args.replicates.get() }, seed: args.seed };
    let bar = bar(cells.len() as u64 * plan.replicates, console);
    let all_counts = run(&cells, plan, &|replicates| bar.inc(replicates));
    bar.finish_and_clear();

    let rows = table(&all_counts);
    match args.format {
        Format::Text => {
            if !args.only.is_empty() {
                text::cells(&all_counts, &mut out)?;
                writeln!(out)?;
            }
            text::columns(&sheets(&all_counts), &mut out)?;
        }
        Format::Markdown => {
            writeln!(out, "`{}`, {}: {}.\n", command(args, plan), today(), extent(&all_counts, plan))?;
            text::markdown(&sheets(&all_counts), &mut out)?;
        }
        Format::Json => writeln!(out, "{:#}", document(&all_counts, &rows, plan))?,
    }
    let with = |standing| rows.iter().filter(move |row| row.standing == standing);
    let missed: Vec<&Row> = with(Standing::Missed).collect();
    if args.format == Format::Text {
        let (kept, open) = (with(Standing::Kept).count(), with(Standing::Open).count());
        let extent = extent(&all_counts, plan);
        writeln!(out, "{extent}: {kept} promises kept, {open} open, {} missed", missed.len())?;
    }
    out.flush()?;
    for row in &missed {
        let (all, worst) = (100.0 * row.all.value(), 100.0 * row.worst_rate.value());
        tell(&format!("missed: {}: {all:.1} %; {worst:.1} % in {}", row.claim, row.worst));
    }
    Ok(if missed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn cells(only: &[String]) -> Result<Vec<Cell>, Failure> {
    let globs: Vec<WildMatch> = only.iter().map(|glob| WildMatch::new(glob)).collect();
    let mut cells = all();
    cells.retain(|cell| globs.is_empty() || globs.iter().any(|glob| glob.matches(&cell.name())));
    if cells.is_empty() {
        let text =
            format!("no cell is called {}; a name is like step+20-0.6/low/log20/10", only.join(" or "));
        return Err(Failure::Usage(text));
    }
    Ok(cells)
}

fn replicate(wanted: &str) -> Result<(Cell, u64), Failure> {
    let parts = wanted.rsplit_once(':').and_then(|(name, number)| Some((name, number.parse().ok()?)));
    let found = parts.and_then(|(name, number)| {
        all().into_iter().find(|cell| cell.name() == name).map(|cell| (cell, number))
    });
    found.ok_or_else(|| {
        Failure::Usage(format!("no replicate is called {wanted}; give a cell and a number, as in CELL:0"))
    })
}

fn bar(replicates: u64, console: &Console) -> ProgressBar {
    let target = if console.watched { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let style = ProgressStyle::with_template("  judging    {bar:24}  {percent:>3} %   {eta} left");
    let style = style.map(|style| style.progress_chars("█▉▊▋▌▍▎▏ "));
    ProgressBar::with_draw_target(Some(replicates), target)
        .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
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

fn document(all_counts: &[CellCounts], rows: &[Row], plan: Plan) -> Value {
    let rate = |rate: Rate, (low, high): (f64, f64)| {
        let Rate { count, of } = rate;
        json!({ "count": count, "of": of, "rate": rate.value(), "low": low, "high": high })
    };
    let promise = |row: &Row| {
        let (least, most) = match row.target {
            RateTarget::AtMost(most) => (0.0, most),
            RateTarget::AtLeast(least) => (least, 1.0),
            RateTarget::Within(least, most) => (least, most),
        };
        json!({
            "promise": row.claim,
            "least": least,
            "most": most,
            "measured": rate(row.all, row.interval),
            "cells": row.cells,
            "worst_cell": row.worst,
            "worst": rate(row.worst_rate, row.worst_interval),
            "standing": standing(row.standing),
        })
    };
    let cell = |counters: &CellCounts| {
        let words = counters.classes.iter().zip(CLASSES).filter(|(count, _)| **count > 0);
        let words: serde_json::Map<String, Value> =
            words.map(|(count, class)| (word(class).to_owned(), json!(count))).collect();
        json!({
            "cell": counters.cell.name(),
            "replicates": counters.replicates,
            "words": words,
            "right": counters.right(),
            "wrong": counters.wrong(),
            "found": counters.found(),
            "different": counters.different(),
            "steps": counters.steps,
        })
    };
    json!({
        "seed": plan.seed,
        "replicates": plan.replicates,
        "promises": rows.iter().map(promise).collect::<Vec<_>>(),
        "cells": all_counts.iter().map(cell).collect::<Vec<_>>(),
    })
}

//! Prints the results of single cells, one line each, for tuning: `cargo run --release -p selftest --example
//! cells -- [--only GLOB] [--replicates N] [--seed S] [--list] [--tables] [--dump CELL:REPLICATE]`

use std::error::Error;
use std::io::{self, Write};

use selftest::run::{Plan, dump, run};
use selftest::scalings;
use selftest::sheets::sheets;
use selftest::text;
use wildmatch::WildMatch;

fn main() -> Result<(), Box<dyn Error>> {
    let (mut only, mut plan) = ("*".to_owned(), Plan { replicates: 100, seed: 1 });
    let (mut list, mut tables) = (false, false);
    let mut arguments = std::env::args().skip(1);
    let mut out = io::stdout().lock();
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--only" => only = value()?,
            "--replicates" => plan.replicates = value()?.parse()?,
            "--seed" => plan.seed = value()?.parse()?,
            "--list" => list = true,
            "--tables" => tables = true,
            "--dump" => {
                let value = value()?;
                let (name, replicate) = value.rsplit_once(':').ok_or("CELL:REPLICATE")?;
                let all = selftest::cells::all();
                let cell = all.iter().find(|cell| cell.name() == name).ok_or("no such cell")?;
                return Ok(dump(cell, plan.seed, replicate.parse()?, &mut out)?);
            }
            _ => return Err(format!("unknown: {argument}").into()),
        }
    }
    let glob = WildMatch::new(&only);
    let mut cells = selftest::cells::all();
    cells.retain(|cell| glob.matches(&cell.name()));
    if list {
        for cell in &cells {
            writeln!(out, "{}", cell.name())?;
        }
        return Ok(());
    }
    let all_counts = run(&cells, plan, &|_| ());
    if tables {
        return Ok(text::markdown(
            &sheets(&all_counts, &scalings::table(&scalings::counts(plan, |name| glob.matches(name)))),
            &mut out,
        )?);
    }
    Ok(text::cells(&all_counts, &mut out)?)
}

//! `raw.csv` of criterion.rs, below `target/criterion`, which names its benchmark. A line is one sample, the
//! time of many iterations.

use super::{Format, Place};
use crate::name::Name;
use crate::outcome::{Taken, Trials, seconds};
use crate::text::{Fields, parse_value, shown};

pub(super) const FORMAT: Format = Format::lines("raw.csv of criterion.rs", Trials::Files, is_this, read);

const COLUMNS: [&str; 8] = [
    "group",
    "function",
    "value",
    "throughput_num",
    "throughput_type",
    "sample_measured_value",
    "unit",
    "iteration_count",
];

fn is_this(line: &str) -> bool {
    line.trim() == COLUMNS.join(",")
}

fn read(text: &str, _: &Place<'_>, taken: &mut Taken) {
    let mut fields = Fields::new(b',', COLUMNS.len() + 1);
    let mut is_table = false;
    for (number, line) in (1..).zip(text.lines()) {
        match line {
            line if line.trim().is_empty() => {}
            line if is_this(line) => is_table = true,
            _ if !is_table => taken.other_lines += 1,
            line => match row(&mut fields, format!("{line}\n").as_bytes()) {
                Ok((name, time)) => taken.take(name, [Ok(time)]),
                Err(reason) => taken.bad_lines.push((number, reason)),
            },
        }
    }
}

fn row(fields: &mut Fields, line: &[u8]) -> Result<(Name, f64), String> {
    let row = fields.split(line)?;
    if row.count() != COLUMNS.len() {
        return Err(format!("it has {} fields where the header has {}", row.count(), COLUMNS.len()));
    }
    let text = |place: usize| String::from_utf8_lossy(row.get(place)).into_owned();
    let number = |place: usize| {
        let field = row.get(place);
        parse_value(field).ok_or_else(|| format!("the {} is {} and no number", COLUMNS[place], shown(field)))
    };
    let unit =
        seconds(&text(6)).ok_or_else(|| format!("the unit is {} and no unit of time", shown(row.get(6))))?;
    let names = [text(0), text(1), text(2)];
    let names: Vec<&str> = names.iter().map(String::as_str).filter(|name| !name.is_empty()).collect();
    Ok((Name::parse(&names.join("/")), number(5)? / number(7)? * unit))
}

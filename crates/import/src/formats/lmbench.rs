//! Results of lmbench: lines `NAME: 0.25 microseconds`, and tables of `lat_ctx` (processes and microseconds
//! behind `"size=0k ovr=0.66`) and `lat_mem_rd` (megabytes and nanoseconds behind `"stride=64`). Bandwidths
//! are no times. Each program of lmbench is a process.

use super::{Format, Place};
use crate::name::{Kind, Name};
use crate::outcome::{Taken, Trials};

pub(super) const FORMAT: Format = Format::lines("results of lmbench", Trials::Processes, is_this, read);

fn is_this(line: &str) -> bool {
    Table::begins(line).is_some() || line.starts_with("[lmbench")
}

/// A table of numbers, by the line above it.
#[derive(Clone, Copy)]
enum Table<'a> {
    Switches(&'a str),
    Reads(&'a str),
    /// Of something that is no time.
    Other,
}

impl<'a> Table<'a> {
    fn begins(line: &'a str) -> Option<Table<'a>> {
        let title = line.strip_prefix('"')?;
        match title.split_once(" ovr=") {
            Some((size, _)) if size.starts_with("size=") => Some(Table::Switches(size)),
            _ if title.starts_with("stride=") => Some(Table::Reads(title.trim_end_matches('"'))),
            _ => None,
        }
    }

    fn row(self, n: f64, value: f64) -> Option<(Name, f64)> {
        let name = |text: String, key, n| Name { text, ..Name::default() }.with(Kind::Parameter, key, n);
        match self {
            Table::Switches(size) => {
                Some((name(format!("lat_ctx {size}"), "processes", n as u64), value * 1e-6))
            }
            Table::Reads(stride) => {
                // Five digits of megabytes: the sizes are multiples of 512 bytes.
                let bytes = (n * 2048.0).round() as u64 * 512;
                Some((name(format!("lat_mem_rd {stride}"), "bytes", bytes), value * 1e-9))
            }
            Table::Other => None,
        }
    }
}

/// Two numbers.
fn row(line: &str) -> Option<(f64, f64)> {
    let mut numbers = line.split_whitespace().map(|word| word.parse::<f64>().ok().filter(|n| n.is_finite()));
    let row = (numbers.next()??, numbers.next()??);
    numbers.next().is_none().then_some(row)
}

/// `Simple syscall: 0.0399 microseconds`.
fn latency(line: &str) -> Option<(&str, f64)> {
    let (name, rest) = line.rsplit_once(": ")?;
    let (number, unit) = rest.trim().split_once(' ')?;
    let unit = match unit {
        "microseconds" | "usecs" => 1e-6,
        "milliseconds" => 1e-3,
        "nanoseconds" => 1e-9,
        _ => return None,
    };
    Some((name, number.parse::<f64>().ok()? * unit))
}

fn read(text: &str, _: &Place<'_>, taken: &mut Taken) {
    let mut table = Table::Other;
    let mut title = "a table";
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(begun) = Table::begins(line) {
            table = begun;
        } else if let Some((n, value)) = row(line) {
            match table.row(n, value) {
                Some((name, seconds)) => taken.take(name, [Ok(seconds)]),
                None => taken.pass_over(title, "it is no table of times"),
            }
        } else if let Some((name, seconds)) = latency(line) {
            taken.take(Name::parse(name), [Ok(seconds)]);
            table = Table::Other;
        } else {
            (table, title) = (Table::Other, line);
            taken.other_lines += 1;
        }
    }
}

//! A run as tables, for other programs. [`SideTable`] has the tables beside that of all values.
//!
//! The long table has one row per value, with the columns
//!
//! | column | |
//! |---|---|
//! | `system`, `workload`, `variant`, `series` | names as recorded; `variant` may be empty |
//! | `direction` | `up` or `down` |
//! | `trial` | counts from 1 |
//! | `n` | objects alive when the value was taken |
//! | `value` | what was measured |
//! | `unit` | of the value: `s` (per operation), `1/s`, `B`, `B/s`; empty for bare numbers |
//! | `limited_by` | `generator`, `sink`, `others` or `time` where a value is only a bound; otherwise empty |
//!
//! Rows are ordered by system, workload, variant, series, direction, trial, and then as measured. Sums
//! that a workload declares are there as series of their own. Series that must not be judged
//! ([`Recording::excluded`]) are not: a number whose check failed is not a number.
//!
//! The commands of a run are also written as `hyperfine --export-json` does, for its scripts and for programs
//! that read its files. A time is that of a trial: the mean of its executions.

mod parquet;
mod tables;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::io::{Result, Write};
use std::str::FromStr;

use judge::bounds::Bounds;
use record::{Direction, LimitedBy, Recording, SeriesKey, Trial};
use serde::Serialize;
use serde::ser::SerializeMap;

pub use parquet::{Partition, PartitionKey};
pub use tables::SideTable;
use tables::{Cell, ColumnKind, Table};

/// The workload whose variants are commands.
const COMMAND: &str = "command";

/// The form of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A header and one line per value, quoted as in RFC 4180; lines end in a line feed.
    Csv,
    /// One array with one object, on one line, per row. The long table has one per trial of a series; in it
    /// `n`, `value` and, where something is limited, `limited_by` are arrays of equal length.
    Json,
    /// Typed columns in row groups, packed with zstd.
    Parquet,
}

impl Format {
    /// All formats.
    pub const ALL: [Format; 3] = [Format::Csv, Format::Json, Format::Parquet];
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Format::Csv => "csv",
            Format::Json => "json",
            Format::Parquet => "parquet",
        })
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(name: &str) -> std::result::Result<Self, String> {
        let known = Format::ALL.into_iter().find(|format| format.to_string() == name);
        known.ok_or_else(|| format!("no export is called {name:?}; there are csv, json and parquet"))
    }
}

/// Writes all values of `recording` that may be judged. `out` should be buffered.
///
/// # Errors
/// Those of `out`.
pub fn write(format: Format, recording: &Recording, out: &mut dyn Write) -> Result<()> {
    match format {
        Format::Json => write_json(recording, out),
        Format::Csv | Format::Parquet => {
            write_rows(format, tables::values(recording, recording.series().map(|(key, _)| key)), out)
        }
    }
}

/// Writes another table of `recording`. `out` should be buffered.
///
/// # Errors
/// Those of `out`.
pub fn write_table(
    format: Format,
    table: SideTable,
    recording: &Recording,
    out: &mut dyn Write,
) -> Result<()> {
    write_rows(format, table.of(recording), out)
}

fn write_rows(format: Format, table: Table<'_>, out: &mut dyn Write) -> Result<()> {
    match format {
        Format::Csv => write_csv(table, out),
        Format::Json => write_json_table(table, out),
        Format::Parquet => parquet::write(table, &[], out),
    }
}

/// Whether a run has commands.
pub fn has_commands(recording: &Recording) -> bool {
    recording.workloads.iter().any(|workload| workload.name == COMMAND)
}

/// Writes the commands of a run.
///
/// # Errors
/// Those of `out`.
pub fn write_hyperfine(recording: &Recording, out: &mut dyn Write) -> Result<()> {
    serde_json::to_writer_pretty(&mut *out, &CommandFile { results: command_results(recording) })?;
    writeln!(out)
}

/// A table as text with commas. A number has the shortest form that reads back exactly, which is that of
/// debugging, with an exponent where that helps.
fn write_csv(table: Table<'_>, out: &mut dyn Write) -> Result<()> {
    let names: Vec<&str> = table.columns.iter().map(|(name, _)| *name).collect();
    writeln!(out, "{}", names.join(","))?;
    let mut line = Vec::new();
    for row in table.rows {
        line.clear();
        for (place, cell) in row.iter().enumerate() {
            if place > 0 {
                line.push(b',');
            }
            match cell {
                Cell::Text(text) => line.extend_from_slice(field(text).as_bytes()),
                Cell::Integer(number) => write!(line, "{number}")?,
                Cell::Number(number) => write!(line, "{number:?}")?,
                Cell::Nothing => {}
            }
        }
        line.push(b'\n');
        out.write_all(&line)?;
    }
    Ok(())
}

/// RFC 4180, 2.5 to 2.7: quoted only where it must be, quotes doubled.
pub(crate) fn field(text: &str) -> Cow<'_, str> {
    if text.contains([',', '"', '\r', '\n']) {
        Cow::Owned(format!("\"{}\"", text.replace('"', "\"\"")))
    } else {
        Cow::Borrowed(text)
    }
}

#[derive(Serialize)]
struct JsonTrial<'a> {
    system: &'a str,
    workload: &'a str,
    variant: &'a str,
    series: &'a str,
    direction: Direction,
    trial: u32,
    n: Vec<u64>,
    value: &'a [f64],
    unit: &'a str,
    /// By value; left out where nothing is limited.
    #[serde(skip_serializing_if = "is_unlimited")]
    limited_by: Vec<Option<LimitedBy>>,
}

fn is_unlimited(limited_by: &[Option<LimitedBy>]) -> bool {
    limited_by.iter().all(Option::is_none)
}

/// The long table of all values as an array, folded to an object per trial of a series.
fn write_json(recording: &Recording, out: &mut dyn Write) -> Result<()> {
    let mut list = JsonArray::begin(out);
    let bounds = Bounds::new(recording);
    for (key, trials) in recording.series() {
        let kind = recording.kind(key);
        for series in trials {
            let limited_by = |(n, _)| bounds.of_value(key, kind, series.trial, n);
            list.add(&JsonTrial {
                system: &key.system,
                workload: &key.workload,
                variant: &key.variant,
                series: &key.name,
                direction: key.direction,
                trial: series.trial,
                n: series.points().map(|(n, _)| n).collect(),
                value: &series.values,
                unit: kind.map_or("", |kind| kind.unit.name()),
                limited_by: series.points().map(limited_by).collect(),
            })?;
        }
    }
    list.end()
}

/// One of the other tables as an array.
fn write_json_table(table: Table<'_>, out: &mut dyn Write) -> Result<()> {
    let mut list = JsonArray::begin(out);
    for row in table.rows {
        list.add(&JsonRow { columns: table.columns, cells: &row })?;
    }
    list.end()
}

struct JsonRow<'a> {
    columns: &'a [(&'static str, ColumnKind)],
    cells: &'a [Cell<'a>],
}

impl Serialize for JsonRow<'_> {
    fn serialize<S: serde::Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(self.columns.len()))?;
        for ((name, _), cell) in self.columns.iter().zip(self.cells) {
            match cell {
                Cell::Text(text) => map.serialize_entry(name, text)?,
                Cell::Integer(number) => map.serialize_entry(name, number)?,
                Cell::Number(number) => map.serialize_entry(name, number)?,
                Cell::Nothing => map.serialize_entry(name, &())?,
            }
        }
        map.end()
    }
}

/// An array with an object on each line.
struct JsonArray<'a> {
    out: &'a mut dyn Write,
    is_empty: bool,
}

impl<'a> JsonArray<'a> {
    fn begin(out: &'a mut dyn Write) -> JsonArray<'a> {
        JsonArray { out, is_empty: true }
    }

    fn add(&mut self, object: &impl Serialize) -> Result<()> {
        self.out.write_all(if self.is_empty { b"[\n" } else { b",\n" })?;
        self.is_empty = false;
        Ok(serde_json::to_writer(&mut *self.out, object)?)
    }

    fn end(self) -> Result<()> {
        self.out.write_all(if self.is_empty { b"[]\n" } else { b"\n]\n" })
    }
}

#[derive(Serialize)]
struct CommandFile {
    results: Vec<CommandResult>,
}

/// One command on one system at one level, in seconds.
#[derive(Serialize)]
struct CommandResult {
    command: String,
    mean: f64,
    /// Of a single time there is none.
    stddev: Option<f64>,
    median: f64,
    user: Option<f64>,
    system: Option<f64>,
    min: f64,
    max: f64,
    memory_usage_byte: Vec<u64>,
    times: Vec<f64>,
    exit_codes: Vec<Option<i32>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    parameters: BTreeMap<&'static str, String>,
}

fn command_results(recording: &Recording) -> Vec<CommandResult> {
    let times = recording.series().filter(|(key, _)| key.workload == COMMAND && key.name == "time");
    let mut results = Vec::new();
    for (key, _) in times {
        let of = |name: &str| by_level(recording, &SeriesKey { name: name.to_owned(), ..key.clone() });
        let is_its = |trial: &&Trial| {
            (&trial.order.system, &trial.order.workload, &trial.order.variant)
                == (&key.system, &key.workload, &key.variant)
        };
        let settings = recording.trials.iter().find(is_its).map(|trial| &trial.order.settings);
        let setting = |name: &str| settings.and_then(|settings| settings.get(name));
        let template = setting("command").map_or("true", String::as_str);
        // The record has no status of each execution: all had that one, or there would be no time.
        let exit_code = setting("expect-exit").map_or(Some(0), |status| status.parse().ok());
        let (user, system, memory) = (of("user time"), of("system time"), of("peak memory"));
        for (n, times) in of("time") {
            let mut parameters = BTreeMap::new();
            if template.contains("{n}") {
                parameters.insert("n", n.to_string());
            }
            if recording.systems.len() > 1 {
                parameters.insert("system", key.system.clone());
            }
            let mean_of = |values: &BTreeMap<u64, Vec<f64>>| values.get(&n).map(|values| mean(values));
            let mut sorted = times.clone();
            sorted.sort_by(f64::total_cmp);
            let (Some(&min), Some(&max)) = (sorted.first(), sorted.last()) else { continue };
            results.push(CommandResult {
                command: template.replace("{n}", &n.to_string()),
                mean: mean(&times),
                stddev: stddev(&times),
                median: f64::midpoint(sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]),
                user: mean_of(&user),
                system: mean_of(&system),
                min,
                max,
                memory_usage_byte: memory.get(&n).into_iter().flatten().map(|&bytes| bytes as u64).collect(),
                exit_codes: vec![exit_code; times.len()],
                times,
                parameters,
            });
        }
    }
    results
}

/// The values of one series at each level, in the order of trials.
fn by_level(recording: &Recording, key: &SeriesKey) -> BTreeMap<u64, Vec<f64>> {
    let mut levels: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for (n, value) in recording.trials_of(key).iter().flat_map(|series| series.points()) {
        levels.entry(n).or_default().push(value);
    }
    levels
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The standard deviation of a sample.
fn stddev(values: &[f64]) -> Option<f64> {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (values.len() > 1).then(|| (squares / (values.len() - 1) as f64).sqrt())
}

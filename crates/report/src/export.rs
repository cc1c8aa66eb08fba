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

mod csv;
mod hyperfine;
mod json;
mod parquet;
mod partition;
mod tables;

use std::fmt;
use std::io::{Result, Write};
use std::str::FromStr;

use record::Recording;

pub(crate) use csv::field;
pub use hyperfine::{has_commands, write_hyperfine};
pub use partition::{Partition, PartitionKey};
pub use tables::SideTable;

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
        Format::Csv => csv::write_values(recording, out),
        Format::Json => json::write_values(recording, out),
        Format::Parquet => parquet::write_values(recording, out),
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
    let rows = table.rows(recording);
    match format {
        Format::Csv => csv::write_table(table, rows, out),
        Format::Json => json::write_table(table, rows, out),
        Format::Parquet => parquet::write_table(table, rows, out),
    }
}

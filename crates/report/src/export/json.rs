//! Tables as one JSON array. The long table is folded to an object per trial of a series.

use std::io::{Result, Write};

use judge::bounds::Bounds;
use record::{Direction, LimitedBy, Recording};
use serde::Serialize;
use serde::ser::SerializeMap;

use super::tables::{Cell, ColumnKind, Rows, SideTable};

#[derive(Serialize)]
struct Trial<'a> {
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

/// The long table of all values.
pub(super) fn write_values(recording: &Recording, out: &mut dyn Write) -> Result<()> {
    let mut list = List::begin(out);
    let bounds = Bounds::new(recording);
    for (key, trials) in recording.series() {
        let kind = recording.kind(key);
        for series in trials {
            let limited_by = |(n, _)| bounds.of_value(key, kind, series.trial, n);
            list.add(&Trial {
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

/// One of the other tables.
pub(super) fn write_table(table: SideTable, rows: Rows<'_>, out: &mut dyn Write) -> Result<()> {
    let mut list = List::begin(out);
    rows.into_iter().try_for_each(|row| list.add(&Row { columns: table.columns(), cells: &row }))?;
    list.end()
}

struct Row<'a> {
    columns: &'a [(&'static str, ColumnKind)],
    cells: &'a [Cell<'a>],
}

impl Serialize for Row<'_> {
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
struct List<'a> {
    out: &'a mut dyn Write,
    is_empty: bool,
}

impl<'a> List<'a> {
    fn begin(out: &'a mut dyn Write) -> List<'a> {
        List { out, is_empty: true }
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

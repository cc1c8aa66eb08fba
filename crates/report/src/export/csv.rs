//! Tables as text with commas.

use std::borrow::Cow;
use std::io::{Result, Write};

use judge::bounds::Bounds;
use record::{LimitedBy, Recording};

use super::tables::{Cell, Rows, SideTable};

/// The long table of all values.
pub(super) fn write_values(recording: &Recording, out: &mut dyn Write) -> Result<()> {
    writeln!(out, "system,workload,variant,series,direction,trial,n,value,unit,limited_by")?;
    let bounds = Bounds::new(recording);
    for (key, trials) in recording.series() {
        let names = [&key.system, &key.workload, &key.variant, &key.name].map(|name| field(name)).join(",");
        let kind = recording.kind(key);
        let unit = field(kind.map_or("", |kind| kind.unit.name()));
        for series in trials {
            for (n, value) in series.points() {
                // The debug form is the shortest that reads back exactly, with an exponent where that helps.
                let by = bounds.of_value(key, kind, series.trial, n).map_or("", LimitedBy::name);
                writeln!(out, "{names},{},{},{n},{value:?},{unit},{by}", key.direction, series.trial)?;
            }
        }
    }
    Ok(())
}

/// One of the other tables.
pub(super) fn write_table(table: SideTable, rows: Rows<'_>, out: &mut dyn Write) -> Result<()> {
    let names: Vec<&str> = table.columns().iter().map(|(name, _)| *name).collect();
    writeln!(out, "{}", names.join(","))?;
    for row in rows {
        for (place, cell) in row.iter().enumerate() {
            let comma = if place > 0 { "," } else { "" };
            match cell {
                Cell::Text(text) => write!(out, "{comma}{}", field(text))?,
                Cell::Integer(number) => write!(out, "{comma}{number}")?,
                Cell::Number(number) => write!(out, "{comma}{number:?}")?,
                Cell::Nothing => write!(out, "{comma}")?,
            }
        }
        writeln!(out)?;
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

//! The long table as text with commas.

use std::borrow::Cow;
use std::io::{Result, Write};

use record::Recording;

pub(super) fn write(recording: &Recording, out: &mut dyn Write) -> Result<()> {
    writeln!(out, "system,workload,variant,series,direction,trial,n,value,unit")?;
    for (key, trials) in recording.series() {
        let names = [&key.system, &key.workload, &key.variant, &key.name].map(|name| field(name)).join(",");
        let unit = field(recording.kind(key).map_or("", |kind| kind.unit.name()));
        for series in trials {
            for (n, value) in series.points() {
                // The debug form is the shortest that reads back exactly, with an exponent where that helps.
                writeln!(out, "{names},{},{},{n},{value:?},{unit}", key.direction, series.trial)?;
            }
        }
    }
    Ok(())
}

/// RFC 4180, 2.5 to 2.7: quoted only where it must be, quotes doubled.
fn field(text: &str) -> Cow<'_, str> {
    if text.contains([',', '"', '\r', '\n']) {
        Cow::Owned(format!("\"{}\"", text.replace('"', "\"\"")))
    } else {
        Cow::Borrowed(text)
    }
}

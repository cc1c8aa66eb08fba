//! The long table as one JSON array, folded to an object per trial of a series.

use std::io::{Result, Write};

use record::{Direction, Recording};
use serde::Serialize;

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
}

pub(super) fn write(recording: &Recording, out: &mut dyn Write) -> Result<()> {
    let mut before = "[\n";
    for (key, trials) in recording.series() {
        for series in trials {
            out.write_all(before.as_bytes())?;
            before = ",\n";
            let trial = Trial {
                system: &key.system,
                workload: &key.workload,
                variant: &key.variant,
                series: &key.name,
                direction: key.direction,
                trial: series.trial,
                n: series.points().map(|(n, _)| n).collect(),
                value: &series.values,
                unit: recording.kind(key).map_or("", |kind| kind.unit.name()),
            };
            serde_json::to_writer(&mut *out, &trial)?;
        }
    }
    let after = if before == "[\n" { "[]\n" } else { "\n]\n" };
    out.write_all(after.as_bytes())
}

//! The result of comparing a system with itself, in a terminal: false alarms and the noise floor.

use std::io::{self, Write};

use record::{NoiseFloor, Recording};

use crate::document::Tone;
use crate::text::{Cell, Page, Row, Style};
use crate::words::bound;

/// Columns that a series and its floor take, as a rule.
const COLUMNS_PER_SERIES: usize = 36;

/// Writes the floor of every series, the noisiest first, then that of all.
pub fn write(recording: &Recording, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let mut page = Page::new(*style, out);
    page.gap()?;
    let Some(floor) = recording.systems.iter().find_map(|system| system.noise_floor.as_ref()) else {
        let why = "no noise floor was stored: that needs a series with ten pairs of trials that differ, and \
                   an operation of at least ten ticks of the clock";
        return page.paragraph(why, 2, Tone::Open);
    };
    page.columns(&rows(floor, style), usize::MAX)?;
    page.gap()?;
    page.paragraph(&alarms(floor), 2, Tone::Plain)?;
    page.paragraph(&claim(floor), 2, Tone::Strong)
}

fn rows(floor: &NoiseFloor, style: &Style) -> Vec<Row> {
    let mut series: Vec<(&String, f64)> = floor.series.iter().map(|(name, share)| (name, *share)).collect();
    series.sort_by(|a, b| b.1.total_cmp(&a.1));
    let on_a_line = (style.width / COLUMNS_PER_SERIES).max(1);
    // Down the first column, then down the second, as one reads a list.
    let height = series.len().div_ceil(on_a_line);
    let line = |y: usize| {
        let cells = (0..on_a_line).filter_map(|x| series.get(x * height + y));
        let cells = cells.flat_map(|(name, share)| [Cell::new(*name), Cell::new(bound(*share))]);
        Row { cells: cells.collect(), below: Vec::new() }
    };
    (0..height).map(line).collect()
}

fn alarms(floor: &NoiseFloor) -> String {
    let judged = floor.series.len();
    let alarms = (floor.false_alarm_rate * judged as f64).round();
    format!("false alarms: {alarms} of {judged} series are called different at 5 %, although none is")
}

fn claim(floor: &NoiseFloor) -> String {
    format!(
        "noise floor {}: this machine cannot resolve smaller differences ({} pairs of trials)",
        bound(floor.share),
        floor.trials
    )
}

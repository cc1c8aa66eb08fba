//! The result of comparing a system with itself, in a terminal: false alarms and the noise floor.

use record::Recording;

use crate::document::{Document, Table, Text, Tone};
use crate::words::bound;

/// The floor of every series, the noisiest first, then that of all.
pub fn document(recording: &Recording) -> Document {
    let mut document = Document::default();
    let Some(floor) = recording.systems.iter().find_map(|system| system.noise_floor.as_ref()) else {
        let why = "no noise floor was stored: that needs a series with ten pairs of trials that differ, and \
                   an operation of at least ten ticks of the clock";
        document.say(Text::toned(why, Tone::Open));
        return document;
    };
    let mut series: Vec<(&String, f64)> = floor.series.iter().map(|(name, share)| (name, *share)).collect();
    series.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut table = Table { is_compact: true, ..Table::without_headings(2) };
    series.iter().for_each(|(name, share)| table.push([name.as_str(), &bound(*share)]));
    document.push(table);
    let judged = floor.series.len();
    let alarms = (floor.false_alarm_rate * judged as f64).round();
    document.say(format!(
        "false alarms: {alarms} of {judged} series are called different at 5 %, although none is"
    ));
    let claim = format!(
        "noise floor {}: this machine cannot resolve smaller differences ({} pairs of trials)",
        bound(floor.share),
        floor.trials
    );
    document.say(Text::toned(claim, Tone::Strong));
    document
}

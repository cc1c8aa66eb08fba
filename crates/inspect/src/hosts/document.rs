//! The hosts as a document: a table of those that can be reached, and the others with their reasons.

use report::document::{Column, Document, Section, Table, Text, Tone};
use report::quantity::time;
use report::words::things;

use super::{HostAnswer, HostsAnswer, ProbeState};

/// The answer as a document; with the conditions of each host where that is wanted.
pub fn document(answer: &HostsAnswer, verbose: bool) -> Document {
    let mut document = Document { title: "Hosts".into(), ..Document::default() };
    document.say(headline(answer));
    document.blocks.extend(reached(answer).map(Into::into));
    document.blocks.extend(lost(answer).map(Into::into));
    if verbose {
        for host in answer.hosts.iter().filter(|host| !host.conditions.is_empty()) {
            let mut section = Section::new(host.name.as_str());
            host.conditions.iter().for_each(|condition| section.say(condition));
            document.push(section);
        }
    }
    document
}

fn headline(answer: &HostsAnswer) -> Text {
    let count = |state| answer.count(state);
    let all = things(answer.hosts.len(), "host", "hosts");
    let (free, busy, lost) = (count(ProbeState::Free), count(ProbeState::Busy), count(ProbeState::Lost));
    let tone = if free == answer.hosts.len() { Tone::Good } else { Tone::Open };
    let parts = [(free, "free"), (busy, "busy"), (lost, "lost")];
    let parts: Vec<String> =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
    Text::toned(all, Tone::Strong).and(": ").and(Text::toned(parts.join(", "), tone))
}

fn reached(answer: &HostsAnswer) -> Option<Table> {
    let columns: Vec<Column> = vec![
        "host".into(),
        "state".into(),
        "kernel".into(),
        "processors".into(),
        Column::number("memory"),
        Column::number("clock ahead by"),
        Column::number("round trip"),
    ];
    let mut table = Table::of_columns(columns);
    for host in answer.hosts.iter().filter(|host| host.state != ProbeState::Lost) {
        let state = match host.reason.as_deref() {
            Some(reason) => format!("busy: {reason}"),
            None => "free".to_owned(),
        };
        table.push([
            host.name.clone(),
            state,
            host.kernel.clone().unwrap_or_default(),
            processors(host),
            host.memory_bytes.map_or(String::new(), |bytes| format!("{:.0} GiB", bytes as f64 / GIBIBYTE)),
            clock(host),
            host.round_trip_seconds.map_or(String::new(), time),
        ]);
    }
    (!table.rows.is_empty()).then_some(table)
}

const GIBIBYTE: f64 = (1_u64 << 30) as f64;

fn processors(host: &HostAnswer) -> String {
    match (host.processors, host.processor_model.as_deref()) {
        (Some(count), Some(model)) => format!("{count} × {model}"),
        (Some(count), None) => count.to_string(),
        (None, model) => model.unwrap_or_default().to_owned(),
    }
}

/// `-1.2 s`, or the bound of an offset that is too small to be known.
fn clock(host: &HostAnswer) -> String {
    match (host.clock_offset_seconds, host.clock_error_seconds) {
        (Some(offset), Some(error)) if offset.abs() <= error => format!("0 within {}", time(error)),
        (Some(offset), Some(error)) => {
            let sign = if offset < 0.0 { "-" } else { "" };
            format!("{sign}{} ± {}", time(offset.abs()), time(error))
        }
        _ => String::new(),
    }
}

fn lost(answer: &HostsAnswer) -> Option<Table> {
    let mut table = Table::of_columns(vec!["lost".into(), "reason".into()]);
    table.wraps = 1;
    for host in answer.hosts.iter().filter(|host| host.state == ProbeState::Lost) {
        table.push([host.name.clone(), host.reason.clone().unwrap_or_default()]);
    }
    (!table.rows.is_empty()).then_some(table)
}

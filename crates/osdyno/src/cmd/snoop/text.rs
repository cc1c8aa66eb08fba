//! The answers in a terminal: the word first, then the evidence, then what follows from it.

use std::collections::BTreeMap;
use std::io::{self, Write};

use ::report::words::count;
use ::report::{Style, printable, write_columns, write_paragraph};
use inspect::snoop::{Moment, ProcessEvidence, ServerGrowth, SnoopAnswer};

use super::seen::{Manner, Seen};
use super::words;

/// Processes that are listed, and the waits of each.
const PROCESSES_MOST: usize = 30;
const WAITS_MOST: usize = 4;

pub(super) fn write(
    seen: &[Seen],
    is_list: bool,
    verbose: bool,
    style: &Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    if seen.is_empty() {
        return write_paragraph("Nothing listens on a TCP port here.", 0, style, out);
    }
    if is_list && !verbose {
        return list(seen, style, out);
    }
    for (index, one) in seen.iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        server(one, verbose, style, out)?;
    }
    Ok(())
}

fn list(seen: &[Seen], style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let row = |one: &Seen| {
        let said = |said: fn(&SnoopAnswer) -> String| one.answer.as_ref().map_or("unknown".to_owned(), said);
        vec![
            words::places(&one.server),
            format!("{} ({})", one.server.root, printable(&one.server.name)),
            said(|answer| answer.architecture.word().to_owned()),
            said(|answer| words::confidence(answer.confidence).to_owned()),
            said(words::phrase),
        ]
    };
    let rows: Vec<Vec<String>> = seen.iter().map(row).collect();
    write_columns(&["listens on", "process", "is", "how sure", "that is"], &rows, style, out)
}

fn server(one: &Seen, verbose: bool, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let name = printable(&one.server.name).into_owned();
    let head = format!("process {} ({name}), on {}", one.server.root, words::places(&one.server));
    let Some(answer) = &one.answer else {
        write_paragraph(&format!("unknown: nothing was seen of how it waits. {head}"), 2, style, out)?;
        return missing(one, style, out);
    };
    let word = answer.architecture.word();
    let sure = words::confidence(answer.confidence);
    write_paragraph(&format!("{word}: {} ({sure})", words::phrase(answer)), 0, style, out)?;
    write_paragraph(&head, 0, style, out)?;
    let alternatives: Vec<&str> = answer.alternatives.iter().map(|other| other.word()).collect();
    if !alternatives.is_empty() {
        let text = format!("as far as was seen it may also be {}", alternatives.join(" or "));
        write_paragraph(&text, 0, style, out)?;
    }
    section("Evidence for it", answer.reasons.iter().map(words::clue), style, out)?;
    section("Evidence against it, and limits", answer.doubts.iter().map(words::clue), style, out)?;
    missing(one, style, out)?;
    growth(one, answer, style, out)?;
    section("What that predicts", words::prediction(answer).into_iter(), style, out)?;
    match one.collector.evidence().moments.iter().max_by_key(|moment| moment.connections()) {
        Some(moment) if verbose => processes(moment, style, out),
        _ => Ok(()),
    }
}

fn section(
    title: &str,
    sentences: impl Iterator<Item = String>,
    style: &Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    for (index, sentence) in sentences.enumerate() {
        if index == 0 {
            writeln!(out)?;
            write_paragraph(title, 0, style, out)?;
        }
        write_paragraph(&format!("- {sentence}"), 2, style, out)?;
    }
    Ok(())
}

fn missing(one: &Seen, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    section("Not seen", words::missing(&one.missing()).into_iter(), style, out)
}

fn growth(one: &Seen, answer: &SnoopAnswer, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    if answer.growth.len() < 2 {
        return Ok(());
    }
    let row = |row: &ServerGrowth| {
        let held = match row.held {
            Some(held) => count(held),
            None if row.is_after => "closed".to_owned(),
            None => "none".to_owned(),
        };
        vec![
            held,
            count(row.connections as u64),
            count(row.unaccepted),
            count(row.processes as u64),
            count(row.threads),
            count(row.descriptors as u64),
            row.memory_bytes.map_or("—".to_owned(), words::bytes),
        ]
    };
    let rows: Vec<Vec<String>> = answer.growth.iter().map(row).collect();
    writeln!(out)?;
    let used = match one.manner {
        Some(Manner::Http) => "each with a response",
        Some(Manner::Unfinished) => "with a request that does not end",
        _ => "silent",
    };
    let held = format!("held ({used})");
    let heading = [&held, "connections", "not accepted", "processes", "threads", "descriptors", "memory"];
    write_columns(&heading, &rows, style, out)
}

fn processes(moment: &Moment, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let row = |process: &ProcessEvidence| {
        vec![
            process.pid.to_string(),
            process.parent.to_string(),
            printable(&process.name).into_owned(),
            count(process.threads),
            process.listening.len().to_string(),
            process.connection_count().to_string(),
            process.descriptors.epolls.to_string(),
            process
                .memory
                .and_then(|memory| memory.private_bytes)
                .map_or("—".to_owned(), |b| words::bytes(b as f64)),
            waits(process),
        ]
    };
    let rows: Vec<Vec<String>> = moment.processes.iter().take(PROCESSES_MOST).map(row).collect();
    writeln!(out)?;
    let heading =
        ["process", "parent", "name", "threads", "listens", "connections", "epoll", "private", "waits in"];
    write_columns(&heading, &rows, style, out)?;
    let hidden = moment.processes.len().saturating_sub(PROCESSES_MOST);
    if hidden > 0 {
        write_paragraph(&format!("and {hidden} more"), 2, style, out)?;
    }
    Ok(())
}

/// What its threads wait in, the most frequent first.
fn waits(process: &ProcessEvidence) -> String {
    let mut times: BTreeMap<String, u32> = BTreeMap::new();
    for (wait, seen) in process.tasks.iter().flat_map(|task| &task.waits) {
        let call = format!("{:?}", wait.call).to_lowercase();
        *times.entry(call).or_insert(0) += seen;
    }
    let mut times: Vec<(String, u32)> = times.into_iter().collect();
    times.sort_by_key(|(_, seen)| std::cmp::Reverse(*seen));
    let all: u32 = times.iter().map(|(_, seen)| seen).sum();
    let share = |(call, seen): &(String, u32)| format!("{call} {} %", seen * 100 / all.max(1));
    times.iter().take(WAITS_MOST).map(share).collect::<Vec<_>>().join(", ")
}

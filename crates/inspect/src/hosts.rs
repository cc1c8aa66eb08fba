//! Which hosts of a fleet can be measured: reachable, free for a trial, and with a clock that is right. As a
//! document: a table of those that can be reached, and the others with their reasons.

use record::{Examination, System};
use report::document::{Column, Document, Section, Table, Text, Tone};
use report::quantity::time;
use report::words::things;
use serde::Serialize;

/// From this share of lost time on, something else is at work.
const BUSY: f64 = 0.05;

const GIBIBYTE: f64 = (1_u64 << 30) as f64;

/// The answer of `osdyno hosts`.
#[derive(Clone, Debug, Serialize)]
pub struct HostsAnswer {
    /// Version of this answer.
    pub schema: u32,
    /// The hosts, in the order given.
    pub hosts: Vec<HostAnswer>,
}

/// A host.
#[derive(Clone, Debug, Default, Serialize)]
pub struct HostAnswer {
    /// Its name.
    pub name: String,
    /// Words of the command that leads there; none for this machine.
    pub command: Vec<String>,
    /// Whether a run can use it.
    pub state: ProbeState,
    /// Why it is lost or busy.
    pub reason: Option<String>,
    /// Kernel with its release.
    pub kernel: Option<String>,
    /// Processors online.
    pub processors: Option<u32>,
    /// Model of the processors.
    pub processor_model: Option<String>,
    /// Memory.
    pub memory_bytes: Option<u64>,
    /// How far its date is ahead of the date here.
    pub clock_offset_seconds: Option<f64>,
    /// Half of the shortest round trip: the offset is wrong by no more.
    pub clock_error_seconds: Option<f64>,
    /// Shortest round trip of a request.
    pub round_trip_seconds: Option<f64>,
    /// From the start of its command to its first reply.
    pub start_seconds: Option<f64>,
    /// Conditions that show in figures, each a sentence.
    pub conditions: Vec<String>,
}

/// Whether a run can use a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProbeState {
    /// Nothing else is at work there.
    Free,
    /// Something else has the processor for a part of the time.
    Busy,
    /// It cannot be reached, or nothing can be started there.
    #[default]
    Lost,
}

impl HostsAnswer {
    /// Version of the answer; it rises when a field changes its meaning or goes.
    pub const SCHEMA: u32 = 1;

    /// The answer about these hosts.
    pub fn new(hosts: Vec<HostAnswer>) -> HostsAnswer {
        HostsAnswer { schema: HostsAnswer::SCHEMA, hosts }
    }

    /// How many are in this state.
    pub fn count(&self, state: ProbeState) -> usize {
        self.hosts.iter().filter(|host| host.state == state).count()
    }
}

impl HostAnswer {
    /// A host that is lost.
    pub fn lost(name: String, command: Vec<String>, reason: String) -> HostAnswer {
        HostAnswer { name, command, state: ProbeState::Lost, reason: Some(reason), ..HostAnswer::default() }
    }

    /// A host that was reached, without the figures of its probe.
    pub fn reached(name: String, command: Vec<String>, system: &System, examination: &Examination) -> Self {
        let fact = |key: &str| system.environment.get(key).cloned();
        let kernel: Vec<String> = ["kernel.name", "kernel.release"].into_iter().filter_map(fact).collect();
        let steadiness = examination.steadiness.as_ref();
        let lost = steadiness
            .map_or(0.0, |steadiness| steadiness.lost_share.max(steadiness.waited_share.unwrap_or(0.0)));
        let is_busy = lost >= BUSY;
        let reason =
            is_busy.then(|| format!("others had the processor for {:.0} % of the time", lost * 100.0));
        HostAnswer {
            name,
            command,
            state: if is_busy { ProbeState::Busy } else { ProbeState::Free },
            reason,
            kernel: (!kernel.is_empty()).then(|| kernel.join(" ")),
            processors: system.processors.as_ref().map(|processors| processors.online),
            processor_model: fact("cpu.model"),
            memory_bytes: fact("memory.total_bytes").and_then(|bytes| bytes.parse().ok()),
            conditions: examination.conditions.iter().map(|condition| condition.text.clone()).collect(),
            ..HostAnswer::default()
        }
    }
}

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

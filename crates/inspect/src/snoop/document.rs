//! The answer as a document: for each server the architecture first, then the evidence, then the prediction,
//! with the sentences of all of them.

use std::collections::BTreeMap;

use report::document::{Column, Document, Element, Fold, Section, Table, Text, Tone};
use report::printable;
use report::words::{about, count, things};
use sys::process_table::WaitCall;

use super::evidence::{Missing, ProcessEvidence};
use super::server::ListeningPlace;
use super::{
    Clue, Confidence, ConnectionScaling, Prediction, ProbeMode, Recognition, ServerAnswer,
    ServerArchitecture, ServerGrowth, SnoopAnswer,
};

/// Processes that are listed, and the waits of each.
const PROCESSES_MAX: usize = 30;
const WAITS_MAX: usize = 4;

/// Characters of a program that are shown.
const PROGRAM_MAX: usize = 60;

const LISTENING_FOR_WRITING: &str = "even the listening socket is registered edge-triggered and to be \
                                     written to, as runtimes do with every descriptor";
const LISTENING_ONCE: &str = "even the listening socket is registered for one event only, as in runtimes \
                              where any thread may take the next";
const THREADS_OUTLIVED: &str = "threads were still there after their connections: they wait for the next \
                                ones, or are a pool that has not reached its size";
const NO_CONNECTION: &str = "it had no connection, so its work for one was not seen; --load shows it";

impl SnoopAnswer {
    /// The answer as a document.
    pub fn document(&self) -> Document {
        let mut document = Document { title: "Which architecture is it?".into(), ..Document::default() };
        if self.servers.is_empty() {
            document.say("Nothing listens on a TCP port here.");
        } else if self.is_list {
            document.push(self.list());
            let folds = self.servers.iter().map(|server| {
                Fold { title: server.claim(), blocks: server.blocks(), ..Fold::default() }.into()
            });
            document.blocks.extend(folds);
        } else {
            for server in &self.servers {
                document.say(server.claim());
                document.blocks.extend(server.blocks());
            }
        }
        document
    }

    fn list(&self) -> Table {
        let mut table = Table::new(["listens on", "process", "is", "how sure", "that is"]);
        for server in &self.servers {
            let [word, sure, phrase] = match &server.recognition {
                Some(seen) => [
                    Text::toned(seen.architecture.word(), Tone::Strong),
                    Text::toned(seen.confidence.word(), tone(seen.confidence)),
                    seen.phrase.clone().into(),
                ],
                None => ["unknown".into(), Text::default(), "nothing was seen of how it waits".into()],
            };
            table.push([server.places().into(), server.process().into(), word, sure, phrase]);
        }
        table
    }
}

fn tone(confidence: Confidence) -> Tone {
    match confidence {
        Confidence::Sure => Tone::Good,
        Confidence::Likely => Tone::Plain,
        Confidence::Guess => Tone::Open,
    }
}

impl ServerAnswer {
    fn places(&self) -> String {
        self.listens.iter().map(|place| place.in_words()).collect::<Vec<_>>().join(", ")
    }

    fn process(&self) -> String {
        format!("{} ({})", self.pid, printable(&self.name))
    }

    /// Its architecture in a line.
    fn claim(&self) -> Text {
        match &self.recognition {
            Some(seen) => Text::toned(seen.architecture.word(), Tone::Strong)
                .and(format!(": {} (", seen.phrase))
                .and(Text::toned(seen.confidence.word(), tone(seen.confidence)))
                .and(")"),
            None => Text::toned("unknown", Tone::Strong).and(": nothing was seen of how it waits"),
        }
    }

    /// All below that line.
    fn blocks(&self) -> Vec<Element> {
        let mut blocks: Vec<Element> =
            vec![Text::from(format!("process {}, on {}", self.process(), self.places())).into()];
        let items = |title: &str, sentences: Vec<String>| {
            let items = sentences.into_iter().map(|one| vec![Text::from(one).into()]).collect::<Vec<_>>();
            let mut section = Section::new(title);
            let is_empty = items.is_empty();
            section.push(Element::Items { first: None, items });
            (!is_empty).then(|| Element::from(section))
        };
        let Some(seen) = &self.recognition else {
            blocks.extend(items("Not seen", self.not_seen.in_words.clone()));
            return blocks;
        };
        let alternatives: Vec<&str> = seen.alternatives.iter().map(|other| other.word()).collect();
        if !alternatives.is_empty() {
            let text = format!("as far as was seen it may also be {}", alternatives.join(" or "));
            blocks.push(Text::from(text).into());
        }
        let sentences = |clues: &[Clue]| clues.iter().map(Clue::sentence).collect();
        blocks.extend(items("Evidence for it", sentences(&seen.reasons)));
        blocks.extend(items("Evidence against it, and limits", sentences(&seen.doubts)));
        blocks.extend(items("Not seen", self.not_seen.in_words.clone()));
        blocks.extend(self.growth(seen).map(Into::into));
        blocks.extend(items("Prediction", predicted(seen)));
        blocks.push(self.listed().into());
        blocks
    }

    fn growth(&self, seen: &Recognition) -> Option<Section> {
        let used = match self.probe {
            Some(ProbeMode::Http) => "each with a response",
            Some(ProbeMode::Unfinished) => "with a request that does not end",
            Some(ProbeMode::Silent) | None => "silent",
        };
        let numbers = ["connections", "not accepted", "processes", "threads", "descriptors", "memory"]
            .map(Column::number);
        let held = Column::number(format!("held ({used})"));
        let mut table = Table::of_columns([held].into_iter().chain(numbers).collect());
        for row in &seen.growth {
            let ServerGrowth { held, is_after, connections, unaccepted, processes, .. } = *row;
            let held = match held {
                Some(held) => count(held),
                None if is_after => "closed".to_owned(),
                None => "none".to_owned(),
            };
            table.push([
                held,
                count(connections as u64),
                count(unaccepted),
                count(processes as u64),
                count(row.threads),
                count(row.descriptors as u64),
                row.memory_bytes.map_or("—".to_owned(), bytes),
            ]);
        }
        let mut section = Section::new("Growth");
        section.push(table);
        (seen.growth.len() > 1).then_some(section)
    }

    fn listed(&self) -> Fold {
        let numbers = ["threads", "listens", "connections", "epoll", "private"].map(Column::number);
        let names = ["process", "parent", "name"].map(Column::from);
        let columns = names.into_iter().chain(numbers).chain([Column::from("waits in")]);
        let mut table = Table::of_columns(columns.collect());
        for process in self.processes.iter().take(PROCESSES_MAX) {
            let private = process.memory.and_then(|memory| memory.private_bytes);
            table.push([
                process.pid.to_string(),
                process.parent.to_string(),
                printable(&process.name).into_owned(),
                count(process.threads),
                process.listening.len().to_string(),
                process.connection_count().to_string(),
                process.descriptors.epolls.to_string(),
                private.map_or("—".to_owned(), |private| bytes(private as f64)),
                waits(process),
            ]);
        }
        let mut blocks = vec![Element::from(table)];
        let hidden = self.processes.len().saturating_sub(PROCESSES_MAX);
        if hidden > 0 {
            blocks.push(Text::from(format!("and {hidden} more")).into());
        }
        Fold { title: "Processes".into(), blocks, ..Fold::default() }
    }
}

/// The prediction; for a guess, the way to know more.
fn predicted(seen: &Recognition) -> Vec<String> {
    match &seen.prediction {
        Some(prediction) => prediction.sentences(),
        None => vec!["nothing, because the architecture is a guess: --load shows it".to_owned()],
    }
}

/// The waits of its threads, the most frequent first.
fn waits(process: &ProcessEvidence) -> String {
    let mut times: BTreeMap<String, u32> = BTreeMap::new();
    for (wait, seen) in process.tasks.iter().flat_map(|task| &task.waits) {
        *times.entry(call(&wait.call)).or_insert(0) += seen;
    }
    let mut times: Vec<(String, u32)> = times.into_iter().collect();
    times.sort_by_key(|(_, seen)| std::cmp::Reverse(*seen));
    let all: u32 = times.iter().map(|(_, seen)| seen).sum();
    let share = |(call, seen): &(String, u32)| format!("{call} {} %", seen * 100 / all.max(1));
    times.iter().take(WAITS_MAX).map(share).collect::<Vec<_>>().join(", ")
}

impl ListeningPlace {
    /// Its address, as a client names it.
    pub(super) fn in_words(&self) -> String {
        match self {
            ListeningPlace::Tcp { address, port } if address.is_ipv6() => format!("[{address}]:{port}"),
            ListeningPlace::Tcp { address, port } => format!("{address}:{port}"),
            ListeningPlace::Unix { path } => format!("unix:{}", printable(path)),
        }
    }
}

fn connections(of: usize) -> String {
    things(of, "connection", "connections")
}

fn processes(of: usize) -> String {
    things(of, "process", "processes")
}

fn threads(of: usize) -> String {
    things(of, "thread", "threads")
}

fn wait_or_waits(of: usize) -> &'static str {
    if of == 1 { "waits" } else { "wait" }
}

impl Recognition {
    /// The architecture in a phrase.
    pub(super) fn in_words(&self) -> String {
        use ServerArchitecture as A;
        let mechanism = mechanism(self.mechanism);
        let event_workers = || self.workers_in_words("event-driven worker", "event-driven workers");
        match self.architecture {
            A::Hybrid if self.mechanism == A::Pool => {
                format!("{} with a pool of threads each", self.workers_in_words("process", "processes"))
            }
            A::Hybrid if self.has_pool => {
                format!("{} on {mechanism}, with a pool of threads for the work", event_workers())
            }
            A::Hybrid => format!("{} on {mechanism}", event_workers()),
            A::Coroutines => {
                format!("coroutines of a runtime on {}, which wait in epoll", threads(self.threads))
            }
            A::Inetd => "a program executed for each connection".to_owned(),
            A::Fork => "a process for each connection".to_owned(),
            A::Prefork => {
                let many = things(self.workers, "process that accepts", "processes that accept");
                format!("{many}, each with one connection at a time")
            }
            A::Thread => "a thread for each connection".to_owned(),
            A::Pool => {
                format!("a pool of {}, each with one connection at a time", threads(self.threads))
            }
            A::Iterative => "one connection after the other".to_owned(),
            _ if self.has_supervisor => format!("master with 1 event-driven worker on {mechanism}"),
            _ if self.threads > 1 => {
                format!("{} threads with an event loop each, on {mechanism}", self.threads)
            }
            _ => format!("one event loop on {mechanism}"),
        }
    }

    fn workers_in_words(&self, one: &str, many: &str) -> String {
        let workers = things(self.workers, one, many);
        if self.has_supervisor { format!("master with {workers}") } else { workers }
    }
}

fn mechanism(architecture: ServerArchitecture) -> &'static str {
    match architecture {
        ServerArchitecture::EpollEdge => "edge-triggered epoll",
        ServerArchitecture::SignalIo => "signals",
        ServerArchitecture::Ring => "io_uring",
        other => other.word(),
    }
}

/// The system call in which a thread waits; untrusted text where the kernel names it.
fn call(call: &WaitCall) -> String {
    let name = match call {
        WaitCall::Running => "running",
        WaitCall::Accept => "accept(2)",
        WaitCall::Epoll => "epoll_wait(2)",
        WaitCall::Poll => "poll(2)",
        WaitCall::Select => "select(2)",
        WaitCall::Ring => "io_uring_enter(2)",
        WaitCall::Signal => "sigtimedwait(2)",
        WaitCall::Read => "read(2)",
        WaitCall::Write => "write(2)",
        WaitCall::Futex => "futex(2)",
        WaitCall::Lock => "a lock",
        WaitCall::Sleep => "nanosleep(2)",
        WaitCall::Child => "wait(2)",
        WaitCall::Other(name) => name,
    };
    printable(name).into_owned()
}

impl Clue {
    /// The clue as a sentence.
    pub fn sentence(&self) -> String {
        match self {
            Clue::ProcessEach { connections: held, processes: each } => {
                format!("{} in {}: each has a process of its own", connections(*held), processes(*each))
            }
            Clue::ProcessHolds { connections: held, threads: by } => {
                format!("one process holds {} with {}", connections(*held), threads(*by as usize))
            }
            Clue::ProcessesGrew { from, to } => {
                format!("processes grew from {from} to {to} with the connections")
            }
            Clue::ThreadsGrew { from, to } => {
                format!("threads grew from {from} to {to} with the connections")
            }
            Clue::NothingGrew { threads } => {
                format!("no process and no thread more than without connections: {threads} in all")
            }
            Clue::StandardInput { processes: of } => {
                format!("the connection is the standard input of {}", processes(*of))
            }
            Clue::Executed { program } => {
                format!("the serving program was executed, and not only forked: {}", shortened(program))
            }
            Clue::IdleWorkers { processes: of } => {
                format!("{} without a connection {} for one", processes(*of), wait_or_waits(*of))
            }
            Clue::Accepting { threads: of } => {
                format!("{} {} in accept(2)", threads(*of), wait_or_waits(*of))
            }
            Clue::Outlived { processes, of } => {
                format!("{processes} of {of} processes were still there after their connection")
            }
            Clue::EndedWithConnection { processes, of } => {
                format!("{processes} of {of} processes ended with their connection")
            }
            Clue::SharedListening { processes: of } => {
                format!("{} hold the same listening socket", processes(*of))
            }
            Clue::ReusePort { sockets } => format!("{sockets} sockets listen on one port (SO_REUSEPORT)"),
            Clue::Watched { connections, of, is_edge_triggered } => {
                let edge = if *is_edge_triggered { ", edge-triggered" } else { "" };
                format!("epoll watches {connections} of its {of} connections{edge}")
            }
            Clue::ListeningForWriting => LISTENING_FOR_WRITING.to_owned(),
            Clue::ListeningOnce => LISTENING_ONCE.to_owned(),
            Clue::WaitsIn { call, threads, descriptors } => waits_in(call, *threads, *descriptors),
            Clue::Blocked { threads: 1 } => "1 thread waits for one connection".to_owned(),
            Clue::Blocked { threads: of } => format!("{} wait for one connection each", threads(*of)),
            Clue::WaitsForOne => "it waits for that connection alone, and for no other".to_owned(),
            Clue::ActiveThreads { threads: of } => {
                format!("{} beside the loop worked under load", threads(*of))
            }
            Clue::ThreadsOutlived { threads, of } => format!("{threads} of {of} {THREADS_OUTLIVED}"),
            Clue::ThreadsNotSeen { threads } => {
                format!("most threads were not looked at: {} of them", count(*threads))
            }
            Clue::EndedChildren => "children of it have ended, perhaps one for each connection".to_owned(),
            Clue::SendsSignals => "its sockets announce events by a signal (O_ASYNC)".to_owned(),
            Clue::Unaccepted { connections: of } => {
                format!("{} waited to be accepted", connections(*of as usize))
            }
            Clue::FewConnections { connections: 0 } => NO_CONNECTION.to_owned(),
            Clue::FewConnections { connections: of } => format!("it had only {}", connections(*of)),
        }
    }
}

fn waits_in(wait: &WaitCall, of: usize, descriptors: Option<u64>) -> String {
    // select(2) takes the highest descriptor, and not a number of them.
    let for_them = descriptors.map(|many| match wait {
        WaitCall::Select => format!(", for descriptors below {many}"),
        _ => format!(", for {}", things(many as usize, "descriptor", "descriptors")),
    });
    format!("{} {} in {}{}", threads(of), wait_or_waits(of), call(wait), for_them.unwrap_or_default())
}

fn shortened(text: &str) -> String {
    let text = printable(text);
    match text.chars().count() > PROGRAM_MAX {
        true => text.chars().take(PROGRAM_MAX - 1).chain(['…']).collect(),
        false => text.into_owned(),
    }
}

impl Missing {
    pub(super) fn sentences(&self) -> Vec<String> {
        let mut sentences = Vec::new();
        if self.descriptors > 0 {
            sentences.push(format!(
                "the descriptors of {} of the server are kept from this user; root sees them",
                processes(self.descriptors)
            ));
        }
        if self.waits > 0 {
            sentences.push(format!(
                "the waits of {} are kept from this user; root sees them",
                threads(self.waits)
            ));
        }
        if self.arguments > 0 {
            sentences.push(format!(
                "of {} the kernel's function is known, without descriptors; root sees more",
                threads(self.arguments)
            ));
        }
        if self.threads > 0 {
            sentences.push(format!("{} threads were counted and not looked at", count(self.threads)));
        }
        if self.is_hidden {
            sentences.push("/proc hides the processes of other users (hidepid); root sees them".to_owned());
        } else if self.strangers > self.descriptors {
            sentences.push(format!(
                "{} of other users may belong to it; only root can see that",
                processes(self.strangers - self.descriptors)
            ));
        }
        sentences
    }
}

impl Prediction {
    pub(super) fn sentences(&self) -> Vec<String> {
        let at = count(self.connections);
        let there = |number: Option<f64>| about(number.unwrap_or_default().round());
        let serving = match (self.at_most, self.scaling) {
            (Some(most), _) => format!(
                "it serves at most {} at the same time, as it is set up; others wait until one ends",
                connections(most as usize)
            ),
            (None, ConnectionScaling::Processes) => {
                format!("{at} connections: {} processes", there(self.processes))
            }
            (None, ConnectionScaling::ProcessesAsSet) => {
                let there = there(self.processes);
                format!("{at} connections: {there} processes, or as many as its setting allows")
            }
            (None, ConnectionScaling::Threads) => {
                format!("{at} connections: {} threads", there(self.threads))
            }
            (None, ConnectionScaling::Workers) => "it serves as many connections at the same time as it has \
                                                   processes or threads; others wait"
                .to_owned(),
            (None, ConnectionScaling::Events) => {
                let is_one = self.threads.is_some_and(|threads| threads.round() == 1.0);
                let unit = if is_one { "thread" } else { "threads" };
                format!("{at} connections: {} {unit}, as now", there(self.threads))
            }
        };
        let memory = match self.connection_bytes {
            Some(each) => {
                let whole = self.memory_bytes.map(|whole| format!(", {} at {at} connections", bytes(whole)));
                format!(
                    "{} of user memory for each connection{}; the kernel's own comes on top",
                    bytes(each),
                    whole.unwrap_or_default()
                )
            }
            None if self.is_memory_seen => {
                "user memory did not grow with the connections; the kernel's own comes on top".to_owned()
            }
            None => "memory for each connection was not measured: it takes --load, and a server that takes \
                     them"
                .to_owned(),
        };
        let compared = format!(
            "the cost of {} on this machine beside others: osdyno run race request",
            self.compare_with
        );
        vec![serving, memory, compared]
    }
}

/// An amount of memory.
fn bytes(bytes: f64) -> String {
    match bytes {
        bytes if bytes >= 1e9 => format!("{:.1} GB", bytes / 1e9),
        bytes if bytes >= 10e6 => format!("{:.0} MB", bytes / 1e6),
        bytes if bytes >= 1e6 => format!("{:.1} MB", bytes / 1e6),
        bytes if bytes >= 1e3 => format!("{:.0} kB", bytes / 1e3),
        bytes => format!("{bytes:.0} bytes"),
    }
}

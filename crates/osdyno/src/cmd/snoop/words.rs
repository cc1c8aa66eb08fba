//! The words for an answer, which the terminal and JSON share.

use ::report::printable;
use ::report::words::count;
use inspect::snoop::{
    Clue, Confidence, ListeningPlace, Missing, ObservedServer, Prediction, ServerArchitecture, SnoopAnswer,
};

/// Where a server listens.
pub(super) fn place(place: &ListeningPlace) -> String {
    match place {
        ListeningPlace::Tcp(address, port) if address.is_ipv6() => format!("[{address}]:{port}"),
        ListeningPlace::Tcp(address, port) => format!("{address}:{port}"),
        ListeningPlace::Unix(path) => format!("unix:{}", printable(path)),
    }
}

/// All its places.
pub(super) fn places(server: &ObservedServer) -> String {
    server.places.iter().map(place).collect::<Vec<_>>().join(", ")
}

fn number(count_of: usize, one: &str, many: &str) -> String {
    if count_of == 1 { format!("1 {one}") } else { format!("{} {many}", count(count_of as u64)) }
}

/// What kind of a server that is, in a phrase.
pub(super) fn phrase(answer: &SnoopAnswer) -> String {
    use ServerArchitecture as A;
    let mechanism = mechanism(answer.mechanism);
    match answer.architecture {
        A::Hybrid if answer.mechanism == A::Pool => {
            format!("{} with a pool of threads each", workers(answer))
        }
        A::Hybrid if answer.has_pool => {
            format!("{} on {mechanism}, with a pool of threads for the work", event_workers(answer))
        }
        A::Hybrid => format!("{} on {mechanism}", event_workers(answer)),
        A::Coroutines => {
            let threads = number(answer.threads, "thread", "threads");
            format!("coroutines of a runtime on {threads}, which wait in epoll")
        }
        A::Inetd => "a program executed for each connection".to_owned(),
        A::Fork => "a process for each connection".to_owned(),
        A::Prefork => {
            let many = number(answer.workers, "process that accepts", "processes that accept");
            format!("{many}, each with one connection at a time")
        }
        A::Thread => "a thread for each connection".to_owned(),
        A::Pool => {
            let many = number(answer.threads, "thread", "threads");
            format!("a pool of {many}, each with one connection at a time")
        }
        A::Iterative => "one connection after the other".to_owned(),
        _ if answer.has_supervisor => format!("master with 1 event-driven worker on {mechanism}"),
        _ if answer.threads > 1 => {
            format!("{} threads with an event loop each, on {mechanism}", answer.threads)
        }
        _ => format!("one event loop on {mechanism}"),
    }
}

fn workers(answer: &SnoopAnswer) -> String {
    let many = number(answer.workers, "process", "processes");
    if answer.has_supervisor { format!("master with {many}") } else { many }
}

fn event_workers(answer: &SnoopAnswer) -> String {
    let many = number(answer.workers, "event-driven worker", "event-driven workers");
    if answer.has_supervisor { format!("master with {many}") } else { many }
}

fn mechanism(architecture: ServerArchitecture) -> &'static str {
    match architecture {
        ServerArchitecture::EpollEdge => "edge-triggered epoll",
        ServerArchitecture::SignalIo => "signals",
        ServerArchitecture::Ring => "io_uring",
        other => other.word(),
    }
}

pub(super) fn confidence(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Sure => "sure",
        Confidence::Likely => "likely",
        Confidence::Guess => "a guess",
    }
}

/// A clue as a sentence.
pub(super) fn clue(clue: &Clue) -> String {
    match clue {
        Clue::ProcessEach { connections, processes } => format!(
            "{} in {}: each has a process of its own",
            number(*connections, "connection", "connections"),
            number(*processes, "process", "processes")
        ),
        Clue::ProcessHolds { connections, threads } => format!(
            "one process holds {} with {}",
            number(*connections, "connection", "connections"),
            number(*threads as usize, "thread", "threads")
        ),
        Clue::ProcessesGrew { from, to } => {
            format!("processes grew from {from} to {to} with the connections")
        }
        Clue::ThreadsGrew { from, to } => format!("threads grew from {from} to {to} with the connections"),
        Clue::NothingGrew { threads } => {
            format!("no process and no thread more than without connections: {threads} in all")
        }
        Clue::StandardInput { processes } => {
            format!("the connection is the standard input of {}", number(*processes, "process", "processes"))
        }
        Clue::Executed { program } => {
            format!("what serves was executed, and not only forked: {}", shortened(&printable(program)))
        }
        Clue::IdleWorkers { processes } => {
            let waits = if *processes == 1 { "waits" } else { "wait" };
            format!("{} without a connection {waits} for one", number(*processes, "process", "processes"))
        }
        Clue::Accepting { threads } => {
            let waits = if *threads == 1 { "waits" } else { "wait" };
            format!("{} {waits} in accept(2)", number(*threads, "thread", "threads"))
        }
        other => clue_of_waits(other),
    }
}

/// A clue about what was waited for, or became of a connection.
fn clue_of_waits(clue: &Clue) -> String {
    match clue {
        Clue::Outlived { processes, of } => {
            format!("{processes} of {of} processes were still there after their connection")
        }
        Clue::EndedWithConnection { processes, of } => {
            format!("{processes} of {of} processes ended with their connection")
        }
        Clue::SharedListening { processes } => {
            format!("{} hold the same listening socket", number(*processes, "process", "processes"))
        }
        Clue::ReusePort { sockets } => format!("{sockets} sockets listen on one port (SO_REUSEPORT)"),
        Clue::Watched { connections, of, is_edge_triggered } => {
            let edge = if *is_edge_triggered { ", edge-triggered" } else { "" };
            format!("epoll watches {connections} of its {of} connections{edge}")
        }
        Clue::ListeningForWriting => {
            "even the listening socket is registered edge-triggered and to be written to, as runtimes do \
             with every descriptor"
                .to_owned()
        }
        Clue::ListeningOnce => {
            "even the listening socket is registered for one event only, as runtimes do of which any thread \
             may take the next"
                .to_owned()
        }
        Clue::ThreadsOutlived { threads, of } => format!(
            "{threads} of {of} threads were still there after their connections: they wait for the next \
             ones, or are a pool that has not reached its size"
        ),
        Clue::ThreadsNotSeen { threads } => {
            format!("most threads were not looked at: {} of them", count(*threads))
        }
        Clue::WaitsIn { call, threads, descriptors } => {
            let waits = if *threads == 1 { "waits" } else { "wait" };
            let highest = if call.starts_with("select") { "descriptors below " } else { "" };
            let unit = if highest.is_empty() { " descriptors" } else { "" };
            let for_them = descriptors.map(|many| format!(", for {highest}{many}{unit}")).unwrap_or_default();
            format!("{} {waits} in {call}{for_them}", number(*threads, "thread", "threads"))
        }
        Clue::Blocked { threads: 1 } => "1 thread waits for one connection".to_owned(),
        Clue::Blocked { threads } => {
            format!("{} wait for one connection each", number(*threads, "thread", "threads"))
        }
        Clue::WaitsForOne => "it waits for that connection alone, and for no other".to_owned(),
        Clue::ActiveThreads { threads } => {
            format!("{} beside the loop worked under load", number(*threads, "thread", "threads"))
        }
        Clue::EndedChildren => "children of it have ended, perhaps one for each connection".to_owned(),
        Clue::SendsSignals => "its sockets announce events by a signal (O_ASYNC)".to_owned(),
        Clue::Unaccepted { connections } => {
            format!("{} waited to be accepted", number(*connections as usize, "connection", "connections"))
        }
        Clue::FewConnections { connections: 0 } => {
            "it had no connection: what it does with one was not seen; --load shows it".to_owned()
        }
        Clue::FewConnections { connections } => {
            format!("it had only {}", number(*connections, "connection", "connections"))
        }
        // The others have their words above.
        _ => String::new(),
    }
}

fn shortened(text: &str) -> String {
    if text.chars().count() <= 60 { text.to_owned() } else { text.chars().take(59).chain(['…']).collect() }
}

/// What could not be seen, as sentences.
pub(super) fn missing(missing: &Missing) -> Vec<String> {
    let mut sentences = Vec::new();
    if missing.descriptors > 0 {
        let many = number(missing.descriptors, "process", "processes");
        sentences
            .push(format!("the descriptors of {many} of the server are kept from this user; root sees them"));
    }
    if missing.waits > 0 {
        let many = number(missing.waits, "thread", "threads");
        sentences.push(format!("what {many} wait for is kept from this user; root sees it"));
    }
    if missing.arguments > 0 {
        let many = number(missing.arguments, "thread", "threads");
        sentences
            .push(format!("of {many} the kernel's function is known, without descriptors; root sees more"));
    }
    if missing.threads > 0 {
        sentences.push(format!("{} threads were counted and not looked at", count(missing.threads)));
    }
    if missing.is_hidden {
        sentences.push("/proc hides the processes of other users (hidepid); root sees them".to_owned());
    } else if missing.strangers > missing.descriptors {
        let many = number(missing.strangers - missing.descriptors, "process", "processes");
        sentences.push(format!("{many} of other users may belong to it, which only root can see"));
    }
    sentences
}

/// What the architecture predicts, as sentences; of a guess, how to know more.
pub(super) fn prediction(answer: &SnoopAnswer) -> Vec<String> {
    match &answer.prediction {
        Some(prediction) => predicted(answer, prediction),
        None => vec!["nothing, because the architecture is a guess: --load shows it".to_owned()],
    }
}

fn predicted(answer: &SnoopAnswer, prediction: &Prediction) -> Vec<String> {
    use ServerArchitecture as A;
    let at = count(prediction.connections);
    let about = |value: f64| ::report::words::about(value.round());
    let mut sentences = Vec::new();
    match (answer.mechanism, prediction.processes, prediction.threads, prediction.at_most) {
        (.., Some(most)) => sentences.push(format!(
            "it serves at most {} at the same time, as it is set up; others wait until one ends",
            number(most as usize, "connection", "connections")
        )),
        (A::Inetd | A::Fork, Some(processes), ..) => {
            sentences.push(format!("{at} connections: {} processes", about(processes)));
        }
        (A::Prefork, Some(processes), ..) if processes > 1000.0 => sentences.push(format!(
            "{at} connections: {} processes, or as many as its setting allows",
            about(processes)
        )),
        (A::Thread, _, Some(threads), _) => {
            sentences.push(format!("{at} connections: {} threads", about(threads)));
        }
        (A::Prefork | A::Pool | A::Iterative, ..) => sentences.push(
            "it serves as many connections at the same time as it has processes or threads; others wait"
                .to_owned(),
        ),
        (kind, _, Some(threads), _) if kind.is_event_driven() => {
            sentences.push(format!("{at} connections: {}, as now", threads_of(threads)));
        }
        _ => {}
    }
    match (prediction.connection_bytes, prediction.memory_bytes) {
        (Some(each), whole) => {
            let at_most = |whole| format!(", {} at {at} connections", bytes(whole));
            let whole = whole.map(at_most).unwrap_or_default();
            sentences.push(format!(
                "{} of user memory for each connection{whole}; the kernel's own comes on top",
                bytes(each)
            ));
        }
        (None, _) if prediction.is_memory_seen => sentences
            .push("user memory did not grow with the connections; the kernel's own comes on top".to_owned()),
        (None, _) => sentences.push(
            "memory for each connection was not measured: it takes --load, and a server that takes them"
                .to_owned(),
        ),
    }
    let compared = comparison(answer.mechanism);
    sentences
        .push(format!("what {compared} costs on this machine beside the others: osdyno run race request"));
    sentences
}

fn threads_of(threads: f64) -> String {
    let unit = if threads.round() == 1.0 { "thread" } else { "threads" };
    format!("{} {unit}", ::report::words::about(threads.round()))
}

/// Our architecture that is like it.
pub(super) fn comparison(mechanism: ServerArchitecture) -> &'static str {
    match mechanism {
        ServerArchitecture::Coroutines => "tokio",
        ServerArchitecture::Iterative => "pool",
        ServerArchitecture::Hybrid => "epoll",
        other => other.word(),
    }
}

pub(super) fn bytes(bytes: f64) -> String {
    match bytes {
        bytes if bytes >= 1e9 => format!("{:.1} GB", bytes / 1e9),
        bytes if bytes >= 10e6 => format!("{:.0} MB", bytes / 1e6),
        bytes if bytes >= 1e6 => format!("{:.1} MB", bytes / 1e6),
        bytes if bytes >= 1e3 => format!("{:.0} kB", bytes / 1e3),
        bytes => format!("{bytes:.0} bytes"),
    }
}

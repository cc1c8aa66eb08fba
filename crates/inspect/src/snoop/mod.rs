//! Which architecture does a running server use? It is recognised from its processes, without its source.
//!
//! - `server` finds where a server listens and which processes belong to it, `holder` holds connections to
//!   it, `collector` observes it;
//! - `evidence` is the result, `mechanism` recognises how one process waits, `judgement` the architecture;
//!   `growth` continues to many connections;
//! - this file has the answer with all decisions, `document` its sentences and its page.

mod collector;
mod document;
mod evidence;
mod growth;
mod holder;
mod judgement;
mod mechanism;
mod server;

use std::collections::BTreeSet;

use serde::{Serialize, Serializer};
use sys::process_table::WaitCall;

pub use collector::Collector;
pub use evidence::{
    ConnectionEvidence, DescriptorCounts, EpollEvidence, Missing, Moment, ProcessEvidence, ServerEvidence,
    Stage, TaskEvidence,
};
pub use holder::Holder;
pub use server::{ListeningPlace, ObservedServer, SnoopError};

/// The answer of `osdyno snoop`.
#[derive(Clone, Debug, Serialize)]
pub struct SnoopAnswer {
    /// Version of this answer.
    pub schema: u32,
    /// In the order of their ports.
    pub servers: Vec<ServerAnswer>,
    /// Whether all servers of the machine were requested, and not one.
    #[serde(skip)]
    pub is_list: bool,
}

/// The answer about one server.
#[derive(Clone, Debug, Serialize)]
pub struct ServerAnswer {
    /// Process above all its others.
    pub pid: u32,
    /// Its name; untrusted text.
    pub name: String,
    /// The places where it listens.
    pub listens: BTreeSet<ListeningPlace>,
    /// Its architecture, where its waits were seen.
    #[serde(rename = "answer")]
    pub recognition: Option<Recognition>,
    /// Use of our connections, where any were held.
    #[serde(rename = "connections")]
    pub probe: Option<ProbeMode>,
    /// Facts that this user may not read, or that were not seen.
    pub not_seen: NotSeen,
    /// Its processes, with the most connections.
    #[serde(skip)]
    pub processes: Vec<ProcessEvidence>,
}

impl ServerAnswer {
    /// The answer from the evidence that was collected, with our connections used in this way.
    pub fn new(server: ObservedServer, collector: &Collector, probe: Option<ProbeMode>) -> ServerAnswer {
        let evidence = collector.evidence();
        let most = evidence.moments.iter().max_by_key(|moment| moment.connections());
        ServerAnswer {
            pid: server.root,
            name: server.name,
            listens: server.places,
            recognition: Recognition::of(evidence),
            probe,
            not_seen: NotSeen { missing: evidence.missing, in_words: evidence.missing.sentences() },
            processes: most.map(|moment| moment.processes.clone()).unwrap_or_default(),
        }
    }
}

/// The evidence that is missing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct NotSeen {
    /// The counts.
    #[serde(flatten)]
    pub missing: Missing,
    /// The same in sentences.
    pub in_words: Vec<String>,
}

/// The use of connections that are held to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProbeMode {
    /// Each has a response of HTTP, and is kept.
    Http,
    /// An unfinished request is sent, because the server would close the connection after its response.
    Unfinished,
    /// Nothing is sent.
    Silent,
}

/// An architecture of servers, with the word of `osdyno serve --arch` where that has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ServerArchitecture {
    /// A program is executed for each connection, which is its standard input.
    Inetd,
    /// A process for each connection.
    Fork,
    /// Processes that exist before the connection, each with one at a time.
    Prefork,
    /// A thread for each connection.
    Thread,
    /// Threads that exist before the connection, each with one at a time.
    Pool,
    /// One connection after the other.
    Iterative,
    /// An event loop on select(2).
    Select,
    /// An event loop on poll(2).
    Poll,
    /// An event loop on epoll(7).
    Epoll,
    /// The same, edge-triggered.
    EpollEdge,
    /// An event loop on signals.
    SignalIo,
    /// An event loop on io_uring(7).
    Ring,
    /// Coroutines or tasks of a runtime, on a few threads.
    Coroutines,
    /// Several processes of one of the others, or one of the others beside a pool.
    Hybrid,
}

impl ServerArchitecture {
    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            ServerArchitecture::Inetd => "inetd",
            ServerArchitecture::Fork => "fork",
            ServerArchitecture::Prefork => "prefork",
            ServerArchitecture::Thread => "thread",
            ServerArchitecture::Pool => "pool",
            ServerArchitecture::Iterative => "iterative",
            ServerArchitecture::Select => "select",
            ServerArchitecture::Poll => "poll",
            ServerArchitecture::Epoll => "epoll",
            ServerArchitecture::EpollEdge => "epoll-et",
            ServerArchitecture::SignalIo => "sigio",
            ServerArchitecture::Ring => "uring",
            ServerArchitecture::Coroutines => "coroutines",
            ServerArchitecture::Hybrid => "hybrid",
        }
    }

    /// Whether one thread waits for the events of many connections.
    fn is_event_driven(self) -> bool {
        use ServerArchitecture::{Coroutines, Epoll, EpollEdge, Poll, Ring, Select, SignalIo};
        matches!(self, Select | Poll | Epoll | EpollEdge | SignalIo | Ring | Coroutines)
    }
}

impl Serialize for ServerArchitecture {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

/// How sure an answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// Other architectures look the same.
    Guess,
    /// The evidence is of one moment, or some is missing or speaks against it.
    Likely,
    /// The server was seen under at least ten connections, and nothing speaks against it.
    Sure,
}

impl Confidence {
    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Confidence::Sure => "sure",
            Confidence::Likely => "likely",
            Confidence::Guess => "a guess",
        }
    }
}

impl Serialize for Confidence {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

/// An observation for or against an architecture. In an answer it is a sentence.
#[derive(Clone, Debug, PartialEq)]
pub enum Clue {
    /// Each connection is held by a process of its own.
    ProcessEach {
        /// Connections.
        connections: usize,
        /// Processes with one.
        processes: usize,
    },
    /// One process holds many connections.
    ProcessHolds {
        /// Connections.
        connections: usize,
        /// Its threads.
        threads: u64,
    },
    /// The number of processes grew with that of connections.
    ProcessesGrew {
        /// Before.
        from: usize,
        /// With the most connections.
        to: usize,
    },
    /// The number of threads grew with that of connections.
    ThreadsGrew {
        /// Before.
        from: u64,
        /// With the most connections.
        to: u64,
    },
    /// There were as many processes and threads as before.
    NothingGrew {
        /// Threads of all processes.
        threads: u64,
    },
    /// The connection is the standard input of its process.
    StandardInput {
        /// Of so many processes.
        processes: usize,
    },
    /// Processes with a connection run another program, or other words, than the one that started them.
    Executed {
        /// The program, or its words; untrusted text.
        program: String,
    },
    /// Processes without a connection wait for one.
    IdleWorkers {
        /// How many.
        processes: usize,
    },
    /// Threads that wait for a connection in accept(2).
    Accepting {
        /// How many.
        threads: usize,
    },
    /// Processes were still there after their connection was closed.
    Outlived {
        /// How many were.
        processes: usize,
        /// Of so many.
        of: usize,
    },
    /// Processes ended with their connection.
    EndedWithConnection {
        /// How many.
        processes: usize,
        /// Of so many.
        of: usize,
    },
    /// Several processes hold the same listening socket.
    SharedListening {
        /// How many.
        processes: usize,
    },
    /// Several sockets listen on one port (SO_REUSEPORT).
    ReusePort {
        /// How many sockets.
        sockets: usize,
    },
    /// Connections are in an epoll(7) set.
    Watched {
        /// How many of them.
        connections: usize,
        /// Of so many.
        of: usize,
        /// Edge-triggered.
        is_edge_triggered: bool,
    },
    /// Even the listening socket is registered to be written to, as runtimes register everything once.
    ListeningForWriting,
    /// Even the listening socket is registered for one event, as in runtimes where any thread may take the
    /// next.
    ListeningOnce,
    /// Threads wait in a system call for events.
    WaitsIn {
        /// The call.
        call: WaitCall,
        /// How many threads.
        threads: usize,
        /// For how many descriptors, where that is known.
        descriptors: Option<u64>,
    },
    /// Threads wait for one connection each.
    Blocked {
        /// How many threads.
        threads: usize,
    },
    /// The only thread waits for the only connection.
    WaitsForOne,
    /// Beside the loop, many threads worked under load.
    ActiveThreads {
        /// How many.
        threads: usize,
    },
    /// Threads that came with the connections were still there after them.
    ThreadsOutlived {
        /// How many were.
        threads: u64,
        /// Of so many.
        of: u64,
    },
    /// Most of the threads were not sampled.
    ThreadsNotSeen {
        /// How many threads were counted and not sampled.
        threads: u64,
    },
    /// Children of it have run and ended, perhaps one for each connection.
    EndedChildren,
    /// Sockets announce events by a signal.
    SendsSignals,
    /// Connections that no process accepted.
    Unaccepted {
        /// How many.
        connections: u64,
    },
    /// There was no connection, or one or two.
    FewConnections {
        /// How many.
        connections: usize,
    },
}

impl Serialize for Clue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.sentence())
    }
}

/// A server at one moment, while connections were held.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ServerGrowth {
    /// Connections that we held.
    pub held: Option<u64>,
    /// Whether our connections were closed before.
    pub is_after: bool,
    /// Connections.
    pub connections: usize,
    /// Connections that it has not accepted.
    pub unaccepted: u64,
    /// Processes.
    pub processes: usize,
    /// Threads.
    pub threads: u64,
    /// Descriptors.
    pub descriptors: usize,
    /// Memory of all processes; `null` where it was not read.
    pub memory_bytes: Option<f64>,
}

/// The prediction from the architecture.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Prediction {
    /// Connections that this is for.
    pub connections: u64,
    /// How it serves more connections.
    pub scaling: ConnectionScaling,
    /// Processes there.
    pub processes: Option<f64>,
    /// Threads there.
    pub threads: Option<f64>,
    /// Whether memory was seen with few connections and with many.
    #[serde(skip)]
    pub is_memory_seen: bool,
    /// Memory for each connection, where it grew.
    ///
    /// As measured; `null` also where it was not seen.
    pub connection_bytes: Option<f64>,
    /// Memory there.
    pub memory_bytes: Option<f64>,
    /// The most connections that it serves at the same time, as it is set up; `null` where that was not seen.
    #[serde(rename = "connections_at_most")]
    pub at_most: Option<u64>,
    /// Similar architecture of `osdyno serve`.
    pub compare_with: &'static str,
}

/// How a server serves more connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConnectionScaling {
    /// With a process for each.
    Processes,
    /// With a process for each, up to the number that it is set to.
    ProcessesAsSet,
    /// With a thread for each.
    Threads,
    /// As many at the same time as it has processes or threads now; others wait.
    Workers,
    /// With the processes and threads that it has now.
    Events,
}

/// The architecture of a server, and the reasons.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Recognition {
    /// Its architecture.
    pub architecture: ServerArchitecture,
    /// The same in a phrase.
    pub phrase: String,
    /// Architecture of each worker of a hybrid.
    ///
    /// Otherwise the same.
    pub mechanism: ServerArchitecture,
    /// Processes that serve.
    pub workers: usize,
    /// Whether another process started them.
    pub has_supervisor: bool,
    /// Threads of one of them that wait for events, or that serve.
    pub threads: usize,
    /// Whether a pool of threads does the work that the loop hands to it.
    pub has_pool: bool,
    /// How sure that is.
    pub confidence: Confidence,
    /// Evidence for it, the strongest first.
    #[serde(rename = "for")]
    pub reasons: Vec<Clue>,
    /// Evidence against it, and limits.
    #[serde(rename = "against")]
    pub doubts: Vec<Clue>,
    /// Architectures that would look alike, as far as was seen.
    pub alternatives: Vec<ServerArchitecture>,
    /// At each moment.
    pub growth: Vec<ServerGrowth>,
    /// `null` for a guess.
    pub prediction: Option<Prediction>,
}

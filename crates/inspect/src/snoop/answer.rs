//! What is said of a server: its architecture, why, how sure, and what that predicts.

/// An architecture of servers, by the word that `osdyno serve --arch` has for it where it has one.
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
    pub fn is_event_driven(self) -> bool {
        use ServerArchitecture::{Coroutines, Epoll, EpollEdge, Poll, Ring, Select, SignalIo};
        matches!(self, Select | Poll | Epoll | EpollEdge | SignalIo | Ring | Coroutines)
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

/// Something that was seen, and what it speaks for.
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
    /// Even the listening socket is registered for one event, as runtimes do of which any thread may take the
    /// next.
    ListeningOnce,
    /// Threads wait in this call: the name of the system call.
    WaitsIn {
        /// The call.
        call: &'static str,
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
    /// Most of the threads were not looked at.
    ThreadsNotSeen {
        /// How many threads were counted and not looked at.
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
    /// There was no connection to look at, or one or two.
    FewConnections {
        /// How many.
        connections: usize,
    },
}

/// How a server grew while connections were held.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ServerGrowth {
    /// Connections that we held; `None` for a moment without load.
    pub held: Option<u64>,
    /// Whether our connections were closed before.
    pub is_after: bool,
    /// Connections that the server has.
    pub connections: usize,
    /// Those that it has not accepted.
    pub unaccepted: u64,
    /// Processes.
    pub processes: usize,
    /// Threads.
    pub threads: u64,
    /// Descriptors.
    pub descriptors: usize,
    /// Memory.
    pub memory_bytes: Option<f64>,
}

/// What the architecture predicts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Prediction {
    /// At this number of connections.
    pub connections: u64,
    /// Processes there.
    pub processes: Option<f64>,
    /// Threads there.
    pub threads: Option<f64>,
    /// Whether memory was seen with few connections and with many.
    pub is_memory_seen: bool,
    /// Memory for each connection, as measured; `None` also where it did not grow.
    pub connection_bytes: Option<f64>,
    /// Memory there.
    pub memory_bytes: Option<f64>,
    /// It serves at most so many at the same time, as it is set up.
    pub at_most: Option<u64>,
}

/// What is said of a server.
#[derive(Clone, Debug, PartialEq)]
pub struct SnoopAnswer {
    /// Its architecture.
    pub architecture: ServerArchitecture,
    /// What each worker of a hybrid is; otherwise the same.
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
    /// What speaks for it, the strongest first.
    pub reasons: Vec<Clue>,
    /// What speaks against it, or limits it.
    pub doubts: Vec<Clue>,
    /// What would look alike, as far as was seen.
    pub alternatives: Vec<ServerArchitecture>,
    /// How it grew.
    pub growth: Vec<ServerGrowth>,
    /// What that predicts; `None` of a guess.
    pub prediction: Option<Prediction>,
}

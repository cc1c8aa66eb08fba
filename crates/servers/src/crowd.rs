//! Memory and latency with hundreds of thousands of idle connections.
//!
//! **Question.** How much memory of kernel and server does an idle connection use, how long does it take
//! to open one more, and how long does a response on one of them take, when there are more connections
//! than one process can hold?
//!
//! **Method.** An echo server of the architecture `epoll` runs as several processes that share one port,
//! so many that each stays well below its descriptor limit. The connections are opened by several
//! processes too. Each holds up to 19 000, from its own addresses in 127/8 if the server is on loopback,
//! so that there are enough ports. With n connections open, `user memory` is the increase in memory of
//! the server processes, for each connection. `kernel memory` is the increase in kernel memory of this
//! machine (objects, page tables, stacks), which includes both ends of a connection if the server runs
//! here. `connect` is the median time to open 200 more connections, which are closed again. Then requests
//! are sent one after the other on up to 1 000 of the connections, once on each, in random order. p50 and
//! p99 are the latencies that 50 % and 99 % of the responses do not exceed. At the end all connections
//! are closed with a reset, and the number of sockets of the machine must be the same as before. 100 000
//! connections take about ten seconds, which `--window 5s` allows for; 1 000 000 take two minutes and 8
//! GB: `-n 1000000 --window 10s --timeout 10m`.
//!
//! **Expected answer.** All flat, because nothing processes an idle connection. A connection takes some
//! kilobytes of kernel memory for both ends, and far less memory of the server. Responses become slightly
//! slower with n, because a connection that has been idle for long is in no cache.

use workload::resource::{DESCRIPTORS, MEMORY};
use workload::{Expect, Need, Operation, Sizes, Unit, Workload};

use crate::{KERNEL_MEMORY, P99, USER_MEMORY};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "crowd",
    source: workload::page!("crowd.rs"),
    grows: "idle connections",
    sizes: Sizes::Levels(tenfold),
    operations: &[
        USER_MEMORY,
        KERNEL_MEMORY,
        Operation::reported("connect", Unit::Seconds, Expect::Constant, "median time to open one more"),
        Operation::reported("p50", Unit::Seconds, Expect::Constant, "median latency of a single request"),
        P99,
    ],
    needs: &[Need::new(MEMORY, 9 << 10)],
    // Separate processes hold its connections.
    fixed_needs: &[Need::new(DESCRIPTORS, DESCRIPTORS_LEAST)],
    top: Some(100_000),
    classic_n: 10_000,
    run: cfg_select! {
        unix => { Ok(measured::run) }
        _ => { Err("connections are held by processes that fork(2) makes") }
    },
    ..Workload::LOAD
};

/// Descriptors of a process beside its connections.
const SPARE: usize = 64;
/// Connections that are made and closed again.
const MORE: usize = 200;
/// One connection is held, and those are made beside it.
const DESCRIPTORS_LEAST: u64 = (SPARE + MORE + 1) as u64;

/// 1 000, 10 000 and so on below `top`, and `top` itself.
fn tenfold(top: u64) -> Vec<u64> {
    crate::up_to(top, std::iter::successors(Some(1000_u64), |n| n.checked_mul(10)))
}

#[cfg(unix)]
mod measured {
    use std::io::{self, BufRead, BufReader, PipeReader, PipeWriter, Write};
    use std::net::{IpAddr, Ipv4Addr, SocketAddr};
    use std::time::{Duration, Instant};

    use net::client::echo::EchoClientSettings;
    use net::load::{Generator, LoadSettings, Sources, Times};
    use net::server::ServerPlan;
    use net::service::echo::EchoSettings;
    use sys::limit::{self, Resource};
    use sys::process;
    use workload::server::{Memory, ServerUnderTest, grow, io_error, record_latencies};
    use workload::{Trial, TrialError};

    use super::{DESCRIPTORS_LEAST, MORE, SPARE};

    /// Bytes of a request.
    const ECHO_BYTES: usize = 64;
    /// Connections of one holder; its limit of descriptors may be lower.
    const HELD_MAX: usize = 19_000;
    /// Addresses of each holder. One has ports enough, but Linux looks through half of them for a free one
    /// before it takes the others: with one each, 100 000 connections took 88 s instead of 13 s (Linux 6.18).
    const SOURCES: u32 = 4;
    const FIRST_SOURCE: u32 = u32::from_be_bytes([127, 1, 0, 1]);
    /// Connections of this process itself, on which requests are sent.
    const OWN: usize = 1000;
    /// They are made one after the other, not in a burst.
    const MORE_PER_SECOND: f64 = 2000.0;
    /// No further request is sent after this time.
    const REQUESTS_MAX: Duration = Duration::from_secs(5);
    /// How long closing everything may take.
    const END_MAX: Duration = Duration::from_secs(60);
    /// How often that is checked.
    const CHECK_INTERVAL: Duration = Duration::from_millis(20);

    pub(super) fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
        let room = room()?;
        let own_max = OWN.min(room - MORE);
        let sockets_before = sys::tcp::in_use().ok();
        // The kernel spreads connections over the workers by chance, so that one has more than another.
        let workers = trial.n().div_ceil((room * 2 / 3).max(1)).max(1);
        let plan = ServerPlan { workers, ..ServerPlan::new("epoll", &EchoSettings {}) };
        let mut server = ServerUnderTest::start(trial, plan)?;
        let echo = EchoClientSettings { bytes: ECHO_BYTES };
        let settings = LoadSettings { reset: true, ..LoadSettings::new(server.address(), &echo) };
        // Before there is any connection: a process has all descriptors that were open when it was forked.
        let mut holders = Holders::start(&settings, room, trial.n().saturating_sub(own_max))?;
        let mut own = server.generator(settings.clone())?;
        let mut more = Generator::new(LoadSettings { connect_rate: MORE_PER_SECOND, ..settings })
            .map_err(io_error)
            .map_err(TrialError::at("to start a generator"))?;
        let none = Memory::read(&mut server).map_err(TrialError::at("to read the memory of the server"))?;
        let mut random = fastrand::Rng::with_seed(trial.seed());
        let top = trial.n();
        trial.at_levels(|n, recorder| {
            recorder.doing("connect");
            let own_count = own_max.min(n as usize);
            holders.hold(n as usize - own_count)?;
            grow(&mut server, &mut own, own_count)?;
            server.await_open(n)?;
            Memory::read(&mut server)?.report_each(&none, recorder);
            let made = grow(&mut server, &mut more, MORE)?;
            recorder.value("connect", seconds(&made, 0.5));
            more.grow_to(0).map_err(io_error)?;
            recorder.doing("request");
            let mut order: Vec<usize> = (0..own_count).collect();
            random.shuffle(&mut order);
            let latency = request_each(&mut own, &order)?;
            recorder.value("p50", seconds(&latency, 0.5));
            recorder.value("p99", seconds(&latency, 0.99));
            record_latencies(&latency, recorder);
            Ok(())
        })?;
        holders
            .hold(0)
            .and_then(|()| own.grow_to(0).map(drop).map_err(io_error))
            .map_err(TrialError::at("to close"))?;
        drop(holders);
        let is_left =
            server.await_closed(END_MAX).map_err(TrialError::at("to wait for the server to close"))?;
        trial.check("the server closed every connection that its clients closed", !is_left);
        server.stop(trial)?;
        if let Some(before) = sockets_before {
            trial.check("all sockets are closed", are_given_back(before, top as u64));
        }
        Ok(())
    }

    /// How many connections a process may have. Some are opened beside those that are held.
    fn room() -> Result<usize, TrialError> {
        // Few where the limit is unknown.
        let Ok(bound) = limit::ceiling(Resource::Descriptors) else { return Ok(1000 - SPARE) };
        let room = HELD_MAX.min((bound.usable as usize).saturating_sub(SPARE));
        if room > MORE {
            return Ok(room);
        }
        let needed = (bound.value - bound.usable.min(bound.value)) + DESCRIPTORS_LEAST;
        let reason = format!("{} is {}, and it takes {needed}", bound.limit, bound.value);
        let error = io::Error::new(io::ErrorKind::Unsupported, format!("{reason}; {}", bound.advice));
        Err(TrialError::at(format!("to open {MORE} connections beside those that are held"))(error))
    }

    /// Sends one request on each connection, one at a time.
    fn request_each(clients: &mut Generator, order: &[usize]) -> io::Result<Times> {
        let begun = Instant::now();
        let mut times = Times::new().map_err(io_error)?;
        for &number in order {
            times.record(clients.ask_once(number).map_err(io_error)?.as_nanos() as u64);
            if begun.elapsed() > REQUESTS_MAX {
                break;
            }
        }
        Ok(times)
    }

    fn seconds(times: &Times, share: f64) -> f64 {
        times.quantile_ns(share) as f64 / 1e9
    }

    /// Whether the number of sockets returns to about `before`. Others on the machine open and close theirs
    /// meanwhile.
    fn are_given_back(before: u64, top: u64) -> bool {
        let others = (top / 20).max(1000);
        let begun = Instant::now();
        loop {
            match sys::tcp::in_use() {
                Ok(now) if now <= before + others => return true,
                _ if begun.elapsed() > END_MAX => return false,
                _ => std::thread::sleep(CHECK_INTERVAL),
            }
        }
    }

    /// Processes that hold connections.
    struct Holders {
        /// The most connections of one holder.
        room: usize,
        all: Vec<Holder>,
    }

    impl Holders {
        /// As many holders as this many connections need.
        fn start(settings: &LoadSettings, room: usize, connections: usize) -> Result<Holders, TrialError> {
            let holder = |number| {
                let sources =
                    settings.target.network().map(|target| sources(target, number)).unwrap_or_default();
                Holder::start(LoadSettings { sources, ..settings.clone() })
            };
            let all: io::Result<Vec<Holder>> = (0..connections.div_ceil(room)).map(holder).collect();
            Ok(Holders { room, all: all.map_err(TrialError::at("to fork processes that hold connections"))? })
        }

        /// Opens or closes connections until there are this many in all.
        fn hold(&mut self, connections: usize) -> io::Result<()> {
            let mut left = connections;
            for holder in &mut self.all {
                let share = left.min(self.room);
                holder.hold(share)?;
                left -= share;
            }
            Ok(())
        }
    }

    /// Addresses of each holder's own, where the whole of 127/8 is ours.
    fn sources(target: SocketAddr, holder: usize) -> Sources {
        match target.ip() {
            IpAddr::V4(ip) if ip.is_loopback() => {
                let first = FIRST_SOURCE + SOURCES * u32::try_from(holder).unwrap_or(0);
                Sources((first..first + SOURCES).map(|source| Ipv4Addr::from(source).into()).collect())
            }
            _ => Sources::default(),
        }
    }

    /// A process that holds connections. It ends with this, or with its parent.
    struct Holder {
        process: u32,
        requests: PipeWriter,
        replies: BufReader<PipeReader>,
        held: usize,
    }

    impl Holder {
        fn start(settings: LoadSettings) -> io::Result<Holder> {
            let (its_requests, requests) = io::pipe()?;
            let (replies, its_replies) = io::pipe()?;
            let process = process::fork(|| u8::from(live(settings, its_requests, its_replies).is_err()))?;
            Ok(Holder { process, requests, replies: BufReader::new(replies), held: 0 })
        }

        /// Opens or closes connections until there are this many.
        fn hold(&mut self, connections: usize) -> io::Result<()> {
            if connections == self.held {
                return Ok(());
            }
            writeln!(self.requests, "{connections}").map_err(|_| ended())?;
            let mut reply = String::new();
            if self.replies.read_line(&mut reply)? == 0 {
                return Err(ended());
            }
            let (held, why) = reply.trim_end_matches('\n').split_once(' ').unwrap_or_default();
            if held.parse() == Ok(connections) {
                self.held = connections;
                return Ok(());
            }
            Err(io::Error::other(format!("{held} of {connections} connections could be made ({why})")))
        }
    }

    fn ended() -> io::Error {
        io::Error::other("the holder has ended")
    }

    impl Drop for Holder {
        fn drop(&mut self) {
            // An error means that it has ended already.
            let _ = process::kill(self.process);
            let begun = Instant::now();
            while begun.elapsed() < END_MAX && matches!(process::ended_child(), Ok(None)) {
                std::thread::sleep(CHECK_INTERVAL / 20);
            }
        }
    }

    /// The loop of a holder: it reads how many connections to have, and replies how many it has.
    fn live(settings: LoadSettings, requests: PipeReader, mut replies: PipeWriter) -> io::Result<()> {
        let mut clients = Generator::new(settings).map_err(io_error)?;
        for line in BufReader::new(requests).lines() {
            let wanted = line?.parse().map_err(io::Error::other)?;
            let grown = clients.grow_to(wanted).map_err(io_error)?;
            let causes: Vec<&str> = grown.failures.iter().map(|failure| failure.cause.as_str()).collect();
            writeln!(replies, "{} {}", grown.connections, causes.join(", "))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn levels_are_tenfold_and_end_at_the_top() {
        assert_eq!(super::tenfold(7), [7]);
        assert_eq!(super::tenfold(1000), [1000]);
        assert_eq!(super::tenfold(100_000), [1000, 10_000, 100_000]);
        assert_eq!(super::tenfold(2500), [1000, 2500]);
        assert!(super::tenfold(0).is_empty());
    }
}

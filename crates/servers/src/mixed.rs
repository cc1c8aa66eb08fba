//! A web server under overload, and its recovery.
//!
//! **Question.** How are small requests affected by other traffic, and by each other, as the load
//! approaches the capacity of the server and exceeds it? How long does the server take to recover when
//! the overload ends?
//!
//! **Method.** A server process serves two files, of 590 bytes and of 4 MiB. During the whole trial two
//! connections download the large file repeatedly, with pauses, and eight read it slowly, 16 KiB every 50
//! ms. First a closed loop of 50 connections finds the number of small requests per second that the
//! server completes in addition to that traffic. This is the capacity as found by one generator on one
//! processor, which also does the downloads and the slow reads and has less time for requests because of
//! them. Then n percent of the capacity are offered in an open loop, at random times that are fixed in
//! advance (Poisson). Each simulated user sends ten requests on a connection; up to 1 000 connections are
//! open at a time. Latency counts from the intended start of a request. p50, p99 and p999 are the
//! latencies that 50 %, 99 % and 99.9 % of all intended requests do not exceed. If so many requests had
//! no response within two seconds after the end that the percentile is longer than any latency that was
//! observed, the longest one is used, with a remark. `completed` is the number of correct responses per
//! second. `recovery` is the time from the end of that load until p99 is less than twice its value at 50
//! % of capacity before. Responses in progress are waited for, for at most two seconds; then 50 % are
//! offered again in short stages, and the first stage whose p99 is low enough ends the recovery. The
//! smallest possible value is one stage, 50 ms or a fifth of the window, even if nothing was overloaded.
//! A remark says if the capacity was that of the load generator.
//!
//! **Expected answer.** `completed` follows n up to 100 and stays there; a server that falls below it
//! spends its time on requests that it cannot complete. Latency is flat at first, grows near 100, as in
//! every queue, and beyond that depends only on the length of the measurement. Recovery is immediate.
//! Where every slow reader occupies a member of a pool, or hundreds of threads share the processor, small
//! requests are affected first.

use workload::resource::DESCRIPTORS;
use workload::{Expect, Need, Operation, Sizes, Unit, Variant, Workload};

use crate::P99;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "mixed",
    source: workload::page!("mixed.rs"),
    grows: "percent of capacity",
    sizes: Sizes::Levels(percents),
    variants: &[
        Variant { name: "thread", summary: "a thread for every connection" },
        Variant { name: "pool", summary: "a pool of 256 threads" },
        Variant { name: "epoll", summary: "one thread, and epoll(7)" },
        Variant { name: "uring", summary: "one thread, and io_uring(7)" },
    ],
    rivals: true,
    operations: &[
        Operation::reported("completed", Unit::PerSecond, Expect::Linear, "correct responses per second"),
        Operation::reported("p50", Unit::Seconds, Expect::Constant, "median latency of a small request"),
        P99,
        Operation::reported(
            "p999",
            Unit::Seconds,
            Expect::Constant,
            "latency that 99.9 % of requests do not exceed",
        ),
        Operation::reported(
            "recovery",
            Unit::Seconds,
            Expect::Constant,
            "time from the end of the overload until p99 is low again",
        ),
    ],
    top: Some(400),
    classic_n: 400,
    run: cfg_select! {
        unix => { Ok(measured::run) }
        _ => { Err("Windows opens no file below an open folder, so no server here serves files safely") }
    },
    needs: &[Need::new(DESCRIPTORS, 3)],
    ..Workload::LOAD
};

/// Wide below, narrow around the capacity, and well beyond it.
const PERCENTS: [u64; 10] = [10, 20, 50, 80, 90, 100, 120, 150, 200, 400];

fn percents(top: u64) -> Vec<u64> {
    crate::up_to(top, PERCENTS)
}

#[cfg(unix)]
mod measured {
    use std::io::{self, Read, Write};
    use std::net::{SocketAddr, TcpStream};
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    use std::thread::{self, Scope};
    use std::time::{Duration, Instant};

    use net::load::{Generator, Load, LoadSettings, OffersLoad, Schedule, closed_loop, open_loop, unwatched};
    use net::server::ServerPlan;
    use net::worker::Counter;
    use workload::server::{
        ServerUnderTest, io_error, latencies, percentile, record_capacity, record_load, web, web_client,
        web_file,
    };
    use workload::{Trial, TrialError};

    const SMALL_BYTES: usize = 590;
    const LARGE_BYTES: usize = 4 << 20;
    /// Members of a pool: as many as the web servers of 2003 had.
    const POOL: usize = 256;
    const DOWNLOADS: usize = 2;
    const DOWNLOAD_PAUSE: Duration = Duration::from_millis(100);
    const SLOW_READERS: usize = 8;
    const SLOW_BYTES: usize = 16 << 10;
    const SLOW_PAUSE: Duration = Duration::from_millis(50);
    /// Connections with which the capacity is measured, and with which an open loop begins.
    const CONNECTIONS: usize = 50;
    const CONNECTIONS_MAX: usize = 1000;
    const REQUESTS_PER_CONNECTION: u32 = 10;
    /// A shorter time does not show the capacity of the server.
    const CAPACITY_TIME_MIN: Duration = Duration::from_millis(100);
    /// After an overload, the load is offered in stages of this length, or of a fifth of the window.
    const STAGE_MIN: Duration = Duration::from_millis(50);
    const RECOVERY_MAX: Duration = Duration::from_secs(5);
    /// How long the other traffic may take to be served once, after all levels.
    const OTHERS_MAX: Duration = Duration::from_secs(5);
    /// The share of the capacity that is offered before and after.
    const CALM: f64 = 0.5;
    /// A server has recovered when p99 is below this many times its earlier value.
    const RECOVERED: f64 = 2.0;

    pub(super) fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
        let (small, large) = (web_file(trial, SMALL_BYTES)?, web_file(trial, LARGE_BYTES)?);
        let plan = ServerPlan { pool: POOL, ..web(trial, trial.variant()) };
        let mut server = ServerUnderTest::start(trial, plan)?;
        let others = Others::default();
        let measured = thread::scope(|scope| {
            let _over = Over(&others);
            others.begin(scope, server.address(), &large).map_err(TrialError::at("to start slow readers"))?;
            measure(trial, &mut server, small, &others)
        });
        measured?;
        trial.check("slow readers and downloads were served during the load", others.were_served());
        server.stop(trial)
    }

    fn measure(
        trial: &mut Trial<'_>,
        server: &mut ServerUnderTest,
        path: String,
        others: &Others,
    ) -> Result<(), TrialError> {
        let at = |error: net::Error| TrialError::at("to find the capacity")(io_error(error));
        let mut visitors = server.generator(LoadSettings {
            requests_per_connection: Some(REQUESTS_PER_CONNECTION),
            connections_max: CONNECTIONS_MAX,
            // Thousands of ports in TIME_WAIT would be there for the next level.
            reset: true,
            ..web_client(server.address(), path)
        })?;
        let window = trial.window();
        let closed = Load { warm_up: window / 4, ..closed_loop(CONNECTIONS, window.max(CAPACITY_TIME_MIN)) };
        let found = visitors.offer(&closed, &mut unwatched).map_err(at)?;
        record_capacity(&found, trial);
        let rate = move |share: f64| (found.completed_per_second * share).max(1.0);
        let offered = move |share: f64, time| open_loop(CONNECTIONS, rate(share), Schedule::Poisson, time);
        let calm = visitors.offer(&offered(CALM, window), &mut unwatched).map_err(at)?;
        let calm_p99 = percentile(&calm, 99.0);
        let stage = offered(CALM, STAGE_MIN.max(window / 5));

        trial.at_levels(|n, recorder| {
            recorder.doing("answer");
            let responses = server.report()?.map(|report| report.count(Counter::Responses));
            let load = Load { warm_up: window / 10, ..offered(n as f64 / 100.0, window) };
            let begun = Instant::now();
            let level = visitors.offer(&load, &mut unwatched).map_err(io_error)?;
            recorder.value("completed", level.completed_per_second);
            latencies(&level, recorder);
            let wrong = |cause: &str| matches!(cause, "malformed" | "wrong content" | "unasked bytes");
            recorder
                .check("no response was wrong", !level.failures.iter().any(|failure| wrong(&failure.cause)));

            let recovered = recover(&mut visitors, &stage, calm_p99)?;
            match recovered.is_calm {
                true => {
                    let load = load.warm_up + Duration::from_secs_f64(level.elapsed_seconds);
                    recorder.value("recovery", begun.elapsed().saturating_sub(load).as_secs_f64());
                }
                false => {
                    recorder.warn(format!("p99 was still high {RECOVERY_MAX:?} after the load of {n} %."))
                }
            }
            if let (Some(before), Some(after)) = (responses, server.report()?) {
                let counted = after.count(Counter::Responses).saturating_sub(before);
                let claim = "the server counted every response that the client counted";
                recorder.check(
                    claim,
                    counted >= level.requests.completed + level.requests.late + recovered.responses,
                );
            }
            // Not before: writing it takes time, which recovery must not.
            record_load(&level, &[], recorder);
            Ok(())
        })?;
        others.await_service(|| visitors.offer(&stage, &mut unwatched)).map_err(at)
    }

    /// The result of offering little load again.
    #[derive(Default)]
    struct Recovered {
        is_calm: bool,
        responses: u64,
    }

    /// Offers stage after stage until p99 is low.
    fn recover(visitors: &mut Generator, stage: &Load, calm_p99: f64) -> io::Result<Recovered> {
        let (begun, mut recovered) = (Instant::now(), Recovered::default());
        while begun.elapsed() < RECOVERY_MAX && !recovered.is_calm {
            let level = visitors.offer(stage, &mut unwatched).map_err(io_error)?;
            recovered.responses += level.requests.completed + level.requests.late;
            recovered.is_calm = percentile(&level, 99.0) <= RECOVERED * calm_p99;
        }
        Ok(recovered)
    }

    /// The other traffic of the server.
    #[derive(Default)]
    struct Others {
        over: AtomicBool,
        slow_bytes: AtomicU64,
        /// The most that one load of downloads completed.
        downloads: AtomicU64,
    }

    /// Ends the others, whatever happens.
    struct Over<'a>(&'a Others);

    impl Drop for Over<'_> {
        fn drop(&mut self) {
            self.0.over.store(true, Ordering::Relaxed);
        }
    }

    impl Others {
        fn begin<'s>(&'s self, scope: &'s Scope<'s, '_>, to: SocketAddr, path: &str) -> io::Result<()> {
            let request = format!("GET {path} HTTP/1.1\r\nHost: {to}\r\n\r\n");
            thread::Builder::new().spawn_scoped(scope, move || self.read_slowly(to, &request))?;
            let settings = LoadSettings { think: DOWNLOAD_PAUSE, ..web_client(to, path.to_owned()) };
            thread::Builder::new().spawn_scoped(scope, move || self.download(settings))?;
            Ok(())
        }

        fn is_over(&self) -> bool {
            self.over.load(Ordering::Relaxed)
        }

        fn were_served(&self) -> bool {
            [&self.slow_bytes, &self.downloads].iter().all(|count| count.load(Ordering::Relaxed) > 0)
        }

        /// Offers a load until each kind of other traffic was served. After short windows on a busy machine
        /// their threads may not have had the processor yet, which says nothing about the server.
        fn await_service<T, E>(&self, mut offer: impl FnMut() -> Result<T, E>) -> Result<(), E> {
            let begun = Instant::now();
            while !self.were_served() && begun.elapsed() < OTHERS_MAX {
                offer()?;
            }
            Ok(())
        }

        fn download(&self, settings: LoadSettings) {
            let Ok(mut clients) = Generator::new(settings) else { return };
            while !self.is_over() {
                let forever = closed_loop(DOWNLOADS, Duration::from_secs(60));
                let offered = clients.offer(&forever, &mut |progress| {
                    self.downloads.fetch_max(progress.completed, Ordering::Relaxed);
                    !self.is_over()
                });
                match offered {
                    Ok(level) => self.downloads.fetch_max(level.requests.completed, Ordering::Relaxed),
                    Err(_) => return,
                };
            }
        }

        /// Each reader sends a new request when it has read everything; after a broken connection it
        /// reconnects.
        fn read_slowly(&self, to: SocketAddr, request: &str) {
            let mut readers: Vec<Option<Reader>> = (0..SLOW_READERS).map(|_| None).collect();
            while !self.is_over() {
                for place in &mut readers {
                    if place.is_none() {
                        *place = Reader::start(to, request).ok();
                    }
                    match place.as_mut().map(Reader::read) {
                        Some(Ok(bytes)) => {
                            self.slow_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
                        }
                        Some(Err(_)) => *place = None,
                        None => {}
                    }
                }
                thread::sleep(SLOW_PAUSE);
            }
        }
    }

    /// A slow reader.
    struct Reader {
        stream: TcpStream,
        left: usize,
    }

    impl Reader {
        fn start(to: SocketAddr, request: &str) -> io::Result<Reader> {
            let mut stream = TcpStream::connect_timeout(&to, RECOVERY_MAX)?;
            stream.write_all(request.as_bytes())?;
            stream.set_nonblocking(true)?;
            Ok(Reader { stream, left: LARGE_BYTES })
        }

        /// How many bytes there were to read; an error at the end of the file, too.
        fn read(&mut self) -> io::Result<usize> {
            let mut bytes = [0; SLOW_BYTES];
            match self.stream.read(&mut bytes) {
                Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => {
                    self.left = self.left.checked_sub(count).ok_or(io::ErrorKind::UnexpectedEof)?;
                    Ok(count)
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
                Err(error) => Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn levels_are_percents_and_end_at_the_top() {
        assert_eq!(super::percents(3), [3]);
        assert_eq!(super::percents(50), [10, 20, 50]);
        assert_eq!(super::percents(400), super::PERCENTS);
        assert!(super::percents(0).is_empty());
    }
}

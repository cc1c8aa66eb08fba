//! One process, one thread, and a task for each connection on the tokio runtime: the usual server in Rust
//! today.
//!
//! The program is written like that of a thread per connection. The compiler turns each task into a state
//! machine, and the runtime polls it when edge-triggered epoll(7) reports its connection. The loop, the
//! timers and the task queue are those of the library. Each task has its own input buffer. Files are read
//! and sent as bytes.
//!
//! Expected: as `epoll`, with slightly more time per request and more memory per connection.

use std::fs::File;
use std::future::pending;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use sys::handle::AsHandle;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout, timeout_at};

use super::{Architecture, ServedBy};
use crate::output::Output;
use crate::service::{Flow, OpenService, Session, SessionStage};
use crate::worker::{
    Accept, Counter, Counters, LINGER, LINGER_MAX, Limits, SEND_LOOKS, TICK, WorkerContext, write_log,
};

pub(super) const ARCHITECTURE: Architecture = Architecture {
    name: "tokio",
    source: record::page!("tokio.rs"),
    served_by: ServedBy::Loop,
    accepts: &[Accept::ReusePort, Accept::Shared],
    probe: || Ok(()),
    serve: Ok(serve),
};

/// Bytes that a task receives at once.
const INPUT_BYTES: usize = 8 << 10;

/// Bytes that a task sends at once: a small response as a whole, a large one in large pieces behind the
/// first.
const FIRST_CHUNK: usize = 4 << 10;
const LARGE_CHUNK: usize = 64 << 10;

/// Longer than any server runs; a limit of all time would overflow the clock.
const FOREVER: Duration = Duration::from_secs(100 * 365 * 86_400);

/// Serves the worker until the order to stop.
fn serve(worker: &WorkerContext) -> io::Result<()> {
    tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?.block_on(accept(worker))
}

/// The state that all tasks share.
struct Shared {
    service: Arc<dyn OpenService>,
    limits: Limits,
    counters: Counters,
    log: Option<File>,
}

async fn accept(worker: &WorkerContext) -> io::Result<()> {
    let shared = Arc::new(Shared {
        service: Arc::clone(&worker.service),
        limits: worker.limits,
        counters: worker.counters.clone(),
        log: worker.log.as_ref().map(File::try_clone).transpose()?,
    });
    let listener = TcpListener::from_std(worker.listener.handle().try_clone_to_owned()?.into())?;
    let (order, stop) = watch::channel(false);
    let mut tasks = JoinSet::new();
    let mut tick = interval(TICK);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while !worker.stop.is_ordered() {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => on_accept(stream, &shared, &stop, &mut tasks),
                Err(error) => trouble(&error, &worker.counters).await,
            },
            Some(_) = tasks.join_next() => {}
            _ = tick.tick() => {}
        }
    }
    worker.refuse_more();
    // Without tasks nothing receives the order.
    let _ = order.send(true);
    let _ =
        timeout(worker.limits.grace.min(FOREVER), async { while tasks.join_next().await.is_some() {} }).await;
    tasks.shutdown().await;
    Ok(())
}

fn on_accept(stream: TcpStream, shared: &Arc<Shared>, stop: &watch::Receiver<bool>, tasks: &mut JoinSet<()>) {
    shared.counters.add(Counter::Accepted, 1);
    // Finished tasks count until they are joined.
    while tasks.try_join_next().is_some() {}
    if tasks.len() >= shared.limits.connections {
        shared.counters.add(Counter::Refused, 1);
        shared.counters.add(Counter::Ended, 1);
        return;
    }
    let peer = if shared.service.wants_peer() { stream.peer_addr().ok() } else { None };
    let mut task = Task {
        stream,
        session: shared.service.session(peer),
        output: Output::default(),
        shared: Arc::clone(shared),
        stop: stop.clone(),
    };
    tasks.spawn(async move {
        if let Err(count) = task.talk().await {
            task.shared.counters.add(count, 1);
        }
    });
}

/// A connection could not be accepted: that one is gone, or there is no room for now.
async fn trouble(error: &io::Error, counters: &Counters) {
    if !matches!(error.kind(), io::ErrorKind::ConnectionAborted | io::ErrorKind::Interrupted) {
        counters.add(Counter::Exhausted, 1);
        sleep(TICK).await;
    }
}

struct Task {
    stream: TcpStream,
    session: Box<dyn Session>,
    output: Output,
    shared: Arc<Shared>,
    stop: watch::Receiver<bool>,
}

impl Task {
    /// The whole connection; the error is the counter for it.
    async fn talk(&mut self) -> Result<(), Counter> {
        let mut flow = self.session.begin(&mut self.output);
        if flow != Flow::Reset {
            self.deliver().await?;
        }
        if flow == Flow::More {
            flow = self.listen().await?;
        }
        match flow {
            Flow::Linger => self.linger().await,
            Flow::Reset => self.reset(),
            Flow::More | Flow::Close => {}
        }
        Ok(())
    }

    /// Takes input and answers it until the session, or the server, ends it.
    async fn listen(&mut self) -> Result<Flow, Counter> {
        let mut input = vec![0; INPUT_BYTES];
        let mut since = Instant::now();
        loop {
            let stage = self.session.stage();
            let limit = self.shared.limits.of_stage(stage);
            let is_paused = matches!(stage, SessionStage::Paused(_));
            let received = tokio::select! {
                biased;
                // Input during a pause waits in its socket.
                received = timeout_at(since + limit.min(FOREVER), async {
                    if is_paused { pending().await } else { self.stream.read(&mut input).await }
                }) => received,
                _ = self.stop.wait_for(|ordered| *ordered), if stage == SessionStage::Idle => {
                    return Ok(Flow::Close);
                }
            };
            let mut is_resumed = false;
            let flow = match received {
                Ok(Ok(0)) => {
                    self.session.end(&mut self.output);
                    Flow::Close
                }
                Ok(Ok(count)) => {
                    self.shared.counters.add(Counter::Received, count as u64);
                    self.session.on_input(&input[..count], &mut self.output)
                }
                Ok(Err(_)) => return Err(Counter::Broken),
                Err(_) if stage == SessionStage::Idle => return Ok(Flow::Close),
                Err(_) if is_paused => {
                    is_resumed = true;
                    self.session.resume(&mut self.output)
                }
                Err(_) => {
                    let flow = self.session.too_slow(&mut self.output);
                    let delivered = self.deliver().await;
                    // A connection that is slow to take this too is counted as slow once.
                    if delivered != Err(Counter::Slow) {
                        self.shared.counters.add(Counter::Slow, 1);
                    }
                    delivered?;
                    return Ok(if flow == Flow::Linger { flow } else { Flow::Close });
                }
            };
            if flow == Flow::Reset {
                return Ok(flow);
            }
            let responses = self.deliver().await?;
            if flow != Flow::More {
                return Ok(flow);
            }
            let is_idle = self.session.stage() == SessionStage::Idle;
            if is_idle && *self.stop.borrow() {
                return Ok(Flow::Linger);
            }
            // A request's time runs from its first byte, however many pieces follow.
            let is_within_request = self.session.stage() == SessionStage::Request;
            let is_within_pause = is_paused && !is_resumed;
            if responses > 0 || stage == SessionStage::Idle || !(is_within_request || is_within_pause) {
                since = Instant::now();
            }
        }
    }

    /// Drops the output, and has the close reset the connection. The log stays.
    fn reset(&mut self) {
        self.shared.counters.add_responses(&mut self.output);
        self.shared.log(&mut self.output.log);
        let _ = self.stream.set_zero_linger();
    }

    /// Sends all output; how many requests it answers.
    async fn deliver(&mut self) -> Result<u64, Counter> {
        let responses = self.shared.counters.add_responses(&mut self.output);
        self.shared.log(&mut self.output.log);
        let mut chunk = Vec::with_capacity(FIRST_CHUNK);
        while !self.output.is_empty() {
            let filled = self.output.fill(&mut chunk);
            // Where a file has become shorter, the bytes before it leave; then the connection ends.
            self.send(&chunk).await?;
            filled.map_err(|_| Counter::Broken)?;
            chunk.clear();
            if !self.output.is_empty() {
                chunk.reserve(LARGE_CHUNK);
            }
        }
        Ok(responses)
    }

    async fn send(&mut self, mut bytes: &[u8]) -> Result<(), Counter> {
        let limit = self.shared.limits.send.min(FOREVER);
        let mut since = Instant::now();
        let mut acknowledged = 0;
        while !bytes.is_empty() {
            match timeout(limit / SEND_LOOKS, self.stream.write(bytes)).await {
                Ok(Ok(sent)) => {
                    self.shared.counters.add(Counter::Sent, sent as u64);
                    bytes = &bytes[sent..];
                    since = Instant::now();
                }
                Ok(Err(_)) => return Err(Counter::Broken),
                Err(_) => {
                    let now = sys::tcp::acknowledged(&self.stream).unwrap_or(0);
                    if now > acknowledged {
                        acknowledged = now;
                        since = Instant::now();
                    }
                    if since.elapsed() < limit {
                        continue;
                    }
                    // Otherwise the system would go on trying to send the rest.
                    let _ = self.stream.set_zero_linger();
                    return Err(Counter::Slow);
                }
            }
        }
        Ok(())
    }

    /// Finishes sending, and drops further input.
    async fn linger(&mut self) {
        let _ = self.stream.shutdown().await;
        let mut input = vec![0; INPUT_BYTES];
        let end = Instant::now() + LINGER_MAX;
        while let Ok(Ok(count @ 1..)) =
            timeout_at(end.min(Instant::now() + LINGER), self.stream.read(&mut input)).await
        {
            self.shared.counters.add(Counter::Received, count as u64);
        }
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.shared.counters.add(Counter::Ended, 1);
    }
}

impl Shared {
    fn log(&self, lines: &mut Vec<u8>) {
        write_log(self.log.as_ref(), lines, &self.counters);
    }
}

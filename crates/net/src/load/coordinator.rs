//! Several generators at once: processes that start together, with their counts added up.
//!
//! The coordinator starts the workers, sends each its settings, and then load after load; each opens its
//! connections, replies that it is ready, and waits for the request to begin.

use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use host::{Deadline, FrameReader, FrameWriter, Process};
use serde::{Deserialize, Serialize};

use super::{Generator, Level, Load, LoadSettings, Measured, OffersLoad, Progress, Watched};
use crate::Error;

/// The role in which a program calls [`work`].
pub const ROLE: &str = "load-worker";

/// A request of the coordinator.
#[derive(Serialize, Deserialize)]
enum Request {
    /// First of all, with the processor to be bound to.
    Settings(Box<LoadSettings>, Option<u32>),
    /// Open connections for this load.
    Prepare(Load),
    /// Add latencies to the progress.
    Follow,
    /// Offer it.
    Begin,
    /// Offer no more of it.
    Stop,
}

/// A reply of a worker.
#[derive(Serialize, Deserialize)]
enum Reply {
    Ready,
    Progress(Progress),
    Measured(Box<Measured>),
    Refused(String),
}

/// Handles the requests of a coordinator, until its input ends.
///
/// # Errors
/// Those of reading requests and writing replies; a failure of a load is a reply to the coordinator.
pub fn work(requests: impl Read + Send + 'static, replies: impl Write) -> Result<(), Error> {
    let stop = Arc::new(AtomicBool::new(false));
    let (sender, received) = channel();
    let (reader, stopping) = (FrameReader::new(requests), Arc::clone(&stop));
    let listening = std::thread::Builder::new().spawn(move || listen(reader, &sender, &stopping));
    listening.map_err(Error::at("listen to the coordinator"))?;
    let mut worker = Worker { replies: FrameWriter::new(replies), stop, generator: None, next: None };
    while let Ok(request) = received.recv() {
        if let Err(error) = worker.fulfil(request) {
            worker.reply(&Reply::Refused(error.to_string()))?;
        }
    }
    Ok(())
}

/// Receives requests, also while a load is offered; the end of the input ends the load.
fn listen(mut requests: FrameReader<impl Read>, sender: &Sender<Request>, stop: &AtomicBool) {
    while let Ok(Some(request)) = requests.receive() {
        match request {
            Request::Stop => stop.store(true, Ordering::Relaxed),
            request => {
                if matches!(request, Request::Prepare(_)) {
                    stop.store(false, Ordering::Relaxed);
                }
                if sender.send(request).is_err() {
                    return;
                }
            }
        }
    }
    stop.store(true, Ordering::Relaxed);
}

/// A process that helps.
struct Worker<W> {
    replies: FrameWriter<W>,
    stop: Arc<AtomicBool>,
    generator: Option<Generator>,
    next: Option<Load>,
}

impl<W: Write> Worker<W> {
    fn fulfil(&mut self, request: Request) -> Result<(), Error> {
        match request {
            Request::Settings(settings, cpu) => {
                // The system chooses the processor where it cannot be set.
                let _ = cpu.map(sys::cpu::pin);
                self.generator = Some(Generator::new(*settings)?);
            }
            Request::Prepare(load) => {
                self.generator.as_mut().ok_or_else(out_of_order)?.grow_to(load.connections)?;
                self.next = Some(load);
                self.reply(&Reply::Ready)?;
            }
            Request::Follow => self.generator.as_mut().ok_or_else(out_of_order)?.follow(),
            Request::Begin => {
                let load = self.next.take().ok_or_else(out_of_order)?;
                let generator = self.generator.as_mut().ok_or_else(out_of_order)?;
                let (replies, stop) = (&mut self.replies, &self.stop);
                let mut watched = |progress: &Progress| {
                    let is_wanted = !stop.load(Ordering::Relaxed) && !sys::signal::stop_ordered();
                    is_wanted && replies.send(&Reply::Progress(progress.clone())).is_ok()
                };
                let measured = generator.measure(&load, &mut watched)?;
                self.reply(&Reply::Measured(Box::new(measured)))?;
            }
            // The listener has handled it.
            Request::Stop => {}
        }
        Ok(())
    }

    fn reply(&mut self, reply: &Reply) -> Result<(), Error> {
        self.replies.send(reply).map_err(Error::at("reply to the coordinator"))
    }
}

fn out_of_order() -> Error {
    let message = "a request that must not come yet".to_owned();
    Error::Protocol { role: "the coordinator".to_owned(), message }
}

/// Workers that offer each load together. Dropped, they are killed.
#[derive(Debug)]
pub struct Coordinator {
    workers: Vec<Process>,
    /// Connections that all together begin in a second, and those that stay silent.
    connect_rate: f64,
    idle: usize,
}

/// A worker without a reply for this long, beyond the time of its load, is gone.
const PATIENCE: Duration = Duration::from_secs(60);

impl Coordinator {
    /// Starts a worker for each of these processors, where one is named: a program that calls [`work`] in the
    /// role [`ROLE`].
    ///
    /// # Errors
    /// [`Error::Host`] where one cannot be started.
    pub fn start(
        program: &Path,
        settings: &LoadSettings,
        cpus: &[Option<u32>],
    ) -> Result<Coordinator, Error> {
        let LoadSettings { connect_rate, idle, .. } = *settings;
        let start = |(number, &cpu)| {
            let command = host::role(program, &[ROLE]);
            let worker = Process::start(&name(number), command)?.with_grace(Duration::ZERO);
            let own = Box::new(settings.share(number, cpus.len()));
            worker.send(&Request::Settings(own, cpu))?;
            Ok(worker)
        };
        let workers = cpus.iter().enumerate().map(start).collect::<Result<_, Error>>()?;
        Ok(Coordinator { workers, connect_rate, idle })
    }

    /// See [`Generator::follow`].
    ///
    /// # Errors
    /// [`Error::Host`] where a worker has ended.
    pub fn follow(&self) -> Result<(), Error> {
        self.ask(self.workers.len(), &Request::Follow)
    }

    /// Offers a load with all workers together. In a closed loop a worker has at least one connection, so
    /// that fewer of them offer a load of few connections.
    ///
    /// # Errors
    /// [`Error::Failed`] where a worker refuses, [`Error::Host`] where it has ended or does not reply.
    pub fn offer(&mut self, load: &Load, watched: &mut Watched<'_>) -> Result<Level, Error> {
        let all = self.workers.len();
        let count = if load.rate.is_none() { all.min(load.connections.max(1)) } else { all };
        for (number, worker) in self.workers.iter().take(count).enumerate() {
            worker.send(&Request::Prepare(load.share(number, count)))?;
        }
        let ramp_seconds = (load.connections + self.idle) as f64 / self.connect_rate;
        let ramp = Duration::try_from_secs_f64(ramp_seconds).unwrap_or(Duration::MAX);
        for number in 0..count {
            while !self.is_ready(number, PATIENCE.saturating_add(ramp))? {}
        }
        self.ask(count, &Request::Begin)?;
        let patience = PATIENCE + load.warm_up + load.duration;
        let mut offered = Offered { progress: vec![Progress::default(); count], measured: Vec::new() };
        offered.measured.resize_with(count, || None);
        let mut is_stopped = false;
        // The first worker's progress sets the pace; those of the others are read beside it.
        while offered.measured[0].is_none() {
            offered.take(0, self.receive(0, patience)?)?;
            for number in 1..count {
                while let Some(reply) = self.workers[number].poll(Duration::ZERO)? {
                    offered.take(number, reply)?;
                }
            }
            if !is_stopped && !watched(&offered.sum()) {
                is_stopped = true;
                self.ask(count, &Request::Stop)?;
            }
        }
        for number in 1..count {
            while offered.measured[number].is_none() {
                offered.take(number, self.receive(number, patience)?)?;
            }
        }
        Level::from_measured(load, offered.measured.into_iter().flatten().collect())
    }

    /// Whether a worker is ready; a late reply of a load that was stopped is skipped.
    fn is_ready(&mut self, number: usize, patience: Duration) -> Result<bool, Error> {
        match self.receive(number, patience)? {
            Reply::Ready => Ok(true),
            Reply::Refused(reason) => Err(Error::Failed { role: name(number), reason }),
            Reply::Progress(_) | Reply::Measured(_) => Ok(false),
        }
    }

    fn receive(&mut self, number: usize, patience: Duration) -> Result<Reply, Error> {
        Ok(self.workers[number].receive(Deadline::within(patience))?)
    }

    /// Sends a request to so many workers.
    fn ask(&self, count: usize, request: &Request) -> Result<(), Error> {
        self.workers.iter().take(count).try_for_each(|worker| Ok(worker.send(request)?))
    }
}

impl OffersLoad for Coordinator {
    fn offer(&mut self, load: &Load, watched: &mut Watched<'_>) -> Result<Level, Error> {
        Coordinator::offer(self, load, watched)
    }
}

/// A load in progress.
struct Offered {
    progress: Vec<Progress>,
    measured: Vec<Option<Measured>>,
}

impl Offered {
    fn take(&mut self, number: usize, reply: Reply) -> Result<(), Error> {
        match reply {
            Reply::Progress(mut progress) => {
                // Each worker reports latencies at a moment of its own: they are kept until they are shown.
                let before = self.progress[number].recent.take();
                progress.recent = progress.recent.or(before);
                self.progress[number] = progress;
            }
            Reply::Measured(measured) => self.measured[number] = Some(*measured),
            Reply::Refused(reason) => return Err(Error::Failed { role: name(number), reason }),
            Reply::Ready => {}
        }
        Ok(())
    }

    /// The progress of all, at the pace of the first; latencies are shown once.
    fn sum(&mut self) -> Progress {
        let is_due = self.progress.first().is_some_and(|first| first.recent.is_some());
        let recent = self.progress.iter_mut().filter_map(|one| one.recent.take_if(|_| is_due));
        let recent = recent.reduce(|mut all, one| {
            all.add(&one);
            all
        });
        let mut sum = Progress { recent, ..self.progress.first().cloned().unwrap_or_default() };
        for one in self.progress.iter().skip(1) {
            sum.completed += one.completed;
            sum.failed += one.failed;
            sum.busy += one.busy;
            sum.open += one.open;
        }
        sum
    }
}

fn name(number: usize) -> String {
    format!("load worker {number}")
}

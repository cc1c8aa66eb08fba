//! The side of a worker: a process that does its part of each task, by the requests of a coordinator.

use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};

use host::{FrameReader, FrameWriter};
use serde::{Deserialize, Serialize};

use super::{JointWork, LEAD_MAX};
use crate::Error;
use crate::load::Progress;

/// A request of the coordinator. Each task has a number of its own, its level, so that a late reply of an
/// earlier one is not taken for that of the present one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Request<S, T> {
    /// First of all, with the processor to be bound to; `reports_build` asks which program this is.
    Settings { settings: Box<S>, cpu: Option<u32>, reports_build: bool },
    /// Read the clock by which the worker works.
    Clock,
    /// Make ready for this task.
    Prepare { level: u64, task: T },
    /// Add latencies to the progress.
    Follow,
    /// Begin it, at this moment of the worker's clock. Where that is over, a strict one is refused; any other
    /// begins at once.
    Begin { level: u64, at_ns: u64, is_strict: bool },
    /// Do no more of it.
    Stop,
}

/// A request to a worker of that kind.
pub(super) type RequestOf<W> = Request<<W as JointWork>::Settings, <W as JointWork>::Task>;

/// A reply of a worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Reply<M> {
    /// The settings are accepted; with the checksum of the program, if that was asked for.
    Accepted {
        build: Option<u32>,
    },
    /// The present time.
    Clock {
        ns: u64,
    },
    Ready {
        level: u64,
    },
    Progress(Progress),
    /// The time to begin was over by this much.
    TooLate {
        level: u64,
        ns: u64,
    },
    Measured {
        level: u64,
        measured: Box<M>,
    },
    Refused(String),
}

/// Handles the requests of a coordinator, until its input ends.
///
/// # Errors
/// Those of reading requests and writing replies; a failure of a load is a reply to the coordinator.
pub fn work<W: JointWork>(requests: impl Read + Send + 'static, replies: impl Write) -> Result<(), Error> {
    let stop = Arc::new(AtomicBool::new(false));
    let (sender, received) = channel();
    let (reader, stopping) = (FrameReader::new(requests), Arc::clone(&stop));
    let listening = std::thread::Builder::new().spawn(move || listen::<W>(reader, &sender, &stopping));
    listening.map_err(Error::at("listen to the coordinator"))?;
    let mut worker = Worker::<W, _> { replies: FrameWriter::new(replies), stop, work: None, next: None };
    while let Ok(request) = received.recv() {
        if let Err(error) = worker.fulfil(request) {
            worker.reply(&Reply::Refused(error.to_string()))?;
        }
    }
    Ok(())
}

/// Receives requests, also during a task; the end of the input ends the task.
fn listen<W: JointWork>(
    mut requests: FrameReader<impl Read>,
    sender: &Sender<RequestOf<W>>,
    stop: &AtomicBool,
) {
    while let Ok(Some(request)) = requests.receive() {
        match request {
            Request::Stop => stop.store(true, Ordering::Relaxed),
            request => {
                if matches!(request, Request::Prepare { .. }) {
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
struct Worker<W: JointWork, O> {
    replies: FrameWriter<O>,
    stop: Arc<AtomicBool>,
    work: Option<W>,
    next: Option<(u64, W::Task)>,
}

impl<W: JointWork, O: Write> Worker<W, O> {
    fn fulfil(&mut self, request: RequestOf<W>) -> Result<(), Error> {
        match request {
            Request::Settings { settings, cpu, reports_build } => {
                // The system chooses the processor where it cannot be set.
                let _ = cpu.map(sys::cpu::pin);
                let build = match reports_build {
                    true => Some(checksum_of_own_program()?),
                    false => None,
                };
                self.work = Some(W::open(*settings)?);
                self.reply(&Reply::Accepted { build })
            }
            Request::Clock => {
                let ns = self.work()?.now_ns();
                self.reply(&Reply::Clock { ns })
            }
            Request::Prepare { level, task } => {
                self.work()?.prepare(&task)?;
                self.next = Some((level, task));
                self.reply(&Reply::Ready { level })
            }
            Request::Follow => {
                self.work()?.follow();
                Ok(())
            }
            Request::Begin { level, at_ns, is_strict } => self.begin(level, at_ns, is_strict),
            // The listener has handled it.
            Request::Stop => Ok(()),
        }
    }

    fn begin(&mut self, level: u64, at_ns: u64, is_strict: bool) -> Result<(), Error> {
        let next = self.next.take().filter(|(prepared, _)| *prepared == level);
        let (_, task) = next.ok_or_else(out_of_order)?;
        let work = self.work.as_mut().ok_or_else(out_of_order)?;
        let now_ns = work.now_ns();
        if is_strict && now_ns > at_ns {
            return self.reply(&Reply::TooLate { level, ns: now_ns - at_ns });
        }
        // A clock that was set back since it was read must not wait for hours.
        let latest_ns = now_ns.saturating_add(2 * LEAD_MAX.as_nanos() as u64);
        let at_ns = (now_ns <= at_ns).then_some(at_ns.min(latest_ns));
        let (replies, stop) = (&mut self.replies, &self.stop);
        let mut watched = |progress: &Progress| {
            let is_wanted = !stop.load(Ordering::Relaxed) && !sys::signal::stop_ordered();
            is_wanted && replies.send(&Reply::<W::Measured>::Progress(progress.clone())).is_ok()
        };
        let measured = work.measure_at(&task, at_ns, &mut watched)?;
        self.reply(&Reply::Measured { level, measured: Box::new(measured) })
    }

    fn work(&mut self) -> Result<&mut W, Error> {
        self.work.as_mut().ok_or_else(out_of_order)
    }

    fn reply(&mut self, reply: &Reply<W::Measured>) -> Result<(), Error> {
        self.replies.send(reply).map_err(Error::at("reply to the coordinator"))
    }
}

fn out_of_order() -> Error {
    let message = "a request that must not come yet".to_owned();
    Error::Protocol { role: "the coordinator".to_owned(), message }
}

fn checksum_of_own_program() -> Result<u32, Error> {
    checksum(&sys::process::own_program().map_err(Error::at("find this program"))?)
}

/// The checksum of a program, by which two builds differ.
pub(super) fn checksum(program: &Path) -> Result<u32, Error> {
    let attempted = || Error::at(format!("read {}", program.display()));
    let mut file = std::fs::File::open(program).map_err(attempted())?;
    let mut piece = vec![0; 1 << 20];
    let mut hasher = crc32fast::Hasher::new();
    loop {
        match file.read(&mut piece) {
            Ok(0) => return Ok(hasher.finalize()),
            Ok(read) => hasher.update(&piece[..read]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(attempted()(error)),
        }
    }
}

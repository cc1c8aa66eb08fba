//! The process that holds one load until its standard input ends, and the messages that it exchanges with the
//! process that started it.

use std::io;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};
use std::time::{Duration, Instant};

use host::{FrameReader, FrameWriter, Outgoing};
use serde::{Deserialize, Serialize};

use crate::controller::{Controller, SECOND, Step, Window};
use crate::load::{Work, failed, prepare};
use crate::spec::FixedLoad;

/// A load is held within this share of its rate before anything is measured.
const HELD_SHARE: f64 = 0.02;

/// Windows in which a load is to come to its rate, before the first one that is recorded.
const SETTLE: Duration = Duration::from_millis(500);
const SETTLES_MOST: u32 = 10;

/// So many seconds are kept: a line of the record is no longer than 1 MiB, and may hold sixteen loads.
const SECONDS_MOST: usize = 6000;

/// The digits to which rates are rounded: no load is held more exactly.
const DIGITS: usize = 5;

/// Receives a task and holds its load; it ends with its standard input, with its parent, or after the time
/// that the task allows.
///
/// # Errors
/// Those of standard input and output.
pub fn hold() -> io::Result<()> {
    sys::process::die_with_parent();
    let mut input = FrameReader::standard_input();
    let Some(task) = input.receive::<Task>()? else { return Ok(()) };
    let mut output = FrameWriter::standard_output();
    let (sender, requests) = channel();
    // It sleeps in read(2) and disturbs nothing; at the end of the input the channel is closed.
    std::thread::Builder::new().spawn(move || {
        while let Ok(Some(request)) = input.receive::<Request>() {
            if sender.send(request).is_err() {
                return;
            }
        }
    })?;
    match held(&task, &requests, &mut output) {
        Ok(()) => Ok(()),
        // The other side may have ended, and then needs no reply.
        Err(reason) => output.send(&Reply::Failed { reason }),
    }
}

fn held(task: &Task, requests: &Receiver<Request>, output: &mut Outgoing) -> Result<(), String> {
    let load = FixedLoad::parse(&task.load).map_err(|error| error.to_string())?;
    if let Some(processor) = task.processor {
        sys::cpu::pin(processor).map_err(failed(&format!("stay on processor {processor}")))?;
    }
    let work = prepare(&load, task.processor, Path::new(&task.folder))?;
    let life = Duration::try_from_secs_f64(task.life_seconds).unwrap_or(Duration::MAX);
    let mut holder = Holder::new(load, work)?;
    holder.settle(requests, output)?;
    holder.serve(requests, output, life)
}

/// A load, and its controller.
struct Holder {
    load: FixedLoad,
    work: Box<dyn Work>,
    controller: Controller,
    clock: Instant,
}

/// The next event for the load.
enum Next {
    Passed(Window),
    Asked(Request),
    /// It is not needed any more.
    Over,
}

/// The seconds since a mark.
#[derive(Default)]
struct Marked {
    seconds: Seconds,
    /// The time of the mark, and the system's counter then.
    begun: Duration,
    of_system: Option<f64>,
}

impl Holder {
    fn new(load: FixedLoad, work: Box<dyn Work>) -> Result<Holder, String> {
        let controller = Controller::new(load.rate, work.means().grain);
        Ok(Holder { load, work, controller, clock: Instant::now() })
    }

    fn counted(&mut self) -> Result<f64, String> {
        let attempted = format!("count {}", self.load);
        self.work.counted().map_err(failed(&attempted))
    }

    fn begin(&mut self, window: Duration) -> Result<(), String> {
        let counted = self.counted()?;
        self.controller.begin(window, self.clock.elapsed(), counted);
        Ok(())
    }

    /// Reaches the rate, and reports it.
    fn settle(&mut self, requests: &Receiver<Request>, output: &mut Outgoing) -> Result<(), String> {
        self.begin(SETTLE)?;
        let distance = |rate: f64, target: f64| (rate / target - 1.0).abs();
        let mut reached = 0.0;
        for _ in 0..SETTLES_MOST {
            let rate = match self.next(requests)? {
                Next::Passed(window) => window.rate,
                Next::Asked(_) => continue,
                Next::Over => return Ok(()),
            };
            if distance(rate, self.load.rate) <= distance(reached, self.load.rate) {
                reached = rate;
            }
            if distance(rate, self.load.rate) <= HELD_SHARE {
                break;
            }
        }
        let is_held = distance(reached, self.load.rate) <= HELD_SHARE;
        self.begin(SECOND)?;
        output.send(&Reply::Ready { is_held, reached }).map_err(failed("reply"))
    }

    /// Holds the rate, and reports when asked.
    fn serve(
        &mut self,
        requests: &Receiver<Request>,
        output: &mut Outgoing,
        life: Duration,
    ) -> Result<(), String> {
        let mut marked = Marked::default();
        let mut is_asked = false;
        while self.clock.elapsed() < life {
            match self.next(requests)? {
                Next::Over => return Ok(()),
                Next::Asked(Request::Mark) => {
                    self.begin(SECOND)?;
                    let (begun, of_system) = (self.clock.elapsed(), self.work.counted_of_system());
                    marked = Marked { seconds: Seconds::default(), begun, of_system };
                    is_asked = false;
                    output.send(&Reply::Marked).map_err(failed("reply"))?;
                }
                Next::Asked(Request::Report) => is_asked = true,
                Next::Passed(window) => {
                    marked.seconds.rates.extend(seconds(window));
                    if marked.seconds.rates.len() > SECONDS_MOST {
                        return Err(format!("no more than {SECONDS_MOST} seconds of it can be recorded"));
                    }
                    if is_asked {
                        let report = self.report(&marked);
                        output.send(&Reply::Seconds(report)).map_err(failed("reply"))?;
                        is_asked = false;
                    }
                }
            }
        }
        Err(format!("{} was held for longer than any trial takes", self.load))
    }

    fn report(&mut self, marked: &Marked) -> Seconds {
        let means = self.work.means();
        let elapsed = self.clock.elapsed().saturating_sub(marked.begun).as_secs_f64();
        let of_system = self.work.counted_of_system();
        Seconds {
            counter: means.counter.to_owned(),
            system_counter: of_system.map(|_| means.system_counter.to_owned()).unwrap_or_default(),
            system_rate: of_system.zip(marked.of_system).map(|(after, before)| (after - before) / elapsed),
            holds: self.work.holds(),
            ..marked.seconds.clone()
        }
    }

    /// Holds the rate until a window has passed or a request comes.
    fn next(&mut self, requests: &Receiver<Request>) -> Result<Next, String> {
        let attempted = format!("hold {}", self.load);
        loop {
            match requests.try_recv() {
                Ok(request) => return Ok(Next::Asked(request)),
                Err(TryRecvError::Disconnected) => return Ok(Next::Over),
                Err(TryRecvError::Empty) => {}
            }
            let (counted, now) = (self.counted()?, self.clock.elapsed());
            if let Some(window) = self.controller.passed(now, counted) {
                return Ok(Next::Passed(window));
            }
            match self.controller.step(now, counted) {
                Step::Work(amount) => self.work.work(amount).map_err(failed(&attempted))?,
                Step::Wait(time) => match requests.recv_timeout(time) {
                    Ok(request) => return Ok(Next::Asked(request)),
                    Err(RecvTimeoutError::Disconnected) => return Ok(Next::Over),
                    Err(RecvTimeoutError::Timeout) => {}
                },
            }
        }
    }
}

/// The rate of each second in a window: a process that was stopped has one that is longer.
fn seconds(window: Window) -> impl Iterator<Item = f64> {
    let count = window.elapsed.as_secs_f64().round().clamp(1.0, SECONDS_MOST as f64) as usize;
    std::iter::repeat_n(rounded(window.rate), count)
}

fn rounded(rate: f64) -> f64 {
    if rate <= 0.0 {
        return 0.0;
    }
    // Written and read: a logarithm would link the program of the kernel's workloads with one more library.
    format!("{rate:.*e}", DIGITS - 1).parse().unwrap_or(rate)
}

/// The first message: the load to hold.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Task {
    /// The load at one level, in its canonical form.
    pub(crate) load: String,
    pub(crate) processor: Option<u32>,
    /// A folder for files.
    pub(crate) folder: String,
    /// It ends by itself after this time, even if the other side still runs.
    pub(crate) life_seconds: f64,
}

/// A request while the load is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Request {
    /// A second begins now, the first one that is to be reported; reply when it has.
    Mark,
    /// Report all seconds since then, once the current one is over.
    Report,
}

/// A reply.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Reply {
    /// It holds the load, or has given up to; with the rate that came nearest.
    Ready {
        is_held: bool,
        reached: f64,
    },
    /// It cannot hold it at all, or no longer.
    Failed {
        reason: String,
    },
    /// The first second has begun.
    Marked,
    Seconds(Seconds),
}

/// The seconds since the last mark.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Seconds {
    pub(crate) rates: Vec<f64>,
    pub(crate) counter: String,
    pub(crate) system_counter: String,
    pub(crate) system_rate: Option<f64>,
    pub(crate) holds: Option<f64>,
}

//! Several generators at once: processes that start together, and whose counts become one.
//!
//! The coordinator starts them, sends each its settings, and then load after load; each opens its
//! connections, says that it is ready, and waits for the word to go. Both sides speak lines of JSON over
//! standard input and output. A worker whose coordinator is gone ends with the next thing it says.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Generator, Level, Load, LoadSettings, Measured, Progress, Watched};
use crate::Error;

/// What a worker is told.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Order {
    /// First of all.
    Settings(Box<LoadSettings>),
    /// Open connections for this load.
    Prepare(Load),
    /// Offer it.
    Go,
}

/// What a worker says.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    Ready,
    Progress(Progress),
    Measured(Box<Measured>),
    Failed(String),
}

/// Does what a coordinator orders, until it has no more orders.
///
/// # Errors
/// Those of reading orders and writing answers; what goes wrong with a load is told to the coordinator.
pub fn work(orders: impl BufRead, mut answers: impl Write) -> Result<(), Error> {
    let mut generator = None;
    let mut next = None;
    for line in orders.lines() {
        let line = line.map_err(Error::at("read an order"))?;
        let order =
            serde_json::from_str(&line).map_err(|error| unreadable("the coordinator".to_owned(), &error))?;
        let answer = obey(order, &mut generator, &mut next, &mut answers);
        match answer {
            Ok(Some(answer)) => say(&mut answers, &answer)?,
            Ok(None) => {}
            Err(error) => say(&mut answers, &Answer::Failed(error.to_string()))?,
        }
    }
    Ok(())
}

fn obey(
    order: Order,
    generator: &mut Option<Generator>,
    next: &mut Option<Load>,
    answers: &mut impl Write,
) -> Result<Option<Answer>, Error> {
    let missing = || Error::Protocol {
        role: "the coordinator".to_owned(),
        message: "an order that must not come yet".to_owned(),
    };
    match order {
        Order::Settings(settings) => {
            *generator = Some(Generator::new(*settings)?);
            Ok(None)
        }
        Order::Prepare(load) => {
            generator.as_mut().ok_or_else(missing)?.grow_to(load.connections)?;
            *next = Some(load);
            Ok(Some(Answer::Ready))
        }
        Order::Go => {
            let load = next.take().ok_or_else(missing)?;
            let mut told = |progress: &Progress| {
                !sys::signal::stop_ordered() && say(answers, &Answer::Progress(*progress)).is_ok()
            };
            let measured = generator.as_mut().ok_or_else(missing)?.measure(&load, &mut told)?;
            Ok(Some(Answer::Measured(Box::new(measured))))
        }
    }
}

fn unreadable(role: String, error: &serde_json::Error) -> Error {
    Error::Protocol { role, message: error.to_string() }
}

fn say(answers: &mut impl Write, answer: &Answer) -> Result<(), Error> {
    let line =
        serde_json::to_string(answer).map_err(|error| Error::at("answer the coordinator")(error.into()))?;
    writeln!(answers, "{line}").and_then(|()| answers.flush()).map_err(Error::at("answer the coordinator"))
}

/// Workers that offer each load together.
#[derive(Debug)]
pub struct Crew {
    members: Vec<Member>,
    heard: Receiver<(usize, Option<String>)>,
    /// Connections that all together begin in a second, and those that stay silent.
    connect_rate: f64,
    idle: usize,
}

#[derive(Debug)]
struct Member {
    child: Child,
    orders: Option<ChildStdin>,
}

/// A worker that says nothing for so long, beyond what its load may take, is gone.
const PATIENCE: Duration = Duration::from_secs(60);

impl Crew {
    /// Starts so many of what `command` gives, each of which is to call [`work`].
    ///
    /// # Errors
    /// [`Error::System`] where one cannot be started.
    pub fn start(
        command: impl Fn() -> Command,
        settings: &LoadSettings,
        workers: usize,
    ) -> Result<Crew, Error> {
        let (sender, heard) = channel();
        let LoadSettings { connect_rate, idle, .. } = *settings;
        let mut crew = Crew { members: Vec::new(), heard, connect_rate, idle };
        for worker in 0..workers {
            let mut command = command();
            command.stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut child = command.spawn().map_err(Error::at("start a load worker"))?;
            let orders = child.stdin.take();
            let answers = child.stdout.take();
            crew.members.push(Member { child, orders });
            if let Some(answers) = answers {
                let sender = sender.clone();
                std::thread::spawn(move || listen(worker, BufReader::new(answers), &sender));
            }
            crew.order(worker, &Order::Settings(Box::new(settings.share(worker, workers))))?;
        }
        Ok(crew)
    }

    /// Offers a load with all workers together.
    ///
    /// # Errors
    /// [`Error::Failed`] where a worker refuses, [`Error::Gone`] where it has ended or does not reply.
    pub fn offer(&mut self, load: &Load, watched: &mut Watched<'_>) -> Result<Level, Error> {
        let workers = self.members.len();
        for worker in 0..workers {
            self.order(worker, &Order::Prepare(load.share(worker, workers)))?;
        }
        let ramp_seconds = (load.connections + self.idle) as f64 / self.connect_rate;
        let ramp = Duration::try_from_secs_f64(ramp_seconds).unwrap_or(Duration::MAX);
        let mut ready = 0;
        while ready < workers {
            match self.hear(PATIENCE.saturating_add(ramp))? {
                (_, Answer::Ready) => ready += 1,
                (worker, answer) => refuse(worker, answer)?,
            }
        }
        for worker in 0..workers {
            self.order(worker, &Order::Go)?;
        }
        let mut progress = vec![Progress::default(); workers];
        let mut measured = Vec::new();
        let mut stopped = false;
        while measured.len() < workers {
            match self.hear(PATIENCE + load.warm_up + load.duration)? {
                (worker, Answer::Progress(own)) => {
                    progress[worker] = own;
                    if !stopped && worker == 0 && !watched(&sum(&progress)) {
                        stopped = true;
                        self.stop();
                    }
                }
                (_, Answer::Measured(own)) => measured.push(*own),
                (worker, answer) => refuse(worker, answer)?,
            }
        }
        Level::of(load, measured)
    }

    fn order(&mut self, worker: usize, order: &Order) -> Result<(), Error> {
        let line =
            serde_json::to_string(order).map_err(|error| Error::at("order a load worker")(error.into()))?;
        let Some(orders) = &mut self.members[worker].orders else { return Ok(()) };
        writeln!(orders, "{line}").and_then(|()| orders.flush()).map_err(Error::at("order a load worker"))
    }

    fn hear(&self, patience: Duration) -> Result<(usize, Answer), Error> {
        let gone = |role: String, what| Error::Gone { role, what };
        let name = |worker: usize| format!("load worker {worker}");
        match self.heard.recv_timeout(patience) {
            Ok((worker, Some(line))) => serde_json::from_str(&line)
                .map(|answer| (worker, answer))
                .map_err(|error| unreadable(name(worker), &error)),
            Ok((worker, None)) => Err(gone(name(worker), "has ended")),
            Err(RecvTimeoutError::Timeout) => Err(gone("every load worker".to_owned(), "does not reply")),
            Err(RecvTimeoutError::Disconnected) => Err(gone("every load worker".to_owned(), "has ended")),
        }
    }

    fn stop(&self) {
        for member in &self.members {
            // One that has ended already needs no order.
            let _ = sys::signal::send_stop(member.child.id());
        }
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        for member in &mut self.members {
            member.orders = None;
            let _ = member.child.kill();
            let _ = member.child.wait();
        }
    }
}

fn listen(worker: usize, answers: impl BufRead, sender: &Sender<(usize, Option<String>)>) {
    for line in answers.lines().map_while(Result::ok) {
        if sender.send((worker, Some(line))).is_err() {
            return;
        }
    }
    let _ = sender.send((worker, None));
}

fn refuse(worker: usize, answer: Answer) -> Result<(), Error> {
    match answer {
        Answer::Failed(reason) => Err(Error::Failed { role: format!("load worker {worker}"), reason }),
        // What is left of a load that was stopped.
        _ => Ok(()),
    }
}

fn sum(all: &[Progress]) -> Progress {
    let mut sum = all.first().copied().unwrap_or_default();
    for one in all.iter().skip(1) {
        sum.completed += one.completed;
        sum.failed += one.failed;
        sum.busy += one.busy;
    }
    sum
}

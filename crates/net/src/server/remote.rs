//! A server in another process, started from here: through any command that hands on its words, its standard
//! input and its standard output.
//!
//! The server says `listening ADDRESS`, and answers every line of its input with its counters, one line of
//! JSON. At the end of its input it stops, and says them once more. `error TEXT` is why it could not.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Server, ServerPlan};
use crate::Error;
use crate::site::{COUNTS, Count, Tally};

/// How long a server may take to begin, or to say what it has counted.
const PATIENCE: Duration = Duration::from_secs(10);

/// Beyond the time of grace that its connections have, a server may take this long to end.
const END_PATIENCE: Duration = Duration::from_secs(5);

/// What a server has counted and what it takes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// By the names of [`COUNTS`].
    pub counts: BTreeMap<String, u64>,
    /// Connections open now.
    pub open: u64,
    /// The most that were open at a time; of several workers at least that many.
    pub peak: u64,
    /// Processes of the server; `None` like what follows where the system does not tell.
    pub processes: Option<u64>,
    /// User memory of all its processes, what several share counted once.
    pub memory_bytes: Option<u64>,
    /// Processor time of all its processes, those that have ended too. Where it was asked from outside,
    /// without what reporting takes: walking through all processes would be a part of every answer.
    pub cpu_seconds: Option<f64>,
}

impl Report {
    /// Of a server in this process and its descendants.
    pub fn of(tally: &Tally) -> Report {
        tally.look();
        let taken = sys::process::family_use().ok();
        let counts = COUNTS.iter().map(|&name| name.to_owned()).zip(tally.sums());
        Report {
            counts: counts.collect(),
            open: tally.open(),
            peak: tally.peak(),
            processes: taken.as_ref().map(|taken| taken.processes),
            memory_bytes: taken.as_ref().map(|taken| taken.memory_bytes),
            cpu_seconds: taken.as_ref().map(|taken| taken.cpu_seconds),
        }
    }

    /// One count.
    pub fn count(&self, count: Count) -> u64 {
        self.counts.get(COUNTS[count as usize]).copied().unwrap_or(0)
    }
}

/// A server in another process. Dropped, it is killed.
#[derive(Debug)]
pub struct Remote {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    address: SocketAddr,
    patience: Duration,
}

impl Remote {
    /// Starts a server by the command, which is given the plan as one more word, and waits until it listens.
    /// What it writes to standard error goes where ours does.
    ///
    /// # Errors
    /// When the command cannot be started, or the server does not begin.
    pub fn start(command: &[String], plan: &ServerPlan) -> Result<Remote, Error> {
        let Some((program, words)) = command.split_first() else {
            return Err(Error::Settings("there is no command to start a server with".to_owned()));
        };
        let attempted = || format!("start a server by {program}");
        let plan_word = serde_json::to_string(plan).map_err(|error| Error::at(attempted())(error.into()))?;
        let mut start = Command::new(program);
        start.args(words).arg(plan_word).stdin(Stdio::piped()).stdout(Stdio::piped());
        sys::process::lead_group(&mut start);
        let mut child = start.spawn().map_err(Error::at(attempted()))?;
        let (sender, lines) = channel();
        let input = child.stdin.take();
        let output = child.stdout.take();
        let address = SocketAddr::from(([0; 4], 0));
        let patience = plan.limits.grace.saturating_add(END_PATIENCE);
        // From here on its end is sure.
        let mut remote = Remote { child, input, lines, address, patience };
        if let Some(output) = output {
            let listening = std::thread::Builder::new().spawn(move || {
                let lines = BufReader::new(output).lines().map_while(Result::ok);
                let _ = lines.map(|line| sender.send(line)).take_while(Result::is_ok).count();
            });
            listening.map_err(Error::at(attempted()))?;
        }
        let line = remote.line(PATIENCE)?;
        let listening = line.strip_prefix("listening ").and_then(|address| address.parse().ok());
        remote.address = listening.ok_or_else(|| unexpected(&line))?;
        Ok(remote)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The number of the process that was started.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// What it has counted and takes now.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn report(&mut self) -> Result<Report, Error> {
        if let Some(input) = &mut self.input {
            input.write_all(b"report\n").map_err(Error::at("ask the server for its counters"))?;
        }
        let line = self.line(PATIENCE)?;
        serde_json::from_str(&line).map_err(|_| unexpected(&line))
    }

    /// Has it stop, and waits for its end; its last report.
    ///
    /// # Errors
    /// When it does not end in time, or ends without a report.
    pub fn stop(mut self) -> Result<Report, Error> {
        drop(self.input.take());
        let line = self.line(self.patience)?;
        let report = serde_json::from_str(&line).map_err(|_| unexpected(&line))?;
        let status = self.child.wait().map_err(Error::at("wait for the server"))?;
        if status.success() {
            return Ok(report);
        }
        let ending = sys::process::ending(status);
        Err(Error::at("stop the server in order")(io::Error::other(ending)))
    }

    fn line(&self, patience: Duration) -> Result<String, Error> {
        let line = self.lines.recv_timeout(patience).map_err(|_| {
            Error::at("hear of the server")(io::Error::other("it has ended, or said nothing in time"))
        })?;
        match line.strip_prefix("error ") {
            Some(text) => Err(Error::Failed { role: "the server".to_owned(), reason: text.to_owned() }),
            None => Ok(line),
        }
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        drop(self.input.take());
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            sys::process::kill_group(self.child.id());
            let _ = self.child.wait();
        }
    }
}

fn unexpected(line: &str) -> Error {
    Error::Protocol { role: "the server".to_owned(), message: format!("{line:?}") }
}

/// The other side of [`Remote`]: a server as planned, until the input ends or a signal says so.
///
/// # Errors
/// When it cannot be set up or go on; `output` has been told.
pub fn serve_for(
    plan: ServerPlan,
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
) -> Result<(), Error> {
    let output = Arc::new(Mutex::new(output));
    let served = serve_until_end(plan, input, &output);
    let last = match &served {
        Ok(tally) => line_of(&Report::of(tally)),
        Err(error) => format!("error {}", error.to_string().replace('\n', " ")),
    };
    say(&output, &last)?;
    served.map(drop)
}

fn serve_until_end(
    plan: ServerPlan,
    input: impl Read + Send + 'static,
    output: &Arc<Mutex<impl Write + Send + 'static>>,
) -> Result<Tally, Error> {
    let server = Server::set_up(plan)?;
    say(output, &format!("listening {}", server.address()))?;
    let (stop, tally, answers) = (server.stop(), server.tally(), Arc::clone(output));
    // It may wait for input for as long as the process lives, so nobody waits for it.
    let listening = std::thread::Builder::new().spawn(move || {
        for _ in BufReader::new(input).lines().map_while(Result::ok) {
            let mut report = Report::of(&tally);
            // This thread does nothing else.
            let reporting_seconds = sys::thread::cpu_ns().map_or(0.0, |ns| ns as f64 / 1e9);
            report.cpu_seconds = report.cpu_seconds.map(|seconds| (seconds - reporting_seconds).max(0.0));
            if say(&answers, &line_of(&report)).is_err() {
                break;
            }
        }
        stop.order();
    });
    listening.map_err(Error::at("listen to standard input"))?;
    server.run(|_| ())
}

fn line_of(report: &Report) -> String {
    serde_json::to_string(report).unwrap_or_default()
}

fn say(output: &Mutex<impl Write>, line: &str) -> Result<(), Error> {
    let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
    let said = writeln!(output, "{line}").and_then(|()| output.flush());
    said.map_err(Error::at("tell who started the server"))
}

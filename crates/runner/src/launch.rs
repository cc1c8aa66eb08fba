//! Starts the measured program, here or through the command of a system, and hears what it has to say.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::Builder;
use std::time::{Duration, Instant};

use record::{Line, Order, Outcome, System, Trial};

use crate::{Error, Target};

/// How often the user's wish to stop is looked at.
const ATTENTION: Duration = Duration::from_millis(50);

/// How much longer than its time-out the keeper of a trial may take before it is taken for hung itself.
const KEEPER_GRACE: Duration = Duration::from_secs(20);

/// How long a system may take to describe itself.
const DESCRIBE_TIMEOUT: Duration = Duration::from_secs(30);

/// So much of what a system's command says on standard error is kept, its end.
const MURMUR_BYTES_MAX: usize = 1000;

/// How long the rest of what a command says is waited for, once its trial program has ended.
const MURMUR_PATIENCE: Duration = Duration::from_millis(500);

/// Where the measured program is started, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Launcher<'a> {
    pub(crate) target: &'a Target,
    /// The program that guards a command.
    pub(crate) guard: &'a Path,
    /// Ends it early.
    pub(crate) interrupt: &'a AtomicBool,
}

/// The measured program at work.
struct Started {
    child: Child,
    lines: Receiver<Vec<Line>>,
    /// What the command of the system says; nothing where there is no command.
    murmur: Option<Receiver<String>>,
}

impl Launcher<'_> {
    /// Asks the system what it is.
    pub(crate) fn describe(&self, program: &Path, scratch: &Path) -> Result<System, Error> {
        let mut command = self.command(program);
        command.arg("describe").arg(scratch);
        let started = start(&mut command, self.is_guarded());
        let started = started.map_err(|source| Error::Program { path: program.to_owned(), source })?;
        let (heard, murmur) = self.hear(started, Some(Instant::now() + DESCRIBE_TIMEOUT));
        let reason = match &heard {
            Some(_) => "ended without an answer",
            None if self.interrupt.load(Ordering::Relaxed) => "was interrupted",
            None => "did not answer in time",
        };
        let system = heard.into_iter().flatten().find_map(|line| match line {
            Line::System(system) => Some(system),
            _ => None,
        });
        let Some(mut system) = system else {
            let (name, reason) =
                (self.target.name.clone(), blame(&format!("its trial program {reason}"), &murmur));
            return Err(match self.is_guarded() {
                true => Error::Command { name, reason, path: program.to_owned() },
                false => Error::Describe { name, reason },
            });
        };
        system.name.clone_from(&self.target.name);
        system.prefix.clone_from(&self.target.prefix);
        system.warnings.extend(said(&murmur));
        Ok(system)
    }

    /// Runs one trial to its end; `None` when it was interrupted, which leaves nothing of it behind.
    pub(crate) fn trial(&self, program: &Path, order: &Order) -> Result<Option<Vec<Line>>, Error> {
        let begun = Instant::now();
        let mut command = self.command(program);
        command.arg("keep");
        let mut started = start(&mut command, self.is_guarded())
            .map_err(|source| Error::Program { path: program.to_owned(), source })?;
        if let Some(stdin) = &mut started.child.stdin {
            let asked = serde_json::to_string(order).map_err(io::Error::from).and_then(|mut text| {
                text.push('\n');
                stdin.write_all(text.as_bytes())
            });
            // A keeper that is gone already is told by its silence below.
            drop(asked);
        }
        let timeout = Duration::try_from_secs_f64(order.timeout_seconds).unwrap_or(Duration::MAX);
        // A time-out beyond all calendars is none.
        let deadline = begun.checked_add(timeout.saturating_add(KEEPER_GRACE));
        let (heard, murmur) = self.hear(started, deadline);
        if self.interrupt.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let silence = |reason| vec![silence(order, begun, blame(reason, &murmur))];
        Ok(Some(match heard {
            Some(mut lines) if lines.iter().any(|line| matches!(line, Line::Trial(_))) => {
                for line in &mut lines {
                    if let Line::Trial(trial) = line {
                        trial.warnings.extend(said(&murmur));
                    }
                }
                lines
            }
            Some(_) => silence("the keeper of the trial was killed"),
            None => silence("the keeper of the trial did not answer in time"),
        }))
    }

    /// A command may do anything, so it is guarded; the trial program itself does not need that.
    fn command(&self, program: &Path) -> Command {
        if !self.is_guarded() {
            return Command::new(program);
        }
        let mut command = Command::new(self.guard);
        command.arg("guard").args(&self.target.prefix).arg(program);
        command
    }

    fn is_guarded(&self) -> bool {
        !self.target.prefix.is_empty()
    }

    /// Hears all that the child says, and ends it. `None` when the deadline passed or the user wants to
    /// stop; and what its command said beside it.
    fn hear(&self, started: Started, deadline: Option<Instant>) -> (Option<Vec<Line>>, String) {
        let heard = wait(&started.lines, deadline, self.interrupt);
        end(started.child);
        let murmur = started.murmur.and_then(|murmur| murmur.recv_timeout(MURMUR_PATIENCE).ok());
        (heard, murmur.unwrap_or_default())
    }
}

/// The reason of a silence, with what the command said where there is one.
fn blame(reason: &str, murmur: &str) -> String {
    if murmur.is_empty() { reason.to_owned() } else { format!("{reason} ({murmur})") }
}

/// What a command said, as a remark.
fn said(murmur: &str) -> Option<String> {
    (!murmur.is_empty()).then(|| format!("The command of the system said: {murmur}."))
}

/// Starts the program, with an ear for all that it says.
fn start(command: &mut Command, overhear: bool) -> io::Result<Started> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    if overhear {
        command.stderr(Stdio::piped());
    }
    sys::process::lead_group(command);
    let mut child = command.spawn()?;
    let (sender, lines) = channel();
    let listen = |child: &mut Child| -> io::Result<Option<Receiver<String>>> {
        if let Some(stdout) = child.stdout.take() {
            Builder::new().spawn(move || {
                let lines = BufReader::new(stdout).lines().map_while(Result::ok);
                let _ = sender.send(lines.filter_map(|line| record::parse_line(&line).ok()).collect());
            })?;
        }
        let Some(mut stderr) = child.stderr.take() else { return Ok(None) };
        let (sender, murmur) = channel();
        Builder::new().spawn(move || drop(sender.send(last_words(&mut stderr))))?;
        Ok(Some(murmur))
    };
    match listen(&mut child) {
        Ok(murmur) => Ok(Started { child, lines, murmur }),
        Err(error) => {
            end(child);
            Err(error)
        }
    }
}

/// The end of a text, on one line.
fn last_words(text: &mut dyn Read) -> String {
    let (mut kept, mut chunk) = (Vec::new(), [0_u8; MURMUR_BYTES_MAX]);
    while let Ok(count @ 1..) = text.read(&mut chunk) {
        kept.extend_from_slice(&chunk[..count]);
        kept.drain(..kept.len().saturating_sub(MURMUR_BYTES_MAX));
    }
    let text = String::from_utf8_lossy(&kept).into_owned();
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("; ")
}

/// Waits for all that the child says; `None` when the deadline passed or the user wants to stop.
fn wait(lines: &Receiver<Vec<Line>>, deadline: Option<Instant>, interrupt: &AtomicBool) -> Option<Vec<Line>> {
    loop {
        match lines.recv_timeout(ATTENTION) {
            Ok(lines) => return Some(lines),
            Err(RecvTimeoutError::Disconnected) => return Some(Vec::new()),
            Err(RecvTimeoutError::Timeout) if interrupt.load(Ordering::Relaxed) => return None,
            Err(RecvTimeoutError::Timeout) if deadline.is_some_and(|end| Instant::now() > end) => {
                return None;
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// Ends the child, if it has not ended: without standard input it cleans up and goes.
fn end(mut child: Child) {
    drop(child.stdin.take());
    let patience = Instant::now() + Duration::from_secs(5);
    while Instant::now() < patience {
        match child.try_wait() {
            Ok(None) => std::thread::sleep(Duration::from_millis(2)),
            _ => return,
        }
    }
    sys::process::kill_group(child.id());
    let _ = child.wait();
}

fn silence(order: &Order, begun: Instant, reason: String) -> Line {
    Line::Trial(Trial {
        order: order.clone(),
        started_seconds: 0.0,
        elapsed_seconds: begun.elapsed().as_secs_f64(),
        clock: None,
        outcome: Outcome::Crashed { n: 0, reason },
        checks: Vec::new(),
        activity: std::collections::BTreeMap::new(),
        warnings: Vec::new(),
    })
}

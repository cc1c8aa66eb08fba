//! Starts the measured program and hears what it has to say.

use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::Builder;
use std::time::{Duration, Instant};

use record::{Line, Order, Outcome, System, Trial};

use crate::Error;

/// How often the user's wish to stop is looked at.
const ATTENTION: Duration = Duration::from_millis(50);

/// How much longer than its time-out the keeper of a trial may take before it is taken for hung itself.
const KEEPER_GRACE: Duration = Duration::from_secs(20);

/// How long a system may take to describe itself.
const DESCRIBE_TIMEOUT: Duration = Duration::from_secs(30);

/// Asks the system what it is.
pub(crate) fn describe(program: &Path, scratch: &Path) -> Result<System, Error> {
    let mut command = Command::new(program);
    command.arg("describe").arg(scratch);
    let (child, lines) =
        start(&mut command).map_err(|source| Error::Program { path: program.to_owned(), source })?;
    let never = AtomicBool::new(false);
    let heard = hear(&lines, Some(Instant::now() + DESCRIBE_TIMEOUT), &never);
    end(child);
    let system = heard.into_iter().flatten().find_map(|line| match line {
        Line::System(system) => Some(system),
        _ => None,
    });
    system.ok_or_else(|| Error::Describe { reason: "it ended without an answer".to_owned() })
}

/// Runs one trial to its end; `None` when it was interrupted, which leaves nothing of it behind.
pub(crate) fn trial(
    program: &Path,
    order: &Order,
    interrupt: &AtomicBool,
) -> Result<Option<Vec<Line>>, Error> {
    let begun = Instant::now();
    let failed = |source| Error::Program { path: program.to_owned(), source };
    let mut command = Command::new(program);
    command.arg("keep");
    let (mut child, lines) = start(&mut command).map_err(failed)?;
    if let Some(stdin) = &mut child.stdin {
        let asked = serde_json::to_string(order).map_err(io::Error::from).and_then(|mut text| {
            text.push('\n');
            stdin.write_all(text.as_bytes())
        });
        // A keeper that is gone already is told by its silence below.
        drop(asked);
    }
    let timeout = Duration::try_from_secs_f64(order.timeout_seconds).unwrap_or(Duration::MAX);
    // A time-out beyond all calendars is none.
    let heard = hear(&lines, begun.checked_add(timeout.saturating_add(KEEPER_GRACE)), interrupt);
    end(child);
    if interrupt.load(Ordering::Relaxed) {
        return Ok(None);
    }
    Ok(Some(match heard {
        Some(lines) if lines.iter().any(|line| matches!(line, Line::Trial(_))) => lines,
        Some(_) => vec![silence(order, begun, "the keeper of the trial was killed")],
        None => vec![silence(order, begun, "the keeper of the trial did not answer in time")],
    }))
}

/// Starts the program, with an ear for all that it says.
fn start(command: &mut Command) -> io::Result<(Child, Receiver<Vec<Line>>)> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    sys::process::lead_group(command);
    let mut child = command.spawn()?;
    let (sender, receiver) = channel();
    let Some(stdout) = child.stdout.take() else { return Ok((child, receiver)) };
    let listening = Builder::new().spawn(move || {
        let lines = BufReader::new(stdout).lines().map_while(Result::ok);
        let _ = sender.send(lines.filter_map(|line| record::parse_line(&line).ok()).collect());
    });
    match listening {
        Ok(_) => Ok((child, receiver)),
        Err(error) => {
            end(child);
            Err(error)
        }
    }
}

/// Waits for all that the child says; `None` when the deadline passed or the user wants to stop.
fn hear(lines: &Receiver<Vec<Line>>, deadline: Option<Instant>, interrupt: &AtomicBool) -> Option<Vec<Line>> {
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

fn silence(order: &Order, begun: Instant, reason: &str) -> Line {
    Line::Trial(Trial {
        order: order.clone(),
        started_seconds: 0.0,
        elapsed_seconds: begun.elapsed().as_secs_f64(),
        clock: None,
        outcome: Outcome::Crashed { n: 0, reason: reason.to_owned() },
        checks: Vec::new(),
        activity: std::collections::BTreeMap::new(),
        warnings: Vec::new(),
    })
}

//! Guards the command of a system: starts it, and lets nothing outlive it that it started. A command that
//! stands before the trial program may hang, leave processes behind, or hear nothing of the runner's end.

use std::io;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::thread::Builder;
use std::time::Duration;

use crate::Done;

/// How long the command may take to end by itself once nobody wants it. Shorter than the runner's patience
/// with this process.
const PATIENCE: Duration = Duration::from_secs(2);

/// What the guard waits for.
enum News {
    /// The command has ended.
    Ended(io::Result<ExitStatus>),
    /// The runner has closed our standard input: nobody wants the command any more.
    Abandoned,
}

/// Runs the command to its end, or to that of standard input, which is handed on to it. The words must be
/// UTF-8, as they are in the record.
pub(crate) fn guard(program: &str, arguments: &[&str]) -> Done {
    sys::process::adopt_orphans();
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped());
    sys::process::lead_group(&mut command);
    let mut child = command.spawn().map_err(|error| format!("cannot start {program}: {error}"))?;
    let group = child.id();
    let stdin = child.stdin.take();
    let (sender, receiver) = channel();
    let tell_end = sender.clone();
    let listening = hand_on(stdin, sender).and_then(|()| {
        Builder::new().spawn(move || {
            let _ = tell_end.send(News::Ended(child.wait()));
        })
    });
    let ended = match listening.map(|_| receiver.recv()) {
        Ok(Ok(News::Ended(status))) => Some(status),
        // Without its standard input the trial program ends by itself, and the command with it.
        Ok(Ok(News::Abandoned)) => match receiver.recv_timeout(PATIENCE) {
            Ok(News::Ended(status)) => Some(status),
            _ => None,
        },
        _ => None,
    };
    // Where orphans cannot be adopted, the group is what is left to go by.
    sys::process::kill_group(group);
    sys::process::kill_descendants();
    match ended {
        Some(Ok(status)) if status.success() => Ok(()),
        Some(Ok(status)) => Err(format!("{program}: {}", sys::process::ending(status)).into()),
        Some(Err(error)) => Err(format!("cannot wait for {program}: {error}").into()),
        None => Err(format!("{program} did not end by itself and was killed").into()),
    }
}

/// Hands standard input on to the command, until one of the two is closed.
fn hand_on(to: Option<std::process::ChildStdin>, sender: Sender<News>) -> io::Result<()> {
    let Some(mut to) = to else { return Ok(()) };
    Builder::new().spawn(move || {
        let mut from = io::stdin().lock();
        if io::copy(&mut from, &mut to).is_err() {
            // The command reads no more; what counts is how long we are wanted.
            let _ = io::copy(&mut from, &mut io::sink());
        }
        drop(to);
        let _ = sender.send(News::Abandoned);
    })?;
    Ok(())
}

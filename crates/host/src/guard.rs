//! Guards the command of a system: starts it, and kills everything that it started. Such a command may hang,
//! leave processes behind, or not detect the end of the process that started it.

use std::io;
use std::process::{ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::thread::Builder;
use std::time::Duration;

use crate::pipe;

/// How long a command that leads to a shell may take to end by itself once its standard input is closed: the
/// agent behind it ends its processes and removes its folder meanwhile. Shorter than the time in which a
/// session waits for the guard.
pub(crate) const GRACE: Duration = Duration::from_secs(4);

const USAGE: &str = "the guard is started with SECONDS COMMAND";

/// The events that the guard waits for.
enum News {
    /// The command has ended.
    Exited(io::Result<ExitStatus>),
    /// Our standard input is closed: the command is not needed any more.
    Abandoned,
}

/// Runs a command to its end, or to that of standard input, which is handed on to it. All that it started is
/// killed then. The words are the time of grace in seconds, the program and its arguments.
///
/// # Errors
/// How the command ended, unless it was well, as a text.
pub fn guard(words: &[&str]) -> Result<(), String> {
    let [grace, program, arguments @ ..] = words else { return Err(USAGE.to_owned()) };
    let grace = Duration::from_secs(grace.parse().map_err(|_| USAGE.to_owned())?);
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
            let _ = tell_end.send(News::Exited(child.wait()));
        })
    });
    let ended = match listening.map(|_| receiver.recv()) {
        Ok(Ok(News::Exited(status))) => Some(status),
        // Without its standard input the agent ends by itself, and the command with it.
        Ok(Ok(News::Abandoned)) => match receiver.recv_timeout(grace) {
            Ok(News::Exited(status)) => Some(status),
            _ => None,
        },
        _ => None,
    };
    // Where orphans cannot be adopted, only the process group is known.
    sys::process::kill_group(group);
    let _ = sys::process::kill_descendants();
    match ended {
        Some(Ok(status)) if status.success() => Ok(()),
        Some(Ok(status)) => Err(format!("{program}: {}", sys::process::ending(status))),
        Some(Err(error)) => Err(format!("cannot wait for {program}: {error}")),
        None => Err(format!("{program} did not end by itself and was killed")),
    }
}

/// Hands standard input on to the command, until it ends. A command that does not read delays nothing: the
/// end of our input is noticed all the same.
fn hand_on(to: Option<ChildStdin>, sender: Sender<News>) -> io::Result<()> {
    let Some(to) = to else { return Ok(()) };
    let to = pipe::writer(to)?;
    let hand_on = move |bytes: &[u8]| {
        // The command may have closed its input; the guard goes on until its own input ends.
        let _ = to.send(pipe::whole(bytes.to_vec()));
        true
    };
    let reader = pipe::reader(io::stdin(), hand_on)?;
    Builder::new().spawn(move || {
        let _ = reader.join();
        let _ = sender.send(News::Abandoned);
    })?;
    Ok(())
}

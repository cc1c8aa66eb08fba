//! A server of this system that is started for one trial: its programs, its log, its end.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use workload::ProgramEnded;

/// How long the server may take until it accepts connections.
const START: Duration = Duration::from_secs(60);
/// How long it may take to end after the request.
const END: Duration = Duration::from_secs(10);
/// How long a server may take to be gone after its connections.
const MOMENT: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(5);

/// How much of its log is reported.
const LOG_LINES: usize = 3;

/// A server. Dropped, it ends.
#[derive(Debug)]
pub(crate) struct Instance {
    what: Daemon,
    child: Child,
    log: PathBuf,
}

/// The kind of a server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Daemon {
    /// In reasons: "the database".
    pub(crate) name: &'static str,
    /// The signal after which it ends at once, and its children with it.
    pub(crate) end: fn(u32) -> io::Result<()>,
}

/// How long a killed server and its children may take until they write no more.
const LAST_WRITES: Duration = Duration::from_secs(10);

/// Makes a folder, in place of the one that a killed trial has left there.
///
/// # Errors
/// Those of mkdir(2), and of rmdir(2) when they last.
pub(crate) fn fresh_folder(folder: &Path) -> io::Result<()> {
    let begun = Instant::now();
    loop {
        match fs::remove_dir_all(folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound && begun.elapsed() > LAST_WRITES => {
                return Err(error);
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => thread::sleep(PAUSE),
            _ => return fs::create_dir(folder),
        }
    }
}

/// Executes a command that prepares the folder of a server, as the user that the server will have.
///
/// # Errors
/// Its last output, where it fails.
pub(crate) fn prepare(command: &mut Command) -> io::Result<()> {
    sys::process::confine(command)?;
    let output = command.stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(());
    }
    let text = [output.stdout, output.stderr].concat();
    let reason = last_lines(&String::from_utf8_lossy(&text));
    let name = command.get_program().display().to_string();
    Err(io::Error::other(format!("{name} failed, {}: {reason}", sys::process::ending(output.status))))
}

impl Instance {
    /// Starts a server and waits until it serves a first client.
    ///
    /// # Errors
    /// The end of its own log, where it does not start.
    pub(crate) fn start(
        what: Daemon,
        command: &mut Command,
        log: &Path,
        serve: impl Fn() -> io::Result<()>,
    ) -> io::Result<Instance> {
        sys::process::confine(command)?;
        let output = fs::File::create(log)?;
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
        let child = command.spawn()?;
        let mut instance = Instance { what, child, log: log.to_owned() };
        let begun = Instant::now();
        while let Err(refused) = serve() {
            if let Some(ending) = instance.ended() {
                return Err(ending);
            }
            if begun.elapsed() > START {
                let text = last_lines(&fs::read_to_string(log).unwrap_or_default());
                let reason = format!("{} accepts no connection ({refused}): {text}", what.name);
                return Err(io::Error::other(reason));
            }
            thread::sleep(PAUSE);
        }
        Ok(instance)
    }

    /// How it ended and its last output, where it ends within a moment: a connection can be closed before.
    pub(crate) fn ending(&mut self) -> Option<io::Error> {
        let begun = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) && begun.elapsed() < MOMENT {
            thread::sleep(PAUSE);
        }
        self.ended()
    }

    fn ended(&mut self) -> Option<io::Error> {
        let status = self.child.try_wait().ok().flatten()?;
        let text = last_lines(&fs::read_to_string(&self.log).unwrap_or_default());
        let ending = sys::process::ending(status);
        Some(io::Error::other(ProgramEnded(format!("{} has ended, {ending}: {text}", self.what.name))))
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // Children that outlive a SIGKILL take a moment to end.
        let _ = (self.what.end)(self.child.id());
        let begun = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) && begun.elapsed() < END {
            thread::sleep(PAUSE);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// For a response that a server must not give.
pub(crate) fn protocol(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.into())
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    match lines.len() {
        0 => "it said nothing".to_owned(),
        count => lines[count.saturating_sub(LOG_LINES)..].join(" / "),
    }
}

//! One execution of the command of a user: its words, its input and output, and the processes that it leaves
//! behind.

use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, PipeReader, PipeWriter, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver, SyncSender};

use sys::process::{Executed, Making, ProgramLauncher};
use workload::{ProgramEnded, TrialError};

const SHELL: &str = "/bin/sh";
/// So much of the end of standard error is kept for an error message.
const STDERR_BYTES: usize = 400;
/// So much is read from a pipe at a time: all that it holds on Linux.
const PIPE_BYTES: usize = 64 << 10;

/// The options of the user.
pub(super) struct Given {
    pub(super) command: String,
    pub(super) by_shell: bool,
    pub(super) prepare: Option<String>,
    pub(super) cleanup: Option<String>,
    pub(super) stdin: Option<String>,
    /// Whether a checksum of its standard output is wanted.
    pub(super) reads_output: bool,
    pub(super) scratch: PathBuf,
}

/// The command at one level.
pub(super) struct Subject {
    /// As the user would write it.
    pub(super) text: String,
    program: Program,
    /// The program `true`, started in the same way; `None` where there is none.
    start: Option<Program>,
    prepare: Option<String>,
    cleanup: Option<String>,
    stdin: PathBuf,
    pub(super) reads_output: bool,
    pub(super) scratch: PathBuf,
    stdout: Drain,
    stderr: Drain,
}

struct Program {
    path: PathBuf,
    words: Vec<String>,
}

/// The output of an execution, and whether it left processes behind.
pub(super) struct Output {
    pub(super) bytes: u64,
    /// Zero where none is wanted.
    pub(super) checksum: u64,
    /// The end of standard error, as one line.
    pub(super) stderr: String,
    /// Processes that were running when the command had ended.
    pub(super) left_processes: bool,
    /// Bytes and checksum of a later execution that printed something else.
    pub(super) differs: Option<(u64, u64)>,
}

impl Given {
    /// The command at this level.
    ///
    /// # Errors
    /// [`TrialError`] for a program that is not there.
    pub(super) fn at(&self, n: u64) -> Result<Subject, TrialError> {
        let fill = |text: &str| {
            text.replace("{n}", &n.to_string()).replace("{scratch}", &self.scratch.to_string_lossy())
        };
        let text = fill(&self.command);
        let program = match self.by_shell {
            true => Program::of_shell(&text),
            false => Program::from_words(words(&text)?)?,
        };
        let start = match self.by_shell {
            true => Some(Program::of_shell("true")),
            false => Program::from_words(vec!["true".to_owned()]).ok(),
        };
        let drain = |kept_bytes| {
            Drain::start(kept_bytes).map_err(|error| TrialError {
                attempted: "to start a thread that reads the output of the command".to_owned(),
                error,
            })
        };
        Ok(Subject {
            stdout: drain(0)?,
            stderr: drain(STDERR_BYTES)?,
            program,
            start,
            prepare: self.prepare.as_deref().map(fill),
            cleanup: self.cleanup.as_deref().map(fill),
            stdin: self.stdin.as_deref().map_or_else(|| "/dev/null".into(), |path| fill(path).into()),
            reads_output: self.reads_output,
            scratch: self.scratch.clone(),
            text,
        })
    }
}

/// The words of a command, as sh(1) would split it.
fn words(text: &str) -> Result<Vec<String>, TrialError> {
    let refused = |reason: &str| TrialError {
        attempted: format!("to split {text} into words"),
        error: io::Error::new(io::ErrorKind::InvalidInput, reason.to_owned()),
    };
    match shlex::split(text) {
        None => Err(refused("a quotation mark is not closed")),
        Some(words) if words.is_empty() => Err(refused("there are none")),
        Some(words) => Ok(words),
    }
}

impl Program {
    fn of_shell(text: &str) -> Program {
        let words = ["sh", "-c", text].map(str::to_owned).to_vec();
        Program { path: SHELL.into(), words }
    }

    /// The program that execvp(3) would find, so that looking for it is not part of the time.
    fn from_words(words: Vec<String>) -> Result<Program, TrialError> {
        let name = words.first().map_or("", String::as_str);
        let path = match name.contains('/') {
            true => Some(PathBuf::from(name)).filter(|path| path.is_file()),
            false => {
                let folders = std::env::var_os("PATH").unwrap_or_default();
                std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file())
            }
        };
        match path {
            Some(path) => Ok(Program { path, words }),
            None => {
                let place = if name.contains('/') { "there is no such file" } else { "it is not in PATH" };
                let hint = if name.contains(char::is_whitespace) {
                    "; a command is one argument, and each further one follows its own --vs"
                } else if name.contains(['|', '>', '<', ';', '$', '&']) || BUILTINS.contains(&name) {
                    "; --shell has sh(1) execute it"
                } else {
                    ""
                };
                Err(TrialError {
                    attempted: format!("to find the program {name:?}"),
                    error: io::Error::other(format!("{place}{hint}")),
                })
            }
        }
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.arg0(self.words.first().map_or("", String::as_str)).args(self.words.iter().skip(1));
        command
    }
}

/// Commands that only a shell has.
const BUILTINS: [&str; 6] = ["cd", "for", "while", "if", "exec", "ulimit"];

impl Subject {
    /// The commands before an execution.
    pub(super) fn prepare(&self) -> io::Result<()> {
        beside("--prepare", self.prepare.as_deref())
    }

    /// The commands after an execution.
    pub(super) fn clean_up(&self) -> io::Result<()> {
        beside("--cleanup", self.cleanup.as_deref())
    }

    /// Executes the command to its end, and kills the processes that it leaves behind.
    pub(super) fn execute(
        &self,
        launcher: &ProgramLauncher,
        making: Making,
    ) -> io::Result<(Executed, Output)> {
        let mut command = self.program.command();
        let stdin = File::open(&self.stdin).map_err(|error| named(&self.stdin, &error))?;
        let hasher = self.reads_output.then(DefaultHasher::new);
        // The threads wait for input before the command starts, and this process holds the pipes open until
        // its end is known: neither their start nor their wake-up takes time from it.
        let (printing, warning) = (self.stdout.open(hasher)?, self.stderr.open(None)?);
        command.stdin(stdin).stdout(printing.try_clone()?).stderr(warning.try_clone()?);
        let running = launcher.start(&mut command, making).map_err(|error| match error.kind() {
            // The system refuses a process: a limit, and no fault of the command.
            io::ErrorKind::WouldBlock | io::ErrorKind::OutOfMemory | io::ErrorKind::Unsupported => error,
            _ => named(&self.program.path, &error),
        })?;
        drop(command);
        let executed = launcher.wait(&running)?;
        // Before the pipes end: processes that are left may hold them.
        let left_processes = sys::process::kill_descendants();
        drop((printing, warning));
        let (printed, warned) = (self.stdout.finish()?, self.stderr.finish()?);
        let stderr = String::from_utf8_lossy(&warned.tail).trim().replace('\n', " / ");
        let (bytes, checksum) = (printed.bytes, printed.checksum);
        Ok((executed, Output { bytes, checksum, stderr, left_processes, differs: None }))
    }

    /// Executes `true`, and returns its ticks.
    pub(super) fn start(&self, launcher: &ProgramLauncher) -> Option<u64> {
        let mut command = self.start.as_ref()?.command();
        // Opened here, as the files of the command are, and not by the call that is timed.
        let null = File::options().read(true).write(true).open("/dev/null").ok()?;
        command.stdin(null.try_clone().ok()?).stdout(null.try_clone().ok()?).stderr(null);
        let running = launcher.start(&mut command, Making::Spawned).ok()?;
        launcher
            .wait(&running)
            .ok()
            .filter(|executed| executed.status.success())
            .map(|executed| executed.ticks)
    }
}

/// Executes a command for preparation or cleanup by a shell.
fn beside(option: &str, text: Option<&str>) -> io::Result<()> {
    let Some(text) = text else { return Ok(()) };
    let mut command = Program::of_shell(text).command();
    let output = command.stdin(Stdio::null()).output()?;
    let _ = sys::process::kill_descendants();
    if output.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&output.stderr).trim().replace('\n', " / ");
    let ending = sys::process::ending(output.status);
    Err(io::Error::other(ProgramEnded(format!("{option} '{text}': {ending}; its standard error: {stderr}"))))
}

/// The error of a file with its name.
fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::other(ProgramEnded(format!("{}: {error}", path.display())))
}

/// The bytes that came through a pipe.
#[derive(Default)]
struct Drained {
    bytes: u64,
    checksum: u64,
    tail: Vec<u8>,
}

/// A thread that reads pipes to their ends, one after the other, so that a command never waits for a reader.
struct Drain {
    pipes: SyncSender<(PipeReader, Option<DefaultHasher>)>,
    /// `None` when it waits for input, then the input.
    answers: Receiver<Option<Drained>>,
}

impl Drain {
    /// A thread that keeps so much of the end.
    fn start(kept_bytes: usize) -> io::Result<Drain> {
        let (pipes, to_drain) = mpsc::sync_channel::<(PipeReader, Option<DefaultHasher>)>(1);
        let (to_answer, answers) = mpsc::sync_channel(2);
        std::thread::Builder::new().spawn(move || {
            let mut buffer = vec![0; PIPE_BYTES];
            for (pipe, hasher) in to_drain {
                // An answer that nobody waits for is that of a trial which has failed.
                let _ = to_answer.send(None);
                let _ = to_answer.send(Some(drained(pipe, hasher, &mut buffer, kept_bytes)));
            }
        })?;
        Ok(Drain { pipes, answers })
    }

    /// The end of a pipe for a command; the thread waits for its input.
    fn open(&self, hasher: Option<DefaultHasher>) -> io::Result<PipeWriter> {
        let (pipe, writer) = io::pipe()?;
        let ended = || io::Error::other("the thread that reads a pipe has ended");
        self.pipes.send((pipe, hasher)).map_err(|_| ended())?;
        // An execution that could not be started has left its answer.
        while self.answers.recv().map_err(|_| ended())?.is_some() {}
        Ok(writer)
    }

    /// The bytes that came through the pipe; all of its ends are closed.
    fn finish(&self) -> io::Result<Drained> {
        self.answers.recv().ok().flatten().ok_or_else(|| io::Error::other("a pipe could not be read"))
    }
}

fn drained(
    mut pipe: PipeReader,
    mut hasher: Option<DefaultHasher>,
    buffer: &mut [u8],
    kept_bytes: usize,
) -> Drained {
    let mut drained = Drained::default();
    loop {
        match pipe.read(buffer) {
            Ok(0) => break,
            Ok(count) => {
                let read = &buffer[..count];
                drained.bytes += count as u64;
                if let Some(hasher) = &mut hasher {
                    hasher.write(read);
                }
                drained.tail.extend_from_slice(&read[count.saturating_sub(kept_bytes)..]);
                let surplus = drained.tail.len().saturating_sub(kept_bytes);
                drained.tail.drain(..surplus);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    drained.checksum = hasher.map_or(0, |hasher| hasher.finish());
    drained
}

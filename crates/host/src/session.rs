//! A system behind a command, through which roles start there. No folder need be shared with it: programs and
//! files are sent through the command, each once.
//!
//! The command is started once and stays: `ssh` logs in once, a virtual machine boots once. Behind it an
//! agent starts a fresh process for every role, so a trial is a fresh process there as it is here.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::bootstrap::{self, AGENT, CommandRefusal, READY};
use crate::message::{self, Reply, Request};
use crate::pipe::{Pieces, SentFile, StderrTail, whole, with_stderr};
use crate::process::{Ending, Event, Input};
use crate::{Deadline, Error, NoReply, Process, TRIAL, guard, lock};

/// A line to another machine carries at least so much in a second; a deadline grows with the amount that is
/// sent.
const LINE_BYTES_PER_SECOND: u64 = 100 << 10;

/// How long the command may take to end once its input is closed: the guard's grace, and the time of a kill.
const GRACE: Duration = guard::GRACE.saturating_add(Duration::from_secs(2));

/// An emulator writes each byte of a serial line by itself. If each byte woke us, that would cost its
/// processor more than the byte; a message comes later by less than this.
const GUEST_PAUSE: Duration = Duration::from_micros(500);

/// The role of the command, in errors.
const COMMAND: &str = "the command of the system";

const OTHER_AGENT: &str = "its agent is another program than this osdyno contains";

const CHANGED: &str = "its program was changed on the way; the command must hand on all bytes as they are, \
                       so it must not make a terminal (as ssh -t does)";

/// Where roles are started.
#[derive(Debug)]
pub enum Host {
    /// On this machine, directly.
    Local,
    /// Behind a command.
    Remote(Box<HostSession>),
}

impl Host {
    /// Where an agent makes its folder, unless the caller names others: folders that exist on most systems
    /// and allow execution on some.
    pub const FOLDERS: [&str; 5] = ["$TMPDIR", "/tmp", "/var/tmp", "/dev/shm", "$HOME"];

    /// The place behind a command; without one it is here. `guard` is a program that calls
    /// [`guard`](crate::guard) in the role `guard COMMAND…`, and `agent` one that calls
    /// [`agent`](crate::agent) in the role `agent FOLDER`. The agent works in a folder of its own, in the
    /// first of `folders` that exists there and allows execution; one that begins with `$` is a variable
    /// there.
    ///
    /// # Errors
    /// When the command does not start, or the agent behind it does not begin.
    pub fn open(
        prefix: &[String],
        guard: &Path,
        agent: &Path,
        folders: &[String],
        deadline: Deadline<'_>,
    ) -> Result<Host, Error> {
        if prefix.is_empty() {
            return Ok(Host::Local);
        }
        let session = HostSession::open(prefix, guard, agent, folders, deadline)?;
        Ok(Host::Remote(Box::new(session)))
    }

    /// The guest that a command boots: an agent runs there from the start, the same program as `agent`, and
    /// programs of the same names and contents may be there already. The command is killed in the end, for
    /// all that a guest has is in memory.
    ///
    /// # Errors
    /// When the command does not start, or the agent in the guest does not begin.
    pub fn open_guest(
        command: &[String],
        guard: &Path,
        agent: &Path,
        deadline: Deadline<'_>,
    ) -> Result<Host, Error> {
        let command = guarded(command, guard, Duration::ZERO);
        let start = || Process::start_gathering("the guest", command, GUEST_PAUSE);
        Host::with_own_agent(start, agent, deadline)
    }

    /// The system in which a command starts the agent itself: the same program as `agent`, where no shell
    /// could receive one.
    ///
    /// # Errors
    /// When the command does not start, or the agent does not begin.
    pub fn open_agent(
        command: &[String],
        guard: &Path,
        agent: &Path,
        deadline: Deadline<'_>,
    ) -> Result<Host, Error> {
        let command = guarded(command, guard, guard::GRACE);
        Host::with_own_agent(|| Process::start(COMMAND, command), agent, deadline)
    }

    /// Starts a command behind which an agent is from the start.
    fn with_own_agent(
        start: impl FnOnce() -> Result<Process, Error>,
        agent: &Path,
        deadline: Deadline<'_>,
    ) -> Result<Host, Error> {
        let crc32 = open(agent)?.crc32;
        let mut command = start()?.with_grace(GRACE);
        let folder = hello(&mut command, crc32, OTHER_AGENT, deadline)?;
        Ok(Host::Remote(Box::new(HostSession::listen(command, folder, true)?)))
    }

    /// Whether it has ended: its command has ended or sent invalid output.
    pub fn is_over(&self) -> bool {
        matches!(self, Host::Remote(session) if session.is_over())
    }

    /// The agent's folder there; `None` for this machine, where there is no agent.
    pub fn folder(&self) -> Option<&str> {
        match self {
            Host::Local => None,
            Host::Remote(session) => Some(&session.folder),
        }
    }

    /// The end of the command's own standard error. Where the agent was there from the start, that is the
    /// console of a boot, which is read only where something fails.
    pub fn stderr(&self) -> String {
        match self {
            Host::Remote(session) if !session.has_own_agent => session.command.stderr(),
            _ => String::new(),
        }
    }

    /// Sends a file, unless it was sent before; where it is there. On this machine the path is unchanged.
    ///
    /// # Errors
    /// When it cannot be read here or written there.
    pub fn send_file(&mut self, file: &Path, deadline: Deadline<'_>) -> Result<PathBuf, Error> {
        match self {
            Host::Local => Ok(file.to_owned()),
            Host::Remote(session) => Ok(session.send_file(file, deadline)?.into()),
        }
    }

    /// Makes a program play the role that the words name; the program is sent there first if need be. `role`
    /// names it in errors.
    ///
    /// # Errors
    /// When it cannot be sent or started.
    pub fn start(
        &mut self,
        role: &str,
        program: &Path,
        words: &[&str],
        deadline: Deadline<'_>,
    ) -> Result<Process, Error> {
        match self {
            Host::Local => Process::start(role, crate::role(program, words)),
            Host::Remote(session) => session.start(role, program, words, deadline),
        }
    }
}

/// A command at work, with an agent behind it. Dropped, both end, with all that the agent started, and the
/// agent's folder is removed.
#[derive(Debug)]
pub struct HostSession {
    command: Process,
    wire: Arc<Wire>,
    replies: Receiver<Result<u32, String>>,
    folder: String,
    /// The agent was there from the start, so files may be there that were not sent.
    has_own_agent: bool,
    /// The files that are there, with their names.
    sent: HashMap<PathBuf, String>,
    streams: u32,
}

impl HostSession {
    fn open(
        prefix: &[String],
        guard: &Path,
        agent: &Path,
        folders: &[String],
        deadline: Deadline<'_>,
    ) -> Result<HostSession, Error> {
        let program = open(agent)?;
        let mut command = guarded(prefix, guard, guard::GRACE);
        command.arg("sh");
        let mut command = Process::start(COMMAND, command)?.with_grace(GRACE);
        command.send_raw(bootstrap::script(folders, program.bytes).into_bytes());
        let first = command.receive_bytes(deadline)?;
        if let Some(refusal) = CommandRefusal::read(&first) {
            return Err(Error::NoShell(refusal));
        }
        if first != READY {
            return Err(command.no_reply(NoReply::Unexpected("not that of a shell that is ready".to_owned())));
        }
        let SentFile { bytes, crc32, .. } = program;
        command.send_pieces(Box::new(program.pieces()));
        let folder = hello(&mut command, crc32, CHANGED, deadline.longer_by(sending_time(bytes)))?;
        let mut session = HostSession::listen(command, folder, false)?;
        // A program that plays all roles is sent once.
        session.sent.insert(agent.to_owned(), AGENT.to_owned());
        Ok(session)
    }

    /// Hands on the messages of the command, in a thread, until it ends.
    fn listen(mut command: Process, folder: String, has_own_agent: bool) -> Result<HostSession, Error> {
        let input = match std::mem::replace(&mut command.input, Input::Closed) {
            Input::Pipe(pipe) => Some(pipe),
            _ => None,
        };
        let wire = Arc::new(Wire { input: Mutex::new(input), routes: Mutex::default() });
        let (replying, replies) = channel();
        let (relay, relayed) = channel();
        let mut incoming = CommandOutput {
            events: std::mem::replace(&mut command.events, relayed),
            frames: std::mem::take(&mut command.frames),
        };
        let (listening, stderr) = (Arc::clone(&wire), command.stderr.clone());
        let thread = std::thread::Builder::new().spawn(move || {
            let reason = incoming.hand_on(&listening, &replying);
            let reason = with_stderr(&reason, &stderr.whole_text());
            // The session is over first: the next process may be started once the end of these is reported.
            lock(&listening.input).take();
            for (_, route) in lock(&listening.routes).drain() {
                route.stderr.close();
                let _ = route.events.send(Event::Closed(Some(Ending::failed(reason.clone()))));
            }
            let _ = relay.send(Event::Closed(None));
        });
        match thread {
            Ok(_) => {
                let (sent, streams) = (HashMap::new(), 0);
                Ok(HostSession { command, wire, replies, folder, has_own_agent, sent, streams })
            }
            Err(source) => Err(Error::Start { command: "a thread for the session".to_owned(), source }),
        }
    }

    fn is_over(&self) -> bool {
        lock(&self.wire.input).is_none()
    }

    fn send_file(&mut self, file: &Path, deadline: Deadline<'_>) -> Result<String, Error> {
        let name = match self.sent.get(file) {
            Some(name) => name.clone(),
            None => self.send_new_file(file, deadline)?,
        };
        Ok(format!("{}/{name}", self.folder))
    }

    fn send_new_file(&mut self, file: &Path, deadline: Deadline<'_>) -> Result<String, Error> {
        let content = open(file)?;
        let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned();
        let (bytes, crc32) = (content.bytes as u64, content.crc32);
        let whole = Request::Whole { name: name.clone(), bytes, crc32 };
        let attempted = format!("take {name}");
        let is_there = self.has_own_agent && self.ask(&whole, &attempted, deadline).is_ok();
        if !is_there {
            let deadline = deadline.longer_by(sending_time(content.bytes));
            let request = Request::Piece { name: name.clone() };
            let frames = content.pieces().map(move |piece| message::frame(&request, &piece));
            self.wire.send_pieces(Box::new(frames));
            self.ask(&whole, &attempted, deadline)?;
        }
        self.sent.insert(file.to_owned(), name.clone());
        Ok(name)
    }

    fn start(
        &mut self,
        role: &str,
        program: &Path,
        words: &[&str],
        deadline: Deadline<'_>,
    ) -> Result<Process, Error> {
        let program = self.send_file(program, deadline)?;
        self.streams += 1;
        let (stream, stderr) = (self.streams, StderrTail::default());
        let (sender, events) = channel();
        lock(&self.wire.routes).insert(stream, Route { events: sender.clone(), stderr: stderr.clone() });
        let words = [TRIAL].iter().chain(words).map(|&word| word.to_owned()).collect();
        let attempted = format!("start {program}");
        let number = self.ask(&Request::Start { stream, program, words }, &attempted, deadline)?;
        let stream = Stream { wire: Arc::clone(&self.wire), stream, number };
        Ok(Process::of_session(role, stream, (sender, events), stderr))
    }

    /// Requests of the agent are made one after the other, so the next reply is the reply to this one.
    fn ask(&mut self, request: &Request, attempted: &str, deadline: Deadline<'_>) -> Result<u32, Error> {
        self.wire.send(request, &[]);
        match deadline.wait(&self.replies) {
            Ok(Ok(number)) => Ok(number),
            Ok(Err(reason)) => Err(Error::Refused { attempted: attempted.to_owned(), reason }),
            Err(reason) => {
                // A late reply would be taken for that to the next request.
                lock(&self.wire.input).take();
                Err(self.command.no_reply(reason))
            }
        }
    }
}

impl Drop for HostSession {
    fn drop(&mut self) {
        // At the end of its input the agent ends, and the command with it.
        lock(&self.wire.input).take();
    }
}

/// The messages of the command.
struct CommandOutput {
    events: Receiver<Event>,
    frames: crate::Frames,
}

impl CommandOutput {
    /// Hands on all messages; returns why they end.
    fn hand_on(&mut self, wire: &Wire, replies: &Sender<Result<u32, String>>) -> String {
        loop {
            let frame = match self.frames.next_frame() {
                Ok(Some(frame)) => frame,
                Ok(None) => match self.events.recv() {
                    Ok(Event::Output(bytes)) => {
                        self.frames.push(&bytes);
                        continue;
                    }
                    Ok(Event::Interrupted) => continue,
                    Ok(Event::Closed(_)) | Err(_) => return "the command of the system has ended".to_owned(),
                },
                Err(error) => return format!("the command of the system replied with {error}"),
            };
            match message::parse(&frame) {
                Ok((Reply::Packed { stream }, body)) => match message::unpack(body) {
                    Some(bytes) => deliver(wire, replies, Reply::Output { stream }, &bytes),
                    None => return "the command of the system sent bytes that were not packed".to_owned(),
                },
                Ok((reply, body)) => deliver(wire, replies, reply, body),
                Err(error) => return format!("the command of the system sent an unexpected reply: {error}"),
            }
        }
    }
}

fn deliver(wire: &Wire, replies: &Sender<Result<u32, String>>, reply: Reply, body: &[u8]) {
    // Messages for a dropped process or session are not needed.
    match reply {
        Reply::Done { process } => drop(replies.send(Ok(process))),
        Reply::Refused { reason } => drop(replies.send(Err(reason))),
        Reply::Output { stream } => {
            if let Some(route) = lock(&wire.routes).get(&stream) {
                let _ = route.events.send(Event::Output(body.to_vec()));
            }
        }
        Reply::Stderr { stream } => {
            if let Some(route) = lock(&wire.routes).get(&stream) {
                route.stderr.push(body);
            }
        }
        Reply::Exited { stream, ending } => {
            if let Some(route) = lock(&wire.routes).remove(&stream) {
                route.stderr.close();
                let _ = route.events.send(Event::Closed(Some(ending)));
            }
        }
        Reply::Hello { .. } | Reply::Packed { .. } => {}
    }
}

/// A command behind its guard.
fn guarded(command: &[String], guard: &Path, grace: Duration) -> Command {
    let mut words = crate::role(guard, &["guard", &grace.as_secs().to_string()]);
    words.args(command);
    words
}

/// The folder of the agent, which says first of all that it is the program with that checksum.
fn hello(command: &mut Process, crc32: u32, other: &str, deadline: Deadline<'_>) -> Result<String, Error> {
    let hello = command.receive_bytes(deadline)?;
    let unexpected = match message::parse(&hello) {
        Ok((Reply::Hello { crc32: own, folder }, _)) if own == crc32 => return Ok(folder),
        Ok((Reply::Hello { .. }, _)) => other.to_owned(),
        Ok((reply, _)) => format!("{reply:?}"),
        Err(error) => error.to_string(),
    };
    Err(command.no_reply(NoReply::Unexpected(unexpected)))
}

fn open(file: &Path) -> Result<SentFile, Error> {
    SentFile::open(file).map_err(|source| Error::Read { path: file.to_owned(), source })
}

fn sending_time(bytes: usize) -> Duration {
    Duration::from_secs(bytes as u64 / LINE_BYTES_PER_SECOND)
}

/// The shared part of all processes of a session.
#[derive(Debug)]
struct Wire {
    /// Nothing once the session is closed.
    input: Mutex<Option<Sender<Pieces>>>,
    routes: Mutex<HashMap<u32, Route>>,
}

/// Where the output of a process goes.
#[derive(Debug)]
struct Route {
    events: Sender<Event>,
    stderr: StderrTail,
}

/// One process of a session.
#[derive(Debug)]
pub(crate) struct Stream {
    wire: Arc<Wire>,
    pub(crate) stream: u32,
    /// The number of the process there.
    pub(crate) number: u32,
}

impl Stream {
    pub(crate) fn input(&self, bytes: &[u8]) {
        self.wire.send(&Request::Input { stream: self.stream }, bytes);
    }

    pub(crate) fn close(&self) {
        self.wire.send(&Request::Close { stream: self.stream }, &[]);
    }

    pub(crate) fn kill(&self) {
        self.wire.send(&Request::Kill { stream: self.stream }, &[]);
    }
}

impl Wire {
    /// When the session is over, its processes learn it from their events.
    fn send(&self, request: &Request, body: &[u8]) {
        self.send_pieces(whole(message::frame(request, body)));
    }

    /// The same for frames that are made as they are written.
    fn send_pieces(&self, pieces: Pieces) {
        if let Some(input) = lock(&self.input).as_ref() {
            let _ = input.send(pieces);
        }
    }
}

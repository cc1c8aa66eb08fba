//! The side that started a role: requests to it, replies from it with a deadline, and its end.

use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::Builder;
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::frame::{Frames, encode};
use crate::pipe::{Pieces, StderrTail, whole};
use crate::session::Stream;
use crate::{Error, NoReply, pipe};

/// How often the wish to stop is checked.
const ATTENTION: Duration = Duration::from_millis(50);

/// A process that was killed ends within this time, or is held by the kernel and not waited for.
const KILL_PATIENCE: Duration = Duration::from_secs(2);

/// How long a process may take to end by itself without standard input, unless its session sets another time.
const GRACE: Duration = Duration::from_secs(5);

/// How long to wait for a reply.
#[derive(Clone, Copy, Debug, Default)]
pub struct Deadline<'a> {
    within: Option<Duration>,
    interrupt: Option<&'a AtomicBool>,
}

impl<'a> Deadline<'a> {
    /// So long from the request. A time beyond all calendars is no limit.
    pub fn within(time: Duration) -> Deadline<'a> {
        Deadline { within: Some(time), interrupt: None }
    }

    /// And no longer than until `interrupt` is set.
    #[must_use]
    pub fn or_when(self, interrupt: &'a AtomicBool) -> Deadline<'a> {
        Deadline { interrupt: Some(interrupt), ..self }
    }

    /// With more time.
    #[must_use]
    pub(crate) fn longer_by(self, more: Duration) -> Deadline<'a> {
        Deadline { within: self.within.map(|within| within.saturating_add(more)), ..self }
    }

    /// Waits for the next event, without waking up in between, unless there is an interrupt to check.
    pub(crate) fn wait<T>(self, receiver: &Receiver<T>) -> Result<T, NoReply> {
        let begun = Instant::now();
        loop {
            let left = self.within.map_or(Duration::MAX, |within| within.saturating_sub(begun.elapsed()));
            if self.interrupt.is_some_and(|interrupt| interrupt.load(Ordering::Relaxed)) {
                return Err(NoReply::Interrupted);
            }
            let slice = if self.interrupt.is_some() { left.min(ATTENTION) } else { left };
            match receiver.recv_timeout(slice) {
                Ok(event) => return Ok(event),
                Err(RecvTimeoutError::Disconnected) => return Err(NoReply::Exited(String::new())),
                Err(RecvTimeoutError::Timeout) if slice == left => {
                    return Err(NoReply::Deadline(self.within.unwrap_or_default()));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// The rest of it.
    fn since(self, begun: Instant) -> Deadline<'a> {
        Deadline { within: self.within.map(|within| within.saturating_sub(begun.elapsed())), ..self }
    }
}

/// A role at work. Dropped, it is ended: without standard input it is expected to end by itself, and after
/// its time of grace it is killed, with every process of its group.
#[derive(Debug)]
pub struct Process {
    role: String,
    pub(crate) input: Input,
    pub(crate) events: Receiver<Event>,
    sender: Sender<Event>,
    pub(crate) frames: Frames,
    pub(crate) stderr: StderrTail,
    origin: Origin,
    grace: Duration,
    ending: Option<Ending>,
}

#[derive(Debug)]
pub(crate) enum Input {
    Pipe(Sender<Pieces>),
    Stream,
    Closed,
}

#[derive(Debug)]
enum Origin {
    Child(Child),
    Session(Stream),
}

/// How often a program is started that the system's loader ends at once.
const LOADS: u32 = 3;

/// Starts a process and waits for its reply; again where its program could not be loaded, so that nothing has
/// happened yet.
///
/// # Errors
/// That of the last attempt.
pub fn until_loaded<T>(mut attempt: impl FnMut() -> Result<T, Error>) -> Result<T, Error> {
    for _ in 1..LOADS {
        match attempt() {
            Err(Error::NoReply { reason: NoReply::NotLoaded(_), .. }) => {}
            reply => return reply,
        }
    }
    attempt()
}

/// Ends the wait for a reply of a process from another thread.
#[derive(Clone, Debug)]
pub struct Interrupter(Sender<Event>);

impl Interrupter {
    /// Ends the waiting, now or when it begins.
    pub fn interrupt(&self) {
        // If nothing waits any more, there is nothing to end.
        let _ = self.0.send(Event::Interrupted);
    }
}

impl Process {
    /// Starts a program here, in a process group of its own. `role` names it in errors.
    ///
    /// # Errors
    /// [`Error::Start`].
    pub fn start(role: &str, command: Command) -> Result<Process, Error> {
        Process::start_gathering(role, command, Duration::ZERO)
    }

    /// The same for a program that writes a few bytes at a time: after each read of its output the next one
    /// waits for this long, so that it causes fewer wake-ups.
    ///
    /// # Errors
    /// [`Error::Start`].
    pub(crate) fn start_gathering(
        role: &str,
        mut command: Command,
        pause: Duration,
    ) -> Result<Process, Error> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        sys::process::lead_group(&mut command);
        let program = command.get_program().to_string_lossy().into_owned();
        let failed = |source| Error::Start { command: program, source };
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(source) => return Err(failed(source)),
        };
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        // From here on its end is sure.
        let mut process = Process::new(role, Origin::Child(child), channel());
        if let (Some(stdin), Some(stdout), Some(stderr)) = pipes {
            let number = process.number();
            let (output, end) = (process.sender.clone(), process.sender.clone());
            let listening = StderrTail::new(stderr).and_then(|stderr| {
                process.stderr = stderr;
                process.input = Input::Pipe(pipe::writer(stdin)?);
                let hand_on = move |bytes: &[u8]| {
                    let is_wanted = output.send(Event::Output(bytes.to_vec())).is_ok();
                    if !pause.is_zero() {
                        std::thread::sleep(pause);
                    }
                    is_wanted
                };
                let reader = pipe::reader(stdout, hand_on)?;
                Builder::new().spawn(move || {
                    pipe::await_end(number, vec![reader]);
                    let _ = end.send(Event::Closed(None));
                })
            });
            if let Err(source) = listening {
                // Nothing reads its output, so its end would not be noticed in time.
                process.kill();
                return Err(failed(source));
            }
        }
        Ok(process)
    }

    /// A process that the agent of a session has started.
    pub(crate) fn of_session(
        role: &str,
        stream: Stream,
        events: (Sender<Event>, Receiver<Event>),
        stderr: StderrTail,
    ) -> Process {
        let mut process = Process::new(role, Origin::Session(stream), events);
        (process.input, process.stderr) = (Input::Stream, stderr);
        process
    }

    fn new(role: &str, origin: Origin, (sender, events): (Sender<Event>, Receiver<Event>)) -> Process {
        Process {
            role: role.to_owned(),
            input: Input::Closed,
            events,
            sender,
            frames: Frames::default(),
            stderr: StderrTail::default(),
            origin,
            grace: GRACE,
            ending: None,
        }
    }

    /// How long it may take to end by itself once its standard input is closed.
    #[must_use]
    pub fn with_grace(mut self, grace: Duration) -> Process {
        self.grace = grace;
        self
    }

    /// The number of the process, where it runs.
    pub fn number(&self) -> u32 {
        match &self.origin {
            Origin::Child(child) => child.id(),
            Origin::Session(stream) => stream.number,
        }
    }

    /// With this, another thread can end the waiting for a reply.
    pub fn interrupter(&self) -> Interrupter {
        Interrupter(self.sender.clone())
    }

    /// Sends a request. If the process is gone, the missing reply shows it.
    ///
    /// # Errors
    /// [`Error::NoReply`] for a request that cannot be written as JSON.
    pub fn send(&self, request: &impl Serialize) -> Result<(), Error> {
        let payload = serde_json::to_vec(request);
        let payload = payload.map_err(|error| self.no_reply(NoReply::Unexpected(error.to_string())))?;
        self.send_raw(encode(&payload));
        Ok(())
    }

    /// Sends pieces as they are to a process of our own, which only a session has behind its command.
    pub(crate) fn send_pieces(&self, pieces: Pieces) {
        if let Input::Pipe(pipe) = &self.input {
            let _ = pipe.send(pieces);
        }
    }

    /// Sends bytes that are no frame.
    pub(crate) fn send_raw(&self, bytes: Vec<u8>) {
        match (&self.input, &self.origin) {
            (Input::Pipe(pipe), _) => drop(pipe.send(whole(bytes))),
            (Input::Stream, Origin::Session(stream)) => stream.input(&bytes),
            _ => {}
        }
    }

    /// The next reply.
    ///
    /// # Errors
    /// [`Error::NoReply`].
    pub fn receive<T: DeserializeOwned>(&mut self, deadline: Deadline<'_>) -> Result<T, Error> {
        let frame = self.receive_bytes(deadline)?;
        self.parse(&frame)
    }

    fn parse<T: DeserializeOwned>(&self, frame: &[u8]) -> Result<T, Error> {
        serde_json::from_slice(frame).map_err(|error| self.no_reply(NoReply::Unexpected(error.to_string())))
    }

    /// The next reply where it is here within `time`; `None` where it is not.
    ///
    /// # Errors
    /// [`Error::NoReply`] where none will come.
    pub fn poll<T: DeserializeOwned>(&mut self, time: Duration) -> Result<Option<T>, Error> {
        match self.next_frame(Deadline::within(time)) {
            Ok(frame) => self.parse(&frame).map(Some),
            // No error, which would wait for the words of the process.
            Err(NoReply::Deadline(_)) => Ok(None),
            Err(reason) => Err(self.no_reply(reason)),
        }
    }

    /// The bytes of the next reply, of a role that does not reply in JSON.
    ///
    /// # Errors
    /// [`Error::NoReply`].
    pub fn receive_bytes(&mut self, deadline: Deadline<'_>) -> Result<Vec<u8>, Error> {
        self.next_frame(deadline).map_err(|reason| self.no_reply(reason))
    }

    fn next_frame(&mut self, deadline: Deadline<'_>) -> Result<Vec<u8>, NoReply> {
        let begun = Instant::now();
        loop {
            if let Some(frame) = self.frames.next_frame()? {
                return Ok(frame);
            }
            if let Some(ending) = &self.ending {
                let words = ending.words.clone();
                return Err(if ending.is_loaded {
                    NoReply::Exited(words)
                } else {
                    NoReply::NotLoaded(words)
                });
            }
            match deadline.since(begun).wait(&self.events) {
                Ok(Event::Output(bytes)) => self.frames.push(&bytes),
                Ok(Event::Closed(ending)) => self.reap(ending),
                Ok(Event::Interrupted) => return Err(NoReply::Interrupted),
                Err(NoReply::Deadline(_)) => {
                    return Err(NoReply::Deadline(deadline.within.unwrap_or_default()));
                }
                Err(reason) => return Err(reason),
            }
        }
    }

    /// Closes its standard input, which asks it to end.
    pub fn close_input(&mut self) {
        if let (Input::Stream, Origin::Session(stream)) = (&self.input, &self.origin) {
            stream.close();
        }
        self.input = Input::Closed;
    }

    /// Closes its standard input and waits for its end; after so much time it is killed.
    pub fn finish(&mut self, within: Duration) -> Ending {
        self.close_input();
        let deadline = Instant::now() + within;
        while self.ending.is_none() {
            match self.events.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(Event::Closed(ending)) => self.reap(ending),
                Ok(_) => {}
                Err(_) => self.kill(),
            }
        }
        self.ending.clone().unwrap_or_else(|| Ending::failed("it ended"))
    }

    /// Kills it with every process of its group.
    pub fn kill(&mut self) {
        if self.ending.is_some() {
            return;
        }
        match &mut self.origin {
            Origin::Child(_) => self.reap(None),
            Origin::Session(stream) => {
                stream.kill();
                let deadline = Instant::now() + KILL_PATIENCE;
                while self.ending.is_none() {
                    match self.events.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                        Ok(Event::Closed(ending)) => self.ending = ending,
                        Ok(_) => {}
                        Err(_) => self.ending = Some(Ending::failed("killed")),
                    }
                }
            }
        }
    }

    /// The end of its standard error; all of it when the process has ended.
    pub fn stderr(&self) -> String {
        if self.ending.is_some() { self.stderr.whole_text() } else { self.stderr.text() }
    }

    /// Takes the end of the process. Its group is killed before it is reaped, so that its number is still its
    /// own.
    fn reap(&mut self, ending: Option<Ending>) {
        let Origin::Child(child) = &mut self.origin else {
            self.ending = Some(ending.unwrap_or_else(|| Ending::failed("it ended")));
            return;
        };
        sys::process::kill_group(child.id());
        // On systems without groups.
        let _ = child.kill();
        let deadline = Instant::now() + KILL_PATIENCE;
        self.ending = Some(loop {
            match child.try_wait() {
                Ok(Some(status)) => break Ending::from_status(status),
                Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(1)),
                Ok(None) => break Ending::failed("it was killed and does not end"),
                Err(error) => break Ending::failed(format!("it cannot be waited for: {error}")),
            }
        });
    }

    pub(crate) fn no_reply(&self, reason: NoReply) -> Error {
        let banner = self.frames.banner();
        let is_wrong = matches!(reason, NoReply::Frame(_) | NoReply::Unexpected(_) | NoReply::Deadline(_));
        let stderr = match self.ending.is_none() && is_wrong {
            true => self.stderr.first_text(),
            false => self.stderr(),
        };
        let stderr = match (stderr, banner.is_empty()) {
            (stderr, true) => stderr,
            // A command may well say on standard output why it refuses.
            (stderr, false) if stderr.is_empty() => banner,
            (stderr, false) => format!("{banner}; {stderr}"),
        };
        Error::NoReply { role: self.role.clone(), reason, stderr }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.finish(self.grace);
    }
}

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ending {
    /// By itself and with status 0.
    pub is_success: bool,
    /// Whether its program was loaded; otherwise none of its own instructions has run.
    pub is_loaded: bool,
    /// In words: `exit status 1`, `killed by SIGKILL`.
    pub words: String,
}

impl Ending {
    pub(crate) fn from_status(status: ExitStatus) -> Ending {
        Ending {
            is_success: status.success(),
            is_loaded: sys::process::was_loaded(status),
            words: sys::process::ending(status),
        }
    }

    pub(crate) fn failed(words: impl Into<String>) -> Ending {
        Ending { is_success: false, is_loaded: true, words: words.into() }
    }
}

/// The events on the output of a process.
#[derive(Debug)]
pub(crate) enum Event {
    Output(Vec<u8>),
    /// It has ended. A process of our own is waited for here; for one in a session the agent reports how it
    /// ended.
    Closed(Option<Ending>),
    /// Its replies are not needed any more.
    Interrupted,
}

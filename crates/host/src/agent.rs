//! The agent on a system: receives programs and files into its folder, starts programs, and passes on their
//! input and output. At the end of its standard input it kills them all, removes its folder, and exits.
//!
//! It sleeps while the programs that it started run and send nothing.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Stdout, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::guard::remove_folder;
use crate::message::{self, Reply, Request};
use crate::pipe::Pieces;
use crate::{Ending, FrameReader, FrameWriter, lock, pipe};

/// How long a started process may take to end by itself once its standard input is closed. Shorter than the
/// guard's grace.
const GRACE: Duration = Duration::from_secs(2);

/// Works for the session at the other end of standard input and output, in this folder, which it makes where
/// it is missing, and removes.
///
/// # Errors
/// When the connection fails, or something cannot be made or removed.
pub fn agent(folder: &str) -> io::Result<()> {
    sys::process::adopt_orphans();
    // Its parent is there, unless the run has ended meanwhile: then nothing may be made any more.
    match std::fs::create_dir(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let agent = Agent {
        folder: PathBuf::from(folder),
        output: Arc::new(Mutex::new(FrameWriter::standard_output())),
        table: Arc::default(),
    };
    let worked = agent.hello().and_then(|()| agent.work());
    agent.end_all();
    worked.and(remove_folder(&agent.folder))
}

struct Agent {
    folder: PathBuf,
    output: Arc<Mutex<FrameWriter<Stdout>>>,
    table: Arc<Table>,
}

/// The running processes.
#[derive(Default)]
struct Table {
    running: Mutex<HashMap<u32, Running>>,
    /// A process has ended.
    ended: Condvar,
}

struct Running {
    number: u32,
    /// Nothing once it is closed.
    input: Option<Sender<Pieces>>,
}

/// The input of a process, and the threads at its outputs.
type Listening = (Sender<Pieces>, Vec<JoinHandle<()>>);

impl Agent {
    /// Reports the checksum of this program as it arrived.
    fn hello(&self) -> io::Result<()> {
        let program = std::fs::read(sys::process::own_program()?)?;
        let folder = self.folder.to_string_lossy().into_owned();
        self.tell(&Reply::Hello { crc32: crc32fast::hash(&program), folder })
    }

    fn work(&self) -> io::Result<()> {
        let mut requests = FrameReader::standard_input();
        while let Some(frame) = requests.receive_bytes()? {
            let (request, body) = message::parse(&frame)?;
            let done = match request {
                Request::Piece { name } => {
                    // An error is found when the file should be complete.
                    let _ = self.append(&name, body);
                    continue;
                }
                Request::Whole { name, bytes, crc32 } => self.complete(&name, bytes, crc32).map(|()| 0),
                Request::Start { stream, program, words } => self.start(stream, &program, &words),
                Request::Input { stream } => {
                    self.table.input(stream, body);
                    continue;
                }
                Request::Close { stream } => {
                    self.table.close(stream);
                    continue;
                }
                Request::Kill { stream } => {
                    self.table.kill(stream);
                    continue;
                }
            };
            self.tell(&match done {
                Ok(process) => Reply::Done { process },
                Err(error) => Reply::Refused { reason: error.to_string() },
            })?;
        }
        Ok(())
    }

    /// A file in the folder: a name, and nothing that leads out of it.
    fn path(&self, name: &str) -> io::Result<PathBuf> {
        match Path::new(name).file_name() {
            Some(file) if file == name => Ok(self.folder.join(name)),
            _ => Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{name:?} is no name of a file"))),
        }
    }

    fn append(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        OpenOptions::new().append(true).create(true).open(self.path(name)?)?.write_all(bytes)
    }

    /// Makes a file ready that has arrived; a damaged one is removed, so that it can be sent once more.
    fn complete(&self, name: &str, bytes: u64, crc32: u32) -> io::Result<()> {
        let path = self.path(name)?;
        let mut file = File::options().read(true).append(true).create(true).open(&path)?;
        let mut content = Vec::new();
        file.seek(SeekFrom::Start(0))?;
        file.read_to_end(&mut content)?;
        if content.len() as u64 == bytes && crc32fast::hash(&content) == crc32 {
            return make_executable(&file);
        }
        std::fs::remove_file(&path)?;
        let text = format!("{} of {bytes} bytes arrived; is {} full?", content.len(), self.folder.display());
        Err(io::Error::other(text))
    }

    /// Starts a program and listens to it; its number.
    fn start(&self, stream: u32, program: &str, words: &[String]) -> io::Result<u32> {
        let mut command = Command::new(program);
        command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        sys::process::lead_group(&mut command);
        // While the table is locked, a process that is just being started is not taken for left over.
        let mut running = lock(&self.table.running);
        let mut child = command.spawn()?;
        let number = child.id();
        let listening = self.listen(stream, &mut child);
        match listening {
            Ok((input, threads)) => {
                running.insert(stream, Running { number, input: Some(input) });
                let (table, output) = (Arc::clone(&self.table), Arc::clone(&self.output));
                std::thread::spawn(move || wait(stream, child, threads, &table, &output));
                Ok(number)
            }
            Err(error) => {
                sys::process::kill_group(number);
                let _ = child.wait();
                Err(error)
            }
        }
    }

    fn listen(&self, stream: u32, child: &mut Child) -> io::Result<Listening> {
        let missing = || io::Error::other("a pipe is missing");
        let stdin = pipe::writer(child.stdin.take().ok_or_else(missing)?)?;
        let (output, on_stderr) = (Arc::clone(&self.output), Arc::clone(&self.output));
        let stdout = child.stdout.take().ok_or_else(missing)?;
        let stdout = pipe::reader(stdout, move |bytes| match message::pack(bytes) {
            Some(packed) => send(&output, &Reply::Packed { stream }, &packed).is_ok(),
            None => send(&output, &Reply::Output { stream }, bytes).is_ok(),
        })?;
        let stderr = child.stderr.take().ok_or_else(missing)?;
        let hand_on = move |bytes: &[u8]| send(&on_stderr, &Reply::Stderr { stream }, bytes).is_ok();
        Ok((stdin, vec![stdout, pipe::reader(stderr, hand_on)?]))
    }

    fn tell(&self, reply: &Reply) -> io::Result<()> {
        send(&self.output, reply, &[])
    }

    /// Ends all running processes: those that do not end by themselves are killed.
    fn end_all(&self) {
        let mut running = lock(&self.table.running);
        running.values_mut().for_each(|running| running.input = None);
        let waited = self.table.ended.wait_timeout_while(running, GRACE, |running| !running.is_empty());
        let running = waited.unwrap_or_else(PoisonError::into_inner).0;
        running.values().for_each(|running| sys::process::kill_group(running.number));
        let _ = sys::process::kill_descendants();
    }
}

/// Waits for the end of a process and reports it, after all that it wrote. When no other process runs, all
/// that it started is killed.
fn wait(
    stream: u32,
    mut child: Child,
    readers: Vec<JoinHandle<()>>,
    table: &Table,
    output: &Mutex<FrameWriter<Stdout>>,
) {
    pipe::await_end(child.id(), readers);
    sys::process::kill_group(child.id());
    let ending = match child.wait() {
        Ok(status) => Ending::from_status(status),
        Err(error) => Ending::failed(format!("it cannot be waited for: {error}")),
    };
    {
        let mut running = lock(&table.running);
        running.remove(&stream);
        if running.is_empty() {
            let _ = sys::process::kill_descendants();
        }
    }
    table.ended.notify_all();
    // If nothing listens any more, the agent ends.
    let _ = send(output, &Reply::Exited { stream, ending }, &[]);
}

impl Table {
    fn input(&self, stream: u32, bytes: &[u8]) {
        if let Some(Running { input: Some(input), .. }) = lock(&self.running).get(&stream) {
            // A process that has closed its input or has ended does not need it.
            let _ = input.send(pipe::whole(bytes.to_vec()));
        }
    }

    fn close(&self, stream: u32) {
        if let Some(running) = lock(&self.running).get_mut(&stream) {
            running.input = None;
        }
    }

    fn kill(&self, stream: u32) {
        if let Some(running) = lock(&self.running).get(&stream) {
            sys::process::kill_group(running.number);
        }
    }
}

fn send(output: &Mutex<FrameWriter<Stdout>>, reply: &Reply, body: &[u8]) -> io::Result<()> {
    lock(output).send_bytes(&message::message(reply, body))
}

fn make_executable(file: &File) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        file.set_permissions(std::fs::Permissions::from_mode(0o700))?;
    }
    #[cfg(not(unix))]
    file.metadata()?;
    Ok(())
}

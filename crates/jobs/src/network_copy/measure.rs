//! One copy after the other, phase by phase, and the proof of the last one; and the interface of a protocol
//! for it: a server for one trial, and a client that copies one file at a time.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::mem;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sys::file;
use workload::server::web_folder;
use workload::{Trial, TrialError};

use super::http::Http;
use super::sftp;
use crate::instance::{Instance, fresh_folder, protocol};
use crate::work::{Calls, Content};

const MIB: usize = 1 << 20;

/// The phases of a copy that are timed, where the protocol has them.
const PHASES: [&str; 7] = ["connect", "authenticate", "open", "transfer", "receive", "write", "close"];

const CLAIM: &str = "the copy was equal to the file of the server";

pub(super) fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
    let (served, folder) = (web_folder(trial), trial.scratch().join("network-copy"));
    let measured = measure(trial, &served, &folder);
    // The error is that of the trial.
    let _ = (fs::remove_dir_all(&served), fs::remove_dir_all(&folder));
    measured
}

fn measure(trial: &mut Trial<'_>, served: &Path, folder: &Path) -> Result<(), TrialError> {
    let attempted = || format!("to write the files of the server in {}", served.display());
    prepare(served, folder, &trial.levels(), trial.seed()).map_err(TrialError::at(attempted()))?;
    let mut server = start(trial, served, folder)?;
    let (window, clock, seed) = (trial.window(), trial.clock(), trial.seed());
    trial.job(|mib, job| {
        job.level().doing("copy");
        let mut copying = Copying::prepare(&*server, folder, mib, Calls::new(clock, &PHASES)?)?;
        let begun = Instant::now();
        loop {
            copying.once().map_err(|error| server.cause(error))?;
            if begun.elapsed() >= window {
                break;
            }
        }
        let calls = &copying.calls;
        calls.report(job);
        let for_each_copy = ["connect", "authenticate", "open", "close"].map(|name| calls.mean_seconds(name));
        let for_each_copy: f64 = for_each_copy.into_iter().filter(|seconds| seconds.is_finite()).sum();
        job.value("total", calls.mean_seconds("transfer") + for_each_copy / mib as f64);
        let held = is_whole(&copying.path, mib, seed)?;
        job.level().check(CLAIM, held);
        Ok(())
    })?;
    server.stop(trial)
}

fn start(trial: &Trial<'_>, served: &Path, folder: &Path) -> Result<Box<dyn Server>, TrialError> {
    match trial.variant() {
        "smb" => smb(trial, served, folder),
        "sftp" => Ok(Box::new(sftp::start(trial, served, folder)?)),
        _ => Ok(Box::new(Http::start(trial)?)),
    }
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn smb(trial: &Trial<'_>, served: &Path, folder: &Path) -> Result<Box<dyn Server>, TrialError> {
    Ok(Box::new(super::smb::start(trial, served, folder)?))
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn smb(_: &Trial<'_>, _: &Path, _: &Path) -> Result<Box<dyn Server>, TrialError> {
    let reason = sys::Unsupported("the client's cryptography is written for x86_64 and aarch64 only");
    Err(TrialError::at("to copy with SMB")(reason.into()))
}

/// The name of the file at a level.
fn name(mib: u64) -> String {
    format!("{mib}.bin")
}

/// Writes the files of all levels: they are sent to a server on another machine when it starts.
fn prepare(served: &Path, folder: &Path, levels: &[u64], seed: u64) -> io::Result<()> {
    fresh_folder(served)?;
    fresh_folder(folder)?;
    let mut content = Content::new(seed, MIB);
    for &mib in levels {
        let mut file = File::create_new(served.join(name(mib)))?;
        (0..mib).try_for_each(|number| file.write_all(content.bytes(number, MIB)))?;
    }
    Ok(())
}

/// The copies of one file.
struct Copying<'a> {
    client: Box<dyn Client>,
    calls: Calls<'a>,
    folder: &'a Path,
    path: PathBuf,
    target: file::Path,
    mib: u64,
}

impl<'a> Copying<'a> {
    fn prepare(server: &dyn Server, folder: &'a Path, mib: u64, calls: Calls<'a>) -> io::Result<Copying<'a>> {
        let path = folder.join("copy");
        let target = file::Path::try_from(path.as_path())?;
        Ok(Copying { client: server.client()?, calls, folder, path, target, mib })
    }

    fn once(&mut self) -> io::Result<()> {
        match file::unlink(&self.target) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => file::write_back(self.folder)?,
        }
        self.calls.begin();
        self.client.connect()?;
        self.calls.end("connect");
        if self.client.authenticate()? {
            self.calls.end("authenticate");
        }
        self.client.open(&name(self.mib))?;
        let target = file::create_new(&self.target)?;
        self.calls.end("open");
        self.transfer(&target)?;
        self.calls.begin();
        self.client.close()?;
        file::close(target)?;
        self.calls.end("close");
        Ok(())
    }

    fn transfer(&mut self, mut target: &File) -> io::Result<()> {
        let begun = self.calls.now();
        let (mut receiving, mut writing) = (0, 0);
        loop {
            let begun = self.calls.now();
            let piece = self.client.receive()?;
            let between = self.calls.now();
            target.write_all(piece)?;
            writing += self.calls.now() - between;
            receiving += between - begun;
            if piece.is_empty() {
                break;
            }
        }
        self.calls.add("transfer", self.calls.now() - begun, self.mib);
        self.calls.add("receive", receiving, self.mib);
        self.calls.add("write", writing, self.mib);
        Ok(())
    }
}

/// Whether the copy equals the file of the server, to its end.
fn is_whole(copy: &Path, mib: u64, seed: u64) -> io::Result<bool> {
    let (mut copy, mut content) = (File::open(copy)?, Content::new(seed, MIB));
    if copy.metadata()?.len() != mib * MIB as u64 {
        return Ok(false);
    }
    for number in 0..mib {
        copy.read_exact(content.buffer())?;
        if content.verify(number, MIB).is_err() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The silence after which a server has failed.
const SILENCE_MAX: Duration = Duration::from_secs(20);

/// A server that has the files of the trial. Dropped, it ends.
pub(super) trait Server {
    fn client(&self) -> io::Result<Box<dyn Client>>;

    /// The error, or why the server has ended, if that caused it.
    fn cause(&mut self, error: io::Error) -> io::Error;

    /// Ends it in order, and checks its results.
    fn stop(self: Box<Self>, trial: &mut Trial<'_>) -> Result<(), TrialError>;
}

/// A server of this system that was started for the trial.
pub(super) struct PrivateServer {
    pub(super) instance: Instance,
    /// What its clients have made sure of.
    pub(super) claim: &'static str,
    pub(super) client: Box<dyn Fn() -> Box<dyn Client>>,
}

impl Server for PrivateServer {
    fn client(&self) -> io::Result<Box<dyn Client>> {
        Ok((self.client)())
    }

    fn cause(&mut self, error: io::Error) -> io::Error {
        self.instance.ending().unwrap_or(error)
    }

    fn stop(self: Box<Self>, trial: &mut Trial<'_>) -> Result<(), TrialError> {
        trial.check(self.claim, true);
        Ok(())
    }
}

/// The client's side of one copy after the other. Its methods are called in this order, and none after an
/// error.
pub(super) trait Client {
    fn connect(&mut self) -> io::Result<()>;

    /// Authenticates the user. Returns whether the protocol does that.
    fn authenticate(&mut self) -> io::Result<bool> {
        Ok(false)
    }

    fn open(&mut self, name: &str) -> io::Result<()>;

    /// The next piece of the file; empty at its end.
    fn receive(&mut self) -> io::Result<&[u8]>;

    /// Closes the file and the connection.
    fn close(&mut self) -> io::Result<()>;
}

/// The requests to read that are under way, in the order of the file, with the responses that have come.
#[derive(Default)]
pub(super) struct ReadsUnderWay {
    reads: VecDeque<Reading>,
    /// The packet with the piece that was given last.
    given: Vec<u8>,
}

/// A request to read, and its response: a packet, and the place of the piece in it.
struct Reading {
    number: u64,
    bytes: u32,
    came: Option<(Vec<u8>, Range<usize>)>,
}

impl ReadsUnderWay {
    pub(super) fn count(&self) -> usize {
        self.reads.len()
    }

    /// A request with that number was sent.
    pub(super) fn begin(&mut self, number: u64, bytes: u32) {
        self.reads.push_back(Reading { number, bytes, came: None });
    }

    /// The packet of the last piece, which is not needed any more.
    pub(super) fn spare(&mut self) -> Vec<u8> {
        mem::take(&mut self.given)
    }

    /// The next piece, empty where no request is under way. Receives responses until its own has come, each a
    /// packet, the number of its request and the place of its piece. `short` is the error of a short piece.
    pub(super) fn next(
        &mut self,
        short: impl Fn() -> io::Error,
        mut receive: impl FnMut() -> io::Result<(Vec<u8>, u64, Range<usize>)>,
    ) -> io::Result<&[u8]> {
        let piece = loop {
            match self.reads.front_mut().map(|reading| (reading.bytes, reading.came.take())) {
                None => return Ok(&[]),
                Some((bytes, Some((packet, piece)))) if piece.len() == bytes as usize => {
                    self.given = packet;
                    break piece;
                }
                Some((_, Some(_))) => return Err(short()),
                Some((_, None)) => {}
            }
            let (packet, number, piece) = receive()?;
            let reading = self.reads.iter_mut().find(|reading| reading.number == number);
            let reading = reading.ok_or_else(|| protocol("the server sent a piece twice"))?;
            reading.came = Some((packet, piece));
        };
        self.reads.pop_front();
        Ok(&self.given[piece])
    }
}

/// Connects to a server that may not be silent for long.
pub(super) fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(SILENCE_MAX))?;
    stream.set_write_timeout(Some(SILENCE_MAX))?;
    // Requests are shorter than a packet, and nothing follows them.
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// An unused port of loopback. Another program may take it before the server, which then reports that.
pub(super) fn free_address() -> io::Result<SocketAddr> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()
}

/// For a call that comes before its turn.
pub(super) fn not_connected() -> io::Error {
    io::ErrorKind::NotConnected.into()
}

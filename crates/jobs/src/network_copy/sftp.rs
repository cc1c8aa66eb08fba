//! `sftp`: a client of SFTP over the system's `ssh`, which keeps many requests under way, as sftp(1) does;
//! and the login to the private sshd.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::mem;
use std::net::SocketAddr;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};

use super::client::{Client, not_connected, protocol};
use crate::sftp::{READ_BYTES_MAX, SftpConnection, SftpResponse, packet_bytes};

/// Requests to read that are under way at once.
const READS: usize = 64;

/// Bytes that are taken from `ssh` at once.
const BUFFER_BYTES: usize = 128 << 10;

/// The report of `ssh` when both sides have agreed on keys, and the host is the right one.
const AGREED: &str = "SSH2_MSG_SERVICE_ACCEPT received";
/// Its report when the server has let the user in.
const LET_IN: &str = "Authenticated to ";
/// Its report of the cipher of the files.
const CIPHER: &str = "server->client cipher: ";

/// The client.
pub(super) struct SftpClient {
    login: Login,
    link: Option<Link>,
    handle: Vec<u8>,
    bytes: u64,
    /// How much of the file was asked for.
    asked: u64,
    /// In the order of the file.
    reads: VecDeque<Reading>,
    /// The packet with the piece that was given last.
    given: Vec<u8>,
}

/// A request to read, and its response.
struct Reading {
    number: u32,
    bytes: u32,
    came: Option<(Vec<u8>, Range<usize>)>,
}

impl SftpClient {
    pub(super) fn new(login: Login) -> SftpClient {
        let (handle, given) = (Vec::new(), Vec::new());
        SftpClient { login, link: None, handle, bytes: 0, asked: 0, reads: VecDeque::new(), given }
    }

    fn link(&mut self) -> io::Result<&mut Link> {
        self.link.as_mut().ok_or_else(not_connected)
    }

    /// Asks for more of the file.
    fn ask(&mut self) -> io::Result<()> {
        let link = self.link.as_mut().ok_or_else(not_connected)?;
        let mut requests = Vec::new();
        while self.reads.len() < READS && self.asked < self.bytes {
            let bytes = (self.bytes - self.asked).min(u64::from(READ_BYTES_MAX)) as u32;
            let (number, request) = link.connection.read(&self.handle, self.asked, bytes);
            requests.extend(request);
            self.reads.push_back(Reading { number, bytes, came: None });
            self.asked += u64::from(bytes);
        }
        link.send(&requests)
    }
}

impl Client for SftpClient {
    fn connect(&mut self) -> io::Result<()> {
        let link = self.link.insert(Link::start(&self.login)?);
        let cipher = link.await_report(AGREED, Some(CIPHER))?;
        match cipher.split_whitespace().next() {
            Some(agreed) if agreed == self.login.cipher => Ok(()),
            agreed => {
                Err(protocol(format!("ssh has agreed on another cipher, {}", agreed.unwrap_or("unknown"))))
            }
        }
    }

    fn authenticate(&mut self) -> io::Result<bool> {
        let link = self.link()?;
        link.await_report(LET_IN, None)?;
        let request = link.connection.begin();
        match link.exchange(&request)? {
            SftpResponse::Ready => Ok(true),
            _ => Err(protocol("the server did not begin with its version")),
        }
    }

    fn open(&mut self, name: &str) -> io::Result<()> {
        let path = self.login.served.join(name);
        let path = path.to_str().ok_or_else(|| protocol("the path of the file is not in UTF-8"))?.to_owned();
        let link = self.link()?;
        let request = link.connection.open(&path);
        let SftpResponse::Opened(handle) = link.exchange(&request)? else {
            return Err(protocol("the server opened no file"));
        };
        let request = link.connection.size(&handle);
        let SftpResponse::Bytes(bytes) = link.exchange(&request)? else {
            return Err(protocol("the server did not say how long the file is"));
        };
        (self.handle, self.bytes, self.asked) = (handle, bytes, 0);
        Ok(())
    }

    fn receive(&mut self) -> io::Result<&[u8]> {
        let given = mem::take(&mut self.given);
        self.link()?.spare.push(given);
        self.ask()?;
        let piece = loop {
            match self.reads.front_mut().map(|reading| (reading.bytes, reading.came.take())) {
                None => return Ok(&[]),
                Some((bytes, Some((packet, place)))) if place.len() == bytes as usize => {
                    self.given = packet;
                    break place;
                }
                // No server of a file on a disk does that.
                Some((_, Some(_))) => return Err(protocol("the server sent less than it was asked for")),
                Some((_, None)) => {}
            }
            let (packet, received) = self.link()?.receive()?;
            let (number, place) = match received {
                SftpResponse::Piece(number, place) => (number, place),
                SftpResponse::End(_) => return Err(io::ErrorKind::UnexpectedEof.into()),
                _ => return Err(protocol("the server sent something else than the file")),
            };
            let reading = self.reads.iter_mut().find(|reading| reading.number == number);
            let reading = reading.ok_or_else(|| protocol("the server sent a piece twice"))?;
            reading.came = Some((packet, place));
        };
        self.reads.pop_front();
        Ok(&self.given[piece])
    }

    fn close(&mut self) -> io::Result<()> {
        let handle = mem::take(&mut self.handle);
        let mut link = self.link.take().ok_or_else(not_connected)?;
        let request = link.connection.close(&handle);
        let SftpResponse::Closed = link.exchange(&request)? else {
            return Err(protocol("the server did not close the file"));
        };
        link.end()
    }
}

/// A process of `ssh` with its streams. Dropped, it ends.
struct Link {
    child: Child,
    /// Closed to end it in order.
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    reports: BufReader<ChildStderr>,
    /// Its last report that is not about its steps: the reason, where it fails.
    reason: String,
    connection: SftpConnection,
    /// Packets that may be read into.
    spare: Vec<Vec<u8>>,
}

impl Link {
    fn start(login: &Login) -> io::Result<Link> {
        let mut child = login.command().spawn()?;
        let (input, output, reports) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(output), Some(reports)) = (output, reports) else { return Err(not_connected()) };
        Ok(Link {
            child,
            input,
            output: BufReader::with_capacity(BUFFER_BYTES, output),
            reports: BufReader::new(reports),
            reason: String::new(),
            connection: SftpConnection::new(),
            spare: Vec::new(),
        })
    }

    /// Waits until `ssh` reports this; returns the text behind `noted` in its reports meanwhile.
    fn await_report(&mut self, awaited: &str, noted: Option<&str>) -> io::Result<String> {
        let mut found = String::new();
        while let Some(report) = self.report()? {
            if let Some((_, rest)) = noted.and_then(|words| report.split_once(words)) {
                found = rest.to_owned();
            }
            if report.contains(awaited) {
                return Ok(found);
            }
        }
        Err(self.failed(io::ErrorKind::UnexpectedEof.into()))
    }

    fn report(&mut self) -> io::Result<Option<String>> {
        let mut line = Vec::new();
        if self.reports.read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        let line = String::from_utf8_lossy(&line).trim().to_owned();
        if !line.starts_with("debug1: ") {
            self.reason.clone_from(&line);
        }
        Ok(Some(line))
    }

    /// Why `ssh` has ended, in its own words where it has any.
    fn failed(&mut self, error: io::Error) -> io::Error {
        // It ends by itself once it reads and writes nothing more.
        self.input = None;
        let _ = self.child.kill();
        while let Ok(Some(_)) = self.report() {}
        let is_reason = !self.reason.is_empty() && !self.reason.starts_with(LET_IN);
        if is_reason { io::Error::other(format!("ssh: {}", self.reason)) } else { error }
    }

    fn send(&mut self, requests: &[u8]) -> io::Result<()> {
        let input = self.input.as_mut().ok_or_else(not_connected)?;
        input.write_all(requests).map_err(|error| self.failed(error))
    }

    /// Sends a request, and waits for its response.
    fn exchange(&mut self, request: &[u8]) -> io::Result<SftpResponse> {
        self.send(request)?;
        let (packet, received) = self.receive()?;
        self.spare.push(packet);
        Ok(received)
    }

    /// The next response, and its packet.
    fn receive(&mut self) -> io::Result<(Vec<u8>, SftpResponse)> {
        let mut packet = self.spare.pop().unwrap_or_default();
        let mut length = [0; 4];
        self.output.read_exact(&mut length).map_err(|error| self.failed(error))?;
        packet.resize(packet_bytes(length)?, 0);
        self.output.read_exact(&mut packet).map_err(|error| self.failed(error))?;
        let received = self.connection.take(&packet)?;
        Ok((packet, received))
    }

    /// Ends it in order: the server ends when its input does, and `ssh` with it.
    fn end(mut self) -> io::Result<()> {
        self.input = None;
        match self.child.wait()? {
            status if status.success() => Ok(()),
            status => {
                let ending = protocol(format!("ssh has ended, {}", sys::process::ending(status)));
                Err(self.failed(ending))
            }
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.input = None;
        // After its end in order there is nothing to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The login of a client.
#[derive(Clone, Debug)]
pub(super) struct Login {
    /// The program `ssh`.
    pub(super) program: PathBuf,
    pub(super) address: SocketAddr,
    pub(super) user: String,
    pub(super) folder: PathBuf,
    /// As OpenSSH calls it.
    pub(super) cipher: String,
    /// Where the files are.
    pub(super) served: PathBuf,
}

impl Login {
    /// `ssh` to the server, without anything that the user or the system has configured. It reports its
    /// steps on standard error, by which they are timed.
    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(["-v", "-F", "none", "-o", "BatchMode=yes", "-o", "IdentitiesOnly=yes"]);
        command.args(["-o", "IdentityAgent=none", "-o", "ControlPath=none", "-o", "Compression=no"]);
        command.args(["-o", "StrictHostKeyChecking=yes", "-o", "GlobalKnownHostsFile=none"]);
        // A server that is silent for 20 seconds has failed.
        command.args(["-o", "ConnectTimeout=20", "-o", "ServerAliveInterval=5"]);
        command.args(["-o", "ServerAliveCountMax=4", "-o"]);
        command.arg(format!("UserKnownHostsFile={}", quoted(&self.folder.join("known"))));
        command.arg("-i").arg(self.folder.join("key"));
        command.args(["-c", &self.cipher, "-p", &self.address.port().to_string(), "-s"]);
        command.args([&format!("{}@{}", self.user, self.address.ip()), "sftp"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
}

/// A path as the configurations of OpenSSH take it, in which `%` begins something else.
pub(super) fn quoted(path: &Path) -> String {
    format!("\"{}\"", path.display().to_string().replace('%', "%%"))
}

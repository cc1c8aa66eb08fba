//! `sftp`: a private sshd of this system, whose configuration and keys are in the folder of the trial, and a
//! client of SFTP over the system's `ssh`, which keeps many requests under way, as sftp(1) does.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write as _};
use std::mem;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};

use sys::Unsupported;
use sys::process::{confined_user, find_program, pin, terminate};
use workload::{Trial, TrialError};

use super::measure::{Client, PrivateServer, ReadsUnderWay, connect, free_address, not_connected};
use crate::instance::{Daemon, Instance, protocol};
use crate::sftp::{READ_BYTES_MAX, SftpConnection, SftpResponse, packet_bytes};

const NO_SERVER: Unsupported =
    Unsupported("this system has no sshd; on Debian `apt-get install openssh-server` installs it");
const NO_CLIENT: Unsupported =
    Unsupported("this system has no ssh; on Debian `apt-get install openssh-client` installs it");

/// The client gives up where the server agrees on another cipher.
const CLAIM: &str = "ssh and sshd encrypted with the cipher of the setting";

/// How many ports are tried: sshd takes none that the system chooses.
const ATTEMPTS: usize = 5;

/// Starts sshd for the files of `served`.
pub(super) fn start(trial: &Trial<'_>, served: &Path, folder: &Path) -> Result<PrivateServer, TrialError> {
    let cipher = format!("{}@openssh.com", trial.setting("cipher")?);
    launch(trial, cipher, served, folder).map_err(TrialError::at("to start sshd"))
}

fn launch(trial: &Trial<'_>, cipher: String, served: &Path, folder: &Path) -> io::Result<PrivateServer> {
    if trial.server().is_some() {
        return Err(Unsupported("sshd is started on this machine only, and not with --server").into());
    }
    // A whole path, because sshd executes itself again for each connection.
    let server = find_program("sshd").ok_or(NO_SERVER)?;
    let program = find_program("ssh").ok_or(NO_CLIENT)?;
    let (folder, served) = (std::path::absolute(folder)?, std::path::absolute(served)?);
    let host_key = key(&folder.join("host"))?;
    let user_key = key(&folder.join("key"))?;
    fs::write(folder.join("authorized"), user_key)?;
    let daemon = Daemon { name: "sshd", end: terminate };
    let log = folder.join("log");
    let mut attempts = 1;
    let (address, instance) = loop {
        let address = free_address()?;
        fs::write(folder.join("known"), format!("[{}]:{} {host_key}", address.ip(), address.port()))?;
        let configuration = folder.join("sshd_config");
        fs::write(&configuration, configured(address, &cipher, &folder))?;
        let mut command = Command::new(&server);
        command.args(["-D", "-e", "-f"]).arg(configuration).current_dir(&folder);
        if let Some(cpu) = trial.server_cpu() {
            pin(&mut command, cpu);
        }
        match Instance::start(daemon, &mut command, &log, || greets(address)) {
            Ok(instance) => break (address, instance),
            // A connection of another program has got the port since it was free.
            Err(_) if attempts < ATTEMPTS && has_lost_its_port(&log) => attempts += 1,
            Err(error) => return Err(error),
        }
    };
    let login = Login { program, address, user: confined_user()?, folder, cipher, served };
    let client = Box::new(move || Box::new(SftpClient::new(login.clone())) as Box<dyn Client>);
    Ok(PrivateServer { instance, claim: CLAIM, client })
}

/// Whether a server of SSH is at that address.
fn greets(address: SocketAddr) -> io::Result<()> {
    let mut greeting = [0; 4];
    connect(address)?.read_exact(&mut greeting)?;
    if &greeting == b"SSH-" { Ok(()) } else { Err(protocol("it does not speak SSH")) }
}

/// Whether the log says that the address was taken, in sshd's words.
fn has_lost_its_port(log: &Path) -> bool {
    fs::read_to_string(log).is_ok_and(|text| text.contains("Address already in use"))
}

/// Makes a pair of keys; the public one.
fn key(path: &Path) -> io::Result<String> {
    let program = find_program("ssh-keygen").ok_or(NO_CLIENT)?;
    let mut command = Command::new(program);
    command.args(["-q", "-t", "ed25519", "-N", "", "-C", "", "-f"]).arg(path);
    let output = command.stdin(Stdio::null()).output()?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        return Err(io::Error::other(format!("ssh-keygen failed: {}", text.trim())));
    }
    Ok(format!("{}\n", fs::read_to_string(path.with_extension("pub"))?.trim()))
}

/// All that sshd would otherwise read from folders of the system and of the user is in this one.
fn configured(address: SocketAddr, cipher: &str, folder: &Path) -> String {
    let mut text = "UsePAM no\nStrictModes no\nPidFile none\nPrintMotd no\nLogLevel ERROR\n".to_owned();
    text += "AuthenticationMethods publickey\nAllowTcpForwarding no\nAllowAgentForwarding no\n";
    text += "Compression no\nSubsystem sftp internal-sftp -R\n";
    let _ = writeln!(text, "ListenAddress {}\nPort {}\nCiphers {cipher}", address.ip(), address.port());
    let _ = writeln!(text, "HostKey {}", quoted(&folder.join("host")));
    let _ = writeln!(text, "AuthorizedKeysFile {}", quoted(&folder.join("authorized")));
    text
}

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

struct SftpClient {
    login: Login,
    link: Option<Link>,
    handle: Vec<u8>,
    bytes: u64,
    /// How much of the file was asked for.
    asked: u64,
    reads: ReadsUnderWay,
}

impl SftpClient {
    fn new(login: Login) -> SftpClient {
        let (handle, reads) = (Vec::new(), ReadsUnderWay::default());
        SftpClient { login, link: None, handle, bytes: 0, asked: 0, reads }
    }

    fn link(&mut self) -> io::Result<&mut Link> {
        self.link.as_mut().ok_or_else(not_connected)
    }

    /// Asks for more of the file.
    fn ask(&mut self) -> io::Result<()> {
        let link = self.link.as_mut().ok_or_else(not_connected)?;
        let mut requests = Vec::new();
        while self.reads.count() < READS && self.asked < self.bytes {
            let bytes = (self.bytes - self.asked).min(u64::from(READ_BYTES_MAX)) as u32;
            let (number, request) = link.connection.read(&self.handle, self.asked, bytes);
            requests.extend(request);
            self.reads.begin(number.into(), bytes);
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
        let given = self.reads.spare();
        self.link()?.spare.push(given);
        self.ask()?;
        let link = self.link.as_mut().ok_or_else(not_connected)?;
        // No server of a file on a disk does that.
        let short = || protocol("the server sent less than it was asked for");
        self.reads.next(short, || match link.receive()? {
            (packet, SftpResponse::Piece(number, place)) => Ok((packet, number.into(), place)),
            (_, SftpResponse::End(_)) => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Err(protocol("the server sent something else than the file")),
        })
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

#[derive(Clone, Debug)]
struct Login {
    /// The program `ssh`.
    program: PathBuf,
    address: SocketAddr,
    user: String,
    folder: PathBuf,
    /// As OpenSSH calls it.
    cipher: String,
    /// Where the files are.
    served: PathBuf,
}

impl Login {
    /// `ssh` to the server, without anything that the user or the system has configured. It reports its
    /// steps on standard error, by which they are timed.
    fn command(&self) -> Command {
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
fn quoted(path: &Path) -> String {
    format!("\"{}\"", path.display().to_string().replace('%', "%%"))
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn a_folder_may_have_any_name() {
        assert_eq!(quoted(Path::new("/a b/50%")), "\"/a b/50%%\"");
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 7));
        let text = configured(address, "aes", Path::new("/a b"));
        assert!(text.contains("HostKey \"/a b/host\"\n") && text.contains("Port 7\nCiphers aes\n"), "{text}");
    }
}

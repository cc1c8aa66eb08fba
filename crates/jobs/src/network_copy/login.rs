//! What a client of the private sshd needs to log on, and the ssh(1) that does it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What a client needs to log on.
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

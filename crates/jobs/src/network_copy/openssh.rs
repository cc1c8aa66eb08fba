//! A private sshd of this system: its configuration and its keys are in the folder of the trial.

use std::fmt::Write;
use std::fs;
use std::io::{self, Read};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};

use sys::Unsupported;
use sys::process::{confined_user, find_program, pin, terminate};
use workload::{Trial, TrialError};

use super::client::{Client, Server, connect, free_address, protocol};
use super::sftp::{Login, SftpClient, quoted};
use crate::instance::{Daemon, Instance};

const NO_SERVER: Unsupported =
    Unsupported("this system has no sshd; on Debian `apt-get install openssh-server` installs it");
const NO_CLIENT: Unsupported =
    Unsupported("this system has no ssh; on Debian `apt-get install openssh-client` installs it");

/// The client gives up where the server agrees on another cipher.
const CLAIM: &str = "ssh and sshd encrypted with the cipher of the setting";

/// How many ports are tried: sshd takes none that the system chooses.
const ATTEMPTS: usize = 5;

/// The server.
pub(super) struct OpenSsh {
    instance: Instance,
    login: Login,
}

impl OpenSsh {
    /// Starts it for the files of that folder.
    pub(super) fn start(trial: &Trial<'_>, served: &Path, folder: &Path) -> Result<OpenSsh, TrialError> {
        let cipher = format!("{}@openssh.com", trial.setting("cipher")?);
        OpenSsh::launch(trial, cipher, served, folder).map_err(TrialError::at("to start sshd"))
    }

    fn launch(trial: &Trial<'_>, cipher: String, served: &Path, folder: &Path) -> io::Result<OpenSsh> {
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
        Ok(OpenSsh { instance, login })
    }
}

impl Server for OpenSsh {
    fn client(&self) -> io::Result<Box<dyn Client>> {
        Ok(Box::new(SftpClient::new(self.login.clone())))
    }

    fn cause(&mut self, error: io::Error) -> io::Error {
        self.instance.ending().unwrap_or(error)
    }

    fn stop(self: Box<Self>, trial: &mut Trial<'_>) -> Result<(), TrialError> {
        trial.check(CLAIM, true);
        Ok(())
    }
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

//! Another machine, as far as that can be had on this one: a private sshd on loopback, whose sessions share
//! no temporary folder with us.

use std::fs;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::{text, until};

/// A machine that `ssh -F CONFIG far` leads to. Dropped, its sshd is ended.
pub(crate) struct Far {
    sshd: Child,
    /// Keys and configuration; gone with this.
    folder: tempfile::TempDir,
}

impl Far {
    /// Starts it, or says why it cannot be had.
    pub(crate) fn start() -> Result<Far, String> {
        let sshd =
            ["/usr/sbin/sshd", "/usr/bin/sshd"].map(PathBuf::from).into_iter().find(|path| path.exists());
        let sshd = sshd.ok_or("there is no sshd; Debian has it in openssh-server")?;
        // Beside the temporary folders, which are hidden there.
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
        for key in ["host", "user"] {
            let file = folder.path().join(key);
            tool(Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(file))?;
        }
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|free| free.local_addr());
        let port = port.expect("a free port").port();
        configure(folder.path(), port);
        let hidden = std::env::temp_dir();
        let script = format!(
            "mount -t tmpfs -o mode=1777 none {} && mount -t tmpfs none /run && mkdir /run/sshd && \
             exec {} -D -e -f {}/sshd_config",
            hidden.display(),
            sshd.display(),
            folder.path().display()
        );
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", &script]).stdin(Stdio::null()).stderr(Stdio::piped());
        let mut sshd = command.spawn().map_err(|error| format!("unshare: {error}"))?;
        let mut has_ended = false;
        until("sshd listens", || {
            has_ended = sshd.try_wait().expect("a child").is_some();
            has_ended || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
        });
        if has_ended {
            return Err(text(&sshd.wait_with_output().expect("an end").stderr));
        }
        Ok(Far { sshd, folder })
    }

    /// The command that leads there.
    pub(crate) fn command(&self) -> String {
        format!("ssh -F {}/ssh_config far", self.folder.path().display())
    }

    /// The output of a command there.
    pub(crate) fn run(&self, line: &str) -> String {
        let words: Vec<String> = self.command().split(' ').map(str::to_owned).collect();
        let output = Command::new(&words[0]).args(&words[1..]).arg(line).stdin(Stdio::null()).output();
        text(&output.expect("ssh starts").stdout)
    }

    /// The folders of agents there.
    pub(crate) fn folders(&self) -> String {
        self.run(&format!("ls {}", std::env::temp_dir().display()))
    }
}

impl Drop for Far {
    fn drop(&mut self) {
        let _ = self.sshd.kill();
        let _ = self.sshd.wait();
    }
}

fn configure(folder: &Path, port: u16) {
    let here = folder.display();
    let of_host = fs::read_to_string(folder.join("host.pub")).expect("a key");
    let write = |name: &str, content: String| fs::write(folder.join(name), content).expect("a file");
    // Without the startup files of this machine's user, which may do anything.
    fs::create_dir(folder.join("home")).expect("a folder");
    write("known_hosts", format!("[127.0.0.1]:{port} {of_host}"));
    write(
        "sshd_config",
        format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {here}/host\nAuthorizedKeysFile {here}/user.pub\n\
             PidFile none\nStrictModes no\nUsePAM no\nPasswordAuthentication no\n\
             KbdInteractiveAuthentication no\nPermitRootLogin yes\nLogLevel ERROR\n\
             SetEnv HOME={here}/home\n"
        ),
    );
    write(
        "ssh_config",
        format!(
            "Host far\nHostName 127.0.0.1\nPort {port}\nIdentityFile {here}/user\nIdentitiesOnly yes\n\
             UserKnownHostsFile {here}/known_hosts\nStrictHostKeyChecking yes\nBatchMode yes\n\
             LogLevel ERROR\n"
        ),
    );
}

/// Runs a tool to a good end.
fn tool(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() { Ok(()) } else { Err(format!("{command:?}: {}", text(&output.stderr))) }
}

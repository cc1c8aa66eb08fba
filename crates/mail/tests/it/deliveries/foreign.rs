//! smtp-sink of Postfix takes the engine's messages, recipient by recipient.

use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use mail::{DeliveryEnding, EngineSettings, Mode, Routing};
use tempfile::TempDir;

use super::{deliver, generated, settings_for, sorted};

/// A server that keeps every message in a file, with the recipients before it.
struct Sink {
    process: Child,
    address: SocketAddr,
    folder: TempDir,
}

impl Sink {
    /// `None`, with the reason printed, where it is not installed.
    fn start() -> Option<Sink> {
        let folder = tempfile::tempdir().expect("a folder");
        // It drops its rights as root, and has to write there.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).expect("a folder for all");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        drop(listener);
        let mut command = Command::new(program()?);
        // 8BITMIME, PIPELINING and SIZE are there without a word.
        command.args(["-d", "message.", "-m", "100"]);
        if sys::process::is_root() {
            command.args(["-u", "nobody"]);
        }
        command.arg(address.to_string()).arg("100").current_dir(folder.path());
        let process = match command.stdout(Stdio::null()).stderr(Stdio::inherit()).spawn() {
            Ok(process) => process,
            Err(error) => {
                println!("skipped: smtp-sink cannot be started: {error}");
                return None;
            }
        };
        let sink = Sink { process, address, folder };
        let until = Instant::now() + Duration::from_secs(60);
        while TcpStream::connect(address).is_err() {
            assert!(Instant::now() < until, "smtp-sink listens");
            sleep(Duration::from_millis(20));
        }
        Some(sink)
    }

    /// Every recipient of every message that it has.
    fn recipients(&self) -> Vec<String> {
        let files = fs::read_dir(self.folder.path()).expect("its folder");
        let mut recipients = Vec::new();
        for file in files {
            let text = fs::read_to_string(file.expect("a file").path()).expect("a message");
            assert!(text.contains("\nMessage-ID: <") && text.contains("\n.dots\n..\nend\n"), "{text}");
            let lines = text.lines().filter_map(|line| line.strip_prefix("X-Rcpt-Args: <"));
            recipients.extend(lines.map(|line| line.trim_end_matches('>').to_owned()));
        }
        sorted(recipients)
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The one that is installed, or else the one that `cargo xtask mail-servers` unpacks below the folder in which
/// this test is built, for a user that may mount.
fn program() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let installed = std::env::split_paths(&path).chain(["/usr/sbin".into()]);
    let own = std::env::current_exe().expect("a test is a program");
    let unpacked = own.ancestors().nth(3).expect("a folder of cargo").join("mail-servers/bin");
    let may_mount = || {
        let mounts = Command::new("unshare").args(["--mount", "--map-root-user", "true"]).status();
        mounts.is_ok_and(|status| status.success())
    };
    let found = installed.map(|folder| folder.join("smtp-sink")).find(|program| program.is_file());
    let found =
        found.or_else(|| Some(unpacked.join("smtp-sink")).filter(|program| program.exists() && may_mount()));
    if found.is_none() {
        println!(
            "skipped: there is no smtp-sink; `cargo xtask mail-servers` unpacks one for those that may mount"
        );
    }
    found
}

#[test]
fn smtp_sink_has_what_was_delivered() {
    let Some(sink) = Sink::start() else { return };
    let list = generated(200, 20);
    let settings = settings_for(sink.address, Mode::Deliver);
    let delivered = deliver("poll", &list, settings.clone()).expect("deliveries");
    assert_eq!(delivered.endings.get(&DeliveryEnding::Delivered), Some(&200));
    assert_eq!(sink.recipients(), delivered.delivered);
    // Tests leave nothing.
    for mode in [Mode::Test, Mode::TestPipelined] {
        let session = mail::SessionSettings { mode, ..settings.session.clone() };
        let routing = Routing::Relay(sink.address);
        let tests = EngineSettings { session, routing, ..settings.clone() };
        let tested = deliver("poll", &list, tests).expect("deliveries");
        assert_eq!(tested.endings.get(&DeliveryEnding::Tested), Some(&200), "{mode:?}");
    }
    assert_eq!(sink.recipients().len(), 200);
}

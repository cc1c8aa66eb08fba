//! A server of others that nothing else sees: its own users, `/etc`, `/var` and `/usr`, at a port of
//! loopback.

use std::fs::{self, File, Permissions};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use net::service::ServiceSettings;
use net::service::smtp::SmtpSettings;
use serde_json::Value;

use crate::common::until;

/// Where `xtask/src/obtain.rs` leaves it, below the folder in which this test is built; `None`, with
/// the reason printed, where it is not.
pub(crate) fn unpacked(name: &str) -> Option<PathBuf> {
    let own = Path::new(env!("CARGO_BIN_EXE_osdyno"));
    let target = own.ancestors().nth(2).expect("a folder of cargo");
    let found = target.join("mail-servers").join(name);
    if !found.exists() {
        skipped!("`cargo xtask mail-servers` has not made {}", found.display());
        return None;
    }
    Some(found)
}

/// The same, of a server: these change users, which only root can.
pub(crate) fn server_files(name: &str) -> Option<PathBuf> {
    if !sys::process::is_root() {
        skipped!("{name} changes to users of its own, in a place of its own, which needs root");
        return None;
    }
    unpacked(name).map(|folder| folder.join("usr"))
}

/// Users and groups of mail servers, by name: each is alone in its group.
const USERS: [(&str, u32); 8] = [
    ("root", 0),
    ("mail", 8),
    ("postfix", 61001),
    ("postdrop", 61002),
    ("Debian-exim", 61003),
    ("opensmtpd", 61004),
    ("opensmtpq", 61005),
    ("nobody", 65534),
];

/// What the shell does in the folder of the server, in namespaces of its own. The folders lie below the own
/// folder, whose paths may vanish with the first mount: therefore they are relative, and `/usr`, in which
/// mount(8) is, is the last.
const SCRIPT: &str = "
mount --bind \"$1\" usr
shift
for place in etc run var usr; do mount -c --bind $place /$place; done
exec \"$@\"";

/// A server that runs. Dropped, all its processes are killed.
pub(crate) struct Private {
    /// unshare(1), the parent of the first process of a namespace of processes.
    child: Child,
    folder: PathBuf,
    pub(crate) address: SocketAddr,
}

impl Private {
    /// Prepares the places of a server: `folder` is to have its `etc`, `run` and `var`.
    pub(crate) fn prepare(folder: &Path) {
        for place in ["etc/ssl/certs", "run", "usr", "var/lib", "var/run", "var/log", "var/spool"] {
            fs::create_dir_all(folder.join(place)).expect("a folder");
        }
        // Its processes of other users see nothing above.
        fs::set_permissions(folder, Permissions::from_mode(0o755)).expect("a folder for all");
        let users = USERS.map(|(name, number)| format!("{name}:x:{number}:{number}::/:/bin/false\n"));
        let groups = USERS.map(|(name, number)| format!("{name}:x:{number}:\n"));
        write(folder, "etc/passwd", &users.concat());
        write(folder, "etc/group", &groups.concat());
        write(folder, "etc/hosts", "127.0.0.1 localhost\n");
        // One as our sink makes for itself.
        let service = SmtpSettings { host: "server.test".to_owned(), ..SmtpSettings::default() };
        let service = service.open(false).expect("a service");
        let identity = &service.handed_on().expect("what it has made")["identity"];
        let certificate = pem("CERTIFICATE", &identity["certificate"]);
        let key = pem("PRIVATE KEY", &identity["key"]);
        write(folder, "etc/ssl/certs/ca-certificates.crt", &certificate);
        write(folder, "etc/ssl/certificate.pem", &certificate);
        write(folder, "etc/ssl/key.pem", &key);
        write(folder, "etc/ssl/both.pem", &[key, certificate].concat());
        let only_root = Permissions::from_mode(0o600);
        for secret in ["etc/ssl/key.pem", "etc/ssl/both.pem"] {
            fs::set_permissions(folder.join(secret), only_root.clone()).expect("a file of ours");
        }
    }

    /// Starts what has been prepared, with these files in the place of `/usr`, and waits until it listens.
    pub(crate) fn start(folder: &Path, usr: &Path, address: SocketAddr, program: &[&str]) -> Private {
        let mut command = Command::new("unshare");
        command.args([
            "--mount",
            "--pid",
            "--fork",
            "--kill-child",
            "--mount-proc",
            "sh",
            "-e",
            "-c",
            SCRIPT,
            "sh",
        ]);
        let log = File::create(folder.join("said")).expect("a file");
        let errors = log.try_clone().expect("a descriptor");
        command.arg(usr).args(program).current_dir(folder).env_clear().env("PATH", "/usr/sbin:/usr/bin");
        command.stdin(Stdio::null()).stdout(log).stderr(errors);
        let child = command.spawn().expect("unshare of util-linux starts");
        let mut server = Private { child, folder: folder.to_owned(), address };
        until("the server listens", || {
            let ended = server.child.try_wait().expect("a child");
            assert!(ended.is_none(), "{program:?} ended: {ended:?}\n{}", server.said());
            TcpStream::connect(address).is_ok()
        });
        server
    }

    /// What it wrote to its output and its log.
    pub(crate) fn said(&self) -> String {
        let logs = ["said", "var/log/mail.log", "var/log/exim-main", "var/log/exim-panic"];
        let text = |log: &str| {
            let bytes = fs::read(self.folder.join(log)).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        logs.map(text).concat()
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        // With the first process of the namespace all others of it are killed. unshare(1) ignores SIGTERM,
        // and its own death would reach a server that has changed users no more.
        let number = self.child.id();
        let children = fs::read_to_string(format!("/proc/{number}/task/{number}/children"));
        for first in children.unwrap_or_default().split_whitespace() {
            let first = first.parse().ok().and_then(rustix::process::Pid::from_raw);
            if let Some(first) = first {
                let _ = rustix::process::kill_process(first, rustix::process::Signal::KILL);
            }
        }
        let _ = self.child.wait();
    }
}

pub(crate) fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().expect("a folder")).expect("its folder");
    fs::write(path, text).expect("a file");
}

/// Makes a folder of that owner, group and mode.
pub(crate) fn make_folder(folder: &Path, name: &str, user: &str, group: &str, mode: u32) {
    let path = folder.join(name);
    let number = |name: &str| USERS.iter().find(|(known, _)| *known == name).map(|(_, number)| *number);
    fs::create_dir_all(&path).expect("a folder");
    std::os::unix::fs::chown(&path, number(user), number(group)).expect("root gives it away");
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("a folder of ours");
}

/// An address that is free now.
pub(crate) fn free_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("an address")
}

/// DER in base64 as PEM (RFC 7468).
fn pem(label: &str, base64: &Value) -> String {
    let der = STANDARD.decode(base64.as_str().expect("a text")).expect("base64");
    let text = STANDARD.encode(der);
    let lines: Vec<&str> =
        text.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).expect("ASCII")).collect();
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))
}

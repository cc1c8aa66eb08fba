//! Starts a server in a folder and on a port of its own, and ends it with all its processes.

use std::collections::BTreeSet;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::osdyno;

/// A database makes its first files on a busy machine.
const START: Duration = Duration::from_secs(100);

/// How a server is started, and what it is.
pub(crate) struct Script {
    pub(crate) name: String,
    pub(crate) expected: String,
    /// A program that is there when the server is.
    program: String,
    needs_root: bool,
    how: How,
}

enum How {
    Shell(String),
    Ours(String),
}

impl Script {
    /// That of a file, whose first lines say what it starts.
    pub(crate) fn read(path: &Path) -> Script {
        let script = fs::read_to_string(path).expect("a script");
        let said = |what: &str| {
            let line = script
                .lines()
                .find_map(|line| line.strip_prefix("# ")?.strip_prefix(what)?.strip_prefix(": "));
            line.map(str::to_owned)
        };
        Script {
            name: path.file_stem().expect("a name").to_string_lossy().into_owned(),
            expected: said("expected").expect("what is expected"),
            program: said("program").expect("its program"),
            needs_root: said("needs").is_some_and(|needs| needs == "root"),
            how: How::Shell(script),
        }
    }

    /// One of our own architectures.
    pub(crate) fn ours(architecture: &str) -> Script {
        let expected = if architecture == "tokio" { "coroutines" } else { architecture };
        Script {
            name: format!("serve --arch {architecture}"),
            expected: expected.to_owned(),
            program: "sh".to_owned(),
            needs_root: false,
            how: How::Ours(architecture.to_owned()),
        }
    }

    /// Starts it, and waits until it listens.
    pub(crate) fn start(&self, folder: &Path) -> Result<Started, String> {
        let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
        let is_there = std::env::split_paths(&path).any(|folder| folder.join(&self.program).exists());
        if !is_there {
            return Err(format!("{} is not installed", self.program));
        }
        if self.needs_root && !sys::process::is_root() {
            return Err("it starts as root only".to_owned());
        }
        let (root, port) = (folder.join("server"), free_port());
        fs::create_dir(&root).expect("a folder");
        let mut command = match &self.how {
            How::Shell(script) => {
                let mut command = Command::new("sh");
                command.args(["-c", script]);
                command
            }
            How::Ours(architecture) => {
                let listen = format!("127.0.0.1:{port}");
                let mut command =
                    osdyno(folder, &["serve", "--arch", architecture, "--listen", &listen, "."]);
                command.current_dir(&root);
                command
            }
        };
        // Other users of theirs reach the folder.
        for folder in [folder, root.as_path()] {
            let is_open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            fs::set_permissions(folder, is_open).expect("permissions");
        }
        let told = fs::File::create(folder.join("told")).expect("a file");
        command.env("PATH", path).env("DIR", &root).env("PORT", port.to_string()).stdin(Stdio::null());
        command.stdout(told.try_clone().expect("a file")).stderr(told).process_group(0);
        let mut child = command.spawn().expect("it starts");
        let began = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            let ended = child.try_wait().expect("a child");
            if ended.is_some() || began.elapsed() > START {
                drop(Started { child });
                let told = fs::read_to_string(folder.join("told")).unwrap_or_default();
                panic!("{} does not listen ({ended:?}): {told}", self.name);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        // Workers start after the first connection is possible.
        std::thread::sleep(Duration::from_secs(1));
        Ok(Started { child })
    }
}

/// A port that nobody uses, and that differs from those of other tests beside this.
fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    listener.local_addr().expect("an address").port()
}

/// A server that runs. Dropped, it ends with all its processes.
pub(crate) struct Started {
    child: Child,
}

impl Started {
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its processes: those below it, and those of its group.
    fn processes(&self) -> BTreeSet<u32> {
        let all = sys::process_table::processes().unwrap_or_default();
        let mut family = BTreeSet::from([self.pid()]);
        loop {
            let before = family.len();
            family.extend(
                all.iter().filter(|one| family.contains(&one.parent)).map(|one| one.pid).collect::<Vec<_>>(),
            );
            if family.len() == before {
                return family;
            }
        }
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        // What a server leaves behind when it is killed has its number before that.
        let family = self.processes();
        let signal = |name: &str, pid: String| {
            let _ = Command::new("kill").args([name, "--", &pid]).stderr(Stdio::null()).status();
        };
        signal("-TERM", self.pid().to_string());
        let began = Instant::now();
        while self.child.try_wait().is_ok_and(|ended| ended.is_none())
            && began.elapsed() < Duration::from_secs(5)
        {
            std::thread::sleep(Duration::from_millis(20));
        }
        signal("-KILL", format!("-{}", self.pid()));
        for pid in family.into_iter().filter(|pid| *pid != self.pid()) {
            // It may have a group of its own, and it may have ended.
            if sys::process_table::process(pid).is_ok() {
                signal("-KILL", pid.to_string());
            }
        }
        let _ = self.child.wait();
    }
}

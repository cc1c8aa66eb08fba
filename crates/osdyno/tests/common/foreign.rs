//! Programs of others: found, run within a time, and ended with all that they started.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::text;

/// The output of a program, and how it ended.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    /// Standard output and, behind it, standard error.
    pub(crate) all: String,
    pub(crate) output: Vec<u8>,
}

/// The program of that name; prints a skip if there is none.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    // Servers are beside what is for everybody.
    let folders = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin")]);
    let found = folders.map(|folder| folder.join(name)).find(|path| path.is_file());
    if found.is_none() {
        skipped!("{name} is not installed; `cargo xtask test` installs it for root on Debian");
    }
    found
}

/// Runs it to its end, which must come within the time.
pub(crate) fn run_within(limit: Duration, command: &mut Command) -> Said {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = Group(command.spawn().expect("the program starts"));
    let (mut output, mut errors) =
        (child.0.stdout.take().expect("a pipe"), child.0.stderr.take().expect("a pipe"));
    let read = |pipe: &mut dyn Read| {
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes).map(|_| bytes).expect("its output")
    };
    std::thread::scope(|scope| {
        let errors = scope.spawn(move || read(&mut errors));
        let output = scope.spawn(move || read(&mut output));
        let deadline = Instant::now() + limit;
        let status = loop {
            if let Some(status) = child.0.try_wait().expect("a child") {
                break Some(status);
            }
            if Instant::now() > deadline {
                break None;
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        child.end();
        let (output, errors) = (output.join().expect("a reader"), errors.join().expect("a reader"));
        let all = [text(&output), text(&errors)].concat();
        let status = status.unwrap_or_else(|| panic!("{command:?} did not end within {limit:?}: {all}"));
        Said { code: status.code(), all, output }
    })
}

/// A program that leads a group. Dropped, all of it is killed.
pub(crate) struct Group(pub(crate) Child);

impl Group {
    fn end(&mut self) {
        // The leader was waited for or not: its number is that of the group until all are gone.
        if let Some(group) = rustix::process::Pid::from_raw(self.0.id().cast_signed()) {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let _ = self.0.wait();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.end();
    }
}

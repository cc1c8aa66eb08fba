//! Programs and libraries of the system whose version decides what a workload measures.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::Collector;
use crate::process::find_program;

/// The facts, and the commands whose first line of output they are; absent where there is no such command.
const VERSIONS: [(&str, &str, &str); 6] = [
    ("software.compiler", "cc", "--version"),
    ("software.openssl", "openssl", "version"),
    ("software.postgresql", "postgres", "--version"),
    ("software.mariadb", "mariadbd", "--version"),
    ("software.smbd", "smbd", "--version"),
    ("software.ssh", "ssh", "-V"),
];

/// How long all of them may take: a program that does not answer has no version.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long a line may be.
const LINE_BYTES: u64 = 1000;

pub(super) fn read(facts: &mut Collector) {
    // All at once, because every run waits for them.
    let started = VERSIONS.map(|(fact, command, argument)| (fact, start(command, argument)));
    let deadline = Instant::now() + PATIENCE;
    for (fact, child) in started {
        let line = child.and_then(|child| first_line(child, deadline));
        facts.add(fact, line.as_deref());
    }
}

fn start(command: &str, argument: &str) -> Option<Child> {
    let mut command = Command::new(find_program(command)?);
    command.arg(argument).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().ok()
}

/// The first line that it prints, if it ends well and in time; ssh(1) prints its version as an error.
fn first_line(mut child: Child, deadline: Instant) -> Option<String> {
    let (output, errors) = (child.stdout.take()?, child.stderr.take());
    while child.try_wait().ok()?.is_none() {
        if Instant::now() >= deadline {
            let _ = child.kill();
            let _ = child.wait();
            return None;
        }
        thread::sleep(Duration::from_millis(1));
    }
    let is_well = child.wait().is_ok_and(|status| status.success());
    let mut line = String::new();
    BufReader::new(output.take(LINE_BYTES)).read_line(&mut line).ok().filter(|_| is_well)?;
    if let Some(errors) = errors.filter(|_| line.is_empty()) {
        BufReader::new(errors.take(LINE_BYTES)).read_line(&mut line).ok()?;
    }
    Some(line)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_fails_or_does_not_end_has_no_version() {
        let of = |script: &str, patience: Duration| {
            let mut command = Command::new("sh");
            let output = command.args(["-c", script]).stdout(Stdio::piped()).stderr(Stdio::piped());
            let child = output.spawn().unwrap();
            first_line(child, Instant::now() + patience)
        };
        let (long, short) = (Duration::from_secs(60), Duration::from_millis(10));
        assert_eq!(of("echo one; echo two", long).as_deref().map(str::trim_end), Some("one"));
        assert_eq!(of("echo one; exit 1", long), None);
        assert_eq!(of("echo a warning >&2; echo one", long).as_deref(), Some("one\n"));
        assert_eq!(of("echo one >&2", long).as_deref(), Some("one\n"));
        assert_eq!(of("exec sleep 60", short), None);
    }
}

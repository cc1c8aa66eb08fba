//! A server under attack: started, asked for its counters, and ended in order. It is known by its process
//! number; nothing here ends a process by name.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::process::{Process, descendants};
use crate::AnyError;

/// What a server must do in time, on a machine that has much else to do.
pub(super) const DEADLINE: Duration = Duration::from_secs(60);

/// How often a condition is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// Limits of the server: short, so that what a hostile client holds is given back while we wait.
const LIMITS: &[&str] =
    &["--idle-timeout", "3s", "--request-timeout", "3s", "--send-timeout", "3s", "--grace", "5s"];

/// Processes or threads of a pool: more than there are hostile clients at a time.
pub(super) const POOL: usize = 64;

/// One life of a server, from its start to its end.
pub(super) struct Life<'a> {
    pub(super) program: &'a Path,
    pub(super) architecture: &'a str,
    pub(super) root: &'a Path,
    pub(super) log: &'a Path,
    pub(super) listen: SocketAddr,
    /// Several workers, each of which may be killed.
    pub(super) workers: Option<usize>,
    /// The limit of descriptors of each process.
    pub(super) descriptors: Option<usize>,
}

/// A server that runs. Dropped, it is killed with all processes below it.
pub(super) struct RunningServer {
    child: Child,
    pub(super) address: SocketAddr,
    lines: Arc<Mutex<Vec<String>>>,
}

/// What a server counted, by the names of its report.
#[derive(Clone, Debug, Default)]
pub(super) struct ServerCounts(pub(super) BTreeMap<String, u64>);

impl ServerCounts {
    /// A count; one that is missing is none.
    pub(super) fn get(&self, name: &str) -> u64 {
        self.0.get(name).copied().unwrap_or(0)
    }
}

impl Life<'_> {
    fn command(&self) -> Command {
        let mut command = match self.descriptors {
            None => Command::new(self.program),
            Some(descriptors) => {
                let mut shell = Command::new("sh");
                shell.args(["-c", &format!("ulimit -n {descriptors}; exec \"$0\" \"$@\"")]).arg(self.program);
                shell
            }
        };
        let (pool, listen) = (POOL.to_string(), self.listen.to_string());
        command.args(["serve", "--format", "json", "--arch", self.architecture]);
        command.args(["--pool", &pool, "--listen", &listen]).args(LIMITS);
        command.arg("--access-log").arg(self.log);
        if let Some(workers) = self.workers {
            command.args(["--workers", &workers.to_string()]);
        }
        command.arg(self.root);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Starts it, and waits until it says where it listens.
    pub(super) fn start(&self) -> Result<RunningServer, AnyError> {
        let mut child = self.command().spawn().map_err(|error| format!("start osdyno serve: {error}"))?;
        let lines = Arc::default();
        if let Some(errors) = child.stderr.take() {
            let lines: Arc<Mutex<Vec<String>>> = Arc::clone(&lines);
            std::thread::spawn(move || {
                for line in BufReader::new(errors).lines().map_while(Result::ok) {
                    lines.lock().unwrap_or_else(PoisonError::into_inner).push(line);
                }
            });
        }
        let mut server = RunningServer { child, address: self.listen, lines };
        let start = Instant::now();
        loop {
            if let Some(address) = server.lines().iter().find_map(|line| listening_address(line)) {
                server.address = address;
                return Ok(server);
            }
            if let Some(status) = server.child.try_wait()? {
                // Its last line may still be on its way through the pipe.
                std::thread::sleep(LOOK * 5);
                return Err(format!("serve did not start: {status}: {}", server.lines().join(" · ")).into());
            }
            if start.elapsed() > DEADLINE {
                return Err(format!("serve does not say where it listens: {:?}", server.lines()).into());
            }
            std::thread::sleep(LOOK);
        }
    }
}

impl RunningServer {
    fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Its number.
    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its processes: the one that was started, and all below it.
    pub(super) fn processes(&self) -> Vec<Process> {
        descendants(self.id())
    }

    /// What it has counted until now, `open` among it: asked for by SIGUSR1.
    pub(super) fn counts(&self) -> Result<ServerCounts, AnyError> {
        let before = self.lines().len();
        send(self.id(), Signal::USR1)?;
        let start = Instant::now();
        while start.elapsed() < DEADLINE {
            let lines = self.lines();
            if let Some(counts) = lines.get(before..).and_then(reported_counts) {
                return Ok(counts);
            }
            std::thread::sleep(LOOK);
        }
        Err(format!("no counters within {DEADLINE:?} of SIGUSR1").into())
    }

    /// Tells it to stop, by SIGTERM.
    pub(super) fn tell_to_stop(&self) -> Result<(), AnyError> {
        send(self.id(), Signal::TERM)
    }

    /// Waits for its end after [`RunningServer::tell_to_stop`], which must be in order and leave no process;
    /// returns the counters that it prints then.
    pub(super) fn end(mut self, processes: &[Process]) -> Result<ServerCounts, AnyError> {
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait()? {
                break status;
            }
            if start.elapsed() > DEADLINE {
                return Err(format!("serve did not end within {DEADLINE:?} of SIGTERM").into());
            }
            std::thread::sleep(LOOK);
        };
        let mut printed = String::new();
        if let Some(mut output) = self.child.stdout.take() {
            output.read_to_string(&mut printed)?;
        }
        if !status.success() {
            return Err(format!("serve ended with {status}: {}", self.lines().join(" · ")).into());
        }
        while processes.iter().any(Process::is_alive) {
            if start.elapsed() > DEADLINE {
                return Err("a process of the server outlives it".into());
            }
            std::thread::sleep(LOOK);
        }
        printed_counts(&printed)
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            for process in self.processes() {
                let _ = send(process.id, Signal::KILL);
            }
            let _ = self.child.wait();
        }
    }
}

/// Sends a signal to one process.
pub(super) fn send(process: u32, signal: Signal) -> Result<(), AnyError> {
    let process = Pid::from_raw(process.cast_signed()).ok_or("no process number")?;
    Ok(kill_process(process, signal).map_err(|error| format!("signal {signal:?}: {error}"))?)
}

/// The address in `serving FOLDER at http://ADDRESS/ with …`.
fn listening_address(line: &str) -> Option<SocketAddr> {
    let (_, rest) = line.strip_prefix("serving ")?.rsplit_once(" at ")?;
    let (address, _) = rest.split_once(" with ")?;
    address.trim_start_matches("http://").trim_end_matches('/').parse().ok()
}

/// The report that SIGUSR1 asks for, once its last line has come.
fn reported_counts(lines: &[String]) -> Option<ServerCounts> {
    let mut counts = ServerCounts::default();
    for line in lines {
        let Some((name, value)) = line.trim().rsplit_once("  ") else { continue };
        let (name, Ok(value)) = (name.trim(), value.trim().parse()) else { continue };
        match name {
            "open now" => _ = counts.0.insert("open".to_owned(), value),
            "open at most" => return Some(counts),
            _ => _ = counts.0.insert(name.replace(' ', "_"), value),
        }
    }
    None
}

/// The JSON that a server prints at its end.
fn printed_counts(printed: &str) -> Result<ServerCounts, AnyError> {
    let document: serde_json::Value = serde_json::from_str(printed)
        .map_err(|error| format!("the counters of the server are no JSON: {error}: {printed:?}"))?;
    let report = &document["report"];
    let counts = report["counts"].as_object().ok_or("the server printed no counters")?.iter();
    let number = |value: &serde_json::Value| value.as_u64().unwrap_or(u64::MAX);
    let mut counts: BTreeMap<String, u64> =
        counts.map(|(name, value)| (name.clone(), number(value))).collect();
    counts.insert("open".to_owned(), number(&report["open"]));
    Ok(ServerCounts(counts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_the_last_of_its_line() {
        let line = "serving /a at home at http://127.0.0.1:4711/ with epoll, 1 worker — stop with Ctrl-C";
        assert_eq!(listening_address(line), "127.0.0.1:4711".parse().ok());
        assert_eq!(listening_address("warning: serving as root"), None);
    }

    #[test]
    fn a_report_counts_when_it_is_whole() {
        let lines = ["after 2s", "  accepted                       7", "  sent bytes                    90"];
        let mut lines: Vec<String> = lines.map(str::to_owned).to_vec();
        lines.push("  open now                       3".to_owned());
        assert!(reported_counts(&lines).is_none());
        lines.push("  open at most                   5".to_owned());
        let counts = reported_counts(&lines).expect("a report");
        assert_eq!((counts.get("accepted"), counts.get("sent_bytes"), counts.get("open")), (7, 90, 3));
    }

    #[test]
    fn the_last_counters_are_json() {
        let printed = r#"{"report": {"counts": {"accepted": 5, "ended": 4}, "open": 1, "peak": 3}}"#;
        let counts = printed_counts(printed).expect("counters");
        assert_eq!((counts.get("accepted"), counts.get("ended"), counts.get("open")), (5, 4, 1));
        assert!(printed_counts("").is_err());
    }
}

//! A server of the program: started for a test, looked at from outside, and ended in order.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::{osdyno, text, until};

/// A server that runs. Dropped, it is killed with all its processes.
pub(crate) struct Served {
    child: Child,
    /// Its service.
    pub(crate) folder: PathBuf,
    pub(crate) address: SocketAddr,
    said: Arc<Mutex<Vec<String>>>,
}

/// The counts of a server over its life.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    counts: BTreeMap<String, u64>,
    pub(crate) open: u64,
    pub(crate) peak: u64,
}

impl Ended {
    pub(crate) fn count(&self, name: &str) -> u64 {
        self.counts[name]
    }
}

impl Served {
    /// `osdyno serve` in the folder, with these words besides, at a port of its own.
    pub(crate) fn start(folder: &Path, words: &[&str]) -> Served {
        Served::start_by(osdyno(folder, &[]), words)
    }

    /// The same from a command that already has the program, and limits of its own.
    pub(crate) fn start_by(mut command: Command, words: &[&str]) -> Served {
        command.args(["serve", "--format", "json"]);
        if !words.contains(&"--listen") {
            command.args(["--listen", "127.0.0.1:0"]);
        }
        command.args(words).process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
        let folder = command.get_current_dir().expect("a folder").to_owned();
        let mut child = command.spawn().expect("osdyno starts");
        let said = Arc::new(Mutex::new(Vec::new()));
        let errors = child.stderr.take().expect("a pipe");
        std::thread::spawn({
            let said = Arc::clone(&said);
            move || {
                for line in BufReader::new(errors).lines().map_while(Result::ok) {
                    said.lock().expect("lines").push(line);
                }
            }
        });
        let mut served = Served { child, folder, address: SocketAddr::from(([0; 4], 0)), said };
        until("the server says where it listens", || {
            let found = served.said().iter().find_map(|line| greeted(line));
            if found.is_none()
                && let Some(status) = served.child.try_wait().expect("a child")
            {
                panic!("the server ended: {status}\n{}", served.said().join("\n"));
            }
            found.inspect(|address| served.address = *address).is_some()
        });
        served
    }

    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    /// Its lines on standard error.
    pub(crate) fn said(&self) -> Vec<String> {
        self.said.lock().expect("lines").clone()
    }

    pub(crate) fn signal(&self, name: &str) {
        super::signal(self.process(), name);
    }

    /// The processes of its group, itself among them.
    pub(crate) fn processes(&self) -> Vec<u32> {
        group(self.process())
    }

    /// Descriptors that its processes have open.
    pub(crate) fn descriptors(&self) -> usize {
        let of = |process| std::fs::read_dir(format!("/proc/{process}/fd")).map_or(0, Iterator::count);
        self.processes().into_iter().map(of).sum()
    }

    /// Memory that its processes have in use, in bytes; pages that they share after a fork count once.
    pub(crate) fn resident_bytes(&self) -> u64 {
        let of = |process| {
            let status = std::fs::read_to_string(format!("/proc/{process}/smaps_rollup")).unwrap_or_default();
            let line = status.lines().find_map(|line| line.strip_prefix("Pss_Anon:").map(str::to_owned));
            let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
            kib.unwrap_or(0) * 1024
        };
        self.processes().into_iter().map(of).sum()
    }

    /// A counter, from the report that SIGUSR1 asks for; `open now` and `open at most` are two.
    pub(crate) fn counter(&self, name: &str) -> u64 {
        let before = self.said().len();
        self.signal("USR1");
        let mut value = None;
        until("the server reports", || {
            let said = self.said();
            let new = said.get(before..).unwrap_or_default();
            if !new.iter().any(|line| line.trim_start().starts_with("open at most")) {
                return false;
            }
            let line = new.iter().find_map(|line| line.trim_start().strip_prefix(name));
            value = line.and_then(|number| number.trim().parse().ok());
            true
        });
        value.unwrap_or_else(|| panic!("no counter {name:?} in {:#?}", self.said()))
    }

    /// Has it stop by SIGTERM, and waits for the end.
    pub(crate) fn stop(self) -> Ended {
        self.signal("TERM");
        self.end()
    }

    /// Waits for its end, and proves that nothing is left of it.
    pub(crate) fn end(mut self) -> Ended {
        let deadline = Instant::now() + Duration::from_secs(30);
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                break status;
            }
            assert!(Instant::now() < deadline, "the server does not end: {:#?}", self.said());
            std::thread::sleep(Duration::from_millis(5));
        };
        let mut output = Vec::new();
        self.child.stdout.take().expect("a pipe").read_to_end(&mut output).expect("its output");
        until("no process of the server is left", || group(self.child.id()).is_empty());
        assert!(status.success(), "{status}: {:#?}", self.said());
        let document = text(&output);
        let last = document.find("{\n").map(|at| &document[at..]).unwrap_or_default();
        let value: serde_json::Value =
            serde_json::from_str(last).unwrap_or_else(|error| panic!("{error}: {document:?}"));
        let report = &value["report"];
        let counts = report["counts"].as_object().expect("counts").iter();
        Ended {
            status,
            counts: counts.map(|(name, value)| (name.clone(), value.as_u64().expect("a count"))).collect(),
            open: report["open"].as_u64().expect("open"),
            peak: report["peak"].as_u64().expect("peak"),
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            if let Some(group) = rustix::process::Pid::from_raw(self.child.id().cast_signed()) {
                let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
            }
            let _ = self.child.wait();
        }
    }
}

/// Where a server says that it listens: `serving … at [http://]ADDRESS[/] with …`.
fn greeted(line: &str) -> Option<SocketAddr> {
    let (_, rest) = line.strip_prefix("serving ")?.rsplit_once(" at ")?;
    let (address, _) = rest.split_once(" with ")?;
    address.trim_start_matches("http://").trim_end_matches('/').parse().ok()
}

/// Processes of that group that have not ended.
pub(crate) fn group(number: u32) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").expect("/proc").flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_of_group = |process: &u32| {
        let Ok(stat) = std::fs::read_to_string(format!("/proc/{process}/stat")) else { return false };
        // Behind the name, which may hold anything: state, parent, group.
        let Some((_, rest)) = stat.rsplit_once(')') else { return false };
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        fields.first() != Some(&"Z") && fields.get(2).is_some_and(|group| *group == number.to_string())
    };
    numbers.filter(is_of_group).collect()
}

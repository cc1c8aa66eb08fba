//! What a server uses, before an attack and after it, and whether its counters agree with its access log and
//! with the load generator.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use super::generator::Generated;
use super::server::{DEADLINE, RunningServer, ServerCounts};
use crate::AnyError;

/// Memory that may be added by an attack. An allocator keeps what the busiest moment took: buffers of the
/// connections that were open together, one arena and one cached stack for each of a few dozen threads. A
/// leak of a buffer of 16 KiB per connection exceeds this after 768 connections, and a turn makes thousands.
const MEMORY_BYTES: u64 = 12 << 20;

/// The same, for each process besides the first: each has a heap of its own.
const MEMORY_BYTES_PER_PROCESS: u64 = 512 << 10;

/// Files of the site that are served from an open descriptor. A process that has served one keeps it open,
/// and one that had not served it before the attack may have it open afterwards.
const FILES_KEPT_OPEN: usize = 2;

/// Descriptors that a server keeps in reserve for files. Where they are few, some may be missing before the
/// attack and be there afterwards: accept(2) takes a descriptor before it waits, and so a pool of more
/// threads than descriptors has none left even when it is idle.
pub(super) const RESERVE: usize = 3;

/// What the processes of a server use together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Usage {
    /// Memory that belongs to no file, and what is shared is counted once.
    pub(super) memory_bytes: u64,
    pub(super) descriptors: usize,
    pub(super) processes: usize,
}

impl Usage {
    /// Of a server, now.
    pub(super) fn of(server: &RunningServer) -> Usage {
        let processes = server.processes();
        let mut usage = Usage { processes: processes.len(), ..Usage::default() };
        for process in processes {
            let folder = format!("/proc/{}", process.id);
            let maps = fs::read_to_string(format!("{folder}/smaps_rollup")).unwrap_or_default();
            usage.memory_bytes += anonymous_bytes(&maps);
            usage.descriptors += fs::read_dir(format!("{folder}/fd")).map_or(0, Iterator::count);
        }
        usage
    }

    /// The larger of each.
    pub(super) fn max(self, other: Usage) -> Usage {
        Usage {
            memory_bytes: self.memory_bytes.max(other.memory_bytes),
            descriptors: self.descriptors.max(other.descriptors),
            processes: self.processes.max(other.processes),
        }
    }

    /// Why this is not where it began; nothing if it is. So many descriptors may be back in the reserve.
    pub(super) fn difference(self, before: Usage, reserve: usize) -> Option<String> {
        let others = before.processes.saturating_sub(1);
        // One process has served everything before the attack began.
        let kept = reserve + if others == 0 { 0 } else { before.processes * FILES_KEPT_OPEN };
        let memory = MEMORY_BYTES + others as u64 * MEMORY_BYTES_PER_PROCESS;
        let mut differences = Vec::new();
        if self.processes != before.processes {
            differences.push(format!("{} processes, {} before", self.processes, before.processes));
        }
        if self.descriptors > before.descriptors + kept {
            let (now, before) = (self.descriptors, before.descriptors);
            differences.push(format!("{now} descriptors, {before} before, {kept} more are allowed"));
        }
        if self.memory_bytes > before.memory_bytes + memory {
            let [now, before, allowed] =
                [self.memory_bytes, before.memory_bytes, memory].map(|bytes| bytes >> 10);
            differences.push(format!("{now} KiB of memory, {before} before, {allowed} more are allowed"));
        }
        (!differences.is_empty()).then(|| differences.join("; "))
    }
}

/// `Pss_Anon` of proc_pid_smaps_rollup.
fn anonymous_bytes(maps: &str) -> u64 {
    let line = maps.lines().find_map(|line| line.strip_prefix("Pss_Anon:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}

/// Waits until a server without clients has no connection open.
pub(super) fn until_idle(server: &RunningServer) -> Result<ServerCounts, AnyError> {
    let start = Instant::now();
    loop {
        let counts = server.counts()?;
        if counts.get("open") == 0 {
            return Ok(counts);
        }
        if start.elapsed() > DEADLINE {
            let open = counts.get("open");
            return Err(format!("{open} connections are open {DEADLINE:?} after the last client left").into());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Waits until the server uses what it used before, and returns what it uses.
///
/// # Errors
/// What it uses more, after [`DEADLINE`].
pub(super) fn until_back(server: &RunningServer, before: Usage, reserve: usize) -> Result<Usage, AnyError> {
    until_idle(server)?;
    let start = Instant::now();
    loop {
        let now = Usage::of(server);
        let Some(difference) = now.difference(before, reserve) else { return Ok(now) };
        if start.elapsed() > DEADLINE {
            return Err(format!("{DEADLINE:?} after the attack: {difference}").into());
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// The lines of an access log, and those of them that hold each load generator's mark.
#[derive(Debug, Default)]
pub(super) struct LoggedLines {
    pub(super) all: u64,
    pub(super) marked: BTreeMap<String, u64>,
}

impl LoggedLines {
    /// Adds the lines of a log.
    pub(super) fn read(&mut self, log: &Path) -> Result<u64, AnyError> {
        let bytes = fs::read(log).map_err(|error| format!("{}: {error}", log.display()))?;
        Ok(self.add(&bytes))
    }

    fn add(&mut self, log: &[u8]) -> u64 {
        let mut lines = 0;
        for line in log.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            lines += 1;
            let line = String::from_utf8_lossy(line);
            if let Some((_, rest)) = line.split_once("\"GET /?load=")
                && let Some((mark, _)) = rest.split_once(' ')
            {
                *self.marked.entry(mark.to_owned()).or_default() += 1;
            }
        }
        self.all += lines;
        lines
    }

    /// Whether the server answered as many requests of this generator as the generator says. A response that
    /// the generator did not wait for may be logged, and `lost` lines may be missing.
    pub(super) fn check(&self, generated: &Generated, lost: u64) -> Option<String> {
        let logged = self.marked.get(&generated.mark).copied().unwrap_or(0);
        let (least, most) = (generated.answered().saturating_sub(lost), generated.started);
        (!(least..=most).contains(&logged)).then(|| {
            format!(
                "load {} sent {most} requests and has {} responses, the server logged {logged}",
                generated.mark,
                generated.answered()
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_that_of_no_file() {
        let maps = "Rss:    900 kB\nPss:    500 kB\nPss_Anon:     12 kB\nPss_File: 3 kB\n";
        assert_eq!(anonymous_bytes(maps), 12 << 10);
    }

    #[test]
    fn one_process_has_no_descriptor_more() {
        let before = Usage { memory_bytes: 1 << 20, descriptors: 10, processes: 1 };
        assert_eq!(before.difference(before, 0), None);
        let leaky = Usage { descriptors: 11, ..before };
        assert!(leaky.difference(before, 0).is_some_and(|text| text.starts_with("11 descriptors")));
        assert_eq!(leaky.difference(before, RESERVE), None);
        let large = Usage { memory_bytes: (1 << 20) + MEMORY_BYTES + 1024, ..before };
        assert!(large.difference(before, 0).is_some_and(|text| text.contains("KiB of memory")));
        let left = Usage { processes: 2, ..before };
        assert!(left.difference(before, 0).is_some_and(|text| text.starts_with("2 processes")));
    }

    #[test]
    fn lines_belong_to_their_generator() {
        let mut lines = LoggedLines::default();
        let log = b"- - [x] \"GET /?load=one HTTP/1.1\" 200 1\n- \"GET / HTTP/1.1\" 200 1\n\
                    - \"GET /?load=one HTTP/1.1\" 200 1\n";
        assert_eq!(lines.add(log), 3);
        let generated = |answered, started| Generated {
            mark: "one".to_owned(),
            started,
            right: answered,
            ..Generated::default()
        };
        assert_eq!(lines.check(&generated(2, 2), 0), None);
        assert_eq!(lines.check(&generated(1, 3), 0), None);
        assert!(lines.check(&generated(3, 3), 0).is_some(), "a response that no server sent");
        assert!(lines.check(&generated(1, 1), 0).is_some(), "a request that was answered twice");
        assert_eq!(lines.check(&generated(3, 3), 1), None);
    }
}

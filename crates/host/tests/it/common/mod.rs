//! Places to start roles, and checks that nothing is left of them.
#![allow(dead_code)]

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use host::{Deadline, Error, Host};

/// The program with all roles of these tests.
pub(crate) const ROLE: &str = env!("CARGO_BIN_EXE_host-role");

/// A command that only starts its arguments.
pub(crate) const BEHIND: [&str; 2] = ["env", "--"];

/// Time enough on a busy machine.
pub(crate) fn soon() -> Deadline<'static> {
    Deadline::within(Duration::from_secs(30))
}

/// The place behind that command.
pub(crate) fn place_of(prefix: &[&str], folder: &Path) -> Host {
    let folders = [folder.to_string_lossy().into_owned()];
    let words: Vec<String> = prefix.iter().map(|&word| word.to_owned()).collect();
    Host::open(&words, Path::new(ROLE), Path::new(ROLE), &folders, soon()).expect("a place")
}

/// The same with any command and folders, where it may fail.
pub(crate) fn open(prefix: &[String], folder: &Path, folders: &[String]) -> Result<Host, Error> {
    let folders = match folders {
        [] => vec![folder.to_string_lossy().into_owned()],
        folders => folders.to_vec(),
    };
    Host::open(prefix, Path::new(ROLE), Path::new(ROLE), &folders, soon())
}

/// Numbers of the processes on whose command line all these occur; one of them is this test's own.
pub(crate) fn processes(marks: &[&str]) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").expect("/proc").flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let has_all = |number: &u32| {
        let line = std::fs::read(format!("/proc/{number}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line);
        *number != std::process::id() && marks.iter().all(|mark| line.contains(mark))
    };
    numbers.filter(has_all).collect()
}

/// A word that no other test has on its command lines; sleep(1) takes it for half an hour.
pub(crate) fn unique() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("1800.{}{:03}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

pub(crate) fn kill(number: u32) {
    // It may have ended by itself.
    let _ = Command::new("kill").args(["-KILL", &number.to_string()]).status().expect("kill starts");
}

/// Waits for something to become true, for at most half a minute.
pub(crate) fn until(what: &str, mut is_true: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !is_true() {
        assert!(Instant::now() < deadline, "not within 30 s: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// No agent and no folder of one is left.
pub(crate) fn expect_nothing_left(folder: &Path) {
    until("no folder is left", || {
        let left = std::fs::read_dir(folder).expect("a folder").flatten();
        left.filter(|entry| entry.path().is_dir()).count() == 0
    });
    until("no agent is left", || processes(&["agent", &folder.to_string_lossy()]).is_empty());
}

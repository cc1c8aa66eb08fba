//! Servers and generators when something runs out, is interrupted, killed, or asked for more than it can.
//!
//! Descriptors run out for one process here. For the whole system (`ENFILE`) they cannot be made to without
//! touching the machine's settings, which no test does; both come back from the same calls, and are handled
//! by the same lines.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a panic is the failure of a test")]

#[path = "../common/mod.rs"]
mod common;
mod generators;
mod loaded;
mod servers;

pub(crate) const SMALL: &[u8] = b"<p>small</p>\n";
pub(crate) const MEDIUM: usize = 150_000;

/// The architectures under test, with what they need to be several processes where they can.
pub(crate) const SERVERS: &[&[&str]] = &[
    &["--arch", "epoll"],
    &["--arch", "epoll", "--workers", "2"],
    &["--arch", "uring"],
    &["--arch", "uring", "--workers", "2"],
    &["--arch", "thread"],
    &["--arch", "prefork", "--pool", "12"],
];

/// Those that this system has.
pub(crate) fn architectures() -> impl Iterator<Item = &'static [&'static str]> {
    SERVERS.iter().copied().filter(|words| {
        let unavailable_reason = net::arch::find(words[1]).unwrap().unavailable_reason();
        if let Some(reason) = &unavailable_reason {
            println!("skipped: {} is unsupported here: {reason}", words[1]);
        }
        unavailable_reason.is_none()
    })
}

pub(crate) fn site() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("index.html"), SMALL).unwrap();
    std::fs::write(folder.path().join("medium.bin"), vec![b'm'; MEDIUM]).unwrap();
    folder
}

pub(crate) fn interrupt(process: u32, signal: rustix::process::Signal) {
    let process = rustix::process::Pid::from_raw(process.cast_signed()).unwrap();
    rustix::process::kill_process(process, signal).unwrap();
}

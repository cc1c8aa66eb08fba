//! A guest: a command with an agent that runs from the start. Every fault of it is reported with the last
//! lines of its console, and nothing of it is left.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use crate::common::{ROLE, kill, processes, soon, unique, until};
use host::{Deadline, Error, Host, NoReply};

/// Opens a guest that this shell command boots.
fn open(script: &str, deadline: Deadline<'_>) -> Result<Host, Error> {
    let words = ["sh", "-c", script].map(str::to_owned);
    Host::open_guest(&words, Path::new(ROLE), Path::new(ROLE), deadline)
}

fn echoes(guest: &mut Host) {
    let mut role = guest.start("the role", Path::new(ROLE), &["echo"], soon()).expect("a role");
    role.send(&"hello").expect("a request");
    assert_eq!(role.receive::<String>(soon()).expect("a reply"), "hello");
}

#[test]
fn programs_that_are_there_are_not_sent_and_others_are() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("host-role");
    for (before, is_kept) in [(fs::read(ROLE).ok(), true), (Some(b"damaged".to_vec()), false), (None, false)]
    {
        let _ = fs::remove_dir_all(folder.path());
        fs::create_dir(folder.path()).expect("a folder");
        let number = before.map(|content| {
            fs::write(&program, content).expect("a file");
            fs::metadata(&program).expect("a file").ino()
        });
        let mut guest =
            open(&format!("{ROLE} trial agent {}", folder.path().display()), soon()).expect("a guest");
        assert_eq!(guest.folder(), folder.path().to_str());
        echoes(&mut guest);
        let now = fs::metadata(&program).expect("a file").ino();
        assert!(!is_kept || Some(now) == number, "it was sent although it was there");
        assert_eq!(fs::read(&program).expect("a file"), fs::read(ROLE).expect("a file"));
    }
}

#[test]
fn a_boot_that_fails_is_reported_with_the_last_lines_of_the_console() {
    let mark = unique();
    let panic = "echo '[ 1.2] Kernel panic - not syncing: VFS' >&2";
    let soon_over = Deadline::within(Duration::from_millis(500));
    for (script, deadline, word) in [
        // It restarts, which ends the emulator; it hangs; it sends other bytes than an agent's frames.
        (panic.to_owned(), soon(), "ended without a reply"),
        (format!("{panic}; exec sleep {mark}"), soon_over, "did not reply"),
        (format!("{panic}; yes; exec sleep {mark}"), soon(), "no frame within"),
        (format!("{panic}; exec {ROLE} trial print FRAME {mark}"), soon(), "unexpected reply"),
    ] {
        let error = open(&script, deadline).expect_err("no guest").to_string();
        assert!(error.contains(word) && error.contains("Kernel panic"), "{script}: {error}");
        // A command that ignores its end of file is killed without a time of grace.
        until("it is gone", || processes(&[&mark]).is_empty());
    }
}

#[test]
fn another_agent_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let copy = folder.path().join("agent");
    fs::write(&copy, [fs::read(ROLE).expect("a program"), vec![0]].concat()).expect("a file");
    let script = format!("chmod 700 {0}; exec {0} trial agent {1}", copy.display(), folder.path().display());
    let error = open(&script, soon()).expect_err("no guest").to_string();
    assert!(error.contains("another program"), "{error}");
}

#[test]
fn a_guest_that_dies_at_work_is_reported_with_its_console_and_can_be_booted_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().display();
    let script =
        format!("mkdir -p {place}; {ROLE} trial agent {place}; echo 'Kernel panic - not syncing: Fatal' >&2");
    let mut guest = open(&script, soon()).expect("a guest");
    let mut role = guest.start("the role", Path::new(ROLE), &["echo"], soon()).expect("a role");
    processes(&["agent", &place.to_string()])
        .into_iter()
        .filter(|number| {
            let name = fs::read_to_string(format!("/proc/{number}/comm")).unwrap_or_default();
            name.trim() == "host-role" && !is_guard(*number)
        })
        .for_each(kill);
    let error = role.receive::<String>(soon()).expect_err("no reply");
    assert!(matches!(error.no_reply(), Some(NoReply::Exited(_))), "{error}");
    assert!(error.to_string().contains("Kernel panic"), "{error}");
    assert!(guest.is_over());
    echoes(&mut open(&script, soon()).expect("the guest, once more"));
}

/// A kernel that prints to the line of the agent, and a line that loses the rest.
#[test]
fn kernel_messages_within_a_frame_and_a_line_that_is_cut_are_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().display().to_string();
    let message = "printf '[    1.2] random: crng init done\\r\\n'; exec cat";
    for bytes in [1, 9, 40] {
        for (rest, quoted) in [(message, "crng init done"), ("exit", "")] {
            let line = format!("{{ dd bs=1 count={bytes} 2>/dev/null; {rest}; }}");
            let script = format!("mkdir -p {place}; {ROLE} trial agent {place} | {line}");
            let error =
                open(&script, Deadline::within(Duration::from_secs(3))).expect_err("no guest").to_string();
            // A damaged frame counts as other text.
            assert!(error.contains("did not reply") && error.contains(quoted), "{line}: {error}");
            until("no agent is left", || processes(&["agent", &place]).is_empty());
        }
    }
}

/// Whether it is the guard, which has the agent's words among its own.
fn is_guard(number: u32) -> bool {
    let line = fs::read(format!("/proc/{number}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).contains("guard")
}

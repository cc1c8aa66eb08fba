//! A role that crashes, hangs or talks nonsense, here and behind a command: the error says so in time, and
//! nothing is left.
#![cfg(target_os = "linux")]

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::common::{
    BEHIND, ROLE, expect_nothing_left, kill, open, place_of, processes, soon, unique, until,
};
use host::{Deadline, Error, Host, NoReply, Process};

fn start(place: &mut Host, words: &[&str]) -> Process {
    place.start("the role", Path::new(ROLE), words, soon()).expect("a role")
}

fn echo(process: &mut Process, text: &str) -> String {
    process.send(&text).expect("a request");
    process.receive(soon()).expect("a reply")
}

/// Here and behind a command, in a folder of the test's own.
fn everywhere(test: impl Fn(&mut Host, &Path)) {
    for prefix in [&[][..], &BEHIND] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut place = place_of(prefix, folder.path());
        test(&mut place, folder.path());
        drop(place);
        expect_nothing_left(folder.path());
    }
}

/// Why there is no reply, and the whole error.
fn no_reply(process: &mut Process, deadline: Deadline<'_>) -> (NoReply, String) {
    let error = process.receive::<String>(deadline).expect_err("no reply");
    (error.no_reply().expect("a missing reply").clone(), error.to_string())
}

#[test]
fn a_role_replies_until_it_is_dropped() {
    everywhere(|place, _| {
        let mut role = start(place, &["echo"]);
        let long = "x".repeat(3 << 20);
        for text in ["one", "two\nlines", long.as_str()] {
            assert_eq!(echo(&mut role, text), text);
        }
        let ending = role.finish(Duration::from_secs(10));
        assert!(ending.is_success, "{ending:?}");
        let mut other = start(place, &["echo"]);
        assert_ne!(other.number(), role.number(), "a fresh process each time");
        assert_eq!(echo(&mut other, "again"), "again");
    });
}

#[test]
fn a_role_that_crashes_is_reported_with_its_last_words() {
    everywhere(|place, _| {
        for when in ["now", "later"] {
            let mut role = start(place, &["crash", when]);
            role.send(&"please").expect("a request");
            let (reason, text) = no_reply(&mut role, soon());
            assert_eq!(reason, NoReply::Exited("killed by SIGABRT".to_owned()));
            assert!(text.contains("the role") && text.contains("it cannot go on"), "{text}");
            assert_eq!(no_reply(&mut role, soon()).0, reason, "asked again");
        }
    });
}

#[test]
fn a_role_that_is_killed_leaves_no_process() {
    everywhere(|place, _| {
        let mark = unique();
        let mut role = start(place, &["sleepers", &mark]);
        assert_eq!(echo(&mut role, "one"), "one");
        until("they sleep", || processes(&["sleep\0", &mark]).len() == 2);
        kill(role.number());
        let (reason, _) = no_reply(&mut role, soon());
        assert_eq!(reason, NoReply::Exited("killed by SIGKILL".to_owned()));
        // Here, only the group is within reach; behind a command, the agent adopts all others.
        let left = if matches!(place, Host::Local) { 1 } else { 0 };
        until("they are gone", || processes(&["sleep\0", &mark]).len() == left);
        processes(&["sleep\0", &mark]).into_iter().for_each(kill);
    });
}

#[test]
fn a_role_that_hangs_is_given_up_in_time_and_killed() {
    everywhere(|place, _| {
        let mark = unique();
        let mut role = start(place, &["hang", &mark]).with_grace(Duration::from_millis(100));
        let begun = Instant::now();
        let (reason, text) = no_reply(&mut role, Deadline::within(Duration::from_millis(200)));
        assert!(matches!(reason, NoReply::Deadline(_)), "{text}");
        assert!(begun.elapsed() < Duration::from_secs(5));
        drop(role);
        until("it is gone", || processes(&["hang", &mark]).is_empty());
    });
}

#[test]
fn waiting_is_over_when_nobody_wants_the_reply() {
    everywhere(|place, _| {
        let mut role = start(place, &["echo"]);
        let interrupt = AtomicBool::new(false);
        let reason = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(100));
                interrupt.store(true, Ordering::Relaxed);
            });
            no_reply(&mut role, soon().or_when(&interrupt)).0
        });
        assert_eq!(reason, NoReply::Interrupted);
        role.interrupter().interrupt();
        assert_eq!(no_reply(&mut role, soon()).0, NoReply::Interrupted);
        assert_eq!(echo(&mut role, "it goes on"), "it goes on");
    });
}

#[test]
fn a_banner_is_skipped_and_nonsense_is_an_error() {
    everywhere(|place, _| {
        let mut role = start(place, &["print", "Welcome to this machine.\n", "FRAME", "FRAME"]);
        for _ in 0..2 {
            assert_eq!(role.receive::<String>(soon()).expect("a reply"), "hello");
        }
        for (pieces, replies, word) in [
            (&["FRAME", "Broadcast message"][..], 1, "Broadcast message"),
            (&["FRAME", "WRONG"], 1, "checksum"),
            (&["FRAME", "LONG"], 1, "4294967295 bytes"),
            (&["FLOOD"], 0, "please log in"),
        ] {
            let mut role = start(place, &[&["print"], pieces].concat());
            for _ in 0..replies {
                assert_eq!(role.receive::<String>(soon()).expect("a reply"), "hello");
            }
            let (reason, text) = no_reply(&mut role, soon());
            assert!(matches!(reason, NoReply::Frame(_)) && text.contains(word), "{text}");
        }
        let mut cut = start(place, &["print", "FRAME", "HALF"]);
        assert_eq!(cut.receive::<String>(soon()).expect("a reply"), "hello");
        cut.close_input();
        assert!(matches!(no_reply(&mut cut, soon()).0, NoReply::Exited(_)));
        let mut other = start(place, &["print", "FRAME"]);
        let error = other.receive::<u32>(soon()).expect_err("a text is no number");
        assert!(error.to_string().contains("unexpected reply"), "{error}");
    });
}

#[test]
fn a_role_that_does_not_read_holds_nobody_up() {
    everywhere(|place, _| {
        let mark = unique();
        let role = start(place, &["hang", &mark]).with_grace(Duration::from_millis(100));
        role.send(&"x".repeat(10 << 20)).expect("a request");
        drop(role);
        until("it is gone", || processes(&["hang", &mark]).is_empty());
    });
}

#[test]
fn what_is_no_program_is_reported() {
    everywhere(|place, folder| {
        let nowhere = folder.join("nowhere");
        let error = place.start("the role", &nowhere, &[], soon()).expect_err("no program");
        assert!(error.to_string().contains("nowhere"), "{error}");
        let text = folder.join("text");
        std::fs::write(&text, [0_u8; 100]).expect("a file");
        let error = place.start("the role", &text, &[], soon()).expect_err("no program");
        assert!(error.to_string().contains("text"), "{error}");
    });
}

#[test]
fn a_command_that_refuses_or_talks_nonsense_is_reported_with_its_last_words() {
    let folder = tempfile::tempdir().expect("a folder");
    for (command, word) in [
        ("echo it is forbidden >&2; exit 7", "it is forbidden"),
        ("echo log in first; exit 1", "log in first"),
        ("yes please log in", "please log in"),
        ("exec </dev/null; exec \"$@\"", "ended without a reply"),
    ] {
        let prefix = ["sh", "-c", command, "--"].map(str::to_owned);
        let error = open(&prefix, folder.path(), &[]).expect_err("no agent");
        assert!(error.to_string().contains(word), "{command}: {error}");
        expect_nothing_left(folder.path());
    }
    let gone = open(&["/nonexistent/command".to_owned()], folder.path(), &[]).expect_err("no command");
    assert!(gone.to_string().contains("cannot start /nonexistent/command"), "{gone}");
}

#[test]
fn a_command_that_hangs_is_given_up_in_time_with_all_its_processes() {
    let folder = tempfile::tempdir().expect("a folder");
    let mark = unique();
    let hang = format!("sleep {mark} & setsid sleep {mark} & exec sleep {mark}");
    let prefix = ["sh", "-c", &hang, "--"].map(str::to_owned);
    let deadline = Deadline::within(Duration::from_millis(500));
    let folders = [folder.path().to_string_lossy().into_owned()];
    let error = Host::open(&prefix, Path::new(ROLE), Path::new(ROLE), &folders, deadline);
    assert!(error.expect_err("no agent").to_string().contains("did not reply"));
    assert_eq!(processes(&[&mark]), [0; 0]);
}

#[test]
fn a_line_that_changes_bytes_is_reported() {
    // Like a terminal that echoes its input; the program then ends early, or reports the fault.
    let folder = tempfile::tempdir().expect("a folder");
    let prefix = ["sh", "-c", "stdbuf -o0 tr '\\r' '\\n' | { \"$@\"; kill 0; }", "--"].map(str::to_owned);
    let error = open(&prefix, folder.path(), &[]).expect_err("no agent").to_string();
    assert!(error.contains("changed on the way") || error.contains("ended without a reply"), "{error}");
    expect_nothing_left(folder.path());
}

#[test]
fn where_nothing_can_be_executed_the_folders_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let gone = folder.path().join("gone").to_string_lossy().into_owned();
    let error = open(&BEHIND.map(str::to_owned), folder.path(), &[gone]).expect_err("no folder");
    assert!(error.to_string().contains("name another with --scratch"), "{error}");
}

#[test]
fn an_agent_that_is_killed_is_reported_and_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut place = place_of(&BEHIND, folder.path());
    let mark = unique();
    let mut role = start(&mut place, &["sleepers", &mark]);
    assert_eq!(echo(&mut role, "one"), "one");
    let agents = processes(&["agent", &folder.path().to_string_lossy()]);
    agents.into_iter().for_each(kill);
    let (reason, text) = no_reply(&mut role, soon());
    assert!(matches!(reason, NoReply::Exited(_)), "{text}");
    assert!(place.is_over(), "the command can be started anew at once");
    assert!(place.start("the role", Path::new(ROLE), &["echo"], soon()).is_err());
    drop((role, place));
    until("nothing sleeps", || processes(&["sleep\0", &mark]).is_empty());
    expect_nothing_left(folder.path());
}

#[test]
fn when_the_one_that_wants_it_is_killed_nothing_is_left() {
    // The guard sees the end of its parent as the end of its standard input.
    let folder = tempfile::tempdir().expect("a folder");
    let mark = unique();
    let mut place = place_of(&["env", &format!("MARK={mark}")], folder.path());
    let mut role = start(&mut place, &["sleepers", &mark]);
    assert_eq!(echo(&mut role, "one"), "one");
    let guards = processes(&["guard", &mark]);
    assert_eq!(guards.len(), 1);
    guards.into_iter().for_each(kill);
    until("nothing sleeps", || processes(&["sleep\0", &mark]).is_empty());
    expect_nothing_left(folder.path());
}

#[test]
fn what_could_not_be_loaded_is_started_again_and_not_for_ever() {
    let not_loaded = || Error::NoReply {
        role: "the worker".to_owned(),
        reason: NoReply::NotLoaded("exit status 1".to_owned()),
        stderr: String::new(),
    };
    let mut attempts = 0;
    let reply = host::until_loaded(|| {
        attempts += 1;
        if attempts < 3 { Err(not_loaded()) } else { Ok(attempts) }
    });
    assert_eq!(reply.expect("the third attempt replies"), 3);

    let mut attempts = 0;
    let reply = host::until_loaded::<()>(|| {
        attempts += 1;
        Err(not_loaded())
    });
    assert!(reply.is_err_and(|error| error.to_string().contains("could not be loaded: exit status 1")));
    assert_eq!(attempts, 3);

    // Another end is a result.
    let mut attempts = 0;
    let reply = host::until_loaded::<()>(|| {
        attempts += 1;
        Err(Error::NoReply {
            role: "the worker".to_owned(),
            reason: NoReply::Exited("exit status 1".to_owned()),
            stderr: String::new(),
        })
    });
    assert!(reply.is_err());
    assert_eq!(attempts, 1);
}

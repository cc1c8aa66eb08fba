//! Systems without common facilities: each workload gives a result there or a reason, and never crashes or
//! hangs.
//!
//! Each test takes one thing away and measures all workloads at small n. What is taken away is proved by a
//! fact, so that no test passes because nothing was removed.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common::control_group::ControlGroup;
use crate::common::{expect_nothing_left, osdyno, text};
use record::{Outcome, Recording, System};

/// Neither the architectures of servers nor what a library of cryptography can do is tested here, so these stand
/// for all of them.
const VARIANTS: [(&str, &[&str]); 8] = [
    ("crypto", &["embedded", "openssl"]),
    ("race", &["fork", "prefork", "thread", "epoll", "uring"]),
    ("request", &["inetd", "pool", "epoll", "tokio"]),
    ("web", &["590"]),
    ("mixed", &["epoll"]),
    ("mail-lockstep", &["poll", "select", "epoll", "uring", "kqueue"]),
    ("mail-pipelined", &["epoll"]),
    ("mail-deliver", &["epoll"]),
];

/// Small; a compiler that optimizes would take a fifth of all the time.
const SIZE: [&str; 8] =
    ["-n3", "-t1", "--window=2ms", "--budget=1h", "--seed=1", "--out=a.osdyno", "--set", "optimize=0"];

/// Mounts that only the shell's children see.
const PRIVATE: &str = "unshare --mount --propagation private";

/// Every workload, and of some not every variant.
fn names() -> Vec<String> {
    let of = |workload: &workload::Workload| match VARIANTS.iter().find(|(name, _)| *name == workload.name) {
        Some((name, variants)) => variants.iter().map(|variant| format!("{name}/{variant}")).collect(),
        None => vec![workload.name.to_owned()],
    };
    runner::workloads().flat_map(of).collect()
}

/// Measures everything where a shell executes osdyno after these commands, and expects a result or a reason
/// of every workload.
fn measured(folder: &Path, before: &str) -> Recording {
    let recording = measured_with(folder, before, &["--timeout=10m"]);
    for trial in &recording.trials {
        assert!(!matches!(trial.outcome, Outcome::TimedOut { .. }), "{:?}", trial.order);
    }
    recording
}

/// The same with these options; a trial may be late.
fn measured_with(folder: &Path, before: &str, options: &[&str]) -> Recording {
    let names = names();
    let words = ["run"].into_iter().chain(names.iter().map(String::as_str));
    let words = words.chain(SIZE).chain(options.iter().copied());
    // For the workload `command`.
    let words: Vec<&str> = words.chain(["--", "true {n}"]).collect();
    let output = behind(folder, before, &words);
    let told = text(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}: {told}", output.status);
    let (recording, losses) = record::read(folder.join("a.osdyno")).expect("the run file");
    assert!(losses.is_empty(), "{losses:?}");
    let mut seen = BTreeSet::new();
    for trial in &recording.trials {
        let has_reason = |reason: &str| !reason.trim().is_empty();
        let is_reported = match &trial.outcome {
            Outcome::Complete | Outcome::Limit { .. } | Outcome::Allowance { .. } => true,
            Outcome::TimedOut { .. } => true,
            Outcome::Unsupported { reason } | Outcome::Failed { reason } => has_reason(reason),
            _ => false,
        };
        let order = &trial.order;
        assert!(is_reported, "{}/{}: {:?}\n{told}", order.workload, order.variant, trial.outcome);
        seen.insert(order.workload.as_str());
    }
    for workload in runner::workloads() {
        let is_out = told.contains(workload.name) || text(&output.stdout).contains(workload.name);
        assert!(seen.contains(workload.name) || is_out, "{} has neither: {told}", workload.name);
    }
    assert!(seen.len() > 20, "{seen:?}: {told}");
    let _ = fs::remove_dir_all(folder.join("state"));
    expect_nothing_left(folder);
    recording
}

/// The output of osdyno, which a shell executes after these commands.
fn behind(folder: &Path, before: &str, words: &[&str]) -> Output {
    let program = osdyno(folder, words);
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &format!("{before} \"$0\" \"$@\"")])
        .arg(program.get_program())
        .args(program.get_args());
    shell.current_dir(folder).env("TMPDIR", folder).env("XDG_STATE_HOME", folder.join("state"));
    shell.output().expect("a shell starts")
}

fn outcome<'a>(recording: &'a Recording, workload: &str, variant: &str) -> &'a Outcome {
    let is_it = |trial: &&record::Trial| trial.order.workload == workload && trial.order.variant == variant;
    &recording.trials.iter().find(is_it).expect("a trial").outcome
}

fn is_unsupported(recording: &Recording, workload: &str, variant: &str) -> bool {
    matches!(outcome(recording, workload, variant), Outcome::Unsupported { .. })
}

fn system(recording: &Recording) -> &System {
    &recording.systems[0]
}

/// Compiles a C program or library in the folder.
fn compiled(folder: &Path, name: &str, source: &str, options: &[&str]) -> PathBuf {
    let (file, out) = (folder.join(format!("{name}.c")), folder.join(name));
    fs::write(&file, source).expect("a source file");
    let mut compiler = Command::new("cc");
    let status = compiler.arg("-O1").args(options).arg("-o").args([&out, &file]).status();
    assert!(status.expect("a C compiler, as Rust's linker needs one too").success());
    out
}

/// Executes a program for which a system call is not there.
const WITHOUT: &str = r#"
#include <errno.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define IS(value, then, otherwise) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, then, otherwise)
#define HAS(bits, then, otherwise) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, then, otherwise)
#define RETURN(value) BPF_STMT(BPF_RET | BPF_K, value)
#define MISSING RETURN(SECCOMP_RET_ERRNO | ENOSYS)

/* Threads and posix_spawn(3), which share the memory of their parent, still begin. */
static struct sock_filter fork_filter[] = {
    LOAD(nr), IS(SYS_clone3, 4, 0), IS(SYS_fork, 3, 0), IS(SYS_clone, 0, 3),
    LOAD(args[0]), HAS(CLONE_VM, 1, 0), MISSING, RETURN(SECCOMP_RET_ALLOW)};
static struct sock_filter ring_filter[] = {
    LOAD(nr), IS(SYS_io_uring_setup, 0, 1), MISSING, RETURN(SECCOMP_RET_ALLOW)};

int main(int count, char **words) {
    struct sock_fprog fork = {sizeof fork_filter / sizeof *fork_filter, fork_filter};
    struct sock_fprog ring = {sizeof ring_filter / sizeof *ring_filter, ring_filter};
    struct sock_fprog *chosen = count > 2 && !strcmp(words[1], "fork") ? &fork : &ring;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, chosen)) {
        perror("prctl");
        return 1;
    }
    execvp(words[2], words + 2);
    perror(words[2]);
    return 1;
}
"#;

#[test]
fn without_fork() {
    let folder = tempfile::tempdir().expect("a folder");
    let without = compiled(folder.path(), "without", WITHOUT, &[]);
    let recording = measured(folder.path(), &format!("exec {} fork", without.display()));
    for (workload, variant) in [("fork", ""), ("reap", "oldest"), ("race", "fork"), ("race", "prefork")] {
        assert!(is_unsupported(&recording, workload, variant), "{workload}/{variant}");
    }
    assert_eq!(outcome(&recording, "race", "thread"), &Outcome::Complete);
}

#[test]
fn without_io_uring() {
    let folder = tempfile::tempdir().expect("a folder");
    let without = compiled(folder.path(), "without", WITHOUT, &[]);
    let recording = measured(folder.path(), &format!("exec {} io_uring", without.display()));
    for workload in ["ready", "ready-many", "race", "mail-lockstep"] {
        assert!(is_unsupported(&recording, workload, "uring"), "{workload}");
    }
    assert_eq!(outcome(&recording, "race", "epoll"), &Outcome::Complete);
}

/// The beginning of a command of a shell for which the folder is empty; the words are executed there.
fn hidden(folder: &str, words: &str) -> Option<String> {
    let mount = format!("mount -t tmpfs none {folder}");
    let status = Command::new("sh").args(["-c", &format!("{PRIVATE} {mount}")]).status();
    if !status.is_ok_and(|status| status.success()) {
        skipped!("only root can mount something over {folder}");
        return None;
    }
    Some(format!("exec {PRIVATE} sh -c '{mount} && exec {words} \"$0\" \"$@\"'"))
}

#[test]
fn without_proc() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(hidden) = hidden("/proc", "") else { return };
    let recording = measured(folder.path(), &hidden);
    let facts = &system(&recording).environment;
    assert!(!facts.contains_key("net.somaxconn") && facts.contains_key("kernel.release"), "{facts:?}");
}

#[test]
fn with_64_descriptors() {
    let folder = tempfile::tempdir().expect("a folder");
    let recording = measured(folder.path(), "ulimit -n 64; exec");
    assert_eq!(system(&recording).limits[record::resource::DESCRIPTORS][0].value, 64);
    let end = outcome(&recording, "crowd", "");
    assert!(matches!(end, Outcome::Unsupported { reason } if reason.contains("RLIMIT_NOFILE")), "{end:?}");
    let end = outcome(&recording, "ready-many", "epoll");
    assert!(matches!(end, Outcome::Unsupported { reason } if reason.contains("ulimit -n")), "{end:?}");
}

#[test]
fn with_one_processor() {
    let folder = tempfile::tempdir().expect("a folder");
    let first = "$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')";
    let recording = measured(folder.path(), &format!("exec taskset -c {first}"));
    assert!(!system(&recording).environment["cpu.allowed"].contains(['-', ',']));
}

/// A clock that steps by 4 µs and takes 19 µs to read; or one that goes wrong after a while: an hour ahead, or
/// a second back, or it stands still.
const CLOCK: &str = r#"
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long now_ns(void) {
    struct timespec time;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    static long reads;
    int result = syscall(SYS_clock_gettime, clock, time);
    long count = __atomic_add_fetch(&reads, 1, __ATOMIC_RELAXED);
    if (result) return result;
#ifdef COARSE
    for (long until = now_ns() + 19000; now_ns() < until;) {}
    time->tv_nsec -= time->tv_nsec % 4000;
#elif defined STANDS
    static struct timespec last;
    if (clock != CLOCK_MONOTONIC) return result;
    if (count > STANDS) *time = last;
    else last = *time;
#else
    if (count > 3000) time->tv_sec += JUMP;
#endif
    return result;
}
"#;

/// Has programs read that clock. They read the counter of the processor instead where the kernel says that it
/// can be relied on.
fn clock(folder: &Path, define: &str) -> Option<String> {
    let library = compiled(folder, "clock.so", CLOCK, &["-shared", "-fPIC", define]);
    hidden("/sys/devices/system/clocksource", &format!("env LD_PRELOAD={}", library.display()))
}

#[test]
fn with_a_clock_that_is_coarse_and_slow() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(command) = clock(folder.path(), "-DCOARSE") else { return };
    let recording = measured(folder.path(), &command);
    let socket = recording.trials.iter().find(|trial| trial.order.workload == "socket").expect("a trial");
    let clock = socket.clock.as_ref().expect("its clock");
    assert!(clock.tick_seconds > 3e-6 && clock.read_seconds > 15e-6, "{clock:?}");
}

#[test]
fn with_a_clock_that_jumps() {
    for jump in ["-DJUMP=3600", "-DJUMP=-1"] {
        let folder = tempfile::tempdir().expect("a folder");
        let library = compiled(folder.path(), "clock.so", CLOCK, &["-shared", "-fPIC", jump]);
        let Some(command) = hidden("/sys/devices/system/clocksource", "env") else { return };
        // Not that of osdyno itself: a trial may end early by that clock, and no other with it.
        let system = format!("--system=odd=env LD_PRELOAD={}", library.display());
        // Where the clock is an hour ahead, the server of MariaDB waits until it is killed.
        measured_with(folder.path(), &command, &[&system, "--timeout=1m"]);
    }
}

#[test]
fn with_a_clock_that_stands() {
    // From the start, which a trial finds out; and later, when only osdyno itself, with another clock, can
    // tell that it has waited for too long.
    for (stands, words) in [("-DSTANDS=1", "stands still"), ("-DSTANDS=9000", "--timeout")] {
        let folder = tempfile::tempdir().expect("a folder");
        let library = compiled(folder.path(), "clock.so", CLOCK, &["-shared", "-fPIC", stands]);
        let Some(before) = hidden("/sys/devices/system/clocksource", "env") else { return };
        let odd = format!("--system=odd=env LD_PRELOAD={}", library.display());
        let run = ["run", "socket/v4", "thread", "-n60", "-t1", "--timeout=5s", "--out=a.osdyno"];
        let output = behind(folder.path(), &before, &[&run[..], &["--system=local=", &odd]].concat());
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{told}");
        assert!(told.contains(words), "{words}: {told}");
        let recording = record::read(folder.path().join("a.osdyno")).expect("a run").0;
        for trial in &recording.trials {
            let is_odd = trial.order.system == "odd";
            assert_eq!(trial.outcome == Outcome::Complete, !is_odd, "{:?}: {told}", trial.outcome);
        }
        assert_eq!(recording.trials.len(), 4);
        let _ = fs::remove_dir_all(folder.path().join("state"));
        expect_nothing_left(folder.path());
    }
}

#[test]
fn with_128_mib() {
    let Some(group) = ControlGroup::make("memory", &["memory.max", "memory.limit_in_bytes"], 128 << 20)
    else {
        skipped!("no control group for memory can be made here");
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let recording = measured(folder.path(), &format!("{}; exec", group.enter()));
    let memory = &system(&recording).limits[record::resource::MEMORY];
    assert!(memory.iter().any(|limit| limit.value <= 128 << 20), "{memory:?}");
}

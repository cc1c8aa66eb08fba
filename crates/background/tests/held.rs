//! Loads as other processes see them: the record has the kernel's counts, and nothing is left behind.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic is the failure of a test")]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use background::HeldLoads;
use record::{Background, HeldBackground};

const ROLE: &str = env!("CARGO_BIN_EXE_background-role");
const LIFE: Duration = Duration::from_secs(300);

fn loads(texts: &[&str]) -> Vec<Background> {
    texts.iter().map(|load| Background { load: (*load).to_owned(), processor: Some(0) }).collect()
}

/// Files are where the programs of this build are: on a disk, unlike /tmp of some systems.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(Path::new(ROLE).parent().expect("a folder")).expect("a folder")
}

fn start(texts: &[&str], folder: &Path) -> HeldLoads {
    let folder = folder.to_str().expect("UTF-8");
    HeldLoads::start_here(&loads(texts), LIFE, Path::new(ROLE), folder).expect("processes start")
}

/// A program that starts the role like a shell.
fn refusal(before: &str, load: &str, folder: &Path) -> String {
    let script = folder.join("role");
    fs::write(&script, format!("#!/bin/sh\n{before}\nexec {ROLE}\n")).expect("a script");
    let status = Command::new("chmod").arg("+x").arg(&script).status().expect("chmod starts");
    assert!(status.success());
    let name = folder.to_str().expect("UTF-8");
    let beside = HeldLoads::start_here(&loads(&[load]), LIFE, &script, name);
    let mut beside = beside.expect("a process starts");
    beside.reach(&AtomicBool::new(false)).expect_err(load).to_string()
}

/// The kernel's counts for another process: processor time, read calls and written bytes.
#[derive(Clone, Copy, Debug)]
struct Counted {
    cpu_seconds: f64,
    read_calls: f64,
    written_bytes: f64,
}

impl Counted {
    fn read(process: u32) -> Counted {
        let text = |name: &str| fs::read_to_string(format!("/proc/{process}/{name}")).expect(name);
        let io = text("io");
        let field = |name: &str| -> f64 {
            let line = io.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
            line.expect(name).parse().expect("a number")
        };
        let times = text("schedstat");
        let nanoseconds: f64 = times.split(' ').next().expect("a time").parse().expect("a number");
        Counted {
            cpu_seconds: nanoseconds * 1e-9,
            read_calls: field("syscr"),
            written_bytes: field("write_bytes"),
        }
    }
}

/// Holds loads for some seconds. Returns the report of each, and the kernel's counts for each process from
/// before the first of these seconds until after the last one, with the time between.
fn held(texts: &[&str]) -> (Vec<HeldBackground>, Vec<(Counted, Counted)>, f64) {
    let folder = folder();
    let mut beside = start(texts, folder.path());
    beside.settle().expect("loads");
    let processes: Vec<u32> = beside.processes().collect();
    let before: Vec<Counted> = processes.iter().map(|process| Counted::read(*process)).collect();
    let begun = Instant::now();
    beside.mark();
    std::thread::sleep(Duration::from_millis(2500));
    let reported = beside.report();
    let after: Vec<Counted> = processes.iter().map(|process| Counted::read(*process)).collect();
    let elapsed = begun.elapsed().as_secs_f64();
    drop(beside);
    for process in processes {
        let is_gone = || !Path::new(&format!("/proc/{process}")).exists();
        let deadline = Instant::now() + Duration::from_secs(20);
        while !is_gone() {
            assert!(Instant::now() < deadline, "process {process} is left");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0, "no file is left");
    (reported, before.into_iter().zip(after).collect(), elapsed)
}

/// On a machine of any speed: the report equals the counts, except for the time before the first second and
/// after the last one.
#[test]
fn what_is_reported_is_what_the_kernel_counts_of_the_process() {
    let texts = ["cpu:10%", "syscalls:2k/s", "disk:1MB/s"];
    let (reported, counted, elapsed) = held(&texts);
    let grown: [fn(&Counted) -> f64; 3] =
        [|counted| counted.cpu_seconds, |counted| counted.read_calls, |counted| counted.written_bytes];
    for ((held, (before, after)), of) in reported.iter().zip(&counted).zip(grown) {
        assert!(held.ended.is_empty() && held.rates.len() >= 2, "{held:?}");
        let seconds = held.rates.len() as f64;
        let (found, kernel) = (held.rates.iter().sum::<f64>(), of(after) - of(before));
        assert!(found > 0.0 && !held.counter.is_empty(), "{held:?}");
        // A second that was longer than a second has its rate once.
        assert!(found <= kernel * 1.02, "reported {found}, the kernel has {kernel}: {held:?}");
        let outside = held.target * 1.2 * (elapsed - seconds + 0.5).max(0.5);
        assert!(
            found >= kernel - outside - 0.2 * kernel,
            "reported {found}, the kernel has {kernel}: {held:?}"
        );
        // A process that holds 10 % of a processor cannot be in a system that has less.
        if let Some(rate) = held.system_rate.filter(|_| held.background.load.starts_with("disk")) {
            assert!(rate >= 0.5 * found / seconds, "{held:?}");
        }
    }
}

#[test]
fn what_is_reported_is_in_what_the_kernel_counts_of_the_system() {
    let opened = || -> f64 { sys::kernel_counter::connections_opened().expect("a counter") as f64 };
    let sent = || -> f64 { sys::kernel_counter::loopback_bytes().expect("a counter") as f64 };
    let (opened_before, sent_before) = (opened(), sent());
    let (reported, ..) = held(&["net:8mbit", "connections:20@100/s", "memory:8Mi@20MB/s"]);
    let [net, connections, memory] = &reported[..] else { panic!("three loads") };
    for held in &reported {
        assert!(held.ended.is_empty() && held.rates.len() >= 2, "{held:?}");
        assert!(held.rates.iter().sum::<f64>() > 0.0, "{held:?}");
    }
    assert!(sent() - sent_before >= net.rates.iter().sum::<f64>(), "{net:?}");
    assert!(opened() - opened_before >= connections.rates.iter().sum::<f64>(), "{connections:?}");
    assert!(net.system_rate.expect("of lo") > 0.0 && net.system_counter == "/proc/net/dev lo");
    assert_eq!(connections.holds, Some(20.0));
    assert!(memory.holds.expect("resident bytes") >= 8.0 * 1024.0 * 1024.0, "{memory:?}");
    assert_eq!(memory.counter, "", "no kernel counts that");
}

fn signal(process: u32, name: &str) {
    let sent = Command::new("kill").args([&format!("-{name}"), &process.to_string()]).status();
    assert!(sent.expect("kill starts").success());
}

#[test]
fn a_load_that_was_stopped_for_a_while_was_not_held() {
    let folder = folder();
    let mut beside = start(&["cpu:10%"], folder.path());
    beside.settle().expect("a load");
    let process = beside.processes().next().expect("a process");
    beside.mark();
    signal(process, "STOP");
    std::thread::sleep(Duration::from_millis(1700));
    signal(process, "CONT");
    let reported = beside.report().remove(0);
    assert!(!reported.is_held && reported.rates[0] < 0.08, "{reported:?}");
    let check = background::check(&reported);
    assert!(!check.held && check.claim.contains("of its rate"), "{check:?}");
}

#[test]
fn a_load_that_is_gone_was_not_held() {
    let folder = folder();
    let mut beside = start(&["cpu:10%", "cpu:5%"], folder.path());
    beside.settle().expect("loads");
    beside.mark();
    signal(beside.processes().next().expect("a process"), "KILL");
    let reported = beside.report();
    assert!(reported[0].ended.contains("SIGKILL") && !reported[0].is_held, "{reported:?}");
    assert!(reported[1].ended.is_empty(), "the other one goes on: {reported:?}");
    let claim = background::check(&reported[0]).claim;
    assert!(claim.contains("was there to the end") && claim.contains("SIGKILL"), "{claim}");
}

#[test]
fn a_load_that_cannot_be_is_refused_with_what_was_reached() {
    let folder = folder();
    let mut beside = start(&["disk:900GB/s"], folder.path());
    let error = beside.reach(&AtomicBool::new(false)).expect_err("no disk is so fast").to_string();
    assert!(error.starts_with("background disk:900GB/s: this disk reaches "), "{error}");
    assert!(error.ends_with("B/s; choose a lower rate, or wait until nothing else is at work"), "{error}");
}

#[test]
fn a_load_without_room_is_refused_in_clear_words() {
    let folder = folder();
    let error = refusal("ulimit -n 60", "connections:5000@200/s", folder.path());
    assert!(error.contains("take 10000 descriptors") && error.contains("RLIMIT_NOFILE is 60"), "{error}");
    let error = refusal("", "memory:900000G@5GB/s", folder.path());
    assert!(error.contains("half of the available memory is"), "{error}");
    let Ok(in_memory) = tempfile::tempdir_in("/dev/shm") else {
        println!("not tried: a folder in memory, because there is no /dev/shm");
        return;
    };
    let mut beside = start(&["disk:1MB/s"], in_memory.path());
    let error = beside.reach(&AtomicBool::new(false)).expect_err("no disk").to_string();
    assert!(error.contains("is in memory, not on a disk"), "{error}");
}

/// A file system of its own, which is full.
#[test]
fn a_full_disk_is_reported() {
    let folder = folder();
    let small = folder.path().join("small");
    fs::create_dir(&small).expect("a folder");
    let mount = format!("mount -t tmpfs -o size=100k none {}", small.display());
    let tried = Command::new("unshare").args(["-m", "sh", "-c", &mount]).output();
    if !tried.is_ok_and(|output| output.status.success()) {
        println!("skipped: a full disk needs root and unshare(1), to mount one");
        return;
    }
    let script = folder.path().join("role");
    fs::write(&script, format!("#!/bin/sh\nexec unshare -m sh -c '{mount} && exec {ROLE}'\n"))
        .expect("a script");
    assert!(Command::new("chmod").arg("+x").arg(&script).status().expect("chmod starts").success());
    let small = small.to_str().expect("UTF-8");
    let mut beside = HeldLoads::start_here(&loads(&["disk:1MB/s"]), LIFE, &script, small).expect("a process");
    let error = beside.reach(&AtomicBool::new(false)).expect_err("a full disk").to_string();
    assert!(error.contains("which is too little for its file"), "{error}");
}

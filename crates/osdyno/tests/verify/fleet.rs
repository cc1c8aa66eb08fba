//! A hundred hosts behind ssh, in network namespaces: faults of some disturb no other, and all take little more
//! time than one.
#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::common::rack::Rack;
use crate::common::{complete, processes_below, recording, text, until};

const HOSTS: usize = 100;

/// Hosts whose processes are all killed at some moment, with their sshd.
const KILLED: std::ops::RangeInclusive<usize> = 11..=20;
/// Hosts that are cut off for a while.
const CUT_OFF: std::ops::RangeInclusive<usize> = 21..=25;
/// A host without room for a program.
const FULL: usize = 31;
/// A host whose sessions end after three seconds: it describes itself, and some of its trials crash.
const SHORT: usize = 32;
/// A host that talks nonsense.
const LYING: usize = 33;

#[test]
fn faults_of_some_hosts_disturb_no_other() {
    // Every folder in which an agent could be is as small as a page.
    let full = "exec unshare -m sh -c 'for d in /tmp /var/tmp /dev/shm $HOME; do mount -t tmpfs -o size=4k none $d; \
                done; unset TMPDIR; eval \"$SSH_ORIGINAL_COMMAND\"'";
    let short = "exec timeout -s KILL 3 sh -c 'eval \"$SSH_ORIGINAL_COMMAND\"'";
    let lying = "sh -c 'head -c 100000 /dev/urandom; eval \"$SSH_ORIGINAL_COMMAND\"'";
    let rack = match Rack::start(HOSTS, &[(FULL, full), (SHORT, short), (LYING, lying)]) {
        Ok(rack) => rack,
        Err(reason) => return skipped!("a rack of hosts cannot be made here: {reason}"),
    };
    let folder = tempfile::tempdir().expect("a folder");
    let inventory = rack.inventory();
    let words = ["run", "noop", "socket/v4", "-n", "30", "--trials", "4", "--seed", "7", "--out=a.osdyno"];
    let mut command = rack.osdyno(folder.path(), &[&words[..], &["--hosts", &inventory]].concat());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("osdyno starts");
    plant(&rack, folder.path());
    let output = child.wait_with_output().expect("an end");
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{stderr}");
    let recording = recording(folder.path());
    let counts = complete(&recording);
    assert_eq!(counts.len(), HOSTS);
    let faulty: BTreeSet<usize> = KILLED.chain(CUT_OFF).chain([FULL, SHORT, LYING]).collect();
    for number in (1..=HOSTS).filter(|number| !faulty.contains(number)) {
        assert_eq!(counts[&format!("n{number}")], 8, "n{number}: {stderr}");
    }
    // A partition that heals costs the trial in which it came, and that which was on its way.
    for number in CUT_OFF {
        assert!(counts[&format!("n{number}")] >= 6, "n{number}: {counts:?} {stderr}");
    }
    for number in [FULL, LYING] {
        assert!(stderr.contains(&format!("n{number} is lost: ")), "n{number}: {stderr}");
    }
    // Nothing is counted twice, and nothing is silent: each item of each host has its trials, or a reason.
    let mut seen = BTreeSet::new();
    for trial in &recording.trials {
        let order = &trial.order;
        assert!(seen.insert((&order.system, &order.workload, order.trial)), "twice: {order:?}");
    }
    for number in 1..=HOSTS {
        let name = format!("n{number}");
        let items: BTreeSet<&str> = recording
            .trials
            .iter()
            .filter(|trial| trial.order.system == name)
            .map(|trial| trial.order.workload.as_str())
            .collect();
        assert_eq!(items.len(), 2, "{name} has nothing of an item, and no reason: {stderr}");
    }
    until("no process is left", || processes_below(folder.path(), "").is_empty());
    until("no folder of an agent is left", || {
        fs::read_dir(rack.agents()).expect("a folder").next().is_none()
    });
}

/// Once trials are under way, kills some hosts and cuts others off for a while.
fn plant(rack: &Rack, folder: &Path) {
    until("half of the hosts have a trial", || {
        let read = record::read(folder.join("a.osdyno"));
        read.is_ok_and(|(recording, _)| {
            complete(&recording).values().filter(|&&count| count > 0).count() > 50
        })
    });
    CUT_OFF.for_each(|number| rack.set_link(number, false));
    for number in KILLED {
        rack.kill(number);
        std::thread::sleep(Duration::from_millis(200));
    }
    std::thread::sleep(Duration::from_secs(6));
    CUT_OFF.for_each(|number| rack.set_link(number, true));
}

/// A command in front of ssh that keeps every byte for two seconds, in both directions: trials wait instead of
/// working, because two processors cannot work for a hundred hosts.
const DELAY: &str = r#"
import os, select, subprocess, sys, time
DELAY_SECONDS = 2.0
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
ends = {0: child.stdin.fileno(), child.stdout.fileno(): 1}
held = []
while ends or held:
    now = time.monotonic()
    wait = max(0, held[0][0] - now) if held else None
    for source in select.select(list(ends), [], [], wait)[0]:
        data = os.read(source, 1 << 16)
        held.append((time.monotonic() + DELAY_SECONDS, ends[source], data))
        if not data:
            del ends[source]
    while held and held[0][0] <= time.monotonic():
        _, target, data = held.pop(0)
        if data:
            view = memoryview(data)
            while view:
                view = view[os.write(target, view):]
        elif target != 1:
            child.stdin.close()
        else:
            child.kill()
            sys.exit(0)
"#;

/// Takes of a run: its time, the processor time of osdyno, and the most memory that it had.
#[derive(Clone, Copy, Debug)]
struct Takes {
    seconds: f64,
    processor_share: f64,
    memory_bytes: u64,
}

/// A benchmark, because it depends on the speed of the machine: `cargo xtask bench fleets`.
#[test]
#[ignore = "a benchmark: cargo xtask bench fleets"]
fn a_hundred_hosts_take_little_more_time_than_one() {
    let rack = match Rack::start(HOSTS, &[]) {
        Ok(rack) => rack,
        Err(reason) => return skipped!("a rack of hosts cannot be made here: {reason}"),
    };
    let folder = tempfile::tempdir().expect("a folder");
    let delay = folder.path().join("delay.py");
    fs::write(&delay, DELAY).expect("a file");
    let inventory = fs::read_to_string(rack.inventory()).expect("an inventory");
    let args =
        inventory.lines().find_map(|line| line.strip_prefix("ansible_ssh_common_args=")).expect("a line");
    let lines = inventory.lines().filter_map(|line| line.split_once(" ansible_host="));
    let line = |(name, address): (&str, &str)| {
        format!("{name}=python3 {} ssh {} {address}\n", delay.display(), args.trim_matches('\''))
    };
    let all: String = lines.map(line).collect();
    fs::write(folder.path().join("hosts"), all).expect("a file");
    let one = measure(&rack, folder.path(), "hosts:n1");
    let hundred = measure(&rack, folder.path(), "hosts");
    println!("one host: {one:?}; {HOSTS} hosts: {hundred:?}");
    assert!(hundred.seconds <= 1.2 * one.seconds, "one host: {one:?}; {HOSTS} hosts: {hundred:?}");
    assert!(hundred.memory_bytes < 100 << 20, "{hundred:?}");
    assert!(hundred.processor_share <= 0.05, "{hundred:?}");
}

fn measure(rack: &Rack, folder: &Path, hosts: &str) -> Takes {
    let _ = fs::remove_file(folder.join("a.osdyno"));
    let _ = fs::remove_file(folder.join("a.html"));
    let words =
        ["run", "noop", "-n", "10", "--trials", "20", "--seed", "7", "--out=a.osdyno", "--hosts", hosts];
    let begun = Instant::now();
    let mut child =
        rack.osdyno(folder, &words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("ip");
    let (mut ticks, mut memory_bytes) = (0, 0);
    while child.try_wait().expect("a child").is_none() {
        let now = usage(&child);
        (ticks, memory_bytes) = (now.0.max(ticks), now.1.max(memory_bytes));
        std::thread::sleep(Duration::from_millis(100));
    }
    let seconds = begun.elapsed().as_secs_f64();
    assert!(child.wait().expect("an end").success());
    let counts = complete(&recording(folder));
    assert!(counts.values().all(|&count| count == 20), "{counts:?}");
    // proc_pid_stat(5): ticks of a hundredth of a second on every system that has them.
    Takes { seconds, processor_share: ticks as f64 / 100.0 / seconds, memory_bytes }
}

/// Processor time in ticks, and the largest memory so far: proc_pid_stat(5), proc_pid_status(5).
fn usage(child: &Child) -> (u64, u64) {
    let read = |name: &str| fs::read_to_string(format!("/proc/{}/{name}", child.id())).unwrap_or_default();
    let (stat, status) = (read("stat"), read("status"));
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks = [11, 12].iter().filter_map(|&place| fields.get(place)?.parse::<u64>().ok()).sum();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = peak.and_then(|peak| peak.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
    (ticks, kib.unwrap_or(0) << 10)
}

//! The predictions of `osdyno doctor` equal the measurements of `osdyno run`, under limits of every kind. A
//! program of its own: processes of other tests would count for limits of the whole machine.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic is the failure of a test")]

#[macro_use]
mod common;

use std::collections::BTreeMap;
use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, ExitCode};
use std::time::Duration;

use common::control_group::ControlGroup;
use common::lowered::{
    Lowered, after, as_nobody, diagnosed, faked, is_possible, lowered, open_folder, within,
};
use common::{SKIPPED, expect_nothing_left, program_bytes, text};
use libtest_mimic::{Arguments, Completion, Trial};
use record::{Outcome, Recording};
use serde_json::Value;

/// Functions with their names.
macro_rules! named {
    ($($function:ident,)*) => { [$((stringify!($function), $function as fn())),*] };
}

fn main() -> ExitCode {
    let tests = named![
        descriptors_stop_the_run_where_doctor_says,
        what_cannot_be_measured_at_all_is_predicted,
        processes_of_a_user_stop_the_run_where_doctor_says,
        a_control_group_of_processes_stops_the_run_where_doctor_says,
        process_numbers_of_a_namespace_stop_the_run_where_doctor_says,
        local_ports_stop_the_run_where_doctor_says,
        the_address_space_stops_the_run_where_doctor_says,
        a_small_disk_stops_the_run_where_doctor_says,
        limits_of_the_machine_stop_the_run_where_doctor_says,
        the_backlog_holds_as_many_connections_as_doctor_says,
        inotify_watches_as_many_files_as_doctor_says,
    ];
    let tests = tests.map(|(name, test)| Trial::ignorable_test(name, move || Ok(completion(test))));
    let part = Trial::ignorable_test("experiment", || Ok(completion(experiment))).with_ignored_flag(true);
    let all = tests.into_iter().chain([part]).collect();
    libtest_mimic::run(&Arguments::from_args(), all).exit_code()
}

/// A test that cannot run here, or only in part, is ignored with the reason.
fn completion(test: fn()) -> Completion {
    // A test that failed on this thread may have left some.
    SKIPPED.take();
    test();
    match &SKIPPED.take()[..] {
        [] => Completion::Completed,
        reasons => Completion::ignored_with(reasons.join("; ")),
    }
}

/// What is predicted of workloads that this limit stops, by name.
fn predicted(diagnosis: &Value, limit: &str) -> BTreeMap<String, u64> {
    let workloads = diagnosis["systems"][0]["workloads"].as_array().expect("workloads");
    let stopped = workloads.iter().filter(|one| one["stopped_by"]["limit"] == limit);
    stopped
        .filter_map(|one| Some((one["name"].as_str()?.to_owned(), one["n"].as_u64()?)))
        .filter(|(_, n)| *n > 0)
        .collect()
}

/// How far a run came, by the same names; and that nothing went wrong on the way.
fn measured(recording: &Recording) -> BTreeMap<String, u64> {
    let mut reached = BTreeMap::new();
    for trial in &recording.trials {
        let order = &trial.order;
        let name = match order.variant.as_str() {
            "" => order.workload.clone(),
            variant => format!("{}/{variant}", order.workload),
        };
        let n = match &trial.outcome {
            Outcome::Complete => order.n,
            Outcome::Limit { n, .. } | Outcome::Allowance { n } => *n,
            // Some systems lack an interface, whatever the limits are.
            Outcome::Unsupported { .. } => continue,
            other => panic!("{name} to {}: {other:?}", order.n),
        };
        reached.insert(name, n);
    }
    reached
}

/// Curves, and of loads and jobs what the limits of these tests stop within seconds. Loads end at levels that
/// their architecture holds, whatever the limit is.
const WORKLOADS: [&str; 8] = [
    "kernel",
    "race/fork",
    "race/thread",
    "request/epoll",
    "web/590",
    "mixed/epoll",
    "mail-deliver/epoll",
    "mail-queue",
];

/// Predicts these workloads under the limit, then measures those that it stops, and compares.
fn expect_agreement(lowered: &Lowered, workloads: &[&str]) {
    let Lowered { limit, before, n, stops } = lowered;
    if !is_possible(limit, before) {
        return;
    }
    let folder = open_folder();
    let n = n.to_string();
    let diagnosis = diagnosed(before, folder.path(), &[workloads, &["-p", "classic", "-n", &n]].concat());
    let predicted = predicted(&diagnosis, limit);
    for stopped in *stops {
        assert!(predicted.contains_key(*stopped), "{limit} does not stop {stopped}: {predicted:?}");
    }
    let names: Vec<&str> = predicted.keys().map(String::as_str).collect();
    let options = ["-p", "classic", "-t1", "-n", &n, "--window=5ms", "--timeout=10m", "--out=a.osdyno"];
    let output = after(before, folder.path(), &[&["run"], &names[..], &options].concat());
    let told = text(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{limit}: {}: {told}", output.status);
    let (recording, losses) = record::read(folder.path().join("a.osdyno")).expect("the run file");
    assert!(losses.is_empty(), "{losses:?}");
    let measured = measured(&recording);
    println!("{limit}: predicted {predicted:?}\n  measured {measured:?}");
    for stopped in *stops {
        assert!(measured.contains_key(*stopped), "{limit}: {stopped} was not measured: {told}");
    }
    expect_equal(limit, &predicted, measured);
    expect_nothing_left(folder.path());
}

/// Within one percent: beside another test, one process more or less may live.
fn expect_equal(limit: &str, predicted: &BTreeMap<String, u64>, measured: BTreeMap<String, u64>) {
    for (name, n) in measured {
        let predicted = predicted[&name];
        let off = predicted.abs_diff(n);
        assert!(off <= (predicted / 100).max(1), "{limit}: {name} reached {n}, predicted were {predicted}");
    }
}

const OF_DESCRIPTORS: &[&str] = &[
    "socket/v4",
    "bind/v4",
    "connect/v4",
    "accept/epoll",
    "ready/poll",
    "files",
    "race/thread",
    "request/epoll",
    "web/590",
    "mixed/epoll",
    "mail-deliver/epoll",
];

fn descriptors_stop_the_run_where_doctor_says() {
    let _alone = alone();
    expect_agreement(&lowered("RLIMIT_NOFILE", "ulimit -n 64", 800, OF_DESCRIPTORS), &WORKLOADS);
    // Helpers go on beyond one process; what cannot have them is enough here.
    let alone: &[&str] = &["ready/poll", "ready/epoll", "accept/poll"];
    for descriptors in [256, 1000] {
        let before = format!("ulimit -n {descriptors}");
        expect_agreement_of(&Lowered { limit: "RLIMIT_NOFILE", before, n: 3000, stops: alone }, alone);
    }
}

/// These take so many descriptors, whatever n is, that nothing of them can be measured.
fn what_cannot_be_measured_at_all_is_predicted() {
    nothing_is_measured("ulimit -n 64", &["crowd", "ready-many/epoll", "network-copy/smb"]);
    nothing_is_measured("ulimit -n 255", &["network-copy/smb"]);
    if sys::process::find_program("smbd").is_none() {
        skipped!("smbd with enough descriptors: it is not installed");
        return;
    }
    let folder = open_folder();
    let words = ["run", "network-copy/smb", "-t1", "-n1", "--window=5ms", "--out=a.osdyno"];
    let output = after("ulimit -n 256", folder.path(), &words);
    let (recording, _) = record::read(folder.path().join("a.osdyno")).expect("the run file");
    let told = text(&output.stderr);
    assert_eq!(measured(&recording), BTreeMap::from([("network-copy/smb".to_owned(), 1)]), "{told}");
}

/// With this limit `doctor` predicts, and a run records, that nothing of these can be measured.
fn nothing_is_measured(before: &str, names: &[&str]) {
    let folder = open_folder();
    let diagnosis = diagnosed(before, folder.path(), names);
    for one in diagnosis["systems"][0]["workloads"].as_array().expect("workloads") {
        assert!(one["n"] == 0 && one["stopped_by"]["limit"] == "RLIMIT_NOFILE", "{one}");
    }
    let output = after(before, folder.path(), &[&["run"], names, &["-t1", "--out=a.osdyno"]].concat());
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    let (recording, _) = record::read(folder.path().join("a.osdyno")).expect("the run file");
    assert_eq!(recording.trials.len(), names.len());
    for trial in &recording.trials {
        let is_said =
            matches!(&trial.outcome, Outcome::Unsupported { reason } if reason.contains("RLIMIT_NOFILE"));
        assert!(is_said, "{:?}", trial.outcome);
    }
}

/// The same for some workloads only. Where processes of others count too, it is repeated until as many live
/// after the run as before it.
fn expect_agreement_of(lowered: &Lowered, workloads: &[&str]) {
    let is_steady = (0..5).any(|_| agrees(lowered, workloads));
    assert!(is_steady, "{}: others began or ended processes in each of five runs", lowered.limit);
}

/// Predicts, measures and compares; false where the prediction is another one after the run.
fn agrees(lowered: &Lowered, workloads: &[&str]) -> bool {
    let folder = open_folder();
    let (n, before) = (lowered.n.to_string(), &lowered.before);
    let options = ["-p", "classic", "-n", &n];
    let prediction =
        || predicted(&diagnosed(before, folder.path(), &[workloads, &options].concat()), lowered.limit);
    let predicted = prediction();
    assert!(lowered.stops.iter().all(|stopped| predicted.contains_key(*stopped)), "{predicted:?}");
    let names: Vec<&str> = predicted.keys().map(String::as_str).collect();
    let out = ["-t1", "--timeout=10m", "--out=a.osdyno"];
    let output = after(before, folder.path(), &[&["run"], &names[..], &options, &out].concat());
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", text(&output.stderr));
    let (recording, _) = record::read(folder.path().join("a.osdyno")).expect("the run file");
    let measured = measured(&recording);
    let afterwards = prediction();
    println!("{}: predicted {predicted:?}\n  measured {measured:?}\n  then {afterwards:?}", lowered.limit);
    let is_steady = predicted
        .iter()
        .all(|(name, &n)| afterwards.get(name).is_some_and(|then| then.abs_diff(n) <= (n / 200).max(1)));
    if is_steady {
        expect_equal(lowered.limit, &predicted, measured);
    }
    is_steady
}

/// Held by tests that have hundreds of processes, which count for limits of the whole machine.
static MANY_PROCESSES: std::sync::Mutex<()> = std::sync::Mutex::new(());

fn alone() -> std::sync::MutexGuard<'static, ()> {
    MANY_PROCESSES.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn processes_of_a_user_stop_the_run_where_doctor_says() {
    let _alone = alone();
    let before = as_nobody("prlimit --pid $$ --nproc=500:500");
    let one = lowered("RLIMIT_NPROC", &before, 3000, &["fork", "reap/oldest", "thread"]);
    expect_agreement(&one, &WORKLOADS);
}

fn a_control_group_of_processes_stops_the_run_where_doctor_says() {
    let _alone = alone();
    let Some(group) = ControlGroup::make("pids", &["pids.max"], 500) else {
        skipped!("no control group for processes can be made here");
        return;
    };
    expect_agreement(&lowered("pids.max", &group.enter(), 3000, &["fork", "thread"]), &WORKLOADS);
}

fn process_numbers_of_a_namespace_stop_the_run_where_doctor_says() {
    let _alone = alone();
    let commands = "echo 900 > /proc/sys/kernel/pid_max";
    let before = within("--pid --fork --mount-proc", commands);
    // Before Linux 6.14 it is that of the whole machine, which a test leaves alone.
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").expect("a release");
    let mut numbers = release.split('.').map(|word| word.parse::<u32>().unwrap_or(0));
    if (numbers.next(), numbers.next()) < (Some(6), Some(14)) {
        skipped!("kernel.pid_max belongs to the whole machine before Linux 6.14");
        return;
    }
    expect_agreement(&lowered("kernel.pid_max", &before, 3000, &["fork", "thread"]), &WORKLOADS);
}

fn local_ports_stop_the_run_where_doctor_says() {
    let commands = "ip link set lo up; echo 40000 40499 > /proc/sys/net/ipv4/ip_local_port_range";
    let before = within("--net", commands);
    let stops = &["bind/v4", "connect/v4", "accept/epoll"];
    let one = lowered("net.ipv4.ip_local_port_range", &before, 3000, stops);
    // Not those of loads: a port stays taken for a minute after a trial that closed its connections.
    expect_agreement(&one, &["kernel"]);
}

fn the_address_space_stops_the_run_where_doctor_says() {
    let before = "ulimit -v 1000000";
    expect_agreement_of(&lowered("RLIMIT_AS", before, 20_000, &["fork", "fork-memory"]), &["fork*"]);
}

fn a_small_disk_stops_the_run_where_doctor_says() {
    let inodes = lowered("number of free inodes", "", 3000, &["directory/new"]);
    if is_possible("a disk", &within("--mount --propagation private", "mount -t tmpfs none /mnt")) {
        let bytes = program_bytes() + (90 << 20);
        let mount = format!("mount -t tmpfs -o size={bytes},nr_inodes=2000 none disk");
        let scratch = format!("mkdir -p disk; {mount}; export TMPDIR=$PWD/disk");
        let before = within("--mount --propagation private", &scratch);
        expect_agreement_of(&Lowered { before, ..inodes }, &["directory/new", "tree"]);
    }
}

/// Files of /proc/sys that belong to the whole machine are replaced for the programs of the test. The kernel
/// would go further; the run and `doctor` read them alike.
fn limits_of_the_machine_stop_the_run_where_doctor_says() {
    let _alone = alone();
    for one in [
        lowered(
            "vm.max_map_count",
            &faked("vm/max_map_count", 700),
            3000,
            &["mmap/read", "thread", "fork-memory"],
        ),
        lowered("fs.epoll.max_user_watches", &faked("fs/epoll/max_user_watches", 300), 900, &["ready/epoll"]),
        lowered("fs.nr_open", &faked("fs/nr_open", 300), 900, &["ready/poll"]),
        lowered("kernel.threads-max", &faked("kernel/threads-max", 6000), 9000, &["fork"]),
    ] {
        if is_possible(one.limit, &one.before) {
            let workloads: Vec<&str> = one.stops.to_vec();
            expect_agreement_of(&one, &workloads);
        }
    }
}

/// Not a test by itself: it is started in a namespace by those below, and prints how many there were.
fn experiment() {
    let reached = match std::env::var("EXPERIMENT").as_deref() {
        Ok("backlog") => waiting_connections(),
        Ok("watches") => watched_files(),
        _ => return,
    };
    println!("reached={reached}");
}

/// Connections that one listening socket holds without accepting them.
fn waiting_connections() -> usize {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a socket");
    // The library asks for fewer.
    rustix::net::listen(&listener, 4096).expect("more may wait");
    let address: SocketAddr = listener.local_addr().expect("an address");
    let mut held = Vec::new();
    while let Ok(stream) = TcpStream::connect_timeout(&address, Duration::from_secs(2)) {
        held.push(stream);
    }
    held.len()
}

fn watched_files() -> usize {
    use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
    let folder = tempfile::tempdir().expect("a folder");
    let watcher = init(CreateFlags::empty()).expect("an instance");
    (0..5000)
        .take_while(|number| {
            let path = folder.path().join(number.to_string());
            fs::write(&path, "").expect("a file");
            add_watch(&watcher, &path, WatchFlags::MODIFY).is_ok()
        })
        .count()
}

/// Has the experiment executed after these commands, and compares with what `doctor` says of the limit.
fn expect_experiment(before: &str, what: &str, demand: &str, limit: &str) {
    if !is_possible(limit, before) {
        return;
    }
    let folder = open_folder();
    let diagnosis = diagnosed(before, folder.path(), &["--for", demand]);
    let shortfalls = diagnosis["systems"][0]["shortfalls"].as_array().expect("shortfalls").clone();
    let found =
        shortfalls.iter().find(|one| one["limit"] == limit).unwrap_or_else(|| panic!("{shortfalls:#?}"));
    let predicted = found["now"].as_u64().expect("a value");
    assert!(found["needed"].as_u64() > Some(predicted) && found["command"].is_string(), "{found:#}");
    let mut shell = Command::new("sh");
    shell.args(["-ec", &format!("{before}\nexec \"$0\" \"$@\"")]);
    shell.arg(std::env::current_exe().expect("this test")).args(["--ignored", "--exact", "experiment"]);
    shell.args(["--nocapture"]).env("EXPERIMENT", what).env("FOLDER", folder.path());
    let output = shell.current_dir(folder.path()).output().expect("a shell starts");
    let printed = text(&output.stdout);
    let reached = printed.split("reached=").nth(1).and_then(|rest| rest.split_whitespace().next());
    let reached: u64 = reached.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{printed}"));
    println!("{limit}: predicted {predicted}, reached {reached}");
    assert!(reached.abs_diff(predicted) <= predicted / 100, "{limit}: {reached} instead of {predicted}");
}

fn the_backlog_holds_as_many_connections_as_doctor_says() {
    let commands = "ip link set lo up; echo 200 > /proc/sys/net/core/somaxconn";
    expect_experiment(&within("--net", commands), "backlog", "connections=3000", "net.core.somaxconn");
}

fn inotify_watches_as_many_files_as_doctor_says() {
    let commands = "echo 400 > /proc/sys/user/max_inotify_watches";
    let before = within("--user --map-root-user", commands);
    expect_experiment(&before, "watches", "watches=3000", "user.max_inotify_watches");
}

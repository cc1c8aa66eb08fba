//! `osdyno blame`: the functions that it blames are those that are known to be to blame.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common;
use crate::common::{osdyno, run, run_well, text};
use serde_json::Value;

/// Whether stacks of the kernel can be sampled here; prints the reason if not.
fn can_sample() -> bool {
    let mut child = Command::new("sleep").arg("60").spawn().expect("sleep starts");
    let attached = sys::profile::Sampler::attach(child.id(), std::time::Duration::from_millis(1), &[]);
    child.kill().expect("it ends");
    child.wait().expect("it has ended");
    let named = sys::profile::kernel_symbols();
    match (attached, named) {
        (Ok(_), Ok(_)) => true,
        (Err(error), _) | (_, Err(error)) => {
            skipped!("{error}");
            false
        }
    }
}

/// The answer about one series of a run file.
fn blamed(folder: &Path, file: &str, workload: &str, name: &str) -> Value {
    find(folder, file, workload, name).unwrap_or_else(|answer| panic!("no {workload} {name} in {answer:#}"))
}

/// The same, or the whole answer where it has nothing of that series.
fn find(folder: &Path, file: &str, workload: &str, name: &str) -> Result<Value, Value> {
    let output = run(folder, &["blame", file, "--format", "json"]);
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    let series = answer["series"].as_array().expect("series");
    let found = series.iter().find(|series| series["workload"] == workload && series["name"] == name);
    found.cloned().ok_or(answer)
}

/// The function with the largest lower bound among those that are right, with that bound: of the growth, this
/// much is there, with what it calls.
fn surely_in(series: &Value, right: &[&str]) -> f64 {
    let functions = series["functions"].as_array().expect("functions");
    let is_right = |one: &&Value| right.contains(&one["function"].as_str().unwrap_or_default());
    let low = |one: &Value| one["whole_share"]["low"].as_f64().unwrap_or(0.0);
    functions.iter().filter(is_right).map(low).fold(0.0, f64::max)
}

fn expect_blamed(series: &Value, right: &[&str]) {
    assert_eq!(series["is_seen"], true, "{series:#}");
    let share = surely_in(series, right);
    assert!(share > 0.4, "{share} of the growth is in {right:?}: {series:#}");
    let holder = series["holder"]["function"].as_str().unwrap_or_default();
    assert!(!holder.is_empty(), "{series:#}");
}

#[test]
fn the_search_for_a_port_the_copy_of_page_tables_and_the_loop_of_poll_are_blamed() {
    if !can_sample() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let how = ["--trials", "10", "--no-references", "--preset", "full", "--blame", "--out"];
    // On a busy machine a short sweep may not be certain to grow.
    let fork = [("150", "fork.osdyno"), ("400", "far.osdyno")].into_iter().find_map(|(n, file)| {
        run(folder.path(), &[&["run", "fork-memory", "-n", n][..], &how, &[file]].concat());
        find(folder.path(), file, "fork-memory", "fork").ok()
    });
    let fork = fork.expect("the growth of fork");
    // Its page tables are what it copies, and they were counted beside.
    let in_use = fork["in_use"].as_array().expect("what was in use");
    assert!(in_use.iter().any(|one| one["name"] == "page tables (KiB)"), "{fork:#}");
    let counted = fork["counters"].as_array().expect("counters");
    assert!(counted.iter().any(|one| one["name"] == "page-faults"), "{fork:#}");
    expect_blamed(
        &fork,
        &["copy_page_range", "copy_p4d_range", "copy_pte_range", "dup_mm", "dup_mmap", "copy_process"],
    );
    expect_the_end_of_a_child(folder.path());
    run_well(folder.path(), &[&["run", "ready/poll", "-n", "1000"][..], &how, &["a.osdyno"]].concat());
    let poll = blamed(folder.path(), "a.osdyno", "ready", "wait");
    expect_blamed(
        &poll,
        &["do_sys_poll", "do_poll", "do_pollfd", "__x64_sys_poll", "__arm64_sys_ppoll", "__x64_sys_ppoll"],
    );
    let page = fs::read_to_string(folder.path().join("a-blame.html")).expect("the page");
    assert!(page.contains("class=\"flame\"") && page.contains("do_sys_poll"), "a flame graph");
    // What the machine does not count has its reason in each form of the answer.
    let printed = text(&run(folder.path(), &["blame", "a.osdyno"]).stdout);
    match poll["uncounted"].as_str().expect("a reason, or none") {
        "" => assert!(printed.contains("instructions"), "{printed}"),
        _ => assert!(
            [printed.as_str(), page.as_str()].iter().all(|form| form.contains("Not counted: instructions")),
            "{printed}"
        ),
    }
    assert!(!page.contains("NaN") && !page.contains("http://"), "it works offline");
    writes_for_other_tools(folder.path());
}

/// A child ends in its own time, for which its parent waits: it belongs to the trial, and its functions are
/// named.
fn expect_the_end_of_a_child(folder: &Path) {
    let reap = ["fork.osdyno", "far.osdyno"].into_iter().find_map(|file| {
        if !folder.join(file).exists() {
            return None;
        }
        find(folder, file, "fork-memory", "reap").ok()
    });
    let reap = reap.expect("the growth of reap");
    assert_eq!(reap["unsampled"], "", "{reap:#}");
    expect_blamed(
        &reap,
        &["do_exit", "exit_mm", "mmput", "__mmput", "exit_mmap", "unmap_vmas", "free_pgtables"],
    );
}

/// Folded stacks and a profile of the run there.
fn writes_for_other_tools(folder: &Path) {
    run_well(
        folder,
        &["blame", "a.osdyno", "--folded", "a.folded", "--pprof", "a.pb.gz", "--page", "b.html"],
    );
    let folded = fs::read_to_string(folder.join("a.folded")).expect("folded stacks");
    let is_line = |line: &str| {
        let mut words = line.rsplitn(3, ' ');
        let is_number = |word: Option<&str>| word.is_some_and(|word| word.parse::<u64>().is_ok());
        is_number(words.next())
            && is_number(words.next())
            && words.next().is_some_and(|stack| stack.contains(';'))
    };
    assert!(folded.lines().all(is_line) && folded.contains("ready/poll_wait;"), "{folded}");
    let unpacked = Command::new("gzip").args(["-dc", "a.pb.gz"]).current_dir(folder).output().expect("gzip");
    assert!(unpacked.status.success(), "{}", text(&unpacked.stderr));
    for name in ["nanoseconds", "growth", "do_sys_poll"] {
        assert!(text(&unpacked.stdout).contains(name), "{name}");
    }
    // What is there is kept.
    let again = run(folder, &["blame", "a.osdyno", "--folded", "a.folded"]);
    assert_eq!(again.status.code(), Some(1), "{}", text(&again.stderr));
    match Command::new("go")
        .args(["tool", "pprof", "-top", "-sample_index=growth", "a.pb.gz"])
        .current_dir(folder)
        .output()
    {
        Ok(output) => {
            let printed = text(&output.stdout);
            assert!(
                output.status.success() && printed.contains("do_sys_poll"),
                "{printed}{}",
                text(&output.stderr)
            );
        }
        Err(_) => skipped!("pprof, which comes with go, is not here"),
    }
}

#[test]
fn the_search_for_a_port_is_blamed_for_the_step_of_bind() {
    if !can_sample() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    // A name space of its own has a short range of ports, whose half is soon reached.
    let system = "--system=few=unshare -n sh -c 'echo 32768 36767 > /proc/sys/net/ipv4/ip_local_port_range && exec \"$@\"' -";
    let measured = ["run", "bind/v4", "-n", "3000", "--trials", "10", "--blame", "--out", "a.osdyno", system];
    let output = run(folder.path(), &measured);
    if text(&output.stderr).contains("unshare failed") {
        skipped!("{}", text(&output.stderr));
        return;
    }
    let bind = blamed(folder.path(), "a.osdyno", "bind", "bind");
    let right = ["inet_csk_find_open_port", "inet_csk_get_port", "__inet_bind", "inet_bind_sk"];
    expect_blamed(&bind, &right);
}

#[test]
fn the_lock_of_an_address_space_is_blamed_where_two_threads_map() {
    if !can_sample() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    run(folder.path(), &["run", "cores-map/threads", "--trials", "30", "--blame", "--out", "a.osdyno"]);
    let Ok(map) = find(folder.path(), "a.osdyno", "cores-map", "rate") else {
        skipped!("this machine is too busy: it is not certain that two threads that map lose");
        return;
    };
    let lock =
        ["rwsem_down_write_slowpath", "rwsem_optimistic_spin", "rwsem_spin_on_owner", "down_write_killable"];
    assert!(surely_in(&map, &lock) > 0.3, "{map:#}");
    assert_eq!(
        (&map["low"]["n_low"], &map["label"]),
        (&1.into(), &"an operation of cores-map/threads".into())
    );
}

/// A pthread_create that turns a loop for every thread there is, in a function with a name.
const SLOWER: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>

typedef int (*create_function)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
static long threads;

__attribute__((noinline, visibility("default"))) void turn_for_each_thread(long count) {
    for (volatile long turns = 0; turns < 2000 * count; turns++) {}
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*work)(void *), void *argument) {
    static create_function create;
    if (!create) create = (create_function)dlsym(RTLD_NEXT, "pthread_create");
    turn_for_each_thread(threads++);
    return create(thread, attributes, work, argument);
}

int pthread_join(pthread_t thread, void **result) {
    static int (*join)(pthread_t, void **);
    if (!join) join = (int (*)(pthread_t, void **))dlsym(RTLD_NEXT, "pthread_join");
    threads--;
    return join(thread, result);
}
"#;

#[test]
fn a_slow_library_is_blamed_by_the_name_of_its_function_also_by_a_run_of_its_own() {
    if !can_sample() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (source, library) = (folder.path().join("slower.c"), folder.path().join("slower.so"));
    fs::write(&source, SLOWER).expect("a source file");
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "-shared", "-fPIC", "-o"]).arg(&library).arg(&source).arg("-ldl");
    assert!(compiler.status().expect("a C compiler, as Rust's linker needs one too").success());
    let system = format!("--system=slower=env LD_PRELOAD={}", library.display());
    let measured = ["run", "thread", "-n", "500", "--preset", "full", "--trials", "8", "--out", "a.osdyno"];
    run_well(folder.path(), &[&measured[..], &[&system]].concat());
    let printed = text(&run(folder.path(), &["blame", "a.osdyno", "--trials", "6"]).stdout);
    assert!(printed.contains("is in turn_for_each_thread"), "{printed}");
    assert!(printed.contains("slower.so"), "{printed}");
    let create = blamed(folder.path(), "a-blame.osdyno", "thread", "create");
    expect_blamed(&create, &["turn_for_each_thread"]);
    // The judged trials are there too, so the file explains itself; the run itself is as it was.
    let reported = run_well(folder.path(), &["report", "a-blame.osdyno", "--out", "again.html", "-v"]);
    assert!(reported.contains("thread"), "{reported}");
    assert!(record::read(folder.path().join("a.osdyno")).expect("the run").0.profiles.is_empty());
    let again = run(folder.path(), &["blame", "a.osdyno"]);
    assert_eq!(again.status.code(), Some(1), "{}", text(&again.stdout));
    assert!(
        text(&again.stderr).contains("osdyno blame a-blame.osdyno reads them"),
        "{}",
        text(&again.stderr)
    );
}

/// A command with a function of n, one of n² and one that is the same at each n.
const COMMAND: &str = r#"
#include <stdlib.h>

#define KEPT __attribute__((noinline))
static volatile long sum;

KEPT void same(void) { for (long turn = 0; turn < 400000; turn++) sum += turn; }
KEPT void once_for_each(long n) { for (long turn = 0; turn < n; turn++) sum += turn; }
KEPT void again_for_each(long n) { for (long turn = 0; turn < n * n; turn++) sum += turn; }

int main(int count, char **words) {
    long n = atol(words[count - 1]);
    same();
    once_for_each(n);
    again_for_each(n);
    return 0;
}
"#;

/// Each execution is another process, with its code at other addresses.
#[test]
fn a_command_is_blamed_by_the_name_of_its_function() {
    if !can_sample() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("command.c"), COMMAND).expect("a source file");
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "-o", "command", "command.c"]).current_dir(folder.path());
    assert!(compiler.status().expect("a C compiler, as Rust's linker needs one too").success());
    let measured = ["run", "--levels", "100,1000,5000", "--trials", "8", "--blame", "--out", "a.osdyno"];
    let printed = text(&run(folder.path(), &[&measured[..], &["--", "./command {n}"]].concat()).stdout);
    assert!(printed.contains("is in again_for_each"), "{printed}");
    let time = blamed(folder.path(), "a.osdyno", "command", "time");
    expect_blamed(&time, &["again_for_each"]);
    assert_eq!((&time["low"]["n_low"], &time["high"]["n_high"]), (&Value::from(100), &Value::from(5000)));
    assert_eq!(
        time["counters"].as_array().map(Vec::len),
        Some(0),
        "those of the trial are not the command's"
    );
    let functions = time["functions"].as_array().expect("functions");
    let same = functions.iter().find(|one| one["function"] == "same").expect("it was seen");
    assert!(same["own_share"]["value"].as_f64().is_some_and(|share| share.abs() < 0.2), "{same:#}");
    // User time and the like have no time of their own.
    find(folder.path(), "a.osdyno", "command", "user time").expect_err("a companion");
}

#[test]
fn a_run_of_another_machine_is_refused_and_one_without_growth_needs_no_samples() {
    let folder = tempfile::tempdir().expect("a folder");
    run_well(folder.path(), &["run", "noop", "-n", "300", "--trials", "10", "--out", "a.osdyno"]);
    let (recording, _) = record::read(folder.path().join("a.osdyno")).expect("the run");
    let write = |name: &str, release: Option<&str>, cost: fn(f64) -> f64| {
        let mut lines = vec![record::Line::Run(recording.run.clone())];
        for mut system in recording.systems.clone() {
            if let Some(release) = release {
                system.environment.insert("kernel.release".to_owned(), release.to_owned());
            }
            lines.push(record::Line::System(system));
        }
        lines.extend(recording.workloads.iter().cloned().map(record::Line::Workload));
        lines.extend(recording.trials.iter().cloned().map(record::Line::Trial));
        for mut one in recording.series().flat_map(|(_, series)| series).cloned() {
            one.values.iter_mut().enumerate().for_each(|(n, value)| *value = cost(n as f64));
            lines.push(record::Line::Series(one));
        }
        let mut bytes = Vec::new();
        lines.iter().for_each(|line| record::write_line(line, &mut bytes).expect("a line"));
        fs::write(folder.path().join(name), bytes).expect("a file");
    };

    write("flat.osdyno", None, |_| 1e-6);
    let flat = run_well(folder.path(), &["blame", "flat.osdyno"]);
    assert!(flat.contains("Nothing to blame: no cost"), "{flat}");
    assert!(!folder.path().join("flat-blame.osdyno").exists(), "nothing was sampled");

    write("other.osdyno", Some("2.4.22"), |n| 1e-6 + 1e-8 * n);
    let refused = run(folder.path(), &["blame", "other.osdyno"]);
    assert_eq!(refused.status.code(), Some(1), "{}", text(&refused.stdout));
    let told = text(&refused.stderr);
    assert!(told.contains("its kernel.release is 2.4.22") && told.contains("--anyway"), "{told}");
    assert!(!folder.path().join("other-blame.osdyno").exists(), "nothing half done");
    common::expect_nothing_left(folder.path());
}

#[test]
fn an_unprivileged_user_is_told_what_is_lacking() {
    let paranoid = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    let level = paranoid.trim().parse::<i32>().unwrap_or(0);
    let is_root = fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0);
    if level < 2 || !is_root {
        skipped!("it needs root, and kernel.perf_event_paranoid above 1, which is {level}");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (path, mode) = (folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777));
    fs::set_permissions(path, mode).expect("everybody may write there");
    let own = osdyno(path, &[]);
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(own.get_program());
    command.args(["run", "ready/poll", "-n", "600", "--trials", "10", "--blame", "--out", "a.osdyno"]);
    command.current_dir(path).env("TMPDIR", path).env("XDG_STATE_HOME", path.join("state"));
    let output = command.output().expect("setpriv starts");
    if text(&output.stderr).contains("Permission denied") && output.stdout.is_empty() {
        skipped!("the program is in a folder that others may not enter");
        return;
    }
    let printed = text(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        printed.contains(&format!("kernel.perf_event_paranoid is {level}")),
        "{printed}{}",
        text(&output.stderr)
    );
    let lacking = printed.split("Not sampled, though it grows:").nth(1).unwrap_or_default();
    assert!(lacking.contains("ready/poll wait") && lacking.contains("CAP_PERFMON"), "{printed}");
    assert_eq!(output.status.code(), Some(3), "{printed}");
}

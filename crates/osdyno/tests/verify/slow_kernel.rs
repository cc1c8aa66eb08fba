//! A system that is made slower on purpose, by an amount that is known, is found out, by that amount.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::run_well;

/// A pthread_create that takes 20 µs more, and `PER_THREAD_NS` more for every thread there is: those that came
/// and went before anything was timed do not count.
const SLOWER: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <time.h>

typedef int (*create_function)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
typedef int (*join_function)(pthread_t, void **);

static long threads;

static long now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*work)(void *), void *argument) {
    static create_function create;
    if (!create) create = (create_function)dlsym(RTLD_NEXT, "pthread_create");
    long until_ns = now_ns() + 20000 + PER_THREAD_NS * threads++;
    while (now_ns() < until_ns) {}
    return create(thread, attributes, work, argument);
}

int pthread_join(pthread_t thread, void **result) {
    static join_function join;
    if (!join) join = (join_function)dlsym(RTLD_NEXT, "pthread_join");
    threads--;
    return join(thread, result);
}
"#;

const PER_THREAD_NS: u32 = 100;

/// Intervals of 95 % miss the truth once in twenty times, and here are several: the second run decides.
#[test]
fn a_cost_that_was_made_to_grow_is_found_with_the_growth_it_was_given() {
    if let Err(first) = check(&measure()) {
        check(&measure()).unwrap_or_else(|second| panic!("{first}\nand again: {second}"));
    }
}

fn measure() -> judge::Findings {
    let folder = tempfile::tempdir().expect("a folder");
    // Both have the constant part, which gives the thread before it time to start, and they take turns: what
    // else the machine does meets both alike.
    let system = |name: &str, per_thread_ns: u32| {
        let library = build(folder.path(), name, per_thread_ns);
        format!("--system={name}=env LD_PRELOAD={}", library.display())
    };
    let (constant, growing) = (system("constant", 0), system("growing", PER_THREAD_NS));
    // The default preset ends a sweep after half a second: a few hundred threads on a busy machine.
    let size = ["run", "thread", "-n", "2000", "--preset", "full", "--budget", "150s", "--out", "a.osdyno"];
    run_well(folder.path(), &[&size[..], &[&constant, &growing]].concat());
    let (recording, _) = record::read(folder.path().join("a.osdyno")).expect("the run file");
    judge::Findings::from_recording(&recording)
}

/// Whether the cost grows as it was made to, and only there; or the reason why it does not.
fn check(findings: &judge::Findings) -> Result<(), String> {
    let [constant, growing] = ["constant", "growing"].map(|system| verdict(findings, system));
    let is_known =
        matches!(constant.class, stats::Class::Flat | stats::Class::SmallGrowth | stats::Class::Inconclusive);
    if !is_known || growing.class != stats::Class::LinearLike {
        return Err(format!("constant {constant:?}, growing {growing:?}"));
    }

    let per_thread = f64::from(PER_THREAD_NS) * 1e-9;
    // The growth is that from the first n that is judged to the last.
    let (first, last) = (growing.blocks[0], growing.blocks[growing.blocks.len() - 1]);
    let at = |constant: stats::Interval, n: u64| constant.value + per_thread * n as f64;
    let expected = at(constant.cost_high, last.n_high) / at(constant.cost_low, first.n_low);
    // The level of the constant cost is known to a few percent.
    let slack = 1.04;
    let growth = growing.growth;
    if !(growth.low / slack <= expected && expected <= growth.high * slack) {
        let (low, high) = (constant.cost_low, constant.cost_high);
        return Err(format!("expected ×{expected:.3}, found {growth:?}; constant {low:?} to {high:?}"));
    }
    // The interval holds what was added; how narrow it is depends on the machine's noise.
    let marginal = growing.marginal_cost;
    if 0.0 < marginal.low && marginal.low <= 1.2 * per_thread && 0.8 * per_thread <= marginal.high {
        Ok(())
    } else {
        Err(format!("{marginal:?}"))
    }
}

fn build(folder: &Path, name: &str, per_thread_ns: u32) -> std::path::PathBuf {
    let (source, library) = (folder.join("slower.c"), folder.join(format!("{name}.so")));
    fs::write(&source, SLOWER).expect("a source file");
    let mut compiler = Command::new("cc");
    compiler.arg(format!("-DPER_THREAD_NS={per_thread_ns}")).args(["-O2", "-shared", "-fPIC", "-o"]);
    compiler.arg(&library).arg(&source).arg("-ldl");
    assert!(compiler.status().expect("a C compiler, as Rust's linker needs one too").success());
    library
}

fn verdict<'a>(findings: &'a judge::Findings, system: &str) -> &'a stats::Verdict {
    let is_its = |finding: &&judge::Finding| finding.key.system == system && finding.key.name == "create";
    let finding = findings.series.iter().find(is_its).expect("the series");
    finding.verdict.as_ref().expect("a verdict")
}

//! A system that is made slower on purpose, by an amount that is known, is found out, by that amount.
#![cfg(target_os = "linux")]

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::{osdyno, run_well, text};

/// A pthread_create that takes 20 µs more, and 20 ns more for every thread there is: those that came and
/// went before anything was timed do not count.
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
    long until_ns = now_ns() + 20000 + 20 * threads++;
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

const ADDED_SECONDS: f64 = 20e-6;
const ADDED_PER_THREAD_SECONDS: f64 = 20e-9;

#[test]
fn a_cost_that_was_made_to_grow_is_found_with_the_growth_it_was_given() {
    let folder = tempfile::tempdir().expect("a folder");
    let library = build(folder.path());
    let arguments = |out| ["run", "thread", "-n", "4000", "--trials", "12", "--out", out];
    run_well(folder.path(), &arguments("plain.osdyno"));
    let slowed = osdyno(folder.path(), &arguments("slowed.osdyno"))
        .env("LD_PRELOAD", &library)
        .output()
        .expect("osdyno starts");
    assert!(slowed.status.success(), "{}", text(&slowed.stderr));

    let plain = verdict(folder.path(), "plain.osdyno");
    let slowed = verdict(folder.path(), "slowed.osdyno");
    assert!(
        matches!(plain.class, stats::Class::Flat | stats::Class::SmallGrowth | stats::Class::Inconclusive),
        "{plain:?}"
    );
    assert_eq!(slowed.class, stats::Class::LinearLike, "{slowed:?}");

    let added = |n: f64| ADDED_SECONDS + ADDED_PER_THREAD_SECONDS * n;
    let (first, last) = (slowed.blocks[0], slowed.blocks[slowed.blocks.len() - 1]);
    let middle = |block: stats::Block| (block.n_low + block.n_high) as f64 / 2.0;
    let expected =
        (plain.cost_high.value + added(middle(last))) / (plain.cost_low.value + added(middle(first)));
    // The level of the plain cost is known to some ten percent of its share, a few percent of the sum.
    let slack = 1.04;
    let growth = slowed.growth;
    assert!(
        growth.low / slack <= expected && expected <= growth.high * slack,
        "expected ×{expected:.3}, found {growth:?}; plain {:?} to {:?}",
        plain.cost_low,
        plain.cost_high
    );
    // The interval holds what was added; how narrow it is depends on the machine's noise.
    let marginal = slowed.marginal_cost;
    let added = ADDED_PER_THREAD_SECONDS;
    assert!(
        0.0 < marginal.low && marginal.low <= 1.2 * added && 0.8 * added <= marginal.high,
        "{marginal:?}"
    );
}

fn build(folder: &Path) -> std::path::PathBuf {
    let (source, library) = (folder.join("slower.c"), folder.join("slower.so"));
    fs::write(&source, SLOWER).expect("a source file");
    let mut compiler = Command::new("cc");
    compiler.args(["-O2", "-shared", "-fPIC", "-o"]).arg(&library).arg(&source).arg("-ldl");
    assert!(compiler.status().expect("a C compiler, as Rust's linker needs one too").success());
    library
}

fn verdict(folder: &Path, name: &str) -> stats::Verdict {
    let (recording, _) = record::read(folder.join(name)).expect("the run file");
    let findings = judge::Findings::of(&recording);
    let finding =
        findings.series.into_iter().find(|finding| finding.key.name == "create").expect("the series");
    finding.verdict.expect("a verdict")
}

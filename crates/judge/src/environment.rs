//! The facts of systems: their differences, their importance, and the engine that a system runs on.
//!
//! KVM is an engine of its own: its page tables have two levels, and its timers go through the host. All
//! engines stay in one comparison, because their systems were measured together.

use std::collections::BTreeSet;

use record::System;
use serde::Serialize;

/// The beginnings of keys, the most important first.
const IMPORTANT: [&str; 22] = [
    "kernel.release",
    "kernel.name",
    "os.",
    "kernel.version",
    "cpu.model",
    "cpu.mitigations",
    "machine.",
    "clock.",
    "kernel.command_line",
    "kernel.preemption",
    "cpu.governor",
    "cpu.microcode",
    "kernel.",
    "cpu.",
    "memory.",
    "limit.",
    "scratch.",
    "cgroup.",
    "security.",
    "vm.",
    "net.",
    "fs.",
];

/// Facts that differ between any two runs of one system, by a part of their key.
const VOLATILE: [&str; 8] =
    ["boot_id", "uptime", "load", "free", "available", "temperature", "date", "hostname"];

/// The rank of a fact among others.
pub fn importance(key: &str) -> usize {
    IMPORTANT.iter().position(|known| key.starts_with(known)).unwrap_or(IMPORTANT.len())
}

/// Whether a fact differs between any two runs of one system.
pub(crate) fn is_volatile(key: &str) -> bool {
    key.split('.')
        .any(|part| VOLATILE.iter().any(|word| part == *word || part.starts_with(&format!("{word}_"))))
}

/// A fact in which systems differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Its key.
    pub key: String,
    /// One for each system.
    ///
    /// `None` where it could not be read.
    pub values: Vec<Option<String>>,
}

/// The differences between systems, the most important first: the commands that start them, then facts. Facts
/// that always differ are left out; a system without facts, because it could not be started, differs in
/// nothing.
pub fn differences(systems: &[&System]) -> Vec<Difference> {
    let is_known: Vec<bool> = systems.iter().map(|s| !s.environment.is_empty()).collect();
    let differ = |d: &Difference| {
        let mut known = d.values.iter().zip(&is_known).filter(|(_, known)| **known).map(|(value, _)| value);
        known.next().is_some_and(|first| known.any(|value| value != first))
    };
    let keys: BTreeSet<&String> = systems.iter().flat_map(|s| s.environment.keys()).collect();
    let mut differences: Vec<Difference> = keys
        .into_iter()
        .filter(|key| !is_volatile(key))
        .map(|key| Difference {
            key: key.clone(),
            values: systems.iter().map(|s| s.environment.get(key).cloned()).collect(),
        })
        .filter(differ)
        .collect();
    // Their keys are in order already.
    differences.sort_by_key(|difference| importance(&difference.key));
    let command =
        |s: &&System| Some(if s.prefix.is_empty() { "none".to_string() } else { s.prefix.join(" ") });
    let command = Difference { key: "command".to_string(), values: systems.iter().map(command).collect() };
    if differ(&command) {
        differences.insert(0, command);
    }
    differences
}

/// The fact that names the engine, and the one that older records have.
const ENGINE: &str = "machine.engine";
const HYPERVISOR: &str = "machine.hypervisor";

/// The real processor, or that of the virtual machine in which osdyno runs: all of its systems share it.
/// Sandboxes and User-mode Linux run on it too.
const NATIVE: &str = "native";

/// The only emulator that an older record can name.
const EMULATOR: &str = "QEMU TCG";

/// For each of these systems the place of its reference: the first on the same engine.
pub(crate) fn references(systems: &[&System]) -> Vec<usize> {
    let first =
        |system: &System| systems.iter().position(|other| engine(other) == engine(system)).unwrap_or(0);
    systems.iter().map(|system| first(system)).collect()
}

/// Whether an emulator executes the instructions of a system: it may execute all of its processors in turns.
pub(crate) fn is_emulated(system: &System) -> bool {
    engine(system) == EMULATOR
}

/// The executor of the instructions of a system: its processor, an emulator, or KVM; without a fact, the real
/// processor.
///
/// An emulator makes every instruction slower, and not all by the same factor. So a ratio between a system on
/// an emulated processor and one on a real one says nothing about the systems. KVM makes few operations
/// slower, those that touch page tables, timers or other processors, and those are measured.
pub(crate) fn engine(system: &System) -> &str {
    let fact = |name: &str| system.environment.get(name).map(String::as_str);
    fact(ENGINE).or_else(|| fact(HYPERVISOR).filter(|name| *name == EMULATOR)).unwrap_or(NATIVE)
}

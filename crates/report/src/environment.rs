//! Facts about systems: their short name, and what differs between them.

use std::collections::BTreeSet;

use record::System;

/// The beginnings of keys, what says most first.
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

/// Facts that differ between any two runs and say nothing of the systems, by a part of their key.
const VOLATILE: [&str; 8] =
    ["boot_id", "uptime", "load", "free", "available", "temperature", "date", "hostname"];

/// Where a fact stands among others.
pub(crate) fn importance(key: &str) -> usize {
    IMPORTANT.iter().position(|known| key.starts_with(known)).unwrap_or(IMPORTANT.len())
}

/// Whether a reader wants to see a fact without asking for it.
pub(crate) fn says_much(key: &str) -> bool {
    const FIRST: [&str; 16] = [
        "kernel.release",
        "kernel.name",
        "kernel.version",
        "kernel.preemption",
        "os.",
        "machine.",
        "cpu.model",
        "cpu.count",
        "cpu.mitigations",
        "cpu.governor",
        "clock.source",
        "memory.total_bytes",
        "memory.thp",
        "limit.descriptors",
        "net.ip_local_port_range",
        "scratch.file_system",
    ];
    let plain = !key.ends_with("_number") && key != "clock.sources" && !key.starts_with("memory.thp_");
    plain && FIRST.iter().any(|known| key.starts_with(known))
}

fn is_volatile(key: &str) -> bool {
    key.split('.')
        .any(|part| VOLATILE.iter().any(|word| part == *word || part.starts_with(&format!("{word}_"))))
}

/// `Linux 6.12.107 · Xeon`, from the facts there are; the name of the system where there are none.
pub(crate) fn title(system: &System) -> String {
    let fact =
        |keys: &[&str]| keys.iter().find_map(|key| system.environment.get(*key)).filter(|v| !v.is_empty());
    let kernel = match (fact(&["kernel.name", "os.name"]), fact(&["kernel.release"])) {
        (Some(name), Some(release)) => format!("{name} {release}"),
        (None, Some(release)) => release.clone(),
        (Some(name), None) => name.clone(),
        (None, None) => system.name.clone(),
    };
    match fact(&["cpu.model"]) {
        Some(model) => format!("{kernel} on {model}"),
        None => kernel,
    }
}

/// A fact in which systems differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The key of the fact.
    pub key: String,
    /// What each system says; `None` where it could not be read.
    pub values: Vec<Option<String>>,
}

/// What differs between systems, what says most first: the commands that they were started through, then
/// facts. What always differs is left out; a system that told nothing of itself, for it could not be started,
/// differs in nothing.
pub(crate) fn differences(systems: &[&System]) -> Vec<Difference> {
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
    differences.sort_by(|a, b| (importance(&a.key), &a.key).cmp(&(importance(&b.key), &b.key)));
    let command =
        |s: &&System| Some(if s.prefix.is_empty() { "none".to_string() } else { s.prefix.join(" ") });
    let command = Difference { key: "command".to_string(), values: systems.iter().map(command).collect() };
    if differ(&command) {
        differences.insert(0, command);
    }
    differences
}

impl Difference {
    /// `kernel.release 6.12.107 → 7.3.4`
    pub fn words(&self) -> String {
        let values: Vec<&str> = self.values.iter().map(|v| v.as_deref().unwrap_or("unknown")).collect();
        format!("{} {}", self.key, values.join(" → "))
    }
}

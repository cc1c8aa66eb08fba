//! Facts about systems: their short name, and the facts that are shown first.

use judge::Difference;
use record::System;

/// Whether a fact is shown without being requested.
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

/// `Linux 6.12.107 · Xeon`, from the known facts; the name of the system without any.
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

/// `kernel.release 6.12.107 → 7.3.4`; of three systems `6.1 / 6.12 / 7.3`.
pub(crate) fn difference(difference: &Difference) -> String {
    let values: Vec<&str> = difference.values.iter().map(|v| v.as_deref().unwrap_or("unknown")).collect();
    // An arrow between more than two would be a course of time.
    let between = if values.len() == 2 { " → " } else { " / " };
    format!("{} {}", difference.key, values.join(between))
}

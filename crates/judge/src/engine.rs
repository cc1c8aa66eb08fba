//! What executes the instructions of a system: its processor, an emulator, or KVM.
//!
//! An emulator makes every instruction slower, and not all by the same factor. So a ratio between a system on
//! an emulated processor and one on a real one says nothing about the systems. KVM makes few operations
//! slower, those that touch page tables, timers or other processors, and those are what is measured.

use record::System;

/// The fact that names it, and the one that older records have.
const ENGINE: &str = "machine.engine";
const HYPERVISOR: &str = "machine.hypervisor";

/// The real processor, or that of the virtual machine in which osdyno runs: all of its systems share it.
/// Sandboxes and User-mode Linux run on it too.
pub(crate) const NATIVE: &str = "native";

/// The only emulator that an older record can name.
const EMULATOR: &str = "QEMU TCG";

/// For each of these systems the place of its reference: the first on the same engine.
pub(crate) fn references(systems: &[&System]) -> Vec<usize> {
    let first = |system: &System| systems.iter().position(|other| of(other) == of(system)).unwrap_or(0);
    systems.iter().map(|system| first(system)).collect()
}

/// The engine of a system; where nothing is known, it is the real processor.
pub(crate) fn of(system: &System) -> &str {
    let fact = |name: &str| system.environment.get(name).map(String::as_str);
    fact(ENGINE).or_else(|| fact(HYPERVISOR).filter(|name| *name == EMULATOR)).unwrap_or(NATIVE)
}

//! The report of an x86 processor about itself, on any system: the instruction CPUID.

use std::arch::x86_64::__cpuid;

use super::Collector;
use crate::cpu::hypervisor::{self, ascii};

pub(super) fn read(facts: &mut Collector) {
    facts.add("cpu.model", brand());
    facts.add("cpu.vendor", vendor());
    let (family, model, stepping) = signature();
    facts.add("cpu.family", Some(family));
    facts.add("cpu.model_number", Some(model));
    facts.add("cpu.stepping", Some(stepping));
    facts.add("machine.virtual", Some(if hypervisor::is_there() { "yes" } else { "no" }));
    facts
        .add("machine.engine", Some(if hypervisor::is_emulator() { hypervisor::QEMU_TCG } else { "native" }));
    facts.add("machine.hypervisor", hypervisor::name());
}

fn brand() -> Option<String> {
    if __cpuid(0x8000_0000).eax < 0x8000_0004 {
        return None;
    }
    let leaves = [0x8000_0002, 0x8000_0003, 0x8000_0004].map(__cpuid);
    ascii(leaves.iter().flat_map(|leaf| [leaf.eax, leaf.ebx, leaf.ecx, leaf.edx]))
}

fn vendor() -> Option<String> {
    let leaf = __cpuid(0);
    ascii([leaf.ebx, leaf.edx, leaf.ecx])
}

/// Family, model and stepping, put together as Intel's and AMD's manuals ask.
fn signature() -> (u32, u32, u32) {
    let eax = __cpuid(1).eax;
    let (family, model) = (eax >> 8 & 0xf, eax >> 4 & 0xf);
    let extended_family = if family == 0xf { eax >> 20 & 0xff } else { 0 };
    let extended_model = if family == 0xf || family == 6 { eax >> 16 & 0xf } else { 0 };
    (family + extended_family, model | extended_model << 4, eax & 0xf)
}

//! The report of an x86 processor about itself, on any system: the instruction CPUID.

use std::arch::x86_64::__cpuid;

use super::Collector;

/// The emulator whose processors report it.
const QEMU_TCG: &str = "QEMU TCG";

pub(super) fn read(facts: &mut Collector) {
    facts.add("cpu.model", brand());
    facts.add("cpu.vendor", vendor());
    let (family, model, stepping) = signature();
    facts.add("cpu.family", Some(family));
    facts.add("cpu.model_number", Some(model));
    facts.add("cpu.stepping", Some(stepping));
    let hypervisor = is_virtual();
    facts.add("machine.virtual", Some(if hypervisor { "yes" } else { "no" }));
    facts.add("machine.engine", Some(if is_emulated() { QEMU_TCG } else { "native" }));
    facts.add("machine.hypervisor", hypervisor.then(hypervisor_name).flatten());
}

/// A hypervisor lets programs run on the real processor, an emulator executes each instruction itself.
pub(crate) fn is_emulated() -> bool {
    is_virtual() && hypervisor_name().as_deref() == Some(QEMU_TCG)
}

fn is_virtual() -> bool {
    // All processors keep this bit free for hypervisors to set.
    __cpuid(1).ecx & 1 << 31 != 0
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

/// Twelve letters by which hypervisors have agreed to sign.
fn hypervisor_name() -> Option<String> {
    let leaf = __cpuid(0x4000_0000);
    let signature = ascii([leaf.ebx, leaf.ecx, leaf.edx])?;
    let name = match signature.as_str() {
        "KVMKVMKVM" => "KVM",
        "TCGTCGTCGTCG" => QEMU_TCG,
        "Microsoft Hv" => "Hyper-V",
        "VMwareVMware" => "VMware",
        "XenVMMXenVMM" => "Xen",
        "bhyve bhyve" => "bhyve",
        "VBoxVBoxVBox" => "VirtualBox",
        "ACRNACRNACRN" => "ACRN",
        "OpenBSDVMM58" => "OpenBSD vmm",
        "___ NVMM ___" => "NetBSD NVMM",
        other => other,
    };
    Some(name.to_owned())
}

fn ascii(words: impl IntoIterator<Item = u32>) -> Option<String> {
    let bytes: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim_matches(|c: char| c == '\0' || c.is_whitespace());
    (!text.is_empty()).then(|| text.to_owned())
}

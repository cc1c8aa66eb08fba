//! CPUID, the instruction by which an x86 processor describes itself and its hypervisor on any system.

use std::arch::x86_64::__cpuid;

/// The emulator whose processors report it.
pub(crate) const QEMU_TCG: &str = "QEMU TCG";

/// A hypervisor lets programs run on the real processor, an emulator executes each instruction itself.
pub(crate) fn is_emulator() -> bool {
    hypervisor().as_deref() == Some(QEMU_TCG)
}

/// Whether a hypervisor runs this system.
pub(crate) fn has_hypervisor() -> bool {
    // All processors keep this bit free for hypervisors to set.
    __cpuid(1).ecx & 1 << 31 != 0
}

/// The name of the hypervisor, from twelve letters by which hypervisors have agreed to sign.
pub(crate) fn hypervisor() -> Option<String> {
    if !has_hypervisor() {
        return None;
    }
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

/// Its name with its speed, as its maker writes it.
pub(crate) fn brand() -> Option<String> {
    if __cpuid(0x8000_0000).eax < 0x8000_0004 {
        return None;
    }
    let leaves = [0x8000_0002, 0x8000_0003, 0x8000_0004].map(__cpuid);
    ascii(leaves.iter().flat_map(|leaf| [leaf.eax, leaf.ebx, leaf.ecx, leaf.edx]))
}

pub(crate) fn vendor() -> Option<String> {
    let leaf = __cpuid(0);
    ascii([leaf.ebx, leaf.edx, leaf.ecx])
}

/// Family, model and stepping, put together as Intel's and AMD's manuals ask.
pub(crate) fn signature() -> (u32, u32, u32) {
    let eax = __cpuid(1).eax;
    let (family, model) = (eax >> 8 & 0xf, eax >> 4 & 0xf);
    let extended_family = if family == 0xf { eax >> 20 & 0xff } else { 0 };
    let extended_model = if family == 0xf || family == 6 { eax >> 16 & 0xf } else { 0 };
    (family + extended_family, model | extended_model << 4, eax & 0xf)
}

/// The text in these registers.
fn ascii(words: impl IntoIterator<Item = u32>) -> Option<String> {
    let bytes: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim_matches(|c: char| c == '\0' || c.is_whitespace());
    (!text.is_empty()).then(|| text.to_owned())
}

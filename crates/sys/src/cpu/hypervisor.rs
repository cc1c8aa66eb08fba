//! The hypervisor of an x86 processor, by the instruction CPUID.

use std::arch::x86_64::__cpuid;

/// The emulator whose processors report it.
pub(crate) const QEMU_TCG: &str = "QEMU TCG";

/// A hypervisor lets programs run on the real processor, an emulator executes each instruction itself.
pub(crate) fn is_emulator() -> bool {
    name().as_deref() == Some(QEMU_TCG)
}

/// Whether there is one.
pub(crate) fn is_there() -> bool {
    // All processors keep this bit free for hypervisors to set.
    __cpuid(1).ecx & 1 << 31 != 0
}

/// Its name, from twelve letters by which hypervisors have agreed to sign.
pub(crate) fn name() -> Option<String> {
    if !is_there() {
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

/// The text in these registers.
pub(crate) fn ascii(words: impl IntoIterator<Item = u32>) -> Option<String> {
    let bytes: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim_matches(|c: char| c == '\0' || c.is_whitespace());
    (!text.is_empty()).then(|| text.to_owned())
}

//! The time stamp counter of x86-64 (Intel SDM vol. 3, "Time-Stamp Counter"; AMD APM vol. 2, 13.2.4).

use core::arch::x86_64::{__cpuid, __rdtscp};

pub(super) const NAME: &str = "tsc";

/// CPUID leaf and bit that promise a rate which neither frequency nor sleep states change.
const POWER_LEAF: u32 = 0x8000_0007;
const INVARIANT_TSC: u32 = 1 << 8;
const RDTSCP_LEAF: u32 = 0x8000_0001;
const RDTSCP: u32 = 1 << 27;

/// Whether the processor promises an invariant counter and the kernel, which watches it against other
/// clocks, keeps time by it.
pub(super) fn is_trustworthy() -> bool {
    let highest = __cpuid(0x8000_0000).eax;
    highest >= POWER_LEAF
        && __cpuid(POWER_LEAF).edx & INVARIANT_TSC != 0
        && __cpuid(RDTSCP_LEAF).edx & RDTSCP != 0
        && kernel_trusts_it()
}

#[cfg(target_os = "linux")]
fn kernel_trusts_it() -> bool {
    std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource")
        .is_ok_and(|source| source.trim() == "tsc")
}

#[cfg(not(target_os = "linux"))]
fn kernel_trusts_it() -> bool {
    true
}

/// RDTSCP waits until all earlier instructions have executed, so that nothing timed leaks past it.
#[inline(always)]
pub(super) fn read() -> u64 {
    let mut processor = 0;
    // SAFETY: RDTSCP exists, or `is_trustworthy` had kept us from coming here; it writes only `processor`.
    unsafe { __rdtscp(&mut processor) }
}

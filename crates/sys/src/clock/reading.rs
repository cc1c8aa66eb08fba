//! The clocks of Unix systems.

use std::mem::MaybeUninit;

/// Reads one of the clocks that every system has that defines its name. See clock_gettime(3).
///
/// It is the function of the C library. That of rustix takes for granted that the vDSO of a 64-bit Linux has
/// one, and ends the process under User-mode Linux, whose vDSO is empty.
#[inline(always)]
pub(crate) fn read(clock: libc::clockid_t) -> libc::timespec {
    let mut time = MaybeUninit::<libc::timespec>::zeroed();
    // SAFETY: `time` is memory for one `timespec`, which the call writes.
    unsafe { libc::clock_gettime(clock, time.as_mut_ptr()) };
    // SAFETY: all zero, as it was before the call, is a valid `timespec` too: its parts are integers.
    unsafe { time.assume_init() }
}

/// In nanoseconds since its origin. Of a clock that stands before its origin, differences are right.
#[inline(always)]
pub(crate) fn read_ns(clock: libc::clockid_t) -> u64 {
    let time = read(clock);
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}

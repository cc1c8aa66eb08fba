//! Architectures whose cycle counter we do not read: the system's clock serves.

pub(super) const NAME: &str = "none";

pub(super) fn is_trustworthy() -> bool {
    false
}

#[inline(always)]
pub(super) fn read() -> u64 {
    0
}

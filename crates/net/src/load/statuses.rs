//! How often each status came: the table of a load.

use std::collections::BTreeMap;

/// The counts while a generator runs: an array, because every response is counted.
#[derive(Debug)]
pub(super) struct Statuses(Box<[u64; CODES]>);

/// Statuses have three digits.
const CODES: usize = 1000;

impl Statuses {
    pub(super) fn new() -> Statuses {
        Statuses(Box::new([0; CODES]))
    }

    /// Counts a response; 0 is one of a protocol without statuses.
    #[inline(always)]
    pub(super) fn count(&mut self, status: u16) {
        if let Some(count) = self.0.get_mut(usize::from(status)) {
            *count += 1;
        }
    }

    /// The counts so far, which begin anew.
    pub(super) fn take(&mut self) -> BTreeMap<u16, u64> {
        let counts = std::mem::replace(&mut *self.0, [0; CODES]);
        (1..).zip(counts.into_iter().skip(1)).filter(|&(_, count)| count > 0).collect()
    }
}

/// The counts of several generators together.
pub(super) fn merged<'a>(tables: impl Iterator<Item = &'a BTreeMap<u16, u64>>) -> BTreeMap<u16, u64> {
    let mut sums = BTreeMap::new();
    for (&status, count) in tables.flatten() {
        *sums.entry(status).or_default() += count;
    }
    sums
}

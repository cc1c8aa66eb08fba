//! What one of several engines has of a list and of its limits.

/// One of several engines that deliver a list: of `of` domains in a row, it has that with its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// From 0.
    pub number: u32,
    /// How many engines there are.
    pub of: u32,
}

impl Share {
    /// Whether the domain is its own.
    pub(crate) fn has(self, domain: u32) -> bool {
        domain % self.of == self.number
    }

    /// The place among those of all engines of one that is the engine's own: no two have the same.
    pub(crate) fn place(self, own: usize) -> usize {
        own * self.of as usize + self.number as usize
    }

    /// Its part of a limit; all parts together are the limit.
    pub(crate) fn part(self, limit: u32) -> u32 {
        limit / self.of + u32::from(self.number < limit % self.of)
    }
}

impl Default for Share {
    fn default() -> Share {
        Share { number: 0, of: 1 }
    }
}

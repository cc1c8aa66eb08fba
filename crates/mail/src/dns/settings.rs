//! How a resolver asks.

/// How a resolver asks.
#[derive(Clone, Copy, Debug)]
pub struct ResolverSettings {
    /// Servers, each asked when the one before has failed; they are known by their numbers.
    pub servers: usize,
    /// Queries under way at once, at most 16,384; more wait in order.
    pub queries: usize,
    /// Attempts with each server.
    pub attempts: u32,
    /// How long the first attempt waits for a response; each later one waits twice as long as the one before.
    pub timeout_ns: u64,
    /// Whether addresses of IPv6 are asked for, too.
    pub ipv6: bool,
    /// Answers that are kept.
    pub cache_entries: usize,
    /// Decides ids, and the order of exchangers with the same preference.
    pub seed: u64,
}

impl Default for ResolverSettings {
    fn default() -> ResolverSettings {
        ResolverSettings {
            servers: 1,
            queries: 100,
            attempts: 3,
            timeout_ns: 1_000_000_000,
            ipv6: true,
            cache_entries: 20_000,
            seed: 0,
        }
    }
}

impl ResolverSettings {
    /// A quarter of all ids, so that a free one is found.
    pub(super) fn queries_max(&self) -> usize {
        self.queries.clamp(1, 1 << 14)
    }

    pub(super) fn wait_ns(&self, attempt: u32) -> u64 {
        self.timeout_ns.max(1).saturating_mul(1 << attempt.saturating_sub(1).min(16))
    }
}

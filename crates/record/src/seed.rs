//! A seed as other tools leave it.

use serde::{Deserialize, Deserializer};

/// A seed has 64 bits, and `jq` before 1.7 rounds it to a double, perhaps beyond 64 bits. The seed is
/// then lost, but the rest of the file need not be.
pub(crate) fn seed<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Seed {
        Exact(u64),
        Rounded(f64),
    }
    Ok(match Seed::deserialize(deserializer)? {
        Seed::Exact(seed) => seed,
        Seed::Rounded(seed) => seed as u64,
    })
}

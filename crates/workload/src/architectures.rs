//! The architectures of servers, as variants of a workload and as the values of a setting.

use net::arch;

use crate::Variant;

/// Every architecture as a variant of a workload. Those of other systems are included, with the reason why
/// they cannot run here.
pub const VARIANTS: &[Variant] = &variants();

const fn variants() -> [Variant; arch::ALL.len()] {
    let mut all = [Variant { name: "", summary: "" }; arch::ALL.len()];
    let mut place = 0;
    while place < all.len() {
        all[place] = Variant { name: arch::ALL[place].name, summary: beginning(arch::ALL[place].source) };
        place += 1;
    }
    all
}

/// The names of all architectures, for a setting.
pub const NAMES: &[&str] = &names();

const fn names() -> [&'static str; arch::ALL.len()] {
    let mut all = [""; arch::ALL.len()];
    let mut place = 0;
    while place < all.len() {
        all[place] = arch::ALL[place].name;
        place += 1;
    }
    all
}

/// The beginning of a page, up to where it first pauses: `One process, one thread, and poll(2)`.
const fn beginning(source: &str) -> &str {
    let (mut from, bytes) = (0, source.as_bytes());
    while from < bytes.len() && matches!(bytes[from], b'/' | b'!' | b' ') {
        from += 1;
    }
    let mut to = from;
    while to < bytes.len() && !matches!(bytes[to], b':' | b'.' | b'\n') {
        to += 1;
    }
    source.split_at(to).0.split_at(from).1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_architecture_has_a_few_words() {
        assert_eq!(
            beginning("//! One process, and poll(2): a list\n//! of all.\n"),
            "One process, and poll(2)"
        );
        assert_eq!(VARIANTS.len(), arch::ALL.len());
        for variant in VARIANTS {
            assert!((10..110).contains(&variant.summary.len()), "{variant:?}");
        }
    }
}

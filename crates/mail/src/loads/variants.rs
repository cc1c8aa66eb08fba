//! The event interfaces of the engine as variants of a workload, and the levels of connections.

use workload::Variant;

use crate::EVENT_INTERFACES;

/// Every event interface. Those of other systems are included, with the reason why they cannot run here.
pub(super) const VARIANTS: &[Variant] = &variants();

/// The interface of 2001, and those by which servers wait today.
pub(super) const PRINCIPAL: &[&str] = &["poll", "epoll", "kqueue"];

const fn variants() -> [Variant; EVENT_INTERFACES.len()] {
    let mut all = [Variant { name: "", summary: "" }; EVENT_INTERFACES.len()];
    let mut place = 0;
    while place < all.len() {
        let name = EVENT_INTERFACES[place];
        all[place] = Variant { name, summary: summary(name) };
        place += 1;
    }
    all
}

const fn summary(name: &str) -> &'static str {
    match name.as_bytes() {
        b"poll" => "poll(2), which is given all connections in every wait",
        b"select" => "select(2), the same in sets of bits, which end at FD_SETSIZE",
        b"epoll" => "epoll(7), which keeps the set of connections in the kernel",
        b"uring" => "io_uring, with a poll request for every connection",
        b"kqueue" => "kqueue(2), which keeps the set of connections in the kernel",
        _ => "",
    }
}

/// The first levels of 2001, and those around which its figure bends and ends.
const CONNECTIONS: [u64; 13] = [10, 20, 50, 100, 200, 500, 1000, 1500, 2500, 5000, 10_000, 20_000, 50_000];

/// The levels below `top`, and `top` itself.
pub(super) fn sizes(top: u64) -> Vec<u64> {
    let below = CONNECTIONS.into_iter().filter(|&n| n < top);
    below.chain((top > 0).then_some(top)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_interface_is_a_variant_with_a_few_words() {
        for (variant, name) in VARIANTS.iter().zip(EVENT_INTERFACES) {
            assert_eq!(variant.name, name);
            assert!(!variant.summary.is_empty(), "{name}");
        }
    }

    #[test]
    fn levels_end_at_the_top() {
        assert_eq!(sizes(7), [7]);
        assert_eq!(sizes(2500), [10, 20, 50, 100, 200, 500, 1000, 1500, 2500]);
        assert_eq!(sizes(100_000).len(), 14);
        assert!(sizes(0).is_empty());
    }
}

//! The recipients of earlier attempts, in memory that all processes of a server share.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sys::memory::Shared;

/// Places, each for a client, a sender and a recipient: half a mark of these, half the time when they came.
const PLACES: usize = 1 << 20;

/// Places among which one is found, or the oldest is forgotten.
const PLACES_TOGETHER: usize = 4;

/// The recipients that are known, and the time that they must have waited.
pub(super) struct Greylist {
    memory: Shared,
    wait_ticks: u32,
}

impl Greylist {
    /// An empty one, or that of the process with this descriptor.
    pub(super) fn open(wait: Duration, inherited: Option<i32>) -> io::Result<Greylist> {
        let memory = match inherited {
            Some(descriptor) => Shared::join(descriptor, PLACES)?,
            None => Shared::create(PLACES)?,
        };
        Ok(Greylist { memory, wait_ticks: u32::try_from(wait.as_millis() / TICK_MS).unwrap_or(u32::MAX) })
    }

    /// The descriptor with which another process opens it.
    pub(super) fn inheritable(&self) -> Option<i32> {
        self.memory.inheritable()
    }

    /// Whether the recipient is refused for now.
    pub(super) fn puts_off(&self, client: Option<IpAddr>, sender: &str, recipient: &str) -> bool {
        // The same in every process.
        let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one((client, sender, recipient));
        !is_known(self.memory.slots(), hash, ticks(), self.wait_ticks)
    }
}

const TICK_MS: u128 = 100;

/// Of a clock that all processes share; it comes round once in 13 years.
fn ticks() -> u32 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (since.as_millis() / TICK_MS) as u32
}

/// Whether it came for the first time at least `wait` ticks ago. If it never came, it is kept.
fn is_known(places: &[AtomicU64], hash: u64, now: u32, wait: u32) -> bool {
    let begin = (hash as usize).wrapping_mul(PLACES_TOGETHER) % places.len().max(1);
    // No mark is 0, which is an empty place.
    let mark = ((hash >> 32) as u32).max(1);
    let places = places.iter().cycle().skip(begin).take(PLACES_TOGETHER);
    let age = |kept: u64| if kept == 0 { u32::MAX } else { now.wrapping_sub(kept as u32) };
    let mut oldest: Option<(&AtomicU64, u64)> = None;
    for place in places {
        let kept = place.load(Ordering::Relaxed);
        if (kept >> 32) as u32 == mark {
            return age(kept) >= wait;
        }
        if oldest.is_none_or(|(_, before)| age(before) < age(kept)) {
            oldest = Some((place, kept));
        }
    }
    if let Some((place, kept)) = oldest {
        let own = u64::from(mark) << 32 | u64::from(now);
        // If another process was faster, this one comes again once more.
        let _ = place.compare_exchange(kept, own, Ordering::Relaxed, Ordering::Relaxed);
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_waited_is_known() {
        let places: Vec<AtomicU64> = (0..64).map(|_| AtomicU64::new(0)).collect();
        for (now, hash, expected) in [
            (u32::MAX - 3, 7 << 32, false),
            (u32::MAX, 7 << 32, false),
            (u32::MAX, 8 << 32, false),
            // The clock comes round.
            (5, 7 << 32, false),
            (6, 7 << 32, true),
            (6, 8 << 32, false),
            (9, 8 << 32, true),
        ] {
            assert_eq!(is_known(&places, hash, now, 10), expected, "{hash:x} at {now}");
        }
    }

    #[test]
    fn the_oldest_is_forgotten() {
        let places: Vec<AtomicU64> = (0..PLACES_TOGETHER).map(|_| AtomicU64::new(0)).collect();
        for number in 1..=5_u32 {
            assert!(!is_known(&places, u64::from(number) << 32, number, 1));
        }
        for number in 2..=5 {
            assert!(is_known(&places, number << 32, 10, 1), "{number}");
        }
        assert!(!is_known(&places, 1 << 32, 10, 1));
    }

    #[test]
    fn another_process_knows_the_same() {
        let Ok(greylist) = Greylist::open(Duration::ZERO, None) else {
            println!("skipped: this system has no memory that is shared");
            return;
        };
        let client = Some(IpAddr::from([127, 0, 0, 1]));
        assert!(greylist.puts_off(client, "a@b", "c@d") && !greylist.puts_off(client, "a@b", "c@d"));
        assert!(greylist.puts_off(client, "", "c@d") && greylist.puts_off(None, "a@b", "c@d"));
    }
}

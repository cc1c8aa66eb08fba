//! Answers, by name and type, for as long as they hold.
//!
//! There are two generations. What is asked for moves to the young one; when that is full, the old one is
//! dropped. So memory has a limit, and what is used often stays.

use std::collections::HashMap;
use std::sync::Arc;

use domain::base::Rtype;

use super::answer::{Answer, HostName};

/// The shortest and the longest that an answer is kept, whatever its record says.
const TTL_MIN_S: u32 = 1;
const TTL_MAX_S: u32 = 86_400;

/// A name and a type.
pub(super) type Key = (HostName, Rtype);

struct Entry {
    answer: Arc<Answer>,
    end_ns: u64,
}

/// At most twice as many answers as a generation has.
pub(super) struct Cache {
    young: HashMap<Key, Entry>,
    old: HashMap<Key, Entry>,
    generation: usize,
}

impl Cache {
    pub(super) fn new(generation: usize) -> Cache {
        Cache { young: HashMap::new(), old: HashMap::new(), generation: generation.max(1) }
    }

    /// The answer, if it still holds.
    pub(super) fn get(&mut self, key: &Key, now_ns: u64) -> Option<Arc<Answer>> {
        if let Some(entry) = self.young.get(key) {
            return (entry.end_ns > now_ns).then(|| entry.answer.clone());
        }
        let (key, entry) = self.old.remove_entry(key)?;
        if entry.end_ns <= now_ns {
            return None;
        }
        let answer = entry.answer.clone();
        self.insert(key, entry);
        Some(answer)
    }

    /// Keeps an answer for so many seconds.
    pub(super) fn put(&mut self, key: Key, answer: Arc<Answer>, ttl_s: u32, now_ns: u64) {
        let ttl_s = ttl_s.clamp(TTL_MIN_S, TTL_MAX_S);
        let end_ns = now_ns.saturating_add(u64::from(ttl_s) * 1_000_000_000);
        self.insert(key, Entry { answer, end_ns });
    }

    fn insert(&mut self, key: Key, entry: Entry) {
        if self.young.len() >= self.generation {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, entry);
    }

    /// Answers that are kept.
    pub(super) fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: usize) -> Key {
        (format!("d{number}.test").parse().unwrap(), Rtype::MX)
    }

    #[test]
    fn memory_has_a_limit_and_what_is_used_stays() {
        let mut cache = Cache::new(100);
        let answer = Arc::new(Answer::Nothing);
        for number in 0..10_000 {
            cache.put(key(number), answer.clone(), 60, 0);
            assert!(cache.len() <= 200);
            assert!(cache.get(&key(0), 1).is_some(), "after {number}");
        }
        assert!(cache.get(&key(5000), 1).is_none());
    }

    #[test]
    fn an_answer_holds_as_long_as_it_says_within_limits() {
        let mut cache = Cache::new(100);
        let second = 1_000_000_000;
        for (number, (ttl_s, holds_s)) in [(0, 1), (60, 60), (u32::MAX, 86_400)].into_iter().enumerate() {
            cache.put(key(number), Arc::new(Answer::Nothing), ttl_s, 0);
            assert!(cache.get(&key(number), holds_s * second - 1).is_some());
            assert!(cache.get(&key(number), holds_s * second).is_none());
        }
    }
}

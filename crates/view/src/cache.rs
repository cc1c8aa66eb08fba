//! Pages and runs that were read lately. A run file is read and judged for seconds, and its page is looked at
//! again and again.

use std::sync::{Arc, Mutex, PoisonError};

/// The values that were used last, with their keys.
pub(crate) struct Cache<K, V> {
    kept: Mutex<Vec<(K, Arc<V>)>>,
    most: usize,
}

impl<K: PartialEq + Clone, V> Cache<K, V> {
    /// A cache of so many values at most.
    pub(crate) fn new(most: usize) -> Cache<K, V> {
        Cache { kept: Mutex::new(Vec::new()), most }
    }

    /// The value of a key, made if it is not there. Two threads may make it at the same time; nobody waits
    /// for the value of another key.
    pub(crate) fn get<E>(&self, key: &K, make: impl FnOnce() -> Result<V, E>) -> Result<Arc<V>, E> {
        if let Some(value) = self.take(key) {
            return Ok(value);
        }
        let value = Arc::new(make()?);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(known, _)| known != key);
        kept.push((key.clone(), Arc::clone(&value)));
        if kept.len() > self.most {
            kept.remove(0);
        }
        Ok(value)
    }

    /// A value that is there, which becomes the one used last.
    fn take(&self, key: &K) -> Option<Arc<V>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let place = kept.iter().position(|(known, _)| known == key)?;
        let one = kept.remove(place);
        let value = Arc::clone(&one.1);
        kept.push(one);
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_that_was_not_used_for_longest_is_made_again() {
        let cache: Cache<u32, u32> = Cache::new(2);
        let mut made = Vec::new();
        for key in [1, 2, 1, 3, 1, 2] {
            let value = cache.get(&key, || {
                made.push(key);
                Ok::<u32, ()>(key * 10)
            });
            assert_eq!(value.as_deref(), Ok(&(key * 10)));
        }
        assert_eq!(made, [1, 2, 3, 2]);
        assert_eq!(cache.get(&9, || Err("no")).err(), Some("no"));
    }
}

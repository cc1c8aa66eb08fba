//! All counters at one moment, and what grew between two moments.

use std::collections::BTreeMap;

/// All counters at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// What only grows: from the start of the system, or of this process.
    counters: BTreeMap<&'static str, f64>,
    /// What rises and falls.
    levels: BTreeMap<&'static str, f64>,
}

impl Snapshot {
    /// One value by name: a counter since the start, or a level now.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.counters.get(name).or_else(|| self.levels.get(name)).copied()
    }

    /// Sets a value by hand.
    #[cfg(test)]
    pub(crate) fn set_level(&mut self, name: &'static str, value: f64) {
        self.levels.insert(name, value);
    }

    pub(super) fn count(&mut self, name: &'static str, value: Option<f64>) {
        self.counters.extend(value.map(|value| (name, value)));
    }

    pub(super) fn level(&mut self, name: &'static str, value: Option<f64>) {
        self.levels.extend(value.map(|value| (name, value)));
    }
}

/// What grew from one snapshot to a later one, and the levels of the later one.
pub fn difference(before: &Snapshot, after: &Snapshot) -> BTreeMap<String, f64> {
    let grown = after.counters.iter().filter_map(|(name, value)| {
        // A counter that went back belongs to another start, or wrapped; either way it says nothing.
        let growth = value - before.counters.get(name)?;
        (growth >= 0.0).then(|| ((*name).to_owned(), growth))
    });
    let levels = after.levels.iter().map(|(name, value)| ((*name).to_owned(), *value));
    grown.chain(levels).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_subtracted_and_levels_are_not() {
        let mut before = Snapshot::default();
        before.count("steal_seconds", Some(1.5));
        before.count("interrupts", Some(10.0));
        before.set_level("load_1m", 7.0);
        let mut after = Snapshot::default();
        after.count("steal_seconds", Some(2.0));
        after.count("interrupts", Some(3.0));
        after.count("new", Some(1.0));
        after.set_level("load_1m", 0.5);
        let expected = BTreeMap::from([("steal_seconds".to_owned(), 0.5), ("load_1m".to_owned(), 0.5)]);
        assert_eq!(difference(&before, &after), expected);
    }
}

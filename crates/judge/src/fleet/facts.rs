//! The facts in which hosts differ, and those that some of them share.

use std::collections::{BTreeMap, BTreeSet};

use super::answer::{FactChange, SharedFact};
use super::place::Hosts;
use crate::environment::{importance, is_volatile};

type Facts = BTreeMap<String, String>;

/// The keys of the facts in which hosts differ.
pub(super) fn differing(hosts: &Hosts<'_>) -> BTreeSet<String> {
    let facts: Vec<&Facts> = hosts.0.iter().filter_map(|host| host.facts()).collect();
    let keys: BTreeSet<&String> = facts.iter().flat_map(|facts| facts.keys()).collect();
    let differs = |key: &&&String| facts.windows(2).any(|pair| pair[0].get(**key) != pair[1].get(**key));
    keys.iter().filter(|key| !is_volatile(key)).filter(differs).map(|key| (*key).clone()).collect()
}

/// The facts that all of the outlying hosts have with one value, and that none of the others has with it, the
/// most important first. A fact that is another on nearly every host, such as an address, says nothing.
pub(super) fn shared(outlying: &[&Facts], others: &[&Facts]) -> Vec<SharedFact> {
    let Some((first, rest)) = outlying.split_first() else { return Vec::new() };
    let is_theirs_alone = |(key, value): &(&String, &String)| {
        rest.iter().all(|facts| facts.get(*key) == Some(*value))
            && others.iter().all(|facts| facts.get(*key) != Some(*value))
    };
    let mut found: Vec<SharedFact> = first
        .iter()
        .filter(|(key, _)| !is_volatile(key) && !is_individual(key, others))
        .filter(is_theirs_alone)
        .map(|(key, value)| SharedFact { key: key.clone(), value: value.clone() })
        .collect();
    if others.is_empty() {
        found.clear();
    }
    found.sort_by(|a, b| (importance(&a.key), &a.key).cmp(&(importance(&b.key), &b.key)));
    found
}

/// Whether most hosts have a value of their own.
fn is_individual(key: &str, hosts: &[&Facts]) -> bool {
    let values: Vec<&String> = hosts.iter().filter_map(|facts| facts.get(key)).collect();
    let distinct: BTreeSet<&&String> = values.iter().collect();
    values.len() > 1 && 2 * distinct.len() > values.len() + 1
}

/// The facts that differ between two runs on the same host, with the number of such hosts.
pub(super) fn changes(hosts: &Hosts<'_>) -> Vec<FactChange> {
    let mut changes: Vec<FactChange> = Vec::new();
    for host in &hosts.0 {
        let facts = |which: usize| {
            let systems = host.systems.get(which)?;
            systems.iter().map(|system| &system.environment).find(|facts| !facts.is_empty())
        };
        let Some((one, two)) = facts(0).zip(facts(1)) else { continue };
        let keys: BTreeSet<&String> = one.keys().chain(two.keys()).collect();
        for key in keys.into_iter().filter(|key| !is_volatile(key) && one.get(*key) != two.get(*key)) {
            let (old, new) = (one.get(key).cloned(), two.get(key).cloned());
            match changes.iter_mut().find(|known| (&known.key, &known.old, &known.new) == (key, &old, &new)) {
                Some(known) => known.hosts += 1,
                None => changes.push(FactChange { key: key.clone(), old, new, hosts: 1 }),
            }
        }
    }
    changes.sort_by(|a, b| {
        let order = |change: &FactChange| (importance(&change.key), change.key.clone());
        order(a).cmp(&order(b)).then(b.hosts.cmp(&a.hosts))
    });
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(of: &[(&str, &str)]) -> Facts {
        of.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_fact_is_shared_only_if_no_other_host_has_it() {
        let new = facts(&[("cpu.microcode", "0x42"), ("kernel.release", "6.18"), ("machine.address", "1")]);
        let more = facts(&[("cpu.microcode", "0x42"), ("kernel.release", "6.18"), ("machine.address", "2")]);
        let old = |address: &str| {
            facts(&[("cpu.microcode", "0x41"), ("kernel.release", "6.18"), ("machine.address", address)])
        };
        let (three, four, five) = (old("3"), old("4"), old("5"));
        let others = [&three, &four, &five];
        let microcode = SharedFact { key: "cpu.microcode".into(), value: "0x42".into() };
        assert_eq!(shared(&[&new, &more], &others), std::slice::from_ref(&microcode));
        // The address of one host is its own, as that of every other.
        assert_eq!(shared(&[&new], &others), [microcode]);
        assert_eq!(shared(&[&new, &three], &[&four, &five]), []);
        assert_eq!(shared(&[], &others), []);
        assert_eq!(shared(&[&new], &[]), []);
    }
}

//! What is over a limit today is written down in `ratchet.txt`, and may only fall.
//!
//! A line there is a kind, a key and a number. A number higher than the list says is a finding, and so is a
//! list that says more than the number: nobody can take back what has been gained.

use super::house::{Breach, House, Source};

/// One thing that was counted.
pub(super) struct Count {
    pub(super) key: String,
    pub(super) value: usize,
    /// What is said where the value is over the limit.
    pub(super) findings: Vec<Breach>,
}

/// Holds what was counted to the limit, and what is listed under that kind to its number.
pub(super) fn hold(house: &House, kind: &str, most: usize, counts: &[Count]) -> Vec<Breach> {
    let mut findings = Vec::new();
    let entries = entries(house, kind);
    for count in counts.iter().filter(|count| count.value > most) {
        let entry = entries.iter().find(|entry| entry.key == count.key);
        if entry.is_some_and(|entry| count.value <= entry.value) {
            continue;
        }
        findings.extend(count.findings.iter().cloned());
        if let Some(entry) = entry {
            let what = format!("`{kind} {}` is {} now, and may only fall", entry.key, count.value);
            findings.push(entry.list.finding(entry.line, what));
        }
    }
    for entry in entries {
        let today = counts.iter().find(|count| count.key == entry.key).map_or(0, |count| count.value);
        let what = match today {
            _ if today <= most => format!("`{kind} {}` is within the limit: remove this line", entry.key),
            _ if today < entry.value => format!("`{kind} {}` has fallen: write {today}", entry.key),
            _ => continue,
        };
        findings.push(entry.list.finding(entry.line, what));
    }
    findings
}

struct Entry<'a> {
    list: &'a Source,
    line: usize,
    key: &'a str,
    value: usize,
}

fn entries<'a>(house: &'a House, kind: &str) -> Vec<Entry<'a>> {
    let Some(list) = house.list("ratchet.txt") else { return Vec::new() };
    let parse = |(line, text): (usize, &'a str)| {
        let mut words = text.split_whitespace();
        let is_ours = words.next() == Some(kind);
        let (key, value) = (words.next()?, words.next()?.parse().ok()?);
        is_ours.then_some(Entry { list, line, key, value })
    };
    list.lines().filter_map(parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(list: &str, value: usize) -> Vec<String> {
        let house = House::of(&[("xtask/src/tidy/ratchet.txt", list)]);
        let finding = Breach { file: "a.rs".into(), line: 1, what: "is long".to_owned() };
        let counts = [Count { key: "a.rs".to_owned(), value, findings: vec![finding] }];
        hold(&house, "file", 5, &counts).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_is_over_the_limit_is_listed_with_its_number() {
        assert_eq!(held("", 5), [""; 0]);
        assert_eq!(held("", 6), ["a.rs:1: is long"]);
        assert_eq!(held("# why\nfile a.rs 6\nfunction a.rs 9\n", 6), [""; 0]);
    }

    #[test]
    fn the_list_only_falls() {
        assert_eq!(held("file a.rs 6\n", 7).len(), 2, "it grew");
        assert!(held("file a.rs 8\n", 7)[0].ends_with(":1: `file a.rs` has fallen: write 7"));
        assert!(held("file a.rs 8\n", 5)[0].ends_with("remove this line"));
        assert!(held("file b.rs 8\n", 5)[0].ends_with("remove this line"), "what is gone");
    }
}

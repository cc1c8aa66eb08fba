//! The records of a server and of the engine about recipients of mail, by recipient.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

pub(crate) fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

/// The outcome of each recipient: how it ended, and the code.
pub(crate) fn results(path: &Path) -> BTreeMap<String, (String, u64)> {
    let all = lines(path);
    let of = |line: &Value| {
        let text = |field: &str| line[field].as_str().expect("a text").to_owned();
        (text("recipient"), (text("ending"), line["code"].as_u64().unwrap_or(0)))
    };
    let results: BTreeMap<_, _> = all.iter().map(of).collect();
    assert_eq!(results.len(), all.len(), "one result for each recipient");
    results
}

/// The recipients of the ledger that ended like this, with how often.
pub(crate) fn ledger(path: &Path, end: &str, code: u64) -> BTreeMap<String, usize> {
    let mut recipients = BTreeMap::new();
    for line in lines(path) {
        if line["end"] == end && line["code"] == code {
            *recipients.entry(line["recipient"].as_str().expect("an address").to_owned()).or_default() += 1;
        }
    }
    recipients
}

pub(crate) fn ended_as(
    results: &BTreeMap<String, (String, u64)>,
    ending: &str,
    code: u64,
) -> BTreeSet<String> {
    let matches = |(_, result): &(&String, &(String, u64))| result.0 == ending && result.1 == code;
    results.iter().filter(matches).map(|(recipient, _)| recipient.clone()).collect()
}

//! The log of pgbench, from `-l`: a line for each transaction, with the client, its time in microseconds and
//! when it ended. n is the number of clients in the file.

use std::collections::{BTreeMap, BTreeSet};

use super::{Format, Place};
use crate::name::{Kind, Name};
use crate::outcome::{Taken, Trials};

pub(super) const FORMAT: Format = Format::lines("log of pgbench", Trials::Files, is_this, read);

/// A line of the log: client, transaction, time, script, and the moment in seconds and microseconds.
struct Transaction<'a> {
    client: u64,
    time: &'a str,
    script: u64,
}

fn is_this(line: &str) -> bool {
    transaction(line).is_some()
}

fn transaction(line: &str) -> Option<Transaction<'_>> {
    // Seconds of 2001 to 2286 have ten digits: columns of other programs hold no such number there.
    const SECONDS: std::ops::Range<u64> = 1_000_000_000..10_000_000_000;
    let fields: Vec<&str> = line.split_whitespace().collect();
    let number = |i: usize| fields.get(i)?.parse::<u64>().ok();
    let is_moment = number(4).is_some_and(|seconds| SECONDS.contains(&seconds));
    let is_log = (6..=8).contains(&fields.len()) && is_moment && number(5)? < 1_000_000;
    number(1).filter(|_| is_log)?;
    Some(Transaction { client: number(0)?, time: fields.get(2)?, script: number(3)? })
}

fn read(text: &str, _: &Place<'_>, taken: &mut Taken) {
    let mut clients = BTreeSet::new();
    let mut scripts: BTreeMap<u64, Vec<Result<f64, String>>> = BTreeMap::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let Some(Transaction { client, time, script }) = transaction(line) else {
            taken.other_lines += 1;
            continue;
        };
        clients.insert(client);
        // `skipped` and `failed` stand in the place of a time.
        let time = time.parse::<f64>().map(|time| time * 1e-6).map_err(|_| format!("it is {time}"));
        scripts.entry(script).or_default().push(time);
    }
    for (script, times) in scripts {
        let name = Name { text: format!("transaction of script {script}"), ..Name::default() };
        taken.take(name.with(Kind::Parameter, "clients", clients.len() as u64), times);
    }
}

//! The final report of pgbench, perhaps of several runs one after the other: clients, and the mean latency.
//! Each run is a process.

use super::{Format, Place};
use crate::name::{Kind, Name, parse_size};
use crate::outcome::{Taken, Trials};

pub(super) const FORMAT: Format = Format::lines("report of pgbench", Trials::Processes, is_this, read);

fn is_this(line: &str) -> bool {
    fact(line).is_some_and(|(key, _)| key == "number of transactions actually processed")
}

/// `number of clients: 8` and `latency average = 2.432 ms`.
fn fact(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(": ").or_else(|| line.split_once(" = "))?;
    Some((key.trim(), value.trim()))
}

#[derive(Default)]
struct Run<'a> {
    facts: Vec<(&'a str, &'a str)>,
}

impl Run<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.facts.iter().find(|(of, _)| *of == key).map(|(_, value)| *value)
    }

    fn name(&self) -> Name {
        let kind = self.get("transaction type").unwrap_or("pgbench").trim_matches(['<', '>']);
        let number = |key: &str| self.get(key).and_then(parse_size);
        let name = Name { text: kind.trim_start_matches("builtin: ").to_owned(), ..Name::default() };
        let numbers =
            [("scale", "scaling factor"), ("threads", "number of threads"), ("clients", "number of clients")];
        let name = numbers
            .iter()
            .fold(name, |name, (key, of)| name.with(Kind::Parameter, key, number(of).unwrap_or(1)));
        name.with_origin("query mode", self.get("query mode"))
    }

    fn time(&self) -> Result<f64, String> {
        let latency =
            self.get("latency average").ok_or("it has no mean latency, as a run that was stopped")?;
        let number = latency.trim_end_matches("ms").trim();
        number.parse::<f64>().map(|time| time * 1e-3).map_err(|_| format!("its latency is \"{latency}\""))
    }
}

fn read(text: &str, _: &Place<'_>, taken: &mut Taken) {
    let mut runs: Vec<Run<'_>> = Vec::new();
    for line in text.lines() {
        match fact(line) {
            Some((key, value)) if is_of_run(key) => {
                // The first line of a report.
                if key == "transaction type" || runs.is_empty() {
                    runs.push(Run::default());
                }
                if let Some(run) = runs.last_mut() {
                    run.facts.push((key, value));
                }
            }
            _ => taken.other_lines += u64::from(!line.trim().is_empty()),
        }
    }
    for run in runs {
        let failed = run.get("number of failed transactions").and_then(|text| text.split(' ').next());
        if let Some(failed) = failed.filter(|failed| *failed != "0") {
            taken.remarks.push(format!("{failed} transactions failed in a run"));
        }
        taken.take(run.name(), [run.time()]);
    }
}

fn is_of_run(key: &str) -> bool {
    key.starts_with("number of ")
        || ["transaction type", "scaling factor", "query mode", "duration", "latency average", "tps"]
            .contains(&key)
}

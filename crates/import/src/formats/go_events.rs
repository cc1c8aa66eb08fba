//! Events of `go test -bench . -json`: a JSON object on each line, with the text that `go test` prints in
//! parts, package by package.

use serde::Deserialize;

use super::go_bench;
use super::{Format, Place};
use crate::outcome::{Taken, Trials};

pub(super) const FORMAT: Format =
    Format::lines("events of go test -json", Trials::Repetitions, is_this, read);

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Event {
    action: String,
    #[serde(default)]
    package: String,
    #[serde(default)]
    output: String,
}

fn event(line: &str) -> Option<Event> {
    serde_json::from_str(line.trim()).ok()
}

fn is_this(line: &str) -> bool {
    line.starts_with('{') && event(line).is_some_and(|event| !event.package.is_empty())
}

fn read(text: &str, place: &Place<'_>, taken: &mut Taken) {
    let mut packages: Vec<(String, String)> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let Some(event) = event(line) else {
            taken.other_lines += 1;
            continue;
        };
        if event.action != "output" {
            continue;
        }
        match packages.iter_mut().find(|(package, _)| *package == event.package) {
            Some((_, text)) => text.push_str(&event.output),
            None => {
                packages.push((event.package.clone(), format!("pkg: {}\n{}", event.package, event.output)))
            }
        }
    }
    let text: Vec<String> = packages.into_iter().map(|(_, text)| text).collect();
    go_bench::read(&text.join("\n"), place, taken);
}

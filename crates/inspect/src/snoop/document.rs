//! The answer as a document: for each server the architecture first, then the evidence, then the prediction.

use std::collections::BTreeMap;

use report::document::{Column, Document, Element, Fold, Section, Table, Text, Tone};
use report::printable;
use report::words::count;

use super::answer::{Confidence, ProbeMode, Recognition, ServerAnswer, ServerGrowth, SnoopAnswer};
use super::evidence::ProcessEvidence;
use super::words;

/// Processes that are listed, and the waits of each.
const PROCESSES_MAX: usize = 30;
const WAITS_MAX: usize = 4;

impl SnoopAnswer {
    /// The answer as a document.
    pub fn document(&self) -> Document {
        let mut document = Document { title: "Which architecture is it?".into(), ..Document::default() };
        if self.servers.is_empty() {
            document.say("Nothing listens on a TCP port here.");
        } else if self.is_list {
            document.push(self.list());
            let folds = self.servers.iter().map(|server| {
                Fold { title: server.claim(), blocks: server.blocks(), ..Fold::default() }.into()
            });
            document.blocks.extend(folds);
        } else {
            for server in &self.servers {
                document.say(server.claim());
                document.blocks.extend(server.blocks());
            }
        }
        document
    }

    fn list(&self) -> Table {
        let mut table = Table::new(["listens on", "process", "is", "how sure", "that is"]);
        for server in &self.servers {
            let [word, sure, phrase] = match &server.recognition {
                Some(seen) => [
                    Text::toned(seen.architecture.word(), Tone::Strong),
                    Text::toned(seen.confidence.word(), tone(seen.confidence)),
                    seen.phrase.clone().into(),
                ],
                None => ["unknown".into(), Text::default(), "nothing was seen of how it waits".into()],
            };
            table.push([server.places().into(), server.process().into(), word, sure, phrase]);
        }
        table
    }
}

fn tone(confidence: Confidence) -> Tone {
    match confidence {
        Confidence::Sure => Tone::Good,
        Confidence::Likely => Tone::Plain,
        Confidence::Guess => Tone::Open,
    }
}

impl ServerAnswer {
    fn places(&self) -> String {
        self.listens.iter().map(|place| place.in_words()).collect::<Vec<_>>().join(", ")
    }

    fn process(&self) -> String {
        format!("{} ({})", self.pid, printable(&self.name))
    }

    /// Its architecture in a line.
    fn claim(&self) -> Text {
        match &self.recognition {
            Some(seen) => Text::toned(seen.architecture.word(), Tone::Strong)
                .and(format!(": {} (", seen.phrase))
                .and(Text::toned(seen.confidence.word(), tone(seen.confidence)))
                .and(")"),
            None => Text::toned("unknown", Tone::Strong).and(": nothing was seen of how it waits"),
        }
    }

    /// All below that line.
    fn blocks(&self) -> Vec<Element> {
        let mut blocks: Vec<Element> =
            vec![Text::from(format!("process {}, on {}", self.process(), self.places())).into()];
        let items = |title: &str, sentences: Vec<String>| {
            let items = sentences.into_iter().map(|one| vec![Text::from(one).into()]).collect::<Vec<_>>();
            let mut section = Section::new(title);
            let is_empty = items.is_empty();
            section.push(Element::Items { first: None, items });
            (!is_empty).then(|| Element::from(section))
        };
        let Some(seen) = &self.recognition else {
            blocks.extend(items("Not seen", self.not_seen.in_words.clone()));
            return blocks;
        };
        let alternatives: Vec<&str> = seen.alternatives.iter().map(|other| other.word()).collect();
        if !alternatives.is_empty() {
            let text = format!("as far as was seen it may also be {}", alternatives.join(" or "));
            blocks.push(Text::from(text).into());
        }
        let sentences = |clues: &[super::Clue]| clues.iter().map(super::Clue::sentence).collect();
        blocks.extend(items("Evidence for it", sentences(&seen.reasons)));
        blocks.extend(items("Evidence against it, and limits", sentences(&seen.doubts)));
        blocks.extend(items("Not seen", self.not_seen.in_words.clone()));
        blocks.extend(self.growth(seen).map(Into::into));
        blocks.extend(items("Prediction", predicted(seen)));
        blocks.push(self.listed().into());
        blocks
    }

    fn growth(&self, seen: &Recognition) -> Option<Section> {
        let used = match self.probe {
            Some(ProbeMode::Http) => "each with a response",
            Some(ProbeMode::Unfinished) => "with a request that does not end",
            Some(ProbeMode::Silent) | None => "silent",
        };
        let numbers = ["connections", "not accepted", "processes", "threads", "descriptors", "memory"]
            .map(Column::number);
        let held = Column::number(format!("held ({used})"));
        let mut table = Table::of_columns([held].into_iter().chain(numbers).collect());
        for row in &seen.growth {
            let ServerGrowth { held, is_after, connections, unaccepted, processes, .. } = *row;
            let held = match held {
                Some(held) => count(held),
                None if is_after => "closed".to_owned(),
                None => "none".to_owned(),
            };
            table.push([
                held,
                count(connections as u64),
                count(unaccepted),
                count(processes as u64),
                count(row.threads),
                count(row.descriptors as u64),
                row.memory_bytes.map_or("—".to_owned(), words::bytes),
            ]);
        }
        let mut section = Section::new("Growth");
        section.push(table);
        (seen.growth.len() > 1).then_some(section)
    }

    /// Its processes one by one.
    fn listed(&self) -> Fold {
        let numbers = ["threads", "listens", "connections", "epoll", "private"].map(Column::number);
        let names = ["process", "parent", "name"].map(Column::from);
        let columns = names.into_iter().chain(numbers).chain([Column::from("waits in")]);
        let mut table = Table::of_columns(columns.collect());
        for process in self.processes.iter().take(PROCESSES_MAX) {
            let private = process.memory.and_then(|memory| memory.private_bytes);
            table.push([
                process.pid.to_string(),
                process.parent.to_string(),
                printable(&process.name).into_owned(),
                count(process.threads),
                process.listening.len().to_string(),
                process.connection_count().to_string(),
                process.descriptors.epolls.to_string(),
                private.map_or("—".to_owned(), |private| words::bytes(private as f64)),
                waits(process),
            ]);
        }
        let mut blocks = vec![Element::from(table)];
        let hidden = self.processes.len().saturating_sub(PROCESSES_MAX);
        if hidden > 0 {
            blocks.push(Text::from(format!("and {hidden} more")).into());
        }
        Fold { title: "Processes".into(), blocks, ..Fold::default() }
    }
}

/// The prediction; for a guess, the way to know more.
fn predicted(seen: &Recognition) -> Vec<String> {
    match &seen.prediction {
        Some(prediction) => prediction.sentences(),
        None => vec!["nothing, because the architecture is a guess: --load shows it".to_owned()],
    }
}

/// The waits of its threads, the most frequent first.
fn waits(process: &ProcessEvidence) -> String {
    let mut times: BTreeMap<String, u32> = BTreeMap::new();
    for (wait, seen) in process.tasks.iter().flat_map(|task| &task.waits) {
        *times.entry(words::call(&wait.call)).or_insert(0) += seen;
    }
    let mut times: Vec<(String, u32)> = times.into_iter().collect();
    times.sort_by_key(|(_, seen)| std::cmp::Reverse(*seen));
    let all: u32 = times.iter().map(|(_, seen)| seen).sum();
    let share = |(call, seen): &(String, u32)| format!("{call} {} %", seen * 100 / all.max(1));
    times.iter().take(WAITS_MAX).map(share).collect::<Vec<_>>().join(", ")
}

//! The list of runs, the newest first, in parts of a hundred, with filters.

use std::collections::BTreeSet;

use history::{RunSummary, Store, StoredRun};
use report::document::{Cell, Choice, Column, Document, Element, Field, Form, Table, Text, Tone};
use report::history::{classes, run_kernel, run_machine, when_to_second};

use crate::site::Snapshot;

/// Runs on a page: with their style they stay far below 150 kB.
const RUNS_MOST: usize = 100;

/// The part of the list that an address wants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// Counted from 1.
    page: usize,
    machine: String,
    kernel: String,
    /// Those of [`Store::has_words`].
    words: String,
}

/// A value of a query.
pub(crate) fn value(query: &str, name: &str) -> Option<String> {
    let mut pairs = url::form_urlencoded::parse(query.as_bytes());
    pairs.find(|(key, value)| key == name && !value.is_empty()).map(|(_, value)| value.into_owned())
}

impl Wanted {
    /// The part that a path and a query want: `index-2` is the second page.
    pub(crate) fn new(path: &str, query: &str) -> Option<Wanted> {
        let page = match path.strip_prefix("index-") {
            Some(page) => page.parse().ok().filter(|page| *page > 0)?,
            None if path.is_empty() || path == "index" => 1,
            None => return None,
        };
        let of = |name| value(query, name).unwrap_or_default();
        Some(Wanted { page, machine: of("machine"), kernel: of("kernel"), words: of("words") })
    }

    fn takes(&self, store: &Store, stored: &StoredRun, run: &RunSummary) -> bool {
        let has =
            |wanted: &str, mut all: Vec<String>| wanted.is_empty() || all.drain(..).any(|one| one == wanted);
        let machines = run.systems.iter().map(run_machine).collect();
        let kernels = run.systems.iter().map(run_kernel).collect();
        has(&self.machine, machines)
            && has(&self.kernel, kernels)
            && store.has_words(stored, run, &self.words)
    }

    /// The address of another page of the same part.
    fn address(&self, page: usize) -> String {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        for (name, value) in [("machine", &self.machine), ("kernel", &self.kernel), ("words", &self.words)] {
            if !value.is_empty() {
                query.append_pair(name, value);
            }
        }
        let query = query.finish();
        let path = if page == 1 { "index.html".to_owned() } else { format!("index-{page}.html") };
        if query.is_empty() { path } else { format!("{path}?{query}") }
    }
}

/// How many pages the list has without a filter.
pub(crate) fn pages(snapshot: &Snapshot) -> usize {
    snapshot.store.runs.len().div_ceil(RUNS_MOST).max(1)
}

/// A page of the list.
pub(crate) fn document(snapshot: &Snapshot, wanted: &Wanted, is_static: bool) -> Document {
    let store = &snapshot.store;
    let taken: Vec<(&StoredRun, &RunSummary)> =
        store.summaries().rev().filter(|(stored, run)| wanted.takes(store, stored, run)).collect();
    let first = (wanted.page - 1).saturating_mul(RUNS_MOST).min(taken.len());
    let shown = &taken[first..taken.len().min(first + RUNS_MOST)];
    let mut document = Document { title: "Runs".to_owned(), ..Document::default() };
    document.over = vec![store.folder().display().to_string()];
    document.way = Text::linked("History", Tone::Plain, "history.html");
    let counted = report::history::counted(&snapshot.answer, taken.len(), store.runs.len());
    document.say(Text::linked(counted, Tone::Plain, "history.html"));
    let all: Vec<&RunSummary> = store.summaries().rev().map(|(_, run)| run).collect();
    let mut table = Table { class: "verdicts runs", ..Table::of_columns(columns(is_static)) };
    for (place, (_, run)) in shown.iter().enumerate() {
        let older = all.iter().position(|one| one.id == run.id).map_or(all.len(), |place| place + 1);
        let before = before(&all[older..], run);
        table.push(row(run, store.tags_of(run), before, (place, is_static)));
    }
    let pages = pages_of(wanted, taken.len());
    let blocks: Vec<Element> = [Some(table.into()), pages.map(Element::from)].into_iter().flatten().collect();
    if is_static {
        document.blocks.extend(blocks);
        return document;
    }
    document.push(filters(snapshot, wanted));
    document.push(Form { action: "compare".into(), submit: "Compare".into(), blocks, ..Form::default() });
    document
}

fn columns(is_static: bool) -> Vec<Column> {
    let choices = if is_static { vec![] } else { vec![Column::number("Base"), Column::number("Head")] };
    let rest = [
        Column::from("Machine"),
        Column::from("Kernel"),
        Column::number("Series"),
        Column::from("Verdicts"),
        Column::from("Tags"),
        Column::from("Compare"),
    ];
    [Column::from("Run")].into_iter().chain(choices).chain(rest).collect()
}

fn row(
    run: &RunSummary,
    tags: &[String],
    before: Option<&RunSummary>,
    (place, is_static): (usize, bool),
) -> Vec<Cell> {
    let choice = |name: &str, is_made: bool| Cell {
        choice: Some(Choice {
            name: name.to_owned(),
            value: run.id.clone(),
            label: format!("{name} {}", when_to_second(&run.started_at)),
            is_made,
        }),
        ..Cell::default()
    };
    let choices =
        if is_static { vec![] } else { vec![choice("base", place == 1), choice("head", place == 0)] };
    let systems = |of: &dyn Fn(&history::SystemSummary) -> String| {
        let all: BTreeSet<String> = run.systems.iter().map(of).collect();
        all.into_iter().collect::<Vec<_>>().join(", ")
    };
    let compare = before.map_or(Text::default(), |before| {
        Text::linked("with the one before", Tone::Plain, compare_address(&before.id, &run.id))
    });
    let end = if run.end.is_some() { "" } else { " (cut off)" };
    let name =
        Text::linked(when_to_second(&run.started_at), Tone::Strong, format!("run/{}.html", run.id)).and(end);
    let main = run.series.iter().filter(|series| !series.detail).count();
    [name.into()]
        .into_iter()
        .chain(choices)
        .chain([
            systems(&run_machine).into(),
            systems(&run_kernel).into(),
            main.to_string().into(),
            classes(run).into(),
            tags.join(", ").into(),
            compare.into(),
        ])
        .collect()
}

/// The address of the page that compares two runs, from the folder of the site.
pub(crate) fn compare_address(base: &str, head: &str) -> String {
    format!("compare/{base}..{head}.html")
}

/// Every run with the one before it on the same machines.
pub(crate) fn pairs(snapshot: &Snapshot) -> Vec<(&RunSummary, &RunSummary)> {
    let all: Vec<&RunSummary> = snapshot.store.summaries().rev().map(|(_, run)| run).collect();
    let heads = all.iter().copied().enumerate();
    heads.filter_map(|(place, head)| Some((before(&all[place + 1..], head)?, head))).collect()
}

/// The newest of these runs on the same machines.
fn before<'a>(older: &[&'a RunSummary], run: &RunSummary) -> Option<&'a RunSummary> {
    let machines = |run: &RunSummary| run.systems.iter().map(run_machine).collect::<Vec<_>>();
    let wanted = machines(run);
    older.iter().copied().find(|one| machines(one) == wanted)
}

fn filters(snapshot: &Snapshot, wanted: &Wanted) -> Form {
    let all = |of: &dyn Fn(&history::SystemSummary) -> String| {
        let runs = snapshot.store.summaries().flat_map(|(_, run)| &run.systems);
        runs.map(of).collect::<BTreeSet<String>>().into_iter().collect::<Vec<_>>()
    };
    let field = |label: &str, name: &str, value: &str, options: Vec<String>| Field {
        label: label.to_owned(),
        name: name.to_owned(),
        value: value.to_owned(),
        options,
    };
    Form {
        action: "index.html".to_owned(),
        fields: vec![
            field("Machine", "machine", &wanted.machine, all(&run_machine)),
            field("Kernel", "kernel", &wanted.kernel, all(&run_kernel)),
            field("Words in file, tags, command or series", "words", &wanted.words, Vec::new()),
        ],
        submit: "Filter".to_owned(),
        blocks: Vec::new(),
    }
}

/// Links to the other pages, where there are any.
fn pages_of(wanted: &Wanted, runs: usize) -> Option<Text> {
    let pages = runs.div_ceil(RUNS_MOST);
    let link = |page: usize, words: &str| Text::linked(words, Tone::Plain, wanted.address(page));
    let newer = (wanted.page > 1).then(|| link(wanted.page - 1, "newer runs"));
    let older = (wanted.page < pages).then(|| link(wanted.page + 1, "older runs"));
    match (newer, older) {
        (Some(newer), Some(older)) => Some(newer.and(" · ").and(older)),
        (newer, older) => newer.or(older),
    }
}

//! The pages of a folder of runs, each made from its address: for a request, or all of them as files.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use history::{
    FileState, HistoryAnswer, HistorySegment, MachineHistory, RunSummary, SeriesHistory, Store, StoredRun,
};
use judge::Findings;
use judge::compare::Comparison;
use record::Recording;
use report::document::{Document, Figure, Section, Text, Tone, page};
use report::html::PageLinks;

use crate::list;

/// The folder is looked at again after this long: runs come once a night.
const FRESH: Duration = Duration::from_secs(2);
/// Recordings in memory: two to compare, and the ones before.
const RECORDINGS: usize = 3;
/// Pages of runs and comparisons in memory, of a few MB each.
const PAGES: usize = 16;

/// The file of the script that pages of runs share.
const SCRIPT: &str = "script.js";

/// A folder of runs, as pages.
pub struct Site {
    folder: PathBuf,
    snapshot: Mutex<Option<(Instant, Arc<Snapshot>)>>,
    recordings: Cache<FileState, Recording>,
    pages: Cache<Vec<FileState>, Vec<u8>>,
    /// Whether the pages are files: then they have no forms, and scripts are in them.
    is_static: bool,
}

/// The folder at one moment.
pub(crate) struct Snapshot {
    pub(crate) store: Store,
    pub(crate) answer: HistoryAnswer,
}

/// A page that was found, or an error.
pub struct SitePage {
    /// The status of HTTP.
    pub status: u16,
    /// Its media type.
    pub media_type: &'static str,
    /// Another address to go to.
    pub location: Option<String>,
    /// The content.
    pub body: Arc<[u8]>,
}

/// The pages that were written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// How many.
    pub pages: usize,
    /// Pages that could not be made, each with the reason.
    pub failed: Vec<(String, String)>,
}

/// The error that a page shows.
type Failed = (u16, String);

impl SitePage {
    /// A page that only says an error.
    pub fn error(status: u16, text: &str) -> SitePage {
        let mut document = Document { title: format!("{status}"), ..Document::default() };
        document.say(text);
        SitePage { status, ..SitePage::document(&document) }
    }

    fn document(document: &Document) -> SitePage {
        let mut body = Vec::new();
        // Writing to memory does not fail.
        let _ = page::write(document, &mut body);
        SitePage::page(body)
    }

    fn page(body: Vec<u8>) -> SitePage {
        SitePage { status: 200, media_type: "text/html; charset=utf-8", location: None, body: body.into() }
    }
}

impl Site {
    /// The pages of a folder. `is_static` makes them fit for files.
    pub fn new(folder: &Path, is_static: bool) -> Site {
        Site {
            folder: folder.to_owned(),
            snapshot: Mutex::new(None),
            recordings: Cache::new(RECORDINGS),
            pages: Cache::new(PAGES),
            is_static,
        }
    }

    /// Reads the folder, unless that was done a moment ago.
    fn snapshot(&self) -> Result<Arc<Snapshot>, history::Error> {
        let mut kept = self.snapshot.lock().unwrap_or_else(PoisonError::into_inner);
        let is_fresh = |(read, _): &&(Instant, Arc<Snapshot>)| self.is_static || read.elapsed() < FRESH;
        if let Some((_, snapshot)) = kept.as_ref().filter(is_fresh) {
            return Ok(Arc::clone(snapshot));
        }
        let store = match kept.as_ref() {
            Some((_, known)) => known.store.refreshed()?,
            None => Store::open(&self.folder, &|_, _| {})?,
        };
        let is_known = |(_, known): &&(Instant, Arc<Snapshot>)| known.store == store;
        let snapshot = match kept.as_ref().filter(is_known) {
            Some((_, known)) => Arc::clone(known),
            None => Arc::new(Snapshot { answer: history::history(&store), store }),
        };
        *kept = Some((Instant::now(), Arc::clone(&snapshot)));
        Ok(snapshot)
    }

    /// The page of an address: its path below the site and its query. Every error is a page too.
    pub fn page(&self, path: &str, query: &str) -> SitePage {
        if path == SCRIPT {
            let body = report::html::script().into_bytes().into();
            return SitePage {
                media_type: "text/javascript; charset=utf-8",
                ..SitePage { body, ..SitePage::page(Vec::new()) }
            };
        }
        self.found(path, query).unwrap_or_else(|(status, text)| SitePage::error(status, &text))
    }

    /// The same, where an error is none.
    fn found(&self, path: &str, query: &str) -> Result<SitePage, Failed> {
        let snapshot = self.snapshot().map_err(|error| (503, error.to_string()))?;
        let lacks = || (404, "no such page".to_owned());
        let plain = path.strip_suffix(".html").unwrap_or(path);
        match plain.split_once('/') {
            None if plain == "compare" => choose(&snapshot, query),
            None if plain == "history" => Ok(SitePage::document(&history_document(&snapshot.answer))),
            None => {
                let wanted = list::Wanted::new(plain, query).ok_or_else(lacks)?;
                Ok(SitePage::document(&list::document(&snapshot, &wanted, self.is_static)))
            }
            Some(("run", id)) => self.run(&snapshot, id),
            Some(("compare", pair)) => {
                let (base, head) = pair.split_once("..").ok_or_else(lacks)?;
                self.compare(&snapshot, base, head)
            }
            Some(("series", rest)) => {
                let (machine, id) = rest.split_once('/').ok_or_else(lacks)?;
                let place: usize = machine.parse().map_err(|_| lacks())?;
                let machine = snapshot.answer.machines.get(place).ok_or_else(lacks)?;
                series(machine, id).map(|document| SitePage::document(&document)).ok_or_else(lacks)
            }
            _ => Err(lacks()),
        }
    }

    /// The page of a run, as `report` writes it.
    fn run(&self, snapshot: &Snapshot, id: &str) -> Result<SitePage, Failed> {
        let (stored, _) = snapshot.store.find(id).map_err(|error| (404, error.to_string()))?;
        let links = self.links(way_to_run(&stored.state.file));
        self.made(
            &[stored],
            |recordings, out| {
                let Some(recording) = recordings.first() else { return Ok(()) };
                let findings = Findings::from_recording(recording);
                let systems = systems(&findings, recording, &stored.state.file);
                report::html::write_on_site(recording, &findings, systems.as_ref(), &links, out)
            },
            snapshot,
        )
    }

    /// The page of two runs.
    fn compare(&self, snapshot: &Snapshot, base: &str, head: &str) -> Result<SitePage, Failed> {
        let find = |id: &str| snapshot.store.find(id).map_err(|error| (404, error.to_string()));
        let ((base, of_base), (head, of_head)) = (find(base)?, find(head)?);
        let names = [&of_base.started_at, &of_head.started_at];
        let way = way_to_comparison(of_head, of_base);
        let mut refusal = None;
        let found = self.made(
            &[base, head],
            |recordings, out| {
                let named: Vec<(&str, &Recording)> = names
                    .iter()
                    .zip(recordings)
                    .map(|(name, recording)| (name.as_str(), recording.as_ref()))
                    .collect();
                match Comparison::new(&named) {
                    Ok(compared) => report::compare::write_html_on_site(&compared, &way, out),
                    Err(reason) => {
                        refusal = Some(report::compare::refusal(&reason));
                        Err(io::Error::other("refused"))
                    }
                }
            },
            snapshot,
        );
        match refusal {
            Some(text) => Err((404, text)),
            None => found,
        }
    }

    /// A page made of runs, or the one made before of the same files.
    fn made(
        &self,
        runs: &[&StoredRun],
        make: impl FnOnce(&[Arc<Recording>], &mut dyn io::Write) -> io::Result<()>,
        snapshot: &Snapshot,
    ) -> Result<SitePage, Failed> {
        let key: Vec<FileState> = runs.iter().map(|run| run.state.clone()).collect();
        let page = self.pages.get(&key, || {
            let read = |run: &StoredRun| {
                let path = snapshot.store.path(run);
                let read = || record::read(path).map(|(recording, _)| recording);
                self.recordings.get(&run.state, read).map_err(|error| (503, error.to_string()))
            };
            let recordings: Vec<Arc<Recording>> =
                runs.iter().map(|run| read(run)).collect::<Result<_, _>>()?;
            let mut body = Vec::new();
            make(&recordings, &mut body).map_err(|error| (503, error.to_string()))?;
            Ok::<Vec<u8>, Failed>(body)
        })?;
        Ok(SitePage::page(page.to_vec()))
    }

    /// Links of a page below a folder of the site. Served, its script comes from the site.
    fn links(&self, way: Text) -> PageLinks {
        PageLinks { way, script: (!self.is_static).then(|| format!("../{SCRIPT}")) }
    }
}

/// Writes every page of the folder `runs` into `target`: all of them, and each run against the one before it.
///
/// # Errors
/// The folder of runs cannot be read, or a page not be written.
pub fn export(runs: &Path, target: &Path) -> io::Result<Exported> {
    let site = Site::new(runs, true);
    let snapshot = site.snapshot().map_err(io::Error::other)?;
    let mut paths: Vec<String> = vec!["index.html".to_owned(), "history.html".to_owned()];
    paths.extend((2..=list::pages(&snapshot)).map(|page| format!("index-{page}.html")));
    for (place, machine) in snapshot.answer.machines.iter().enumerate() {
        paths.extend(machine.series.iter().map(|series| series_address(place, &series.id)));
    }
    paths.extend(snapshot.store.summaries().map(|(_, run)| format!("run/{}.html", run.id)));
    let neighbours = list::pairs(&snapshot);
    let neighbours = neighbours.iter().map(|(base, head)| list::compare_address(&base.id, &head.id));
    let changes = snapshot.answer.machines.iter().flat_map(changes);
    // A change may lie between neighbours.
    paths.extend(neighbours.chain(changes).collect::<BTreeSet<String>>());
    let mut exported = Exported::default();
    for path in paths {
        let found = match site.found(&path, "") {
            Ok(found) => found,
            Err((_, reason)) => {
                exported.failed.push((path, reason));
                continue;
            }
        };
        let file: PathBuf = target.join(&path);
        fs::create_dir_all(file.parent().unwrap_or(target))?;
        fs::write(file, &found.body)?;
        exported.pages += 1;
    }
    Ok(exported)
}

/// The comparisons around the changes of a machine, to which the pages of its series lead.
fn changes(machine: &MachineHistory) -> Vec<String> {
    let address = |series: &SeriesHistory, segment: &HistorySegment| {
        let before = segment.ratio.and_then(|_| series.measured_before(segment))?;
        Some(list::compare_address(&machine.nights[before].run, &machine.nights[segment.first].run))
    };
    let of_series = |series: &SeriesHistory| -> Vec<String> {
        series.segments.iter().filter_map(|segment| address(series, segment)).collect()
    };
    machine.series.iter().flat_map(of_series).collect()
}

/// The way to the page of a run.
fn way_to_run(file: &str) -> Text {
    way().and(" · ").and(file)
}

/// The way to the page of two runs.
fn way_to_comparison(head: &RunSummary, base: &RunSummary) -> Text {
    let run = |run: &RunSummary| {
        Text::linked(run.started_at.as_str(), Tone::Plain, format!("../run/{}.html", run.id))
    };
    way().and(" · ").and(run(head)).and(" against ").and(run(base))
}

/// The way to the pages above all others.
fn way() -> Text {
    let link = |name: &str, page: &str| Text::linked(name, Tone::Plain, format!("../{page}.html"));
    link("Runs", "index").and(" · ").and(link("History", "history"))
}

/// The systems of a run against the first of them, where it has several.
fn systems(findings: &Findings, recording: &Recording, name: &str) -> Option<Comparison> {
    let differ =
        recording.systems.len() > 1 && findings.fleet.is_none() && recording.measured_noise_floor().is_none();
    differ.then(|| Comparison::of_judged(name, recording, findings).ok()).flatten()
}

/// Leads from the choice of two runs to the page that compares them.
fn choose(snapshot: &Snapshot, query: &str) -> Result<SitePage, Failed> {
    let value = |name: &str| list::value(query, name);
    let find = |id: String| snapshot.store.find(&id).map(|(_, run)| run.id.clone());
    match (value("base").map(find), value("head").map(find)) {
        (Some(Ok(base)), Some(Ok(head))) => Ok(SitePage {
            status: 303,
            location: Some(list::compare_address(&base, &head)),
            ..SitePage::page(Vec::new())
        }),
        (Some(Err(error)), _) | (_, Some(Err(error))) => Err((404, error.to_string())),
        _ => Err((404, "choose two runs to compare: a base and a head".to_owned())),
    }
}

/// The address of the page of a series, from the folder of the site.
fn series_address(machine: usize, id: &str) -> String {
    format!("series/{machine}/{id}.html")
}

fn history_document(answer: &HistoryAnswer) -> Document {
    let link = |machine: usize, series: &SeriesHistory| Some(series_address(machine, &series.id));
    let mut document = report::history::linked(answer, &link);
    document.way = Text::linked("Runs", Tone::Plain, "index.html");
    document
}

/// One series over time, with the run of each of its segments.
fn series(machine: &MachineHistory, id: &str) -> Option<Document> {
    let series = machine.series.iter().find(|series| series.id == id)?;
    let mut document = Document { title: series.series.clone(), ..Document::default() };
    document.over = vec![machine.machine.title()];
    document.way = Text::linked("Runs", Tone::Plain, "../../index.html").and(" · ").and(Text::linked(
        "History",
        Tone::Plain,
        "../../history.html",
    ));
    document.push(Figure { title: Text::default(), ..report::history::figure(machine, series) });
    let address =
        |night: usize| machine.nights.get(night).map(|night| format!("../../run/{}.html", night.run));
    let compare = |before: usize, after: usize| {
        let (before, after) = (machine.nights.get(before)?, machine.nights.get(after)?);
        Some(format!("../../{}", list::compare_address(&before.run, &after.run)))
    };
    let mut segments = Section::new("Segments");
    segments.push(report::history::segments(machine, series, &address, &compare));
    document.push(segments);
    Some(document)
}

/// Pages and runs that were read lately, with their keys: a run file is read and judged for seconds, and its
/// page is looked at again and again.
struct Cache<K, V> {
    kept: Mutex<Vec<(K, Arc<V>)>>,
    most: usize,
}

impl<K: PartialEq + Clone, V> Cache<K, V> {
    /// A cache of so many values at most.
    fn new(most: usize) -> Cache<K, V> {
        Cache { kept: Mutex::new(Vec::new()), most }
    }

    /// The value of a key, made if it is not there. Two threads may make it at the same time; nobody waits
    /// for the value of another key.
    fn get<E>(&self, key: &K, make: impl FnOnce() -> Result<V, E>) -> Result<Arc<V>, E> {
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

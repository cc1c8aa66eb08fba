//! A folder of run files: its runs and tags, and how both are added and removed.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use record::{Line, System};
use serde::{Deserialize, Serialize};
use stats::Interval;

use crate::index::{FileState, Index, StoredRun, replace, unfinished};
use crate::{Error, RunSummary};

/// Run files end with this.
const EXTENSION: &str = "osdyno";
/// Folders in the folder are searched so deep: one for each host, year or month.
const DEPTH_MAX: usize = 4;
/// The folder of measurements that were made again: a file for each run.
const CHECKS: &str = "checks";
/// The folder of tags: a file for each, which holds the id of its run.
const TAGS: &str = "tags";
/// Characters of a tag.
const TAG_MAX: usize = 64;

/// A folder of run files.
#[derive(Clone, Debug, PartialEq)]
pub struct Store {
    folder: PathBuf,
    /// Every run, in the order of time, each once.
    pub runs: Vec<StoredRun>,
    /// Files that hold the same run as another one.
    pub copies: Vec<StoredRun>,
    /// Files that are no run.
    pub unreadable: Vec<StoredRun>,
    /// The tags of runs, by run.
    pub tags: BTreeMap<String, Vec<String>>,
    /// Series that were measured again after a run, by run.
    pub checks: BTreeMap<String, Vec<StoredCheck>>,
    /// Why the index could not be written.
    pub without_index: Option<String>,
}

/// A series that looked changed after a run and was measured again, base and head in one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredCheck {
    /// Name of the system, of which a run of a fleet has many.
    pub system: String,
    /// Name of the workload.
    pub workload: String,
    /// Name of the series for a reader.
    pub series: String,
    /// Head divided by base: the estimate and its interval.
    pub ratio: [f64; 3],
    /// The run file of the measurement.
    pub file: String,
}

impl StoredCheck {
    fn is_of(&self, other: &StoredCheck) -> bool {
        (&self.system, &self.workload, &self.series) == (&other.system, &other.workload, &other.series)
    }

    pub(crate) fn ratio(&self) -> Interval {
        let [value, low, high] = self.ratio;
        Interval { value, low, high }
    }
}

/// Called before files are read that the index does not know: how many were read, and of how many.
pub type ReadProgress<'a> = &'a (dyn Fn(usize, usize) + Sync);

impl Store {
    /// Reads a folder. Files that are not in its index are read whole, on every processor.
    ///
    /// # Errors
    /// [`Error::Folder`]. A file that is no run is in [`Store::unreadable`].
    pub fn open(folder: &Path, progress: ReadProgress<'_>) -> Result<Store, Error> {
        Store::read(folder, Index::open(folder), progress)
    }

    /// Reads the folder again. Files that this store knows are not read, even where there is no index.
    ///
    /// # Errors
    /// Those of [`Store::open`].
    pub fn refreshed(&self) -> Result<Store, Error> {
        let mut index = Index::open(&self.folder);
        index.know([&self.runs, &self.copies, &self.unreadable].into_iter().flatten());
        Store::read(&self.folder, index, &|_, _| {})
    }

    fn read(folder: &Path, mut index: Index, progress: ReadProgress<'_>) -> Result<Store, Error> {
        let mut states = Vec::new();
        find_files(folder, folder, 0, &mut states)
            .map_err(|source| Error::Folder { path: folder.to_owned(), source })?;
        states.sort_by(|a, b| a.file.cmp(&b.file));
        let mut all: Vec<Option<StoredRun>> = states.iter().map(|state| index.take(state)).collect();
        let new: Vec<usize> = (0..all.len()).filter(|&place| all[place].is_none()).collect();
        let read = read_all(folder, new.iter().map(|&place| &states[place]), progress);
        let written = read.clone();
        new.iter().zip(read).for_each(|(&place, run)| all[place] = Some(run));
        let all: Vec<StoredRun> = all.into_iter().flatten().collect();
        let without_index = index.add(&written, &all).err().map(|error| error.to_string());
        let mut store = Store {
            folder: folder.to_owned(),
            runs: Vec::new(),
            copies: Vec::new(),
            unreadable: Vec::new(),
            tags: tags(folder),
            checks: checks(folder),
            without_index,
        };
        store.sort(all);
        Ok(store)
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Forgets the runs that are no baseline of some files: these themselves, and where the first of them
    /// lies in the folder, later runs and those of other machines.
    pub fn keep_baselines_of(&mut self, files: &[PathBuf]) {
        let files: Vec<PathBuf> = files.iter().filter_map(|file| file.canonicalize().ok()).collect();
        let path = |stored: &StoredRun| self.folder.join(&stored.state.file).canonicalize().ok();
        let paths: Vec<Option<PathBuf>> = self.runs.iter().map(path).collect();
        let summary =
            |stored: &StoredRun| stored.run.as_ref().ok().map(|run| (run.started_seconds, run.machines()));
        let first = paths.iter().position(|path| path.is_some() && path.as_ref() == files.first());
        let first = first.and_then(|place| summary(&self.runs[place]));
        let mut paths = paths.into_iter();
        self.runs.retain(|stored| {
            let is_compared = paths.next().flatten().is_some_and(|path| files.contains(&path));
            let is_before = match (&first, summary(stored)) {
                (Some((before, machines)), Some((started, own))) => started <= *before && own == *machines,
                (first, _) => first.is_none(),
            };
            !is_compared && is_before
        });
    }

    /// The path of a run's file.
    pub fn path(&self, run: &StoredRun) -> PathBuf {
        self.folder.join(&run.state.file)
    }

    /// The systems of a run with all of their facts, from the head of its file: the index keeps a few facts.
    pub(crate) fn systems(&self, run: &StoredRun) -> Option<Vec<System>> {
        let lines = record::Reader::open(self.path(run)).ok()?.map_while(Result::ok);
        let head = lines.take_while(|line| !matches!(line, Line::Trial(_) | Line::Series(_)));
        Some(
            head.filter_map(|line| if let Line::System(system) = line { Some(system) } else { None })
                .collect(),
        )
    }

    /// Puts the runs in order and leaves out copies: of two files with one run, the longer one counts.
    fn sort(&mut self, all: Vec<StoredRun>) {
        let mut places: HashMap<String, usize> = HashMap::new();
        for stored in all {
            let Ok(run) = &stored.run else {
                self.unreadable.push(stored);
                continue;
            };
            match places.get(&run.id).map(|&place| &mut self.runs[place]) {
                None => {
                    places.insert(run.id.clone(), self.runs.len());
                    self.runs.push(stored);
                }
                Some(known) => {
                    let trials = |stored: &StoredRun| stored.run.as_ref().map_or(0, |run| run.trials);
                    let mut copy = stored;
                    if trials(&copy) > trials(known) {
                        std::mem::swap(known, &mut copy);
                    }
                    self.copies.push(copy);
                }
            }
        }
        let key =
            |stored: &StoredRun| stored.run.as_ref().map(|run| (run.started_at.clone(), run.id.clone())).ok();
        self.runs.sort_by_key(key);
    }

    /// The runs with their summaries, in the order of time.
    pub fn summaries(&self) -> impl DoubleEndedIterator<Item = (&StoredRun, &RunSummary)> {
        self.runs.iter().filter_map(|stored| Some((stored, stored.run.as_ref().ok()?)))
    }

    /// The tags of a run.
    pub fn tags_of(&self, run: &RunSummary) -> &[String] {
        self.tags.get(&run.id).map_or(&[], Vec::as_slice)
    }

    /// Whether a run has all of these words in its file, its time, its tags, its command or the names of its
    /// series.
    pub fn has_words(&self, stored: &StoredRun, run: &RunSummary, words: &str) -> bool {
        let is_in = |word: &str| {
            let of_run = [&stored.state.file, &run.id, &run.started_at].into_iter().chain(&run.command);
            let mut texts =
                of_run.chain(self.tags_of(run)).chain(run.series.iter().map(|series| &series.label));
            texts.any(|text| text.to_lowercase().contains(word))
        };
        words.to_lowercase().split_whitespace().all(is_in)
    }

    /// The run that a user names: by its file, its id or the beginning of that.
    ///
    /// # Errors
    /// [`Error::NoRun`], [`Error::SeveralRuns`].
    pub fn find(&self, name: &str) -> Result<(&StoredRun, &RunSummary), Error> {
        let is_it = |(stored, run): &(&StoredRun, &RunSummary)| {
            stored.state.file == name
                || Path::new(&stored.state.file).file_name().is_some_and(|file| file == name)
                || run.id == name
        };
        if let Some(found) = self.summaries().find(is_it) {
            return Ok(found);
        }
        let begins: Vec<_> = self.summaries().filter(|(_, run)| run.id.starts_with(name)).collect();
        match begins.as_slice() {
            [one] if !name.is_empty() => Ok(*one),
            [] => Err(Error::NoRun { name: name.to_owned(), folder: self.folder.clone() }),
            several => Err(Error::SeveralRuns { name: name.to_owned(), count: several.len() }),
        }
    }

    /// The run that a baseline names: `last`, `tag:NAME` or `date:DAY`, the last run of that day or before.
    ///
    /// # Errors
    /// [`Error::NoBaseline`]; those of [`Store::find`] for anything else.
    pub fn baseline(&self, name: &str) -> Result<(&StoredRun, &RunSummary), Error> {
        let lacks = |reason: String| Error::NoBaseline { folder: self.folder.clone(), reason };
        let mut whole = self.summaries().filter(|(_, run)| run.counts());
        match name.split_once(':') {
            None if name == "last" => {
                whole.next_back().ok_or_else(|| lacks("it has no run that ended".into()))
            }
            Some(("tag", tag)) => {
                let has_it =
                    |(_, run): &(&StoredRun, &RunSummary)| self.tags_of(run).iter().any(|one| one == tag);
                let known: Vec<&str> = self.tags.values().flatten().map(String::as_str).collect();
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                whole
                    .find(has_it)
                    .ok_or_else(|| lacks(format!("no run has the tag {tag}; its tags: {known}")))
            }
            Some(("date", day)) => {
                crate::summary::seconds(&format!("{day}T00:00:00Z"))
                    .ok_or_else(|| lacks(format!("{day} is no day; write it as 2026-11-01")))?;
                let is_before = |(_, run): &(&StoredRun, &RunSummary)| run.started_at.get(..10) <= Some(day);
                let found = whole.rfind(is_before);
                found.ok_or_else(|| lacks(format!("no run ended on {day} or before")))
            }
            _ => self.find(name),
        }
    }

    /// Copies a run file into the folder, under the name of its run; the path, and whether it was new.
    ///
    /// # Errors
    /// Those of reading the run and of writing the copy.
    pub fn add(&self, path: &Path) -> Result<(PathBuf, bool), Error> {
        let run = record::Reader::open(path).and_then(|mut lines| lines.next().transpose());
        let Some(record::Line::Run(run)) = run? else {
            return Err(Error::NoRun { name: path.display().to_string(), folder: self.folder.clone() });
        };
        let id = crate::summary::run_id(&run.started_at, run.seed);
        if let Some((known, _)) = self.summaries().find(|(_, run)| run.id == id) {
            return Ok((self.path(known), false));
        }
        let target = self.folder.join(format!("{id}.{EXTENSION}"));
        let failed = |source| Error::Write { path: target.clone(), source };
        let mut unfinished = unfinished(&self.folder).map_err(failed)?;
        let mut source = fs::File::open(path).map_err(failed)?;
        io::copy(&mut source, &mut unfinished).map_err(failed)?;
        unfinished.as_file().sync_all().map_err(failed)?;
        match unfinished.persist_noclobber(&target) {
            Ok(_) => Ok((target, true)),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok((target, false)),
            Err(error) => Err(failed(error.error)),
        }
    }

    /// Gives a run a tag, which another run loses.
    ///
    /// # Errors
    /// [`Error::Tag`] for a name that is no file name; [`Error::Write`].
    pub fn tag(&self, tag: &str, run: &RunSummary) -> Result<(), Error> {
        let path = self.path_of_tag(tag)?;
        replace(&path, format!("{}\n", run.id).as_bytes()).map_err(|source| Error::Write { path, source })
    }

    /// Takes a tag away.
    ///
    /// # Errors
    /// [`Error::Tag`]; [`Error::Write`] where no run has it.
    pub fn remove_tag(&self, tag: &str) -> Result<(), Error> {
        let path = self.path_of_tag(tag)?;
        fs::remove_file(&path).map_err(|source| Error::Write { path, source })
    }

    fn path_of_tag(&self, tag: &str) -> Result<PathBuf, Error> {
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
        match tag.chars().all(is_plain) && !tag.starts_with('.') && (1..=TAG_MAX).contains(&tag.len()) {
            true => Ok(self.folder.join(TAGS).join(tag)),
            false => Err(Error::Tag { tag: tag.to_owned() }),
        }
    }

    /// Series of a run that were measured again.
    pub(crate) fn checks_of(&self, run: &RunSummary) -> &[StoredCheck] {
        self.checks.get(&run.id).map_or(&[], Vec::as_slice)
    }

    /// The path of a new run file for a measurement that is made again after a run, in a folder of its own.
    ///
    /// # Errors
    /// [`Error::Write`].
    pub fn new_check(&self, run: &str) -> Result<PathBuf, Error> {
        let folder = self.folder.join(CHECKS);
        fs::create_dir_all(&folder).map_err(|source| Error::Write { path: folder.clone(), source })?;
        let free = |number: &u32| !folder.join(format!("{run}-{number}.{EXTENSION}")).exists();
        let number = (1..).find(free).unwrap_or(1);
        Ok(folder.join(format!("{run}-{number}.{EXTENSION}")))
    }

    /// Keeps measurements that were made again after a run, beside those that were kept before.
    ///
    /// # Errors
    /// [`Error::Write`].
    pub fn keep_checks(&self, run: &RunSummary, new: &[StoredCheck]) -> Result<(), Error> {
        let path = self.folder.join(CHECKS).join(format!("{}.json", run.id));
        let failed = |source| Error::Write { path: path.clone(), source };
        // Somebody else may have measured meanwhile.
        let kept = checks(&self.folder).remove(&run.id).unwrap_or_default();
        let is_new = |kept: &StoredCheck| new.iter().any(|new| new.is_of(kept));
        let all: Vec<&StoredCheck> = kept.iter().filter(|kept| !is_new(kept)).chain(new).collect();
        let text = serde_json::to_vec_pretty(&all).map_err(|error| failed(error.into()))?;
        replace(&path, &text).map_err(failed)
    }

    /// The runs that began more than so many seconds before the newest one, and have no tag.
    pub fn older_than(&self, age_seconds: f64) -> impl Iterator<Item = (&StoredRun, &RunSummary)> {
        let newest = self.summaries().next_back().map_or(0.0, |(_, run)| run.started_seconds);
        self.summaries().filter(move |(_, run)| {
            run.started_seconds < newest - age_seconds && self.tags_of(run).is_empty()
        })
    }

    /// Removes the file of a run.
    ///
    /// # Errors
    /// [`Error::Write`].
    pub fn remove(&self, run: &StoredRun) -> Result<(), Error> {
        let path = self.path(run);
        fs::remove_file(&path).map_err(|source| Error::Write { path, source })
    }
}

/// Finds run files in a folder and those in it. Links to folders are not followed: they may lead in a circle.
fn find_files(top: &Path, folder: &Path, depth: usize, found: &mut Vec<FileState>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_name().to_string_lossy().starts_with('.') {
            continue;
        }
        if entry.file_type()?.is_dir() {
            // The runs of base and head in there are no nights.
            if depth < DEPTH_MAX && entry.file_name() != CHECKS {
                find_files(top, &path, depth + 1, found)?;
            }
        } else if path.extension().is_some_and(|extension| extension == EXTENSION) {
            // A file may be removed meanwhile.
            found.extend(FileState::new(top, &path).ok());
        }
    }
    Ok(())
}

/// Reads files on every processor; a file that cannot be read has a reason.
fn read_all<'a>(
    folder: &Path,
    states: impl Iterator<Item = &'a FileState>,
    progress: ReadProgress<'_>,
) -> Vec<StoredRun> {
    let states: Vec<&FileState> = states.collect();
    let workers = std::thread::available_parallelism().map_or(1, usize::from).min(states.len());
    let read: Vec<Mutex<Option<StoredRun>>> = states.iter().map(|_| Mutex::new(None)).collect();
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || {
        while let Some((place, state)) = {
            let place = next.fetch_add(1, Ordering::Relaxed);
            states.get(place).map(|state| (place, state))
        } {
            let run = record::read(folder.join(&state.file))
                .map(|(recording, losses)| RunSummary::new(&recording, &losses))
                .map_err(|error| error.to_string());
            let stored = StoredRun { state: (*state).clone(), run };
            *read[place].lock().unwrap_or_else(PoisonError::into_inner) = Some(stored);
            progress(done.fetch_add(1, Ordering::Relaxed) + 1, states.len());
        }
    };
    std::thread::scope(|scope| (0..workers).for_each(|_| drop(scope.spawn(work))));
    let stored = |one: Mutex<Option<StoredRun>>| one.into_inner().unwrap_or_else(PoisonError::into_inner);
    read.into_iter().filter_map(stored).collect()
}

/// The tags of a folder, by run. A file that is no tag is none.
fn tags(folder: &Path) -> BTreeMap<String, Vec<String>> {
    let mut tags: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for entry in fs::read_dir(folder.join(TAGS)).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Ok(run) = fs::read_to_string(entry.path()) else { continue };
        if !name.starts_with('.') {
            tags.entry(run.trim().to_owned()).or_default().push(name);
        }
    }
    tags.values_mut().for_each(|names| names.sort());
    tags
}

/// The measurements that were made again, by run. A file that is not of them is none.
fn checks(folder: &Path) -> BTreeMap<String, Vec<StoredCheck>> {
    let read = |entry: fs::DirEntry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        let run = name.strip_suffix(".json")?.to_owned();
        let checks: Vec<StoredCheck> = serde_json::from_slice(&fs::read(entry.path()).ok()?).ok()?;
        let is_sound =
            |check: &StoredCheck| check.ratio.iter().all(|ratio| ratio.is_finite() && *ratio > 0.0);
        Some((run, checks.into_iter().filter(is_sound).collect()))
    };
    let entries = fs::read_dir(folder.join(CHECKS)).into_iter().flatten().flatten();
    entries.filter_map(read).collect()
}

//! The index beside the run files: a cache of their summaries, which can be deleted at any time.
//!
//! It is lines of JSON, each about one file as it was with a size and a time of change, and lines are only
//! added. Two programs that add the same line, or one that is killed in the middle of a line, do no harm:
//! the last whole line about a file counts, and a file without one is read again. SQLite would need locks for
//! that, which fail on network file systems, and Parquet is written as a whole. 10,000 runs of 40 series take
//! about 80 MB.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use crate::RunSummary;

/// The file of the index. Its name begins with a dot, because it is none of the user's.
const NAME: &str = ".osdyno-index";

/// The first line of an index that this program understands. A new program judges anew.
const HEAD: &str = concat!("osdyno index 1 ", env!("CARGO_PKG_VERSION"));

/// A run file as it was when it was read.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FileState {
    /// Path below the folder, with `/` between its parts.
    pub file: String,
    /// Its size.
    pub bytes: u64,
    /// When it was changed last, in nanoseconds since 1970.
    pub modified_ns: u64,
}

/// A run file and its summary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredRun {
    /// The file.
    #[serde(flatten)]
    pub state: FileState,
    /// Its run, or why it cannot be read.
    pub run: Result<RunSummary, String>,
}

/// The index of one folder.
pub(crate) struct Index {
    path: PathBuf,
    known: HashMap<FileState, StoredRun>,
    /// Lines of files that are gone, and lines that nobody understands.
    waste: usize,
    has_head: bool,
}

impl Index {
    /// Reads the index of a folder; an index that cannot be read is empty.
    pub(crate) fn open(folder: &Path) -> Index {
        let path = folder.join(NAME);
        let mut index = Index { path, known: HashMap::new(), waste: 0, has_head: false };
        if let Ok(file) = File::open(&index.path) {
            index.read(BufReader::new(file));
        }
        index
    }

    fn read(&mut self, mut source: impl BufRead) {
        let mut line = Vec::new();
        while let Ok(1..) = {
            line.clear();
            source.read_until(b'\n', &mut line)
        } {
            if !self.has_head {
                self.has_head = line.strip_suffix(b"\n") == Some(HEAD.as_bytes());
                if !self.has_head {
                    return;
                }
                continue;
            }
            if line == b"\n" {
                continue;
            }
            match serde_json::from_slice::<StoredRun>(&line) {
                Ok(stored) if stored.is_sound() => {
                    let previous = self.known.insert(stored.state.clone(), stored);
                    self.waste += usize::from(previous.is_some());
                }
                _ => self.waste += 1,
            }
        }
    }

    /// Adds summaries that the program has already.
    pub(crate) fn know<'a>(&mut self, runs: impl Iterator<Item = &'a StoredRun>) {
        self.known.extend(runs.map(|run| (run.state.clone(), run.clone())));
    }

    /// Takes the summary of a file, if the file did not change since.
    pub(crate) fn take(&mut self, state: &FileState) -> Option<StoredRun> {
        self.known.remove(state)
    }

    /// Adds summaries, and writes the index anew once half of it is waste. `all` is every run of the folder.
    ///
    /// # Errors
    /// The index cannot be written, as in a folder that is only read: the history is the same without it.
    pub(crate) fn add(&self, new: &[StoredRun], all: &[StoredRun]) -> io::Result<()> {
        let waste = self.waste + self.known.len();
        if !self.has_head || waste > all.len() {
            return self.write_anew(all);
        }
        if new.is_empty() {
            return Ok(());
        }
        // A line that somebody was killed in the middle of ends here.
        let mut text = b"\n".to_vec();
        lines(new, &mut text)?;
        OpenOptions::new().append(true).open(&self.path)?.write_all(&text)
    }

    fn write_anew(&self, all: &[StoredRun]) -> io::Result<()> {
        let mut text = format!("{HEAD}\n").into_bytes();
        lines(all, &mut text)?;
        replace(&self.path, &text)
    }
}

impl StoredRun {
    /// Whether its parts fit together.
    fn is_sound(&self) -> bool {
        let Ok(run) = &self.run else { return true };
        let is_sound = |series: &crate::SeriesSummary| {
            series.cells.len() == series.log_costs.len()
                && series.log_costs.iter().all(|cost| cost.is_finite())
                && series.system < run.systems.len()
        };
        run.series.iter().all(is_sound)
    }
}

fn lines(runs: &[StoredRun], text: &mut Vec<u8>) -> io::Result<()> {
    for run in runs {
        serde_json::to_writer(&mut *text, run)?;
        text.push(b'\n');
    }
    Ok(())
}

impl FileState {
    /// A file below the folder as it is now.
    pub(crate) fn new(folder: &Path, path: &Path) -> io::Result<FileState> {
        let metadata = fs::metadata(path)?;
        let modified = metadata.modified()?.duration_since(std::time::SystemTime::UNIX_EPOCH);
        let below = path.strip_prefix(folder).unwrap_or(path);
        let parts = below.components().map(|part| part.as_os_str().to_string_lossy().into_owned());
        Ok(FileState {
            file: parts.collect::<Vec<_>>().join("/"),
            bytes: metadata.len(),
            modified_ns: modified.map_or(0, |age| u64::try_from(age.as_nanos()).unwrap_or(u64::MAX)),
        })
    }
}

/// A file that gets its name when all of it is written. As every file, others may read it as the umask
/// allows.
pub(crate) fn unfinished(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".osdyno-");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder)
}

/// Writes a file as a whole, in place of one that may be there, and makes its folder.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut unfinished = unfinished(folder)?;
    unfinished.write_all(bytes)?;
    unfinished.persist(path).map(drop).map_err(|error| error.error)
}

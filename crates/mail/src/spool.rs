//! A delivery that outlives its engine: the list, and what became of each recipient, in a folder.
//!
//! - `list` has the recipients, one per line. It is there as a whole or not at all.
//! - `results` has a line of JSON for each recipient that has ended. Whoever goes on takes those that were
//!   delivered or failed for done; the last line of a recipient counts.
//!
//! A result is written before the engine waits again, so that a killed engine has forgotten only what servers
//! accepted in its last turn: these recipients are delivered to twice, which SMTP cannot rule out (RFC 1047).
//! None is lost, for what has no result is delivered. The folder is for its owner alone.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::recipients::Recipients;
use crate::result::{DeliveryEnding, DeliveryResult, Results};

/// Why a spool cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SpoolError {
    /// A file of it cannot be read or written.
    #[error("cannot {attempted} {}: {source}", path.display())]
    File {
        /// What was attempted.
        attempted: &'static str,
        /// On which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// An engine works on it.
    #[error("another osdyno delivers from {}; wait for its end", .0.display())]
    Busy(PathBuf),
    /// A line of the results is none.
    #[error(
        "{}, line {line}: not a result of this list; restore the file or remove the folder",
        path.display()
    )]
    Line {
        /// The file.
        path: PathBuf,
        /// Which line, from 1.
        line: usize,
    },
}

/// A spool that is open, and closed to others.
#[derive(Debug)]
pub struct Spool {
    results: File,
    /// Lines that are not yet with the system.
    unwritten: Vec<u8>,
}

/// Of a line what decides whether its recipient has ended.
#[derive(Deserialize)]
struct Ended {
    number: u32,
    ending: DeliveryEnding,
}

const LIST: &str = "list";
const RESULTS: &str = "results";

impl Spool {
    /// Whether there is a list in the folder.
    pub fn exists(folder: &Path) -> bool {
        folder.join(LIST).exists()
    }

    /// Makes the folder, and keeps the list in it.
    ///
    /// # Errors
    /// [`SpoolError::File`].
    pub fn create(folder: &Path, recipients: &Recipients) -> Result<Spool, SpoolError> {
        make_folder(folder).map_err(failed("make the folder", folder))?;
        let (path, unfinished) = (folder.join(LIST), folder.join("list.unfinished"));
        let write = || -> io::Result<()> {
            let mut out = BufWriter::new(File::create(&unfinished)?);
            for address in recipients.addresses() {
                writeln!(out, "{address}")?;
            }
            let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
            file.sync_all()?;
            fs::rename(&unfinished, &path)
        };
        write().map_err(failed("write", &path))?;
        let (spool, _) = Spool::open(folder)?;
        Ok(spool)
    }

    /// Opens the spool of the folder. The list has those that have not ended; their numbers are as ever.
    ///
    /// # Errors
    /// [`SpoolError`].
    pub fn open(folder: &Path) -> Result<(Spool, Recipients), SpoolError> {
        let path = folder.join(LIST);
        let list = fs::read_to_string(&path).map_err(failed("read", &path))?;
        let mut recipients = Recipients::of(list.lines());
        let path = folder.join(RESULTS);
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        let mut results = options.open(&path).map_err(failed("open", &path))?;
        match results.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => return Err(SpoolError::Busy(folder.to_owned())),
            Err(fs::TryLockError::Error(error)) => return Err(failed("lock", &path)(error)),
        }
        let is_done = read_results(&mut results, &path, recipients.len())?;
        recipients.retain(|number| !is_done[number as usize]);
        Ok((Spool { results, unwritten: Vec::new() }, recipients))
    }
}

/// Which recipients have ended. What a killed engine left of a last line is cut off.
fn read_results(results: &mut File, path: &Path, recipients: usize) -> Result<Vec<bool>, SpoolError> {
    let mut is_done = vec![false; recipients];
    let mut text = Vec::new();
    io::Read::read_to_end(results, &mut text).map_err(failed("read", path))?;
    let whole = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
    if whole < text.len() {
        results.set_len(whole as u64).map_err(failed("shorten", path))?;
    }
    for (index, line) in text[..whole].split_inclusive(|&byte| byte == b'\n').enumerate() {
        let ended = serde_json::from_slice::<Ended>(line).ok();
        let place = ended.as_ref().and_then(|ended| is_done.get_mut(ended.number as usize));
        let (Some(ended), Some(place)) = (ended, place) else {
            return Err(SpoolError::Line { path: path.to_owned(), line: index + 1 });
        };
        *place = ended.ending != DeliveryEnding::Queued;
    }
    Ok(is_done)
}

fn failed(attempted: &'static str, path: &Path) -> impl Fn(io::Error) -> SpoolError {
    let path = path.to_owned();
    move |source| SpoolError::File { attempted, path: path.clone(), source }
}

fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

impl Results for Spool {
    fn put(&mut self, result: &DeliveryResult<'_>) -> io::Result<()> {
        serde_json::to_writer(&mut self.unwritten, result)?;
        self.unwritten.push(b'\n');
        Ok(())
    }

    fn turn_ended(&mut self) -> io::Result<()> {
        if self.unwritten.is_empty() {
            return Ok(());
        }
        self.results.write_all(&self.unwritten)?;
        self.unwritten.clear();
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.turn_ended()?;
        self.results.sync_all()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(spool: &mut Spool, number: u32, ending: DeliveryEnding) {
        let result = DeliveryResult {
            number,
            recipient: "x",
            ending,
            code: None,
            reason: "",
            exchanger: None,
            attempts: 1,
        };
        spool.put(&result).unwrap();
        spool.turn_ended().unwrap();
    }

    #[test]
    fn what_has_ended_is_not_delivered_again() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("spool");
        assert!(!Spool::exists(&folder));
        let list = Recipients::of(["a@one.test", "b@two.test", "none", "c@one.test", "d@two.test"]);
        let mut spool = Spool::create(&folder, &list).unwrap();
        put(&mut spool, 1, DeliveryEnding::Delivered);
        put(&mut spool, 2, DeliveryEnding::Failed);
        put(&mut spool, 3, DeliveryEnding::Queued);
        assert!(matches!(Spool::open(&folder), Err(SpoolError::Busy(_))));
        // Killed in the middle of a line.
        spool.results.write_all(b"{\"number\":0,\"rec").unwrap();
        drop(spool);
        let (mut spool, left) = Spool::open(&folder).unwrap();
        assert_eq!((left.len(), left.waiting(), left.broken()), (5, 3, &[][..]));
        assert_eq!(left.get(4).unwrap().address, "d@two.test");
        put(&mut spool, 3, DeliveryEnding::Delivered);
        drop(spool);
        assert_eq!(Spool::open(&folder).unwrap().1.waiting(), 2);
    }

    #[test]
    fn results_of_another_list_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let list = Recipients::of(["a@one.test"]);
        for line in ["{\"number\":1,\"ending\":\"failed\"}\n", "nonsense\n", "\n"] {
            drop(Spool::create(folder.path(), &list).unwrap());
            fs::write(folder.path().join(RESULTS), line).unwrap();
            let error = Spool::open(folder.path()).unwrap_err();
            assert!(error.to_string().contains("line 1"), "{error}");
            fs::remove_file(folder.path().join(RESULTS)).unwrap();
        }
    }
}

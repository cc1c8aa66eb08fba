//! A delivery that outlives its engine: the list, and the outcome of each recipient, in a folder.
//!
//! - `delivery` is the lock of the folder, and a line of JSON: the subject of the delivery. It is written
//!   last, so that without the line there is no spool, whatever a killed engine has left of the list.
//! - `list` has the recipients, one per line. It is written once.
//! - `results` has a line of JSON for each recipient that has ended. An engine that goes on leaves out those
//!   that were delivered, tested or failed; the last line of a recipient counts.
//!
//! A result is written before the engine waits again, so that a killed engine has lost only acceptances of
//! its last turn: these recipients are delivered to twice, which SMTP cannot rule out (RFC 1047). None is
//! lost, because recipients without a result are delivered. The folder is for its owner alone.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::context::{DeliveryEnding, DeliveryResult, Results};
use crate::message::MessageChecksum;
use crate::recipients::Recipients;
use crate::settings::{Mode, SessionSettings};

/// Why a spool cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SpoolError {
    /// A file of it cannot be read or written.
    #[error("cannot {attempted} {}: {source}", path.display())]
    File {
        /// The attempt.
        attempted: &'static str,
        /// On which file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// An engine works on it.
    #[error("another osdyno delivers from {}; wait for its end", .0.display())]
    Busy(PathBuf),
    /// It was begun for another delivery.
    #[error(
        "{} was begun with {theirs}, and this is {ours}: its results do not hold for that. Go on with the \
         options of its beginning, or name another folder",
        folder.display()
    )]
    OtherDelivery {
        /// The spool.
        folder: PathBuf,
        /// The delivery that it was begun for.
        theirs: String,
        /// The present delivery.
        ours: String,
    },
    /// It has results, but no line that names its delivery.
    #[error(
        "{} does not name its delivery: an older osdyno has begun it, or its file delivery is lost. Let \
         that osdyno go on, or name another folder",
        .0.display()
    )]
    Unknown(PathBuf),
    /// A line of a file is none.
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

/// The delivery of a spool. Results of one delivery do not hold for another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpoolTerms {
    version: u32,
    is_test: bool,
    sender: String,
    message: MessageChecksum,
}

const VERSION: u32 = 1;

impl SpoolTerms {
    /// Those of a delivery with these settings.
    pub fn new(settings: &SessionSettings) -> SpoolTerms {
        SpoolTerms {
            version: VERSION,
            is_test: settings.mode != Mode::Deliver,
            sender: settings.sender.clone(),
            message: settings.message.checksum(),
        }
    }

    /// The first thing in which they differ, in words: theirs, and ours.
    fn difference(&self, ours: &SpoolTerms) -> Option<(String, String)> {
        let mode =
            |terms: &SpoolTerms| if terms.is_test { "test deliveries" } else { "deliveries" }.to_owned();
        let sender = |terms: &SpoolTerms| format!("the sender <{}>", terms.sender);
        if self.version != ours.version {
            Some((format!("files of version {}", self.version), format!("version {}", ours.version)))
        } else if self.is_test != ours.is_test {
            Some((mode(self), mode(ours)))
        } else if self.sender != ours.sender {
            Some((sender(self), sender(ours)))
        } else if self.message != ours.message {
            Some((self.message.to_string(), ours.message.to_string()))
        } else {
            None
        }
    }
}

/// A folder that is locked for this process, with a spool or without.
#[derive(Debug)]
pub struct SpoolFolder {
    path: PathBuf,
    /// The lock holds for as long as it is open.
    delivery: File,
    /// `None` where there is no spool yet.
    terms: Option<SpoolTerms>,
}

/// A spool that is open, and closed to others.
#[derive(Debug)]
pub struct Spool {
    results: File,
    /// Lines that are not yet with the system.
    unwritten: Vec<u8>,
    /// Keeps the lock.
    _folder: SpoolFolder,
}

/// The results of an earlier engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EarlierResults {
    /// Recipients that can never be delivered to.
    pub failed: usize,
}

/// The part of a line that decides whether its recipient has ended.
#[derive(Deserialize)]
struct Ended {
    number: u32,
    ending: DeliveryEnding,
}

const DELIVERY: &str = "delivery";
const LIST: &str = "list";
const RESULTS: &str = "results";

impl SpoolFolder {
    /// Makes the folder where there is none, and locks it before it is read.
    ///
    /// # Errors
    /// [`SpoolError::Busy`], [`SpoolError::Unknown`], [`SpoolError::File`].
    pub fn lock(folder: &Path) -> Result<SpoolFolder, SpoolError> {
        make_folder(folder).map_err(failed("make the folder", folder))?;
        let path = folder.join(DELIVERY);
        let mut delivery = opened(&path)?;
        match delivery.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => return Err(SpoolError::Busy(folder.to_owned())),
            Err(fs::TryLockError::Error(error)) => return Err(failed("lock", &path)(error)),
        }
        let mut text = String::new();
        delivery.read_to_string(&mut text).map_err(failed("read", &path))?;
        let terms = match text.strip_suffix('\n') {
            Some(line) => {
                Some(serde_json::from_str(line).map_err(|_| SpoolError::Unknown(folder.to_owned()))?)
            }
            None if folder.join(RESULTS).exists() => return Err(SpoolError::Unknown(folder.to_owned())),
            None => None,
        };
        Ok(SpoolFolder { path: folder.to_owned(), delivery, terms })
    }

    /// Whether there is a list.
    pub fn has_list(&self) -> bool {
        self.terms.is_some()
    }

    /// Keeps the list, and then the terms of its delivery.
    ///
    /// # Errors
    /// [`SpoolError::File`].
    pub fn begin(mut self, terms: &SpoolTerms, recipients: &Recipients) -> Result<Spool, SpoolError> {
        let path = self.path.join(LIST);
        let write_list = || -> io::Result<()> {
            let mut out = BufWriter::new(File::create(&path)?);
            for address in recipients.addresses() {
                writeln!(out, "{address}")?;
            }
            out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
            sync_folder(&self.path)
        };
        write_list().map_err(failed("write", &path))?;
        let path = self.path.join(DELIVERY);
        let mut line = serde_json::to_vec(terms).map_err(|error| failed("write", &path)(error.into()))?;
        line.push(b'\n');
        // A killed engine may have left a part of the line.
        let cut = self.delivery.set_len(0);
        cut.and_then(|()| self.delivery.write_all(&line))
            .and_then(|()| self.delivery.sync_all())
            .map_err(failed("write", &path))?;
        self.terms = Some(terms.clone());
        let path = self.path.join(RESULTS);
        let results = opened(&path)?;
        sync_folder(&self.path).map_err(failed("write", &self.path))?;
        Ok(Spool { results, unwritten: Vec::new(), _folder: self })
    }

    /// Goes on with the list. It has those that have not ended; their numbers are as ever.
    ///
    /// # Errors
    /// [`SpoolError`].
    pub fn resume(self, terms: &SpoolTerms) -> Result<(Spool, Recipients, EarlierResults), SpoolError> {
        if let Some((theirs, ours)) = self.terms.as_ref().and_then(|known| known.difference(terms)) {
            return Err(SpoolError::OtherDelivery { folder: self.path, theirs, ours });
        }
        let path = self.path.join(LIST);
        let list = fs::read_to_string(&path).map_err(failed("read", &path))?;
        let mut recipients = Recipients::from_addresses(list.lines());
        let path = self.path.join(RESULTS);
        let mut results = opened(&path)?;
        let endings = read_results(&mut results, &path, recipients.len())?;
        let is_open = |number: u32| matches!(endings[number as usize], None | Some(DeliveryEnding::Queued));
        recipients.retain(is_open);
        let failed = endings.iter().filter(|&&ending| ending == Some(DeliveryEnding::Failed)).count();
        let spool = Spool { results, unwritten: Vec::new(), _folder: self };
        Ok((spool, recipients, EarlierResults { failed }))
    }
}

fn opened(path: &Path) -> Result<File, SpoolError> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true).open(path).map_err(failed("open", path))
}

/// A file that was made is still there after a crash of the system once its folder is written.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

/// The outcome of each recipient. A part of a last line, which a killed engine left, is cut off.
fn read_results(
    results: &mut File,
    path: &Path,
    recipients: usize,
) -> Result<Vec<Option<DeliveryEnding>>, SpoolError> {
    let mut endings = vec![None; recipients];
    let mut text = Vec::new();
    results.read_to_end(&mut text).map_err(failed("read", path))?;
    let whole = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
    if whole < text.len() {
        results.set_len(whole as u64).map_err(failed("shorten", path))?;
    }
    for (index, line) in text[..whole].split_inclusive(|&byte| byte == b'\n').enumerate() {
        let ended = serde_json::from_slice::<Ended>(line).ok();
        let place = ended.as_ref().and_then(|ended| endings.get_mut(ended.number as usize));
        let (Some(ended), Some(place)) = (ended, place) else {
            return Err(SpoolError::Line { path: path.to_owned(), line: index + 1 });
        };
        *place = Some(ended.ending);
    }
    Ok(endings)
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
    use std::sync::Arc;

    use super::*;
    use crate::context::RESULTS_VERSION;
    use crate::message::Message;

    fn settings(mode: Mode, sender: &str, text: &str) -> SessionSettings {
        SessionSettings {
            mode,
            helo: "engine.test".to_owned(),
            sender: sender.to_owned(),
            message: Arc::new(Message::new(text.as_bytes(), "engine.test", 1).unwrap()),
            deliveries_per_connection: 1,
        }
    }

    fn terms() -> SpoolTerms {
        SpoolTerms::new(&settings(Mode::Deliver, "a@b.test", "hello"))
    }

    fn begin(folder: &Path, recipients: &Recipients) -> Spool {
        let locked = SpoolFolder::lock(folder).unwrap();
        assert!(!locked.has_list());
        locked.begin(&terms(), recipients).unwrap()
    }

    fn resume(folder: &Path) -> Result<(Spool, Recipients, EarlierResults), SpoolError> {
        let locked = SpoolFolder::lock(folder)?;
        assert!(locked.has_list());
        locked.resume(&terms())
    }

    fn put(spool: &mut Spool, number: u32, ending: DeliveryEnding) {
        let result = DeliveryResult {
            version: RESULTS_VERSION,
            number,
            recipient: "x",
            ending,
            code: None,
            reply: "",
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
        let list =
            Recipients::from_addresses(["a@one.test", "b@two.test", "none", "c@one.test", "d@two.test"]);
        let mut spool = begin(&folder, &list);
        put(&mut spool, 1, DeliveryEnding::Delivered);
        put(&mut spool, 2, DeliveryEnding::Failed);
        put(&mut spool, 3, DeliveryEnding::Queued);
        assert!(matches!(SpoolFolder::lock(&folder), Err(SpoolError::Busy(_))));
        // Killed in the middle of a line.
        spool.results.write_all(b"{\"number\":0,\"rec").unwrap();
        drop(spool);
        let (mut spool, left, earlier) = resume(&folder).unwrap();
        assert_eq!((left.len(), left.waiting(), left.broken()), (5, 3, &[][..]));
        assert_eq!(earlier.failed, 1);
        assert_eq!(left.get(4).unwrap().address, "d@two.test");
        put(&mut spool, 3, DeliveryEnding::Delivered);
        drop(spool);
        assert_eq!(resume(&folder).unwrap().1.waiting(), 2);
    }

    #[test]
    fn results_of_another_list_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        drop(begin(folder.path(), &Recipients::from_addresses(["a@one.test"])));
        for line in ["{\"number\":1,\"ending\":\"failed\"}\n", "nonsense\n", "\n"] {
            fs::write(folder.path().join(RESULTS), line).unwrap();
            let error = resume(folder.path()).unwrap_err();
            assert!(error.to_string().contains("line 1"), "{error}");
        }
    }

    /// An engine that is killed while it begins leaves no spool, and the next one begins.
    #[test]
    fn a_spool_that_was_not_finished_is_begun_anew() {
        let folder = tempfile::tempdir().unwrap();
        let list = Recipients::from_addresses(["a@one.test", "b@two.test"]);
        let line = serde_json::to_string(&terms()).unwrap();
        for left in [&[][..], &[(LIST, "a@one.t")], &[(LIST, "x@y.test\n"), (DELIVERY, &line)]] {
            let folder = tempfile::tempdir_in(folder.path()).unwrap();
            for (name, text) in left {
                fs::write(folder.path().join(name), text).unwrap();
            }
            drop(begin(folder.path(), &list));
            assert_eq!(resume(folder.path()).unwrap().1.waiting(), 2, "{left:?}");
            let mut names: Vec<_> =
                fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            assert_eq!(names, [DELIVERY, LIST, RESULTS], "{left:?}");
        }
    }

    #[test]
    fn a_spool_is_for_one_delivery() {
        let folder = tempfile::tempdir().unwrap();
        drop(begin(folder.path(), &Recipients::from_addresses(["a@one.test"])));
        for (other, said) in [
            (settings(Mode::Test, "a@b.test", "hello"), "begun with deliveries, and this is test deliveries"),
            (settings(Mode::Deliver, "", "hello"), "the sender <>"),
            (settings(Mode::Deliver, "a@b.test", "hellp"), "a message of 5 bytes"),
        ] {
            let refused = SpoolFolder::lock(folder.path()).unwrap().resume(&SpoolTerms::new(&other));
            let refused = refused.unwrap_err().to_string();
            assert!(refused.contains(said), "{refused}");
        }
        assert_eq!(resume(folder.path()).unwrap().1.waiting(), 1);
        // One of an older program, with an unknown mode.
        fs::remove_file(folder.path().join(DELIVERY)).unwrap();
        assert!(matches!(SpoolFolder::lock(folder.path()), Err(SpoolError::Unknown(_))));
    }
}

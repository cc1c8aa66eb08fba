//! The files below the root, opened once and checked again once per second at most.

use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sys::file::Root;

use super::page::{Body, Identity, Page, Reading, listing, media_type};
use super::request::{Refusal, Target, decode_path, encode_path};
use super::response::Now;

/// Paths that are kept.
const KEPT_MAX: usize = 1024;

/// Of them, those whose file stays open; descriptors are for connections.
const OPEN_MAX: usize = 64;

/// Of them, bytes in memory.
const BYTES_MAX: usize = 32 << 20;

/// The page or the redirection of a path, ready to be sent.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) plain: Page,
    /// Its compressed neighbour, `NAME.gz`, where that is no older.
    pub(super) gzip: Option<Page>,
    plain_is: Identity,
    gzip_is: Option<Identity>,
    /// Whether it had been left alone for a second when it was read. Otherwise it may have been written to
    /// since without any change of its identity, because clocks of file systems are coarse.
    is_settled: bool,
}

impl Entry {
    /// Descriptors and bytes of memory that it takes.
    fn cost(&self) -> (usize, usize) {
        let pages = [Some(&self.plain), self.gzip.as_ref()];
        pages.into_iter().flatten().fold((0, 0), |(open, bytes), page| match &page.body {
            Body::File(_) => (open + 1, bytes),
            Body::Memory(body) => (open, bytes + body.len()),
        })
    }
}

/// Why a path has no response with a file.
#[derive(Debug)]
pub(super) enum Miss {
    /// No path.
    Refused(Refusal),
    /// A status other than 200.
    Status(u16),
    /// A folder was named without the slash; this is its location with it.
    Moved(Vec<u8>),
}

const NOT_FOUND: Miss = Miss::Status(404);
const FORBIDDEN: Miss = Miss::Status(403);

/// All files below a root.
#[derive(Debug)]
pub(super) struct Files {
    root: Root,
    listing: bool,
    kept: Mutex<Kept>,
    /// Descriptors that are given up for a moment to open a file when connections have taken all others.
    reserve: Mutex<Vec<File>>,
}

/// A file and its compressed neighbour, with the times of the last check of each.
const RESERVE: usize = 3;

/// Recent entries, by the path in requests.
#[derive(Debug, Default)]
struct Kept {
    slots: HashMap<Box<[u8]>, Slot>,
    open: usize,
    bytes: usize,
}

#[derive(Debug)]
struct Slot {
    entry: Arc<Entry>,
    /// The second in which the file was checked.
    seen: u64,
    /// Whether it was requested since the last clearing.
    is_used: bool,
}

impl Files {
    pub(super) fn new(root: Root, listing: bool) -> Files {
        let files = Files { root, listing, kept: Mutex::default(), reserve: Mutex::default() };
        files.refill();
        files
    }

    /// Restores the reserve, as far as there are descriptors.
    fn refill(&self) {
        let mut reserve = self.reserve.lock().unwrap_or_else(PoisonError::into_inner);
        while reserve.len() < RESERVE
            && let Ok(another) = self.root.open(b"")
        {
            reserve.push(another);
        }
    }

    /// Opens with the descriptors that are in reserve.
    fn open_with_reserve(&self, target: &Target, now: &Now) -> Result<Arc<Entry>, Miss> {
        self.kept().close_files();
        self.reserve.lock().unwrap_or_else(PoisonError::into_inner).clear();
        let found = self.open(target, None, now);
        self.refill();
        found
    }

    /// The entry for a path of a request.
    #[inline]
    pub(super) fn find(&self, raw: &[u8], now: &Now) -> Result<Arc<Entry>, Miss> {
        let known = match self.kept().slots.get_mut(raw) {
            None => None,
            Some(slot) => {
                slot.is_used = true;
                let entry = Arc::clone(&slot.entry);
                if slot.seen == now.second {
                    return Ok(entry);
                }
                // Other threads need not check too.
                slot.seen = now.second;
                Some(entry)
            }
        };
        self.look(raw, known, now)
    }

    #[cold]
    fn look(&self, raw: &[u8], known: Option<Arc<Entry>>, now: &Now) -> Result<Arc<Entry>, Miss> {
        let was_known = known.is_some();
        let found = decode_path(raw).map_err(Miss::Refused).and_then(|target| {
            let again = known.clone();
            match (self.open(&target, known, now), again) {
                // An entry of a second ago is good enough, and costs other connections nothing.
                (Err(Miss::Status(503)), Some(known)) => Ok(known),
                (Err(Miss::Status(503)), None) => self.open_with_reserve(&target, now),
                (found, _) => found,
            }
        });
        let mut kept = self.kept();
        kept.remove(raw);
        if let Ok(entry) = &found {
            kept.insert(raw, Slot { entry: Arc::clone(entry), seen: now.second, is_used: was_known });
        }
        found
    }

    fn open(&self, target: &Target, known: Option<Arc<Entry>>, now: &Now) -> Result<Arc<Entry>, Miss> {
        if target.is_hidden {
            return Err(NOT_FOUND);
        }
        let (file, metadata) = self.open_one(&target.path)?;
        if !metadata.is_dir() {
            if target.is_folder {
                return Err(NOT_FOUND);
            }
            return self.entry(&target.path, file, &metadata, known, now);
        }
        if !target.is_folder {
            let mut location = b"/".to_vec();
            encode_path(&target.path, &mut location);
            location.push(b'/');
            return Err(Miss::Moved(location));
        }
        let slash: &[u8] = if target.path.is_empty() { b"" } else { b"/" };
        let index = [&target.path, slash, b"index.html"].concat();
        match self.open_one(&index) {
            Ok((file, metadata)) if metadata.is_file() => self.entry(&index, file, &metadata, known, now),
            Ok(_) | Err(Miss::Status(404)) if self.listing => {
                let text = listing(&target.path, &file).map_err(|error| miss(&error))?;
                let plain_is = Identity::from_metadata(&metadata);
                let plain = Page::of_text(text);
                Ok(Arc::new(Entry { plain, gzip: None, plain_is, gzip_is: None, is_settled: false }))
            }
            Ok(_) | Err(Miss::Status(404)) => Err(FORBIDDEN),
            Err(other) => Err(other),
        }
    }

    /// Opens a folder or a regular file; nothing else is served.
    fn open_one(&self, path: &[u8]) -> Result<(File, Metadata), Miss> {
        let file = self.root.open(path).map_err(|error| miss(&error))?;
        let metadata = file.metadata().map_err(|error| miss(&error))?;
        if metadata.is_file() || metadata.is_dir() { Ok((file, metadata)) } else { Err(NOT_FOUND) }
    }

    /// The known entry, where the files are still the same; else reads them.
    fn entry(
        &self,
        path: &[u8],
        file: File,
        metadata: &Metadata,
        known: Option<Arc<Entry>>,
        now: &Now,
    ) -> Result<Arc<Entry>, Miss> {
        let plain_is = Identity::from_metadata(metadata);
        let gzip_file = self.gzip_of(path, &plain_is);
        let gzip_is = gzip_file.as_ref().map(|(_, identity)| *identity);
        if let Some(known) = known
            && known.is_settled
            && (known.plain_is, known.gzip_is) == (plain_is, gzip_is)
        {
            return Ok(known);
        }
        let reading = Reading { kind: media_type(path), is_gzip: false, varies: gzip_is.is_some() };
        let gzip = match gzip_file {
            None => None,
            Some((file, identity)) => {
                let reading = Reading { is_gzip: true, ..reading };
                Some(Page::of_file(file, &identity, reading, now).map_err(|error| miss(&error))?)
            }
        };
        let plain = Page::of_file(file, &plain_is, reading, now).map_err(|error| miss(&error))?;
        let last = gzip_is.map_or(0, |identity| identity.last_second()).max(plain_is.last_second());
        let is_settled = now.second > last.saturating_add(1);
        Ok(Arc::new(Entry { plain, gzip, plain_is, gzip_is, is_settled }))
    }

    fn gzip_of(&self, path: &[u8], plain: &Identity) -> Option<(File, Identity)> {
        let (file, metadata) = self.open_one(&[path, b".gz"].concat()).ok()?;
        let identity = Identity::from_metadata(&metadata);
        (metadata.is_file() && !identity.is_older_than(plain)).then_some((file, identity))
    }

    /// A panic while it was held leaves it consistent: no change takes two steps.
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn insert(&mut self, raw: &[u8], slot: Slot) {
        let (open, bytes) = slot.entry.cost();
        if !self.has_room(open, bytes) {
            self.make_room(open, bytes);
        }
        self.open += open;
        self.bytes += bytes;
        self.slots.insert(raw.into(), slot);
    }

    fn remove(&mut self, raw: &[u8]) {
        if let Some(slot) = self.slots.remove(raw) {
            let (open, bytes) = slot.entry.cost();
            self.open -= open;
            self.bytes -= bytes;
        }
    }

    /// Forgets entries whose files are open; those in memory stay.
    fn close_files(&mut self) {
        self.slots.retain(|_, slot| slot.entry.cost().0 == 0);
        self.open = 0;
        self.bytes = self.slots.values().map(|slot| slot.entry.cost().1).sum();
    }

    fn has_room(&self, open: usize, bytes: usize) -> bool {
        self.slots.len() < KEPT_MAX && self.open + open <= OPEN_MAX && self.bytes + bytes <= BYTES_MAX
    }

    /// Forgets entries without a second request since the last time; or all, where that is not enough.
    fn make_room(&mut self, open: usize, bytes: usize) {
        self.slots.retain(|_, slot| std::mem::take(&mut slot.is_used));
        let costs = self.slots.values().map(|slot| slot.entry.cost());
        (self.open, self.bytes) = costs.fold((0, 0), |sum, cost| (sum.0 + cost.0, sum.1 + cost.1));
        if !self.has_room(open, bytes) {
            *self = Kept::default();
        }
    }
}

/// The response to an error of the file system.
fn miss(error: &io::Error) -> Miss {
    use io::ErrorKind;

    match error.kind() {
        ErrorKind::PermissionDenied => FORBIDDEN,
        ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::InvalidFilename => NOT_FOUND,
        // Names were changed under way, again and again.
        ErrorKind::WouldBlock => Miss::Status(503),
        _ if sys::error::out_of_descriptors(error) => Miss::Status(503),
        _ => Miss::Status(500),
    }
}

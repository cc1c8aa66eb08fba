//! Kernel objects that outlive the processes that made them: segments and message queues of System V, shared
//! memory objects and message queues of POSIX, control groups.
//!
//! A trial writes down their names before it makes them. It removes them itself; where it was killed, its
//! supervisor or the janitor of the run does, by the names that were written down.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

#[cfg(target_os = "linux")]
use linux as platform;
#[cfg(not(target_os = "linux"))]
use other as platform;

/// The file in the scratch folder that has the names.
const FILE: &str = "kernel-objects";

/// A kind of such objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PersistentKind {
    /// A segment of shared memory, shmget(2).
    Segment,
    /// A message queue, msgget(2).
    MessageQueue,
    /// A shared memory object, shm_open(3).
    SharedObject,
    /// A message queue, mq_open(3).
    PosixQueue,
    /// A control group below that of this process, cgroups(7).
    ControlGroup,
}

const KINDS: [(PersistentKind, &str); 5] = [
    (PersistentKind::Segment, "segment"),
    (PersistentKind::MessageQueue, "message-queue"),
    (PersistentKind::SharedObject, "shared-object"),
    (PersistentKind::PosixQueue, "posix-queue"),
    (PersistentKind::ControlGroup, "control-group"),
];

/// Makes the file for the names in a new scratch folder. It must be there before a trial is: a janitor that
/// opens it has all names, also those that are written down while it removes the folder.
///
/// # Errors
/// Those of open(2).
pub fn prepare(scratch: &Path) -> io::Result<()> {
    append(&scratch.join(FILE), "")
}

/// The names of objects that a process makes. It removes those that exist when it is dropped.
#[derive(Debug)]
pub struct PersistentNames {
    range: NameRange,
    file: PathBuf,
    maker: u32,
}

/// Keys of System V from a first one on, or names of POSIX that end with such numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct NameRange {
    kind: PersistentKind,
    first: u32,
    count: u32,
}

impl PersistentNames {
    /// Chooses so many names that nothing has, and writes them down in the scratch folder.
    ///
    /// # Errors
    /// Unsupported on systems without such objects; those of write(2).
    pub fn reserve(scratch: &Path, kind: PersistentKind, count: usize) -> io::Result<PersistentNames> {
        let count = u32::try_from(count).map_err(io::Error::other)?;
        let range = NameRange { kind, first: platform::free_range(kind, count)?, count };
        let (file, maker) = (scratch.join(FILE), std::process::id());
        append(&file, &format!("+ {}", range.line()))?;
        Ok(PersistentNames { range, file, maker })
    }

    /// The number of an object: its key, or the end of its name.
    pub fn number(&self, place: usize) -> u32 {
        self.range.first.wrapping_add(place as u32)
    }
}

impl Drop for PersistentNames {
    fn drop(&mut self) {
        // A helper that was forked has a copy.
        if self.maker == std::process::id() {
            platform::remove(self.range.kind, self.range.numbers());
            // The janitor would look for them once more.
            let _ = append(&self.file, &format!("- {}", self.range.line()));
        }
    }
}

impl NameRange {
    fn line(self) -> String {
        let name = KINDS.iter().find(|(kind, _)| *kind == self.kind).map_or("", |(_, name)| name);
        format!("{name} {} {}\n", self.first, self.count)
    }

    /// `segment 1000 20`
    fn parse(line: &str) -> Option<NameRange> {
        let mut words = line.split(' ');
        let name = words.next()?;
        let (kind, _) = *KINDS.iter().find(|(_, known)| *known == name)?;
        Some(NameRange { kind, first: words.next()?.parse().ok()?, count: words.next()?.parse().ok()? })
    }

    fn numbers(self) -> impl Iterator<Item = u32> {
        (0..self.count).map(move |place| self.first.wrapping_add(place))
    }
}

fn append(file: &Path, line: &str) -> io::Result<()> {
    let mut file = std::fs::File::options().append(true).create(true).open(file)?;
    file.write_all(line.as_bytes())
}

/// Removes the objects that processes have left, by the names in a scratch folder. It finds them also when
/// the folder was removed in the meantime.
#[derive(Debug)]
pub struct PersistentCleaner {
    file: PathBuf,
    open: Option<std::fs::File>,
}

impl PersistentCleaner {
    /// For the scratch folder of that path.
    pub fn new(scratch: &Path) -> PersistentCleaner {
        PersistentCleaner { file: scratch.join(FILE), open: None }
    }

    /// Removes all objects written down so far that their maker did not remove.
    pub fn remove(&mut self) {
        use std::io::{Read, Seek};
        if self.open.is_none() {
            self.open = std::fs::File::open(&self.file).ok();
        }
        let Some(open) = &mut self.open else { return };
        let mut text = String::new();
        if open.rewind().and_then(|()| open.read_to_string(&mut text)).is_err() {
            return;
        }
        for range in left(&text) {
            platform::remove(range.kind, range.numbers());
        }
    }
}

/// The names that were written down and not crossed out. A last line may be unfinished.
fn left(text: &str) -> Vec<NameRange> {
    let mut left: Vec<NameRange> = Vec::new();
    for line in text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')) {
        match line.split_at_checked(2) {
            Some(("+ ", line)) => left.extend(NameRange::parse(line)),
            Some(("- ", line)) => left.retain(|range| Some(*range) != NameRange::parse(line)),
            _ => {}
        }
    }
    left
}

/// Linux: sysvipc(7), shm_overview(7), mq_overview(7) and cgroups(7).
#[cfg(target_os = "linux")]
mod linux {
    use std::hash::{BuildHasher, Hasher, RandomState};
    use std::io;

    use super::PersistentKind;
    use crate::control_group::ControlGroup;
    use crate::message_queue::{PosixQueue, SystemVQueue};
    use crate::shared_memory::{SharedObject, SystemVSegment};

    /// How often other names are tried when some are in use.
    const TRIES: u32 = 100;

    /// The first of so many numbers that no object of that kind has.
    pub(super) fn free_range(kind: PersistentKind, count: u32) -> io::Result<u32> {
        for _ in 0..TRIES {
            // 0 is `IPC_PRIVATE`, which is no name.
            let first = (RandomState::new().build_hasher().finish() as u32 >> 1).max(1);
            let first = first.min(i32::MAX.unsigned_abs() - count);
            if (first..first + count).all(|number| is_free(kind, number)) {
                return Ok(first);
            }
        }
        Err(io::Error::other("no names are free"))
    }

    fn is_free(kind: PersistentKind, number: u32) -> bool {
        match kind {
            PersistentKind::Segment => !SystemVSegment::exists(number),
            PersistentKind::MessageQueue => !SystemVQueue::exists(number),
            // Nothing else has such names, unless it has the same number of 31 bits by chance.
            PersistentKind::SharedObject | PersistentKind::PosixQueue | PersistentKind::ControlGroup => true,
        }
    }

    /// Removes those that exist.
    pub(super) fn remove(kind: PersistentKind, numbers: impl Iterator<Item = u32>) {
        for number in numbers {
            // An object that is not there is removed.
            let _ = match kind {
                PersistentKind::Segment => SystemVSegment::open(number).and_then(|one| one.remove()),
                PersistentKind::MessageQueue => SystemVQueue::open(number).and_then(|one| one.remove()),
                PersistentKind::SharedObject => SharedObject::name(number).and_then(|one| one.remove()),
                PersistentKind::PosixQueue => PosixQueue::remove(number),
                PersistentKind::ControlGroup => ControlGroup::name(number).and_then(|one| one.remove()),
            };
        }
    }
}

/// Systems on which nothing makes such objects.
#[cfg(not(target_os = "linux"))]
mod other {
    use std::io;

    use super::PersistentKind;

    pub(super) fn free_range(_: PersistentKind, _: u32) -> io::Result<u32> {
        Err(crate::Unsupported("objects that outlive processes are made on Linux only").into())
    }

    pub(super) fn remove(_: PersistentKind, _: impl Iterator<Item = u32>) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_were_crossed_out_are_not_left() {
        let text =
            "+ segment 5 2\n+ posix-queue 4294967295 3\n- segment 5 2\nnonsense\n+ segment 6 1\n+ segm";
        let range = |kind, first, count| NameRange { kind, first, count };
        let queue = range(PersistentKind::PosixQueue, u32::MAX, 3);
        assert_eq!(left(text), [queue, range(PersistentKind::Segment, 6, 1)]);
        assert_eq!(queue.numbers().collect::<Vec<u32>>(), [u32::MAX, 0, 1]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_a_killed_process_left_is_removed_by_its_names() {
        use crate::shared_memory::SharedObject;
        let scratch = std::env::temp_dir().join(format!("osdyno-persistent-{}", std::process::id()));
        std::fs::create_dir(&scratch).expect("a folder");
        let mut cleaner = PersistentCleaner::new(&scratch);
        cleaner.remove();
        let names = PersistentNames::reserve(&scratch, PersistentKind::SharedObject, 2).expect("names");
        let object = SharedObject::name(names.number(1)).expect("a name");
        object.create().expect("an object");
        cleaner.remove();
        // It can be made again, because it is gone.
        object.create().expect("an object");
        std::fs::remove_dir_all(&scratch).expect("it can be removed");
        cleaner.remove();
        object.create().expect("an object, because the names are still known");
        drop(names);
        let _ = std::fs::remove_dir_all(&scratch);
    }
}

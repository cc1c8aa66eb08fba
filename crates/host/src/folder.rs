//! Removes a folder that processes may still be writing to.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::guard::GRACE;

/// A trial that is being ended at this moment may still be writing into the folder.
const PATIENCE: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(50);

/// Removes a folder with all that is in it.
///
/// # Errors
/// Those of unlink(2) and rmdir(2), when they last.
pub(crate) fn remove_folder(folder: &Path) -> io::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match std::fs::remove_dir_all(folder) {
            Ok(()) => return Ok(()),
            Err(_) if !folder.exists() => return Ok(()),
            Err(_) if Instant::now() < deadline => std::thread::sleep(PAUSE),
            Err(error) => return Err(error),
        }
    }
}

/// The message of a process to its janitor before the folder is removed: everything else has ended.
pub const ORDERLY: &[u8] = b"\n";

/// How long children of a killed process may go on: a guard gives its command time, and then ends.
const AFTERMATH: Duration = GRACE.saturating_add(Duration::from_secs(2));

/// Removes a folder, and the kernel objects whose names it has, when standard input ends, which happens when
/// the process that holds the other end has ended in any way: a killed process cannot clean up after itself.
/// Unless that process has written [`ORDERLY`] before, its children may still make the folder again, so the
/// folder is watched for a while.
///
/// # Errors
/// Those of unlink(2) and rmdir(2), when they last.
pub fn janitor(folder: &Path) -> io::Result<()> {
    let anchor = Anchor::new(folder);
    let mut stdin = io::stdin().lock();
    let (mut sink, mut is_orderly) = ([0_u8; 64], false);
    while matches!(stdin.read(&mut sink), Ok(1..)) {
        is_orderly = true;
    }
    let mut objects = sys::persistent::PersistentCleaner::new(folder);
    let mut remove = || {
        objects.remove();
        let anchored = anchor.as_ref().map_or(Ok(()), |anchor| remove_folder(&anchor.path));
        anchored.and(remove_folder(folder))
    };
    let begun = Instant::now();
    loop {
        remove()?;
        if is_orderly || begun.elapsed() > AFTERMATH {
            return Ok(());
        }
        std::thread::sleep(PAUSE);
    }
}

/// The way to a folder through a descriptor of its parent: it still leads there when the file system was
/// unmounted lazily and another one lies behind the path.
#[derive(Debug)]
struct Anchor {
    path: PathBuf,
    /// Open as long as the path is used.
    _parent: File,
}

impl Anchor {
    /// On systems without such ways it leads nowhere.
    fn new(folder: &Path) -> Option<Anchor> {
        let parent = File::open(folder.parent()?).ok()?;
        let number = cfg_select! {
            unix => { std::os::fd::AsRawFd::as_raw_fd(&parent) }
            _ => { -1 }
        };
        let path = Path::new("/proc/self/fd").join(number.to_string()).join(folder.file_name()?);
        Some(Anchor { path, _parent: parent })
    }
}

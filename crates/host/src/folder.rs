//! Removes a folder that processes may still be writing to.

use std::io::{self, Read};
use std::path::Path;
use std::time::{Duration, Instant};

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

/// Removes a folder when standard input ends, which it does when the process that holds the other end is
/// gone, however it went: a killed process cannot clean up after itself.
///
/// # Errors
/// Those of unlink(2) and rmdir(2), when they last.
pub fn janitor(folder: &Path) -> io::Result<()> {
    let mut stdin = io::stdin().lock();
    let mut sink = [0_u8; 64];
    while matches!(stdin.read(&mut sink), Ok(1..)) {}
    remove_folder(folder)
}

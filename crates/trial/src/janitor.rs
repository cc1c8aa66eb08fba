//! Removes the run's scratch folder when the runner is gone, however it went: a killed process cannot
//! clean up after itself, but its end closes our standard input.

use std::io::{self, Read};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::Done;

/// A trial that is being ended at this moment may still be writing into the folder.
const PATIENCE: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(50);

pub(crate) fn wait_and_remove(folder: &str) -> Done {
    let folder = Path::new(folder);
    let mut stdin = io::stdin().lock();
    let mut sink = [0_u8; 64];
    while matches!(stdin.read(&mut sink), Ok(1..)) {}
    let deadline = Instant::now() + PATIENCE;
    loop {
        match std::fs::remove_dir_all(folder) {
            Ok(()) => return Ok(()),
            Err(_) if !folder.exists() => return Ok(()),
            Err(_) if Instant::now() < deadline => std::thread::sleep(PAUSE),
            Err(error) => return Err(format!("cannot remove {}: {error}", folder.display()).into()),
        }
    }
}

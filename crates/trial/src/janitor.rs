//! Removes the run's scratch folder when the runner is gone, however it went: a killed process cannot
//! clean up after itself, but its end closes our standard input.

use std::io::{self, Read};
use std::path::Path;

use crate::Done;

pub(crate) fn wait_and_remove(folder: &str) -> Done {
    let folder = Path::new(folder);
    let mut stdin = io::stdin().lock();
    let mut sink = [0_u8; 64];
    while matches!(stdin.read(&mut sink), Ok(1..)) {}
    std::fs::remove_dir_all(folder)
        .map_err(|error| format!("cannot remove {}: {error}", folder.display()))?;
    Ok(())
}

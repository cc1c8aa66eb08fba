//! What cargo needs to compile C and to link for one target.

use std::path::PathBuf;

/// Programs, and what they and rustc find in their environment.
pub(super) struct Tools {
    pub(super) compiler: PathBuf,
    pub(super) archiver: PathBuf,
    pub(super) environment: Vec<(&'static str, PathBuf)>,
}

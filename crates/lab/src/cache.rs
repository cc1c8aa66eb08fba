//! Where this user's files lie that can be made again.

use std::path::PathBuf;

use etcetera::{BaseStrategy, choose_base_strategy};

use crate::Error;

/// `osdyno` below `$XDG_CACHE_HOME` or `~/.cache`.
///
/// # Errors
/// [`Error::NoCache`], when there is no home folder.
pub(crate) fn folder() -> Result<PathBuf, Error> {
    let strategy = choose_base_strategy().map_err(|error| Error::NoCache(error.to_string()))?;
    Ok(strategy.cache_dir().join("osdyno"))
}

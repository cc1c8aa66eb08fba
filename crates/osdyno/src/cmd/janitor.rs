//! Removes the scratch folder of a run when the run is over, however it ended.

use std::path::PathBuf;
use std::process::ExitCode;

use super::Done;
use crate::failure::Failure;

/// Remove a folder when standard input ends; `run` executes it
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The folder
    folder: PathBuf,
}

pub(crate) fn janitor(args: &Args) -> Done {
    let folder = &args.folder;
    let failed =
        |error| Failure::Refused(format!("cannot remove {}: {error}; remove it by hand", folder.display()));
    runner::janitor(folder).map_err(failed)?;
    Ok(ExitCode::SUCCESS)
}

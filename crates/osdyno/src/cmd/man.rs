//! `osdyno man`: the manual pages, one for each verb, from the same words as the help.

use std::path::PathBuf;
use std::process::ExitCode;

use super::Done;
use crate::failure::Failure;

/// Write the manual pages into a folder
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The folder, which exists
    folder: PathBuf,
}

pub(crate) fn man(args: &Args, command: clap::Command) -> Done {
    clap_mangen::generate_to(command, &args.folder).map_err(Failure::writing(&args.folder))?;
    Ok(ExitCode::SUCCESS)
}

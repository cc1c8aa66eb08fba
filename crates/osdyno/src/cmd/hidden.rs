//! Hidden verbs, which `osdyno run` executes: one removes its scratch folder when the run is over, however it
//! ended; the other executes the command of a system on a new file system, which only that command sees.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use runner::FileSystem;

use super::Done;
use crate::console::{Failure, tell};

/// Remove a folder when standard input ends; `run` executes it
#[derive(clap::Args)]
pub(crate) struct JanitorArgs {
    /// The folder
    folder: PathBuf,
}

pub(crate) fn janitor(args: &JanitorArgs) -> Done {
    let folder = &args.folder;
    let failed =
        |error| Failure::Refused(format!("cannot remove {}: {error}; remove it by hand", folder.display()));
    runner::janitor(folder).map_err(failed)?;
    Ok(ExitCode::SUCCESS)
}

/// Execute a command on a new file system of its own; `run --fs` executes it
#[derive(clap::Args)]
pub(crate) struct MountedArgs {
    /// Device for the file system, instead of an image
    #[arg(long)]
    device: Option<PathBuf>,
    /// Kind and options of the file system
    #[arg(value_parser = FileSystem::parse)]
    file_system: FileSystem,
    /// The folder that it is mounted on
    folder: PathBuf,
    /// The command
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

pub(crate) fn mounted(args: &MountedArgs) -> Done {
    let device = args.device.as_deref();
    match args.file_system.execute(&args.folder, device, &args.command, tell) {
        Ok(never) => match never {},
        Err(refusal) => {
            refusal.tell()?;
            Ok(ExitCode::FAILURE)
        }
    }
}

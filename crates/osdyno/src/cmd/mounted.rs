//! Executes the command of a system on a new file system, which only that command sees.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use runner::FileSystem;

use super::Done;
use crate::console::tell;

/// Execute a command on a new file system of its own; `run --fs` executes it
#[derive(clap::Args)]
pub(crate) struct Args {
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

pub(crate) fn mounted(args: &Args) -> Done {
    let device = args.device.as_deref();
    match args.file_system.execute(&args.folder, device, &args.command, tell) {
        Ok(never) => match never {},
        Err(refusal) => {
            refusal.tell()?;
            Ok(ExitCode::FAILURE)
        }
    }
}

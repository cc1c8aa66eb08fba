//! `osdyno compare`: which system is faster, by how much, how surely.

use std::path::PathBuf;
use std::process::ExitCode;

use super::Done;
use crate::console::Console;

/// Compare runs: which system is faster, by how much, how surely
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The run files; all others are compared with the first
    #[arg(value_name = "RUN", num_args = 2.., required = true)]
    runs: Vec<PathBuf>,
}

pub(crate) fn compare(_args: &Args, _console: &Console) -> Done {
    Ok(ExitCode::SUCCESS)
}

//! `osdyno completions`: a completion script for a shell.

use std::io;
use std::process::ExitCode;

use clap_complete::Shell;

use super::Done;

/// Print a completion script for a shell
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

pub(crate) fn completions(args: &Args, mut command: clap::Command) -> Done {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "osdyno", &mut script);
    io::Write::write_all(&mut io::stdout().lock(), &script)?;
    Ok(ExitCode::SUCCESS)
}

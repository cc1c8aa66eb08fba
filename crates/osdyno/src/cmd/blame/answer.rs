//! The answer of a run that has just sampled.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use inspect::blame::Blame;
use judge::Findings;
use record::Recording;

use super::super::write_file;
use super::{page, text};
use crate::console::{Console, results};
use crate::failure::{Failure, INCOMPLETE};

/// `a.osdyno` becomes `a-blame.osdyno`.
pub(in crate::cmd) fn beside(run: &Path, extension: &str) -> PathBuf {
    let name = run.file_stem().unwrap_or(run.as_os_str()).to_string_lossy();
    run.with_file_name(format!("{name}-blame.{extension}"))
}

/// The answer of a run that has just sampled, with its page.
pub(in crate::cmd) fn of_run(
    (recording, findings): (&Recording, &Findings),
    page: &Path,
    verbose: bool,
    console: &Console,
) -> Result<ExitCode, Failure> {
    let blame = Blame::of(recording, findings);
    write_file(page, false, |out| page::write(&blame, findings, out))?;
    let mut out = BufWriter::new(results());
    writeln!(out)?;
    text::write(&blame, verbose, &console.style, &mut out)?;
    out.flush()?;
    Ok(exit_code(&blame))
}

pub(super) fn exit_code(blame: &Blame) -> ExitCode {
    let is_missing = !blame.unexplained.is_empty() || !blame.reasons.is_empty();
    if is_missing { ExitCode::from(INCOMPLETE) } else { ExitCode::SUCCESS }
}

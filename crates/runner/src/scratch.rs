//! The scratch folder of a run, which is removed at the end even if osdyno is killed.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::Error;
use crate::programs::Programs;

/// A folder of the run's own, with the measured programs in it and a janitor beside it: a process that
/// removes the folder when this one ends, be it by SIGKILL.
#[derive(Debug)]
pub(crate) struct Scratch {
    path: PathBuf,
    pub(crate) programs: Programs,
    janitor: Child,
}

impl Scratch {
    pub(crate) fn make(parent: &Path) -> Result<Scratch, Error> {
        let failed = |source| Error::Scratch { path: parent.to_owned(), source };
        // Orders are JSON, which holds no other names.
        if parent.to_str().is_none() {
            return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, "its name is not UTF-8")));
        }
        let folder = tempfile::Builder::new().prefix("osdyno-").tempdir_in(parent).map_err(failed)?;
        let programs = Programs::unpack(folder.path())?;
        let program = programs.main();
        let mut command = Command::new(program);
        command.arg("janitor").arg(folder.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
        sys::process::lead_group(&mut command);
        let started = command.spawn();
        let janitor = started.map_err(|source| Error::Program { path: program.to_owned(), source })?;
        Ok(Scratch { path: folder.keep(), programs, janitor })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // End of file on its standard input starts the janitor, which reports its own errors.
        drop(self.janitor.stdin.take());
        let _ = self.janitor.wait();
        // Somebody may have killed the janitor.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

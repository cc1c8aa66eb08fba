//! The folders of a run, which are removed at the end even if osdyno is killed.

use std::fs::DirBuilder;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::programs::Programs;
use crate::{Error, RunPlan};

/// The hidden verb of osdyno by which it starts its janitor, before the folder.
pub const JANITOR: &str = "janitor";

/// Waits for the end of standard input and removes the folder.
///
/// # Errors
/// Those of unlink(2) and rmdir(2), when they last.
pub fn janitor(folder: &Path) -> io::Result<()> {
    host::janitor(folder)
}

/// The scratch folder of a run, with the measured programs in it.
#[derive(Debug)]
pub(crate) struct Scratch {
    pub(crate) folder: Folder,
    pub(crate) programs: Programs,
}

/// A folder of the run's own with a janitor beside it: a process that removes the folder when this one ends,
/// be it by SIGKILL. The janitor is there before the folder is, so there is no moment at which a kill leaves
/// it behind.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    janitor: Janitor,
}

/// The process that removes the folder.
#[derive(Debug)]
struct Janitor(Child);

impl Scratch {
    /// With all programs for the plan: they are in the folder before its free space is read.
    pub(crate) fn make_for(plan: &RunPlan) -> Result<Scratch, Error> {
        let mut scratch = Scratch::make(&plan.scratch)?;
        scratch.programs.add_own(scratch.folder.path(), plan.items.iter().map(|item| item.workload))?;
        Ok(scratch)
    }

    pub(crate) fn make(parent: &Path) -> Result<Scratch, Error> {
        let folder = Folder::make(parent, |path, source| Error::Scratch { path, source })?;
        sys::persistent::prepare(&folder.path)
            .map_err(|source| Error::Scratch { path: folder.path.clone(), source })?;
        let programs = Programs::unpack(&folder.path)?;
        Ok(Scratch { folder, programs })
    }
}

impl Folder {
    /// Makes it in a folder of the user.
    pub(crate) fn make(parent: &Path, failed: fn(PathBuf, io::Error) -> Error) -> Result<Folder, Error> {
        let failed = |source| failed(parent.to_owned(), source);
        // Parameters are JSON, which holds no other names.
        if parent.to_str().is_none() {
            return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, "its name is not UTF-8")));
        }
        // The name is random; if it exists, the folder is not made.
        let path = parent.join(format!("osdyno-{:016x}", fastrand::u64(..)));
        let mut janitor = Janitor::start(&path)?;
        if let Err(source) = make_private(&path) {
            janitor.dismiss();
            return Err(failed(source));
        }
        Ok(Folder { path, janitor })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// A wait below half a second is not reported.
const LOOKS: u32 = 50;
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// Folders that are being removed. Dropping it waits for the end.
#[derive(Debug)]
pub struct Removal(Vec<Folder>);

impl Removal {
    /// Begins to remove the folders, while this process goes on: thousands of files take seconds.
    pub(crate) fn begin(mut folders: Vec<Folder>) -> Removal {
        for folder in &mut folders {
            folder.janitor.begin();
        }
        Removal(folders)
    }

    /// A folder that is still being removed after half a second.
    pub fn pending(&mut self) -> Option<&Path> {
        for _ in 0..LOOKS {
            self.0.retain_mut(|folder| matches!(folder.janitor.0.try_wait(), Ok(None)));
            if self.0.is_empty() {
                return None;
            }
            std::thread::sleep(BETWEEN_LOOKS);
        }
        self.0.first().map(Folder::path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        self.janitor.clean(&self.path);
    }
}

impl Janitor {
    fn start(folder: &Path) -> Result<Janitor, Error> {
        let program = sys::process::own_program();
        let program = program.map_err(|source| Error::Program { path: "osdyno".into(), source })?;
        let mut command = Command::new(&program);
        // Not /dev/null, which a bare root folder lacks.
        command.arg(JANITOR).arg(folder).stdin(Stdio::piped()).stdout(Stdio::piped());
        sys::process::lead_group(&mut command);
        let started = command.spawn();
        started.map(Janitor).map_err(|source| Error::Program { path: program, source })
    }

    /// Starts the removal: the janitor waits for the end of file on its standard input. It reports its own
    /// errors.
    fn begin(&mut self) {
        if let Some(mut stdin) = self.0.stdin.take() {
            // If it has ended, there is no reader.
            let _ = stdin.write_all(host::ORDERLY);
        }
    }

    /// Removes the folder.
    fn clean(&mut self, folder: &Path) {
        self.begin();
        let _ = self.0.wait();
        // The janitor may have been killed.
        sys::persistent::PersistentCleaner::new(folder).remove();
        let _ = std::fs::remove_dir_all(folder);
    }

    /// There is nothing to remove.
    fn dismiss(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Makes a new folder, readable by this user only.
fn make_private(path: &Path) -> io::Result<()> {
    cfg_select! {
        unix => { std::os::unix::fs::DirBuilderExt::mode(&mut DirBuilder::new(), 0o700).create(path) }
        _ => { DirBuilder::new().create(path) }
    }
}

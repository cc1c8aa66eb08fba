//! A folder and a network of one trial, for objects that other trials of the run must not meet.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::{Trial, TrialError, Worker};

/// The trial's own folder, which is removed with all that is in it when this is dropped. Where the trial is
/// killed, the janitor of the run removes it with the scratch folder.
#[derive(Debug)]
pub struct OwnFolder {
    path: PathBuf,
    /// The process that made it: in a helper it belongs to the trial.
    maker: u32,
}

/// Folders that this process has made: the pass before a trial has one too.
static MADE: AtomicU32 = AtomicU32::new(0);

impl Trial<'_> {
    /// Makes a new and empty folder in the scratch folder.
    ///
    /// # Errors
    /// Those of mkdir(2).
    pub fn own_folder(&self) -> Result<OwnFolder, TrialError> {
        let (maker, number) = (std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let path = self.scratch.join(format!("{}-{maker}-{number}", self.workload.name));
        let made = match std::fs::create_dir(&path) {
            // Of a trial that was killed, and whose process had the same number.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                std::fs::remove_dir_all(&path).and_then(|()| std::fs::create_dir(&path))
            }
            made => made,
        };
        made.map_err(TrialError::at(format!("to make the folder {}", path.display())))?;
        Ok(OwnFolder { path, maker })
    }
}

impl OwnFolder {
    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder in it of the object of a worker, which the first that comes makes.
    ///
    /// # Errors
    /// Those of mkdir(2).
    pub fn of_object(&self, worker: &Worker<'_>) -> io::Result<PathBuf> {
        let own = self.join(worker.object().to_string());
        std::fs::create_dir_all(&own)?;
        Ok(own)
    }

    /// An empty file in that folder.
    ///
    /// # Errors
    /// Those of mkdir(2) and open(2).
    pub fn file_of_object(&self, worker: &Worker<'_>) -> io::Result<sys::file::Path> {
        let path = self.of_object(worker)?.join("file");
        std::fs::File::options().write(true).create(true).truncate(false).open(&path)?;
        sys::file::Path::try_from(path.as_path())
    }

    /// The path of a name in it.
    pub fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path.join(name)
    }
}

impl Drop for OwnFolder {
    fn drop(&mut self) {
        if self.maker == std::process::id() {
            // A folder that stays is removed with the scratch folder.
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}

/// The network of the trial, until this is dropped; then it is that of before. It ends with the trial's
/// process.
#[cfg(target_os = "linux")]
#[derive(Debug)]
pub struct OwnNetwork {
    before: sys::namespace::Namespaces,
}

#[cfg(target_os = "linux")]
impl Trial<'_> {
    /// Gives the trial a network namespace of its own, with a loopback device that is up. Users other than
    /// root get it in a user namespace.
    ///
    /// # Errors
    /// Those of unshare(2) and rtnetlink(7).
    pub fn own_network(&self) -> Result<OwnNetwork, TrialError> {
        use sys::namespace::{NamespaceKind, Namespaces, permit, renew};
        use sys::route::RouteSocket;

        let make = || {
            permit()?;
            let before = Namespaces::own(&[NamespaceKind::Network])?;
            renew(&[NamespaceKind::Network])?;
            let network = OwnNetwork { before };
            RouteSocket::open()?.raise_loopback()?;
            Ok(network)
        };
        make().map_err(TrialError::at("to make a network of its own"))
    }
}

#[cfg(target_os = "linux")]
impl Drop for OwnNetwork {
    fn drop(&mut self) {
        // A process that is about to end needs none.
        let _ = self.before.enter();
    }
}

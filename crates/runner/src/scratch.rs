//! The folders of a run, which are removed at the end even if osdyno is killed, and the measured programs in
//! them.
//!
//! The program for the group `kernel` is carried inside osdyno, in two forms of linkage; all other workloads
//! are measured by osdyno itself, as a copy that no update replaces during a run. Those for other systems lie
//! beside it.

use std::env::consts::EXE_EXTENSION;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use workload::{Linkage, Workload};

use crate::{Error, RunPlan};

/// The hidden verb of osdyno by which it starts its janitor, before the folder.
pub const JANITOR: &str = "janitor";

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
        // osdyno measures all but the group `kernel`.
        if plan.items.iter().any(|item| !is_of_kernel(item.workload)) {
            scratch.programs.own = Some(copy_own(scratch.folder.path())?);
        }
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

/// The measured programs, ready to be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Programs {
    kernel: PathBuf,
    kernel_static: Result<PathBuf, &'static str>,
    /// `None` where it measures nothing.
    own: Option<PathBuf>,
    /// A remark for the record, if not all programs can be started.
    remark: Option<&'static str>,
}

/// A measured program that osdyno contains.
#[derive(Clone, Copy, Debug)]
pub struct Carried {
    /// The name of its file.
    pub name: &'static str,
    /// The program, packed as in RFC 8878; nothing where there is none.
    packed: &'static [u8],
    /// Why there is none.
    missing: &'static str,
}

impl Carried {
    /// The program, or why there is none.
    ///
    /// # Errors
    /// Why there is none.
    pub fn bytes(&self) -> Result<Vec<u8>, &'static str> {
        match self.packed {
            [] => Err(self.missing),
            packed => zstd::decode_all(packed).map_err(|_| "this osdyno is damaged; install it again"),
        }
    }
}

/// The measured programs that osdyno contains. The first is linked statically: it is the agent of a system.
pub static CARRIED: [Carried; 2] = [KERNEL_STATIC, KERNEL];

/// The name that osdyno has in the folder of a run.
pub const OWN: &str = "osdyno";

const KERNEL: Carried = Carried {
    name: "osdyno-trial",
    packed: include_bytes!(concat!(env!("OUT_DIR"), "/kernel")),
    missing: include_str!(concat!(env!("OUT_DIR"), "/kernel.missing")),
};
const KERNEL_STATIC: Carried = Carried {
    name: "osdyno-trial-static",
    packed: include_bytes!(concat!(env!("OUT_DIR"), "/kernel-static")),
    missing: include_str!(concat!(env!("OUT_DIR"), "/kernel-static.missing")),
};

impl Programs {
    /// Those for the systems of a target triple, as in `x86_64-win7-windows-gnu`: `osdyno-trial-TRIPLE` and
    /// `osdyno-TRIPLE`, with the suffix that programs have there. They lie beside osdyno and not inside it,
    /// because most users need none.
    ///
    /// # Errors
    /// [`Error::NoForeignProgram`] for one that is not there.
    pub fn of_triple(triple: &str) -> Result<Programs, Error> {
        let own = sys::process::own_program();
        let own = own.map_err(|source| Error::Program { path: "osdyno".into(), source })?;
        let suffix = if triple.contains("windows") { ".exe" } else { "" };
        let find = |name: &str| {
            let path = own.with_file_name(format!("{name}-{triple}{suffix}"));
            match path.is_file() {
                true => Ok(path),
                false => Err(Error::NoForeignProgram { path, triple: triple.to_owned() }),
            }
        };
        let (kernel, own) = (find(KERNEL.name)?, Some(find(OWN)?));
        let kernel_static = Err("programs for other systems are there in one form of linkage only");
        Ok(Programs { kernel, kernel_static, own, remark: None })
    }

    /// Writes the programs of the kernel into the folder.
    fn unpack(folder: &Path) -> Result<Programs, Error> {
        let programs = Programs {
            kernel: unpack(&KERNEL, folder)?.map_err(|reason| Error::NoProgram { reason })?,
            kernel_static: unpack(&KERNEL_STATIC, folder)?,
            own: None,
            remark: None,
        };
        Ok(match &programs.kernel_static {
            Ok(alone) if lacks_loader(&programs.kernel) => {
                Programs { kernel: alone.clone(), remark: Some(LINKED_STATICALLY), ..programs }
            }
            _ => programs,
        })
    }

    /// Remarks about the programs for the record.
    pub(crate) fn remark(&self) -> Option<String> {
        self.remark.map(str::to_owned)
    }

    /// The program that describes systems and guards commands.
    pub(crate) fn main(&self) -> &Path {
        &self.kernel
    }

    /// The program that is sent through the command of a system first. A statically linked one needs nothing
    /// there.
    pub fn agent(&self) -> &Path {
        self.kernel_static.as_deref().unwrap_or(&self.kernel)
    }

    /// The program that measures the workload, or why there is none.
    pub(crate) fn measuring(&self, workload: &Workload) -> Result<&Path, &'static str> {
        match workload.linkage {
            Linkage::Static if is_of_kernel(workload) => {
                self.kernel_static.as_deref().map_err(|&reason| reason)
            }
            Linkage::Static => Err("only programs of the group kernel are linked statically"),
            Linkage::Dynamic if is_of_kernel(workload) => Ok(&self.kernel),
            Linkage::Dynamic => self.own.as_deref().ok_or("this run has only the program of the kernel"),
        }
    }
}

fn is_of_kernel(workload: &Workload) -> bool {
    kernel::GROUP.find(workload.name).is_some()
}

const LINKED_STATICALLY: &str = "This system has no loader for dynamically linked programs: the statically \
                                 linked program measured all workloads of the group kernel.";

/// Whether an existing program is "not found": then the kernel does not find its loader.
fn lacks_loader(program: &Path) -> bool {
    let mut command = Command::new(program);
    // Pipes and not /dev/null, which a bare root folder does not have either.
    let started = command.stdin(Stdio::piped()).output();
    started.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

fn unpack(carried: &Carried, folder: &Path) -> Result<Result<PathBuf, &'static str>, Error> {
    let bytes = match carried.bytes() {
        Ok(bytes) => bytes,
        Err(reason) => return Ok(Err(reason)),
    };
    let path = folder.join(carried.name).with_extension(EXE_EXTENSION);
    let written = File::create(&path).and_then(|mut file| {
        file.write_all(&bytes)?;
        make_executable(&path)
    });
    match written {
        Ok(()) => Ok(Ok(path)),
        Err(source) => Err(Error::Scratch { path: folder.to_owned(), source }),
    }
}

fn copy_own(folder: &Path) -> Result<PathBuf, Error> {
    let own = sys::process::own_program();
    let own = own.map_err(|source| Error::Program { path: OWN.into(), source })?;
    let path = folder.join(OWN).with_extension(EXE_EXTENSION);
    match fs::copy(own, &path).and_then(|_| make_executable(&path)) {
        Ok(()) => Ok(path),
        Err(source) => Err(Error::Scratch { path: folder.to_owned(), source }),
    }
}

fn make_executable(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(path, fs::Permissions::from_mode(0o700))?;
    }
    #[cfg(not(unix))]
    fs::metadata(path)?;
    Ok(())
}

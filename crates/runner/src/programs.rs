//! The measured programs. The one for the group `kernel` is carried inside osdyno, in two forms of linkage;
//! all other workloads are measured by osdyno itself, as a copy that no update replaces during a run. Those
//! for other systems lie beside it.

use std::env::consts::EXE_EXTENSION;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use workload::{Linkage, Workload};

use crate::Error;

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
    pub(crate) fn unpack(folder: &Path) -> Result<Programs, Error> {
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

    /// Copies osdyno itself into the folder, where it measures one of the workloads.
    pub(crate) fn add_own(
        &mut self,
        folder: &Path,
        mut workloads: impl Iterator<Item = &'static Workload>,
    ) -> Result<(), Error> {
        if workloads.any(|workload| !is_of_kernel(workload)) {
            self.own = Some(copy_own(folder)?);
        }
        Ok(())
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
    started.is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
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

fn make_executable(path: &Path) -> std::io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(path, fs::Permissions::from_mode(0o700))?;
    }
    #[cfg(not(unix))]
    fs::metadata(path)?;
    Ok(())
}

//! The measured programs, which osdyno carries inside itself: one for the group `kernel`, in two forms of
//! linkage, and one for all other workloads. Those for other systems lie beside it.

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
    servers: Result<PathBuf, &'static str>,
    /// What the record says of the programs, where not all of them can be started.
    remark: Option<&'static str>,
}

/// A measured program that osdyno contains.
#[derive(Clone, Copy, Debug)]
pub struct Carried {
    /// The name of its file.
    pub name: &'static str,
    /// The program; nothing where there is none.
    pub bytes: &'static [u8],
    /// Why there is none.
    pub missing: &'static str,
}

/// The measured programs that osdyno contains. The first is linked statically: it is the agent of a system.
pub static CARRIED: [Carried; 3] = [KERNEL_STATIC, KERNEL, SERVERS];

const KERNEL: Carried = Carried {
    name: "osdyno-trial",
    bytes: include_bytes!(concat!(env!("OUT_DIR"), "/kernel")),
    missing: include_str!(concat!(env!("OUT_DIR"), "/kernel.missing")),
};
const KERNEL_STATIC: Carried = Carried {
    name: "osdyno-trial-static",
    bytes: include_bytes!(concat!(env!("OUT_DIR"), "/kernel-static")),
    missing: include_str!(concat!(env!("OUT_DIR"), "/kernel-static.missing")),
};
const SERVERS: Carried = Carried {
    name: "osdyno-trial-servers",
    bytes: include_bytes!(concat!(env!("OUT_DIR"), "/servers")),
    missing: include_str!(concat!(env!("OUT_DIR"), "/servers.missing")),
};

impl Programs {
    /// Those for the systems of a target triple, as in `x86_64-win7-windows-gnu`: `osdyno-trial-TRIPLE`
    /// and `osdyno-trial-servers-TRIPLE`, with the suffix that programs have there. They lie beside osdyno
    /// and not inside it, for most users need none.
    ///
    /// # Errors
    /// [`Error::NoForeignProgram`] for one that is not there.
    pub fn of_triple(triple: &str) -> Result<Programs, Error> {
        let own = sys::process::own_program();
        let own = own.map_err(|source| Error::Program { path: "osdyno".into(), source })?;
        let suffix = if triple.contains("windows") { ".exe" } else { "" };
        let find = |carried: &Carried| {
            let path = own.with_file_name(format!("{}-{triple}{suffix}", carried.name));
            match path.is_file() {
                true => Ok(path),
                false => Err(Error::NoForeignProgram { path, triple: triple.to_owned() }),
            }
        };
        let (kernel, servers) = (find(&KERNEL)?, find(&SERVERS)?);
        let kernel_static = Err("programs for other systems are there in one form of linkage only");
        Ok(Programs { kernel, kernel_static, servers: Ok(servers), remark: None })
    }

    /// Writes the programs into the folder.
    pub(crate) fn unpack(folder: &Path) -> Result<Programs, Error> {
        let programs = Programs {
            kernel: unpack(&KERNEL, folder)?.map_err(|reason| Error::NoProgram { reason })?,
            kernel_static: unpack(&KERNEL_STATIC, folder)?,
            servers: unpack(&SERVERS, folder)?,
            remark: None,
        };
        Ok(match &programs.kernel_static {
            Ok(alone) if lacks_loader(&programs.kernel) => Programs {
                kernel: alone.clone(),
                servers: Err(NO_LOADER),
                remark: Some(LINKED_STATICALLY),
                ..programs
            },
            _ => programs,
        })
    }

    /// What a reader of the record has to know of the programs.
    pub(crate) fn remark(&self) -> Option<String> {
        self.remark.map(str::to_owned)
    }

    /// The program that describes systems and guards commands.
    pub(crate) fn main(&self) -> &Path {
        &self.kernel
    }

    /// The program that is sent through the command of a system first. It needs nothing there, where it is
    /// linked statically.
    pub fn agent(&self) -> &Path {
        self.kernel_static.as_deref().unwrap_or(&self.kernel)
    }

    /// The program that measures the workload, or why there is none.
    pub(crate) fn of(&self, workload: &Workload) -> Result<&Path, &'static str> {
        let is_of_kernel = kernel::GROUP.find(workload.name).is_some();
        match workload.linkage {
            Linkage::Static if is_of_kernel => self.kernel_static.as_deref().map_err(|&reason| reason),
            Linkage::Static => Err("only programs of the group kernel are linked statically"),
            Linkage::Dynamic if is_of_kernel => Ok(&self.kernel),
            Linkage::Dynamic => self.servers.as_deref().map_err(|&reason| reason),
        }
    }
}

const NO_LOADER: &str =
    "this system has no loader for dynamically linked programs; install the GNU C library";

const LINKED_STATICALLY: &str = "This system has no loader for dynamically linked programs: the statically \
                                 linked program measured all workloads of the group kernel.";

/// Whether a program that is there is not found: then it is its loader that the kernel does not find.
fn lacks_loader(program: &Path) -> bool {
    let mut command = Command::new(program);
    // Pipes and not /dev/null, which a bare root folder does not have either.
    let started = command.stdin(Stdio::piped()).output();
    started.is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}

fn unpack(carried: &Carried, folder: &Path) -> Result<Result<PathBuf, &'static str>, Error> {
    if carried.bytes.is_empty() {
        return Ok(Err(carried.missing));
    }
    let path = folder.join(carried.name).with_extension(EXE_EXTENSION);
    let written = File::create(&path).and_then(|mut file| {
        file.write_all(carried.bytes)?;
        make_executable(&path)
    });
    match written {
        Ok(()) => Ok(Ok(path)),
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

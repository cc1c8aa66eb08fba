//! The measured program, which osdyno carries inside itself in two forms of linkage.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use workload::Linkage;

use crate::Error;

/// The measured program, ready to be started.
#[derive(Debug)]
pub(crate) struct Programs {
    dynamic: PathBuf,
    alone: Result<PathBuf, &'static str>,
}

struct Carried {
    bytes: &'static [u8],
    missing: &'static str,
}

const DYNAMIC: Carried = Carried {
    bytes: include_bytes!(concat!(env!("OUT_DIR"), "/dynamic")),
    missing: include_str!(concat!(env!("OUT_DIR"), "/dynamic.missing")),
};
const STATIC: Carried = Carried {
    bytes: include_bytes!(concat!(env!("OUT_DIR"), "/static")),
    missing: include_str!(concat!(env!("OUT_DIR"), "/static.missing")),
};

impl Programs {
    /// Writes the programs into the folder.
    pub(crate) fn unpack(folder: &Path) -> Result<Programs, Error> {
        let dynamic =
            unpack(&DYNAMIC, folder, "osdyno-trial")?.map_err(|reason| Error::NoProgram { reason })?;
        let alone = unpack(&STATIC, folder, "osdyno-trial-static")?;
        Ok(Programs { dynamic, alone })
    }

    /// The program in that form, or why there is none.
    pub(crate) fn linked(&self, linkage: Linkage) -> Result<&Path, &'static str> {
        match linkage {
            Linkage::Dynamic => Ok(&self.dynamic),
            Linkage::Static => self.alone.as_deref().map_err(|&reason| reason),
        }
    }
}

fn unpack(carried: &Carried, folder: &Path, name: &str) -> Result<Result<PathBuf, &'static str>, Error> {
    if carried.bytes.is_empty() {
        return Ok(Err(carried.missing));
    }
    let path = folder.join(name);
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

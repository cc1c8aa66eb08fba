//! Kernels by their names, as the user writes them.

use std::path::{Path, PathBuf};

use lab::Debian;

use crate::console::tell;
use crate::failure::Failure;

/// A kernel that was found.
pub(super) struct FoundKernel {
    /// The name of its system.
    pub(super) name: String,
    /// Its image; the path is UTF-8.
    pub(super) path: PathBuf,
    /// The text of the user for it, without the name.
    pub(super) written: String,
}

/// Finds kernels.
#[derive(Default)]
pub(super) struct Kernels {
    /// The cache of Debian's; empty before the first is needed.
    debian: Option<Debian>,
}

impl Kernels {
    /// Finds a kernel and its name; a path that holds `=` has a slash before it.
    pub(super) fn find(&mut self, text: &str) -> Result<FoundKernel, Failure> {
        let refused = |error: lab::Error| Failure::Refused(error.to_string());
        let named = text.split_once('=').filter(|(name, _)| !name.is_empty() && !name.contains('/'));
        let (name, place) = named.map_or((None, text), |(name, place)| (Some(name), place));
        let (known, path) = match place.strip_prefix("debian:") {
            Some(series) => (Some(series.to_owned()), self.of_debian(series).map_err(refused)?),
            None => (lab::release(Path::new(place)).map_err(refused)?, PathBuf::from(place)),
        };
        // The guest is booted from the working folder of this process.
        let path = path.canonicalize().unwrap_or(path);
        let file = || path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        let name = name.map(str::to_owned).or(known).unwrap_or_else(file);
        match path.to_str() {
            Some(_) => Ok(FoundKernel { name, path, written: place.to_owned() }),
            None => Err(Failure::Usage(format!("the path of the kernel {} is not UTF-8", path.display()))),
        }
    }

    /// The series that Debian has now.
    pub(super) fn series_of_debian(&mut self) -> Result<Vec<[u64; 2]>, Failure> {
        let debian = self.debian().map_err(|error| Failure::Refused(error.to_string()))?;
        let series = debian.series(&mut |text| tell(&format!("  {text}")));
        series.map_err(|error| Failure::Refused(error.to_string()))
    }

    fn of_debian(&mut self, series: &str) -> Result<PathBuf, lab::Error> {
        self.debian()?.kernel(series, &mut |text| tell(&format!("  {text}")))
    }

    fn debian(&mut self) -> Result<&mut Debian, lab::Error> {
        Ok(match &mut self.debian {
            Some(debian) => debian,
            none => none.insert(Debian::of_user()?),
        })
    }
}

//! What the file system of a folder leaves: statvfs(3).

use std::path::Path;

use super::definition::{Bound, FolderResource};
use crate::Unsupported;

const ADVICE: &str = "remove files, or choose a larger file system with --scratch DIR";

/// The limit on a resource of the file system that the folder is on. A tenth stays free: file systems become
/// slow when they are nearly full.
///
/// # Errors
/// [`Unsupported`] where the file system does not say, as those that make inodes as they need them.
pub fn bound_of_folder(resource: FolderResource, folder: &Path) -> Result<Bound, Unsupported> {
    let free = crate::file::free(folder).map_err(|_| Unsupported("the free space cannot be read here"))?;
    let (limit, value) = match resource {
        FolderResource::DiskBytes => ("free space", Some(free.bytes)),
        FolderResource::Inodes => ("number of free inodes", free.inodes),
    };
    let value = value.ok_or(Unsupported("this file system has no fixed number of inodes"))?;
    Ok(Bound { usable: value - value / 10, limit: limit.into(), value, advice: ADVICE.into() })
}

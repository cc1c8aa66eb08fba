//! Extended attributes of files, xattr(7).

use std::ffi::CString;
use std::fs::File;
use std::io;

use rustix::fs::XattrFlags;

/// The name of an attribute with its name space, as the system takes it.
#[derive(Clone, Debug)]
pub struct AttributeName(CString);

/// The name in the form that the system takes.
///
/// # Errors
/// `InvalidInput` for a zero byte.
pub fn name(name: &str) -> io::Result<AttributeName> {
    Ok(AttributeName(CString::new(name)?))
}

/// One fsetxattr(2) of an attribute that the file does not have.
///
/// # Errors
/// Those of fsetxattr(2): `ENOSPC` where no room is left, `EOPNOTSUPP` where the file system has none.
#[inline]
pub fn set(file: &File, name: &AttributeName, value: &[u8]) -> io::Result<()> {
    Ok(rustix::fs::fsetxattr(file, name.0.as_c_str(), value, XattrFlags::CREATE)?)
}

/// One fgetxattr(2). Returns the length of the value.
///
/// # Errors
/// Those of fgetxattr(2).
#[inline]
pub fn get(file: &File, name: &AttributeName, value: &mut [u8]) -> io::Result<usize> {
    Ok(rustix::fs::fgetxattr(file, name.0.as_c_str(), value)?)
}

/// One flistxattr(2). Returns the length of the names, each of which ends with a zero byte.
///
/// # Errors
/// Those of flistxattr(2).
#[inline]
pub fn list(file: &File, names: &mut [u8]) -> io::Result<usize> {
    Ok(rustix::fs::flistxattr(file, names)?)
}

/// One fremovexattr(2).
///
/// # Errors
/// Those of fremovexattr(2).
#[inline]
pub fn remove(file: &File, name: &AttributeName) -> io::Result<()> {
    Ok(rustix::fs::fremovexattr(file, name.0.as_c_str())?)
}

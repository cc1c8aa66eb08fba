//! Files below a folder on Windows: unsupported. A folder is listed.

use std::fs::{File, Metadata};
use std::io;
use std::mem::offset_of;
use std::os::windows::io::AsRawHandle;

use windows_sys::Win32::Foundation::ERROR_NO_MORE_FILES;
use windows_sys::Win32::Storage::FileSystem::{
    FILE_ATTRIBUTE_DIRECTORY, FILE_ID_BOTH_DIR_INFO, FileIdBothDirectoryInfo, FileIdBothDirectoryRestartInfo,
    GetFileInformationByHandleEx,
};

use crate::Unsupported;

const MISSING: Unsupported =
    Unsupported("std opens no file below an open folder on Windows, so files outside of it might be served");

/// A folder; nothing outside it is opened.
#[derive(Debug)]
pub struct Root(());

impl Root {
    /// Unsupported.
    ///
    /// # Errors
    /// Always.
    pub fn new(_folder: &std::path::Path) -> io::Result<Root> {
        Err(MISSING.into())
    }

    /// Unsupported.
    ///
    /// # Errors
    /// Always.
    pub fn open(&self, _path: &[u8]) -> io::Result<File> {
        Err(MISSING.into())
    }
}

/// A name in a folder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name {
    /// The bytes of it.
    pub bytes: Vec<u8>,
    /// Whether it is known to be a folder.
    pub is_folder: bool,
}

/// The buffer of one system call; its entries must lie at multiples of eight bytes.
const LISTED_BYTES: usize = 64 << 10;

/// The names in an open folder, from its first on and in no order, at most so many, without `.` and `..`.
///
/// # Errors
/// Those of GetFileInformationByHandleEx.
pub fn names(folder: &File, max: usize) -> io::Result<Vec<Name>> {
    let mut buffer = vec![0_u64; LISTED_BYTES / size_of::<u64>()];
    let (mut found, mut class) = (Vec::new(), FileIdBothDirectoryRestartInfo);
    while found.len() < max {
        let into = buffer.as_mut_ptr();
        // SAFETY: the handle is open, and the buffer is writable, aligned, and has so many bytes.
        let listed = unsafe {
            GetFileInformationByHandleEx(folder.as_raw_handle(), class, into.cast(), LISTED_BYTES as u32)
        };
        if listed == 0 {
            let error = io::Error::last_os_error();
            let is_end = error.raw_os_error() == Some(ERROR_NO_MORE_FILES as i32);
            return if is_end { Ok(found) } else { Err(error) };
        }
        class = FileIdBothDirectoryInfo;
        // SAFETY: the buffer has so many bytes, all of them written to, and is not changed meanwhile.
        let bytes = unsafe { std::slice::from_raw_parts(buffer.as_ptr().cast::<u8>(), LISTED_BYTES) };
        entries(bytes, &mut found);
    }
    found.truncate(max);
    Ok(found)
}

/// Takes the names from the entries of a folder. An entry beyond the bytes is the end.
fn entries(mut bytes: &[u8], found: &mut Vec<Name>) {
    loop {
        let number = |offset: usize| -> Option<u32> {
            Some(u32::from_le_bytes(bytes.get(offset..offset + 4)?.try_into().ok()?))
        };
        let field = |offset: usize| number(offset).unwrap_or_default();
        let name = offset_of!(FILE_ID_BOTH_DIR_INFO, FileName);
        let length = field(offset_of!(FILE_ID_BOTH_DIR_INFO, FileNameLength)) as usize;
        let Some(letters) = bytes.get(name..name.saturating_add(length)) else { return };
        let letters = letters.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
        let letters: String = char::decode_utf16(letters).map(|c| c.unwrap_or('\u{FFFD}')).collect();
        if !matches!(letters.as_str(), "." | "..") {
            let attributes = field(offset_of!(FILE_ID_BOTH_DIR_INFO, FileAttributes));
            let is_folder = attributes & FILE_ATTRIBUTE_DIRECTORY != 0;
            found.push(Name { bytes: letters.into_bytes(), is_folder });
        }
        match field(offset_of!(FILE_ID_BOTH_DIR_INFO, NextEntryOffset)) as usize {
            0 => return,
            next => bytes = bytes.get(next..).unwrap_or_default(),
        }
    }
}

/// Not known.
pub fn number(_metadata: &Metadata) -> u64 {
    0
}

/// Not known; only whether a file is there.
///
/// # Errors
/// Those of looking at it.
pub fn identity(path: &std::path::Path) -> io::Result<(u64, u64)> {
    std::fs::metadata(path).map(|_| (0, 0))
}

/// When the file was last written to, by its own time, in nanoseconds since 1970.
pub fn changed_ns(metadata: &Metadata) -> i128 {
    let modified = metadata.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    modified.map_or(0, |time| time.as_nanos() as i128)
}

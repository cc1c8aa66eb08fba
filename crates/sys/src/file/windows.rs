//! Files on Windows by std. Files below a folder are unsupported; a folder is listed.

use std::fs::{File, Metadata};
use std::io;
use std::mem::offset_of;
use std::os::windows::ffi::OsStrExt;
use std::os::windows::fs::{FileExt, OpenOptionsExt};
use std::os::windows::io::{AsHandle, AsRawHandle};
use std::path::PathBuf;

use windows_sys::Win32::Foundation::ERROR_NO_MORE_FILES;
use windows_sys::Win32::Storage::FileSystem::{
    FILE_ATTRIBUTE_DIRECTORY, FILE_FLAG_BACKUP_SEMANTICS, FILE_ID_BOTH_DIR_INFO, FileIdBothDirectoryInfo,
    FileIdBothDirectoryRestartInfo, GetDiskFreeSpaceExW, GetFileInformationByHandleEx,
};

/// A path in the form that the system takes, made before anything is timed.
#[derive(Clone, Debug)]
pub struct Path(PathBuf);

impl TryFrom<&std::path::Path> for Path {
    type Error = io::Error;

    fn try_from(path: &std::path::Path) -> io::Result<Path> {
        Ok(Path(path.to_owned()))
    }
}

/// Opens the file read-only.
///
/// # Errors
/// Those of CreateFileW.
#[inline]
pub fn open_read(path: &Path) -> io::Result<File> {
    File::open(&path.0)
}

/// One CreateFileW that creates the file, to be written; it must not exist.
///
/// # Errors
/// Those of CreateFileW.
#[inline]
pub fn create_new(path: &Path) -> io::Result<File> {
    File::create_new(&path.0)
}

/// Opens a file that exists, to have its content written to disk: FlushFileBuffers wants the right to write.
///
/// # Errors
/// Those of CreateFileW.
pub fn open_flush(path: &Path) -> io::Result<File> {
    File::options().write(true).open(&path.0)
}

/// Opens a folder, to list it.
///
/// # Errors
/// Those of CreateFileW.
pub fn open_folder(path: &std::path::Path) -> io::Result<File> {
    File::options().read(true).custom_flags(FILE_FLAG_BACKUP_SEMANTICS).open(path)
}

missing! {
    "Windows does not write the entries of a folder to disk on request";
    pub fn sync_folder(folder: &File) -> io::Result<()>;
}

/// One rename by std: SetFileInformationByHandle, or MoveFileExW where that lacks it.
///
/// # Errors
/// Those of both.
#[inline]
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::rename(&from.0, &to.0)
}

/// One CreateHardLinkW.
///
/// # Errors
/// Those of CreateHardLinkW.
#[inline]
pub fn link(file: &Path, name: &Path) -> io::Result<()> {
    std::fs::hard_link(&file.0, &name.0)
}

/// One DeleteFileW.
///
/// # Errors
/// Those of DeleteFileW.
#[inline]
pub fn unlink(path: &Path) -> io::Result<()> {
    std::fs::remove_file(&path.0)
}

/// One RemoveDirectoryW.
///
/// # Errors
/// Those of RemoveDirectoryW.
pub fn remove_folder(path: &Path) -> io::Result<()> {
    std::fs::remove_dir(&path.0)
}

missing! {
    "the content of a file cannot be removed from memory here";
    pub fn evict(file: &File) -> io::Result<()>;
}

/// Reads the metadata of a file, which are not used.
///
/// # Errors
/// Those of CreateFileW and GetFileInformationByHandle.
#[inline]
pub fn status(path: &Path) -> io::Result<()> {
    std::hint::black_box(std::fs::metadata(&path.0)?);
    Ok(())
}

/// Fills `buffer` from the file at `offset`.
///
/// # Errors
/// Those of ReadFile; `UnexpectedEof` when the file is shorter.
pub fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    let mut done = 0;
    while done < buffer.len() {
        match file.seek_read(&mut buffer[done..], offset + done as u64)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => done += count,
        }
    }
    Ok(())
}

/// One ReadFile: as much as there is at the offset, up to the buffer's length; 0 at the end.
///
/// # Errors
/// Those of ReadFile.
pub fn read_some_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    file.seek_read(buffer, offset)
}

/// One write at the offset, and how many bytes it wrote.
///
/// # Errors
/// Those of WriteFile.
pub fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
    file.seek_write(bytes, offset)
}

/// Standard output as a file, by another handle.
///
/// # Errors
/// Those of DuplicateHandle.
pub fn standard_output() -> io::Result<File> {
    io::stdout().as_handle().try_clone_to_owned().map(File::from)
}

/// Nothing to do: Windows writes back a whole volume for administrators only.
///
/// # Errors
/// Never.
pub fn write_back(_folder: &std::path::Path) -> io::Result<()> {
    Ok(())
}

/// The bytes that this user may still write to the volume of the folder; NTFS makes its file records as it
/// needs them.
///
/// # Errors
/// Those of GetDiskFreeSpaceExW.
pub fn free(folder: &std::path::Path) -> io::Result<super::Free> {
    let name: Vec<u16> = folder.as_os_str().encode_wide().chain([0]).collect();
    let (mut free, unasked) = (0_u64, std::ptr::null_mut());
    // SAFETY: the name ends with a zero; it and the number outlive the call.
    match unsafe { GetDiskFreeSpaceExW(name.as_ptr(), &raw mut free, unasked, unasked) } {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(super::Free { bytes: free, inodes: None }),
    }
}

/// Closes the file; std reports no result on Windows.
///
/// # Errors
/// Never.
pub fn close(file: File) -> io::Result<()> {
    drop(file);
    Ok(())
}

missing! {
    "std opens no file below an open folder on Windows, so files outside of it might be served";
    pub struct Root;
    pub fn new(folder: &std::path::Path) -> io::Result<Root>;
    pub fn open(&self, path: &[u8]) -> io::Result<File>;
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

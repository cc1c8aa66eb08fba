//! Memory on Windows: CreateFileMappingW and MapViewOfFile.

use std::ffi::c_void;
use std::fs::File;
use std::io::{self, Write};
use std::os::windows::io::AsRawHandle;
use std::ptr::{self, NonNull};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use windows_sys::Win32::Foundation::{CloseHandle, HANDLE, INVALID_HANDLE_VALUE};
use windows_sys::Win32::Security::SECURITY_ATTRIBUTES;
use windows_sys::Win32::System::Memory::{
    CreateFileMappingW, FILE_MAP_READ, FILE_MAP_WRITE, MEMORY_MAPPED_VIEW_ADDRESS, MapViewOfFile,
    PAGE_READONLY, PAGE_READWRITE, UnmapViewOfFile,
};
use windows_sys::Win32::System::SystemInformation::{GetSystemInfo, SYSTEM_INFO};

/// The size of a page.
pub fn page_bytes() -> usize {
    system().dwPageSize as usize
}

/// Where in a file a mapping may begin: at multiples of this.
pub fn mapping_granularity() -> usize {
    system().dwAllocationGranularity as usize
}

/// Nothing: the allocator of Windows decides for itself.
pub fn keep_freed() {}

fn system() -> SYSTEM_INFO {
    static SYSTEM: OnceLock<Answer> = OnceLock::new();
    SYSTEM
        .get_or_init(|| {
            let mut system = SYSTEM_INFO::default();
            // SAFETY: the call fills the structure, which lives longer.
            unsafe { GetSystemInfo(&raw mut system) };
            Answer(system)
        })
        .0
}

/// The result of GetSystemInfo.
struct Answer(SYSTEM_INFO);

// SAFETY: the addresses in it are numbers to us; nobody follows them.
unsafe impl Send for Answer {}
// SAFETY: as above.
unsafe impl Sync for Answer {}

/// A view of a file mapping or of memory that several processes share. Dropped, it is removed.
#[derive(Debug)]
struct View(NonNull<c_void>);

impl View {
    /// One MapViewOfFile.
    #[inline]
    fn map(mapping: &FileMapping, access: u32, offset: u64, bytes: usize) -> io::Result<View> {
        let (high, low) = ((offset >> 32) as u32, offset as u32);
        // SAFETY: the handle is open, and the address is the system's choice.
        let view = unsafe { MapViewOfFile(mapping.0, access, high, low, bytes) };
        NonNull::new(view.Value).map(View).ok_or_else(io::Error::last_os_error)
    }

    #[inline]
    fn remove(self) -> io::Result<()> {
        let view = MEMORY_MAPPED_VIEW_ADDRESS { Value: self.0.as_ptr() };
        std::mem::forget(self);
        // SAFETY: the view was ours alone and nobody can use it any more.
        done(unsafe { UnmapViewOfFile(view) })
    }
}

impl Drop for View {
    fn drop(&mut self) {
        // SAFETY: as in `remove`. An error could only mean that it is gone already.
        unsafe { UnmapViewOfFile(MEMORY_MAPPED_VIEW_ADDRESS { Value: self.0.as_ptr() }) };
    }
}

/// A file mapping object, which a view outlives.
#[derive(Debug)]
struct FileMapping(HANDLE);

impl FileMapping {
    /// One CreateFileMappingW without a name; without a file it is backed by the paging file.
    #[inline]
    fn new(file: Option<&File>, protection: u32, bytes: u64, inherited: bool) -> io::Result<FileMapping> {
        let attributes = SECURITY_ATTRIBUTES {
            nLength: size_of::<SECURITY_ATTRIBUTES>() as u32,
            lpSecurityDescriptor: ptr::null_mut(),
            bInheritHandle: i32::from(inherited),
        };
        let file = file.map_or(INVALID_HANDLE_VALUE, AsRawHandle::as_raw_handle);
        let (high, low) = ((bytes >> 32) as u32, bytes as u32);
        // SAFETY: the file is open, or is the value for no file; the attributes outlive the call.
        let handle =
            unsafe { CreateFileMappingW(file, &raw const attributes, protection, high, low, ptr::null()) };
        match handle.is_null() {
            true => Err(io::Error::last_os_error()),
            false => Ok(FileMapping(handle)),
        }
    }
}

impl Drop for FileMapping {
    fn drop(&mut self) {
        // SAFETY: the handle is ours, and this is its last use.
        unsafe { CloseHandle(self.0) };
    }
}

/// A part of a file, mapped shared and read-only.
#[derive(Debug)]
pub struct Mapping {
    view: View,
    bytes: usize,
}

impl Mapping {
    /// Maps `bytes` of the file from `offset`, which must be a multiple of [`mapping_granularity`]; the
    /// file must be that long. A file mapping object is made, then the view, and the object is closed.
    ///
    /// # Errors
    /// Those of CreateFileMappingW and MapViewOfFile.
    #[inline]
    pub fn read_only(file: &File, offset: u64, bytes: usize) -> io::Result<Mapping> {
        let mapping = FileMapping::new(Some(file), PAGE_READONLY, 0, false)?;
        Ok(Mapping { view: View::map(&mapping, FILE_MAP_READ, offset, bytes)?, bytes })
    }

    /// Reads the first byte, which brings the page in if it is not there.
    #[inline]
    pub fn first_byte(&self) -> u8 {
        // SAFETY: a view is at least one byte long and lives as long as self. Volatile: another process may
        // write the file, and the read must happen.
        unsafe { self.view.0.as_ptr().cast::<u8>().read_volatile() }
    }

    /// Reads the byte at `offset`; zero beyond the mapping's end.
    pub fn byte(&self, offset: usize) -> u8 {
        if offset >= self.bytes {
            return 0;
        }
        // SAFETY: within the view, by the line above; volatile as in `first_byte`.
        unsafe { self.view.0.as_ptr().cast::<u8>().add(offset).read_volatile() }
    }

    /// Writes all of it to the file, by WriteFile.
    ///
    /// # Errors
    /// Those of WriteFile.
    pub fn write_to(&self, mut file: &File) -> io::Result<()> {
        // SAFETY: the view is that long and lives as long as self; nobody writes the file meanwhile, which is
        // the source of a copy in the folder of one trial.
        let content = unsafe { std::slice::from_raw_parts(self.view.0.as_ptr().cast::<u8>(), self.bytes) };
        file.write_all(content)
    }

    /// Unsupported.
    ///
    /// # Errors
    /// Always.
    pub fn resident_pages(&self) -> io::Result<usize> {
        Err(crate::Unsupported("which pages of a mapping are in memory is not asked on Windows").into())
    }

    /// Removes the mapping.
    ///
    /// # Errors
    /// Those of UnmapViewOfFile.
    #[inline]
    pub fn unmap(self) -> io::Result<()> {
        self.view.remove()
    }
}

/// Numbers that a child process writes and its parent can still read when the child has crashed.
#[derive(Debug)]
pub struct Shared {
    view: View,
    slots: usize,
    mapping: Option<FileMapping>,
}

// SAFETY: view and handle are of the process, not of a thread, and the numbers are reached through atomics.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Shared {
    /// Makes a region of `slots` zeros whose handle a child inherits.
    ///
    /// # Errors
    /// Those of CreateFileMappingW and MapViewOfFile.
    pub fn create(slots: usize) -> io::Result<Shared> {
        let mapping = FileMapping::new(None, PAGE_READWRITE, bytes_of(slots) as u64, true)?;
        Shared::map(mapping, slots)
    }

    /// Opens the region that the parent handed down under the number `inherited`, and touches every page.
    ///
    /// # Errors
    /// Those of MapViewOfFile; `ERROR_INVALID_HANDLE` when there is no such handle.
    pub fn open(inherited: i32, slots: usize) -> io::Result<Shared> {
        let mut region = Shared::join(inherited, slots)?;
        // A handle less in the process that is measured.
        region.mapping = None;
        for slot in region.slots() {
            slot.store(0, Ordering::Relaxed);
        }
        Ok(region)
    }

    /// Opens the region that the parent goes on using: the numbers keep their values.
    ///
    /// # Errors
    /// As for [`Shared::open`].
    pub fn join(inherited: i32, slots: usize) -> io::Result<Shared> {
        // Handles have 32 significant bits (Microsoft, "Interprocess Communication Between 32-bit and 64-bit
        // Applications"), and a number that is no handle of a mapping is refused by the call that uses it.
        Shared::map(FileMapping(inherited as isize as HANDLE), slots)
    }

    fn map(mapping: FileMapping, slots: usize) -> io::Result<Shared> {
        let view = View::map(&mapping, FILE_MAP_READ | FILE_MAP_WRITE, 0, bytes_of(slots))?;
        Ok(Shared { view, slots, mapping: Some(mapping) })
    }

    /// The number that `open` takes in the child; `None` in the child itself.
    pub fn inheritable(&self) -> Option<i32> {
        self.mapping.as_ref().map(|mapping| mapping.0 as isize as i32)
    }

    /// The numbers.
    pub fn slots(&self) -> &[AtomicU64] {
        // SAFETY: the view is page-aligned, holds `slots` numbers and lives as long as self; every process
        // reaches it through atomics only.
        unsafe { std::slice::from_raw_parts(self.view.0.as_ptr().cast::<AtomicU64>(), self.slots) }
    }
}

fn bytes_of(slots: usize) -> usize {
    slots.max(1) * size_of::<u64>()
}

/// The result of a call that reports its success.
fn done(succeeded: i32) -> io::Result<()> {
    if succeeded == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

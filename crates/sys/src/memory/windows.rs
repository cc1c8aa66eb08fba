//! Memory on Windows: CreateFileMappingW and MapViewOfFile.

use std::fs::File;
use std::io::{self, Write};
use std::os::windows::io::{AsRawHandle, FromRawHandle, HandleOrNull, OwnedHandle};
use std::ptr::{self, NonNull};
use std::sync::OnceLock;

use windows_sys::Win32::Foundation::{HANDLE, INVALID_HANDLE_VALUE};
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
pub(crate) struct MappedRange {
    pub(super) start: NonNull<u8>,
    pub(super) bytes: usize,
}

impl MappedRange {
    /// A part of a file.
    #[inline]
    pub(super) fn read_only(file: &File, offset: u64, bytes: usize) -> io::Result<MappedRange> {
        let memory = file_mapping(Some(file), PAGE_READONLY, 0, false)?;
        MappedRange::map(&memory, FILE_MAP_READ, offset, bytes)
    }

    /// All of shared memory.
    pub(super) fn writable(memory: &MemoryHandle, bytes: usize) -> io::Result<MappedRange> {
        MappedRange::map(memory, FILE_MAP_READ | FILE_MAP_WRITE, 0, bytes)
    }

    /// One MapViewOfFile.
    #[inline]
    fn map(memory: &MemoryHandle, access: u32, offset: u64, bytes: usize) -> io::Result<MappedRange> {
        let (high, low) = ((offset >> 32) as u32, offset as u32);
        // SAFETY: the handle is open, and the address is the system's choice.
        let view = unsafe { MapViewOfFile(memory.as_raw_handle(), access, high, low, bytes) };
        let start = NonNull::new(view.Value.cast()).ok_or_else(io::Error::last_os_error)?;
        Ok(MappedRange { start, bytes })
    }

    /// By WriteFile.
    pub(super) fn write_to(&self, mut file: &File) -> io::Result<()> {
        // SAFETY: the view is that long and lives as long as self; nobody writes the file meanwhile, which is
        // the source of a copy in the folder of one trial.
        let content = unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.bytes) };
        file.write_all(content)
    }

    /// Unsupported.
    pub(super) fn resident_pages(&self) -> io::Result<usize> {
        Err(crate::Unsupported("which pages of a mapping are in memory is not asked on Windows").into())
    }

    /// One UnmapViewOfFile.
    #[inline]
    pub(super) fn unmap(self) -> io::Result<()> {
        let view = self.view();
        std::mem::forget(self);
        // SAFETY: the view was ours alone and nobody can use it any more.
        match unsafe { UnmapViewOfFile(view) } {
            0 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }

    fn view(&self) -> MEMORY_MAPPED_VIEW_ADDRESS {
        MEMORY_MAPPED_VIEW_ADDRESS { Value: self.start.as_ptr().cast() }
    }
}

impl Drop for MappedRange {
    fn drop(&mut self) {
        // SAFETY: as in `unmap`. An error could only mean that it is gone already.
        unsafe { UnmapViewOfFile(self.view()) };
    }
}

/// The handle of a file mapping object, which a view outlives.
pub(super) type MemoryHandle = OwnedHandle;

/// One CreateFileMappingW without a name; without a file it is backed by the paging file.
#[inline]
fn file_mapping(file: Option<&File>, protection: u32, bytes: u64, inherit: bool) -> io::Result<MemoryHandle> {
    let attributes = SECURITY_ATTRIBUTES {
        nLength: size_of::<SECURITY_ATTRIBUTES>() as u32,
        lpSecurityDescriptor: ptr::null_mut(),
        bInheritHandle: i32::from(inherit),
    };
    let file = file.map_or(INVALID_HANDLE_VALUE, AsRawHandle::as_raw_handle);
    let (high, low) = ((bytes >> 32) as u32, bytes as u32);
    // SAFETY: the file is open, or is the value for no file; the attributes outlive the call, and the handle
    // is ours.
    let handle = unsafe {
        let name = ptr::null();
        let handle = CreateFileMappingW(file, &raw const attributes, protection, high, low, name);
        HandleOrNull::from_raw_handle(handle)
    };
    OwnedHandle::try_from(handle).map_err(|_| io::Error::last_os_error())
}

/// Memory of so many zeros that a child inherits.
pub(super) fn shared_memory(bytes: usize) -> io::Result<MemoryHandle> {
    file_mapping(None, PAGE_READWRITE, bytes as u64, true)
}

/// That of the parent under this number. Handles have 32 significant bits (Microsoft, "Interprocess
/// Communication Between 32-bit and 64-bit Applications").
pub(super) fn inherited_memory(number: i32) -> io::Result<MemoryHandle> {
    // SAFETY: the parent left the handle to us. A number that is no handle of a mapping is refused by the
    // call that uses it.
    Ok(unsafe { OwnedHandle::from_raw_handle(number as isize as HANDLE) })
}

/// The number that a child takes.
pub(super) fn number(memory: &MemoryHandle) -> i32 {
    memory.as_raw_handle() as isize as i32
}

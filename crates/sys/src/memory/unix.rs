//! Memory on Unix: mmap(2), and memfd_create(2) or shm_open(3) for the shared region.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::ptr::{self, NonNull};

#[cfg(target_os = "linux")]
use rustix::mm::{Advice, madvise};
use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};

/// The size of a page.
pub fn page_bytes() -> usize {
    rustix::param::page_size()
}

/// Where in a file a mapping may begin: at multiples of this (mmap(2)).
pub fn mapping_granularity() -> usize {
    page_bytes()
}

/// Makes the allocator keep freed memory for later allocations. Thousands of simulations that take megabytes
/// each spend most of their time on page faults otherwise. Where the allocator is another than that of glibc,
/// nothing changes.
pub fn keep_freed() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    for (parameter, bytes) in [(libc::M_MMAP_THRESHOLD, 16 << 20), (libc::M_TRIM_THRESHOLD, 1 << 30)] {
        // SAFETY: it changes when later calls return memory; values that it does not accept it ignores.
        unsafe { libc::mallopt(parameter, bytes) };
    }
}

/// A mapped range of addresses, which ends with its owner.
#[derive(Debug)]
pub(crate) struct MappedRange {
    pub(crate) start: NonNull<u8>,
    pub(crate) bytes: usize,
}

impl MappedRange {
    /// Memory of this process alone, zero until it is written.
    #[inline]
    pub(crate) fn anonymous(bytes: usize, protection: ProtFlags) -> io::Result<MappedRange> {
        // SAFETY: the kernel chooses the address, so no existing mapping is replaced.
        let start = unsafe { mmap_anonymous(ptr::null_mut(), bytes, protection, MapFlags::PRIVATE)? };
        MappedRange::new(start.cast(), bytes)
    }

    /// A part of a file, with all that other processes write to it.
    #[inline]
    pub(crate) fn shared(
        file: impl AsFd,
        protection: ProtFlags,
        offset: u64,
        bytes: usize,
    ) -> io::Result<MappedRange> {
        // SAFETY: as in `anonymous`.
        let start = unsafe { mmap(ptr::null_mut(), bytes, protection, MapFlags::SHARED, file, offset)? };
        MappedRange::new(start.cast(), bytes)
    }

    /// A part of a file that is not written.
    #[inline]
    pub(super) fn read_only(file: &File, offset: u64, bytes: usize) -> io::Result<MappedRange> {
        MappedRange::shared(file, ProtFlags::READ, offset, bytes)
    }

    /// All of shared memory.
    pub(super) fn writable(memory: &MemoryHandle, bytes: usize) -> io::Result<MappedRange> {
        MappedRange::shared(memory, ProtFlags::READ | ProtFlags::WRITE, 0, bytes)
    }

    fn new(start: *mut u8, bytes: usize) -> io::Result<MappedRange> {
        let start = NonNull::new(start).ok_or_else(|| io::Error::other("mmap returned the null page"))?;
        Ok(MappedRange { start, bytes })
    }

    /// By write(2).
    pub(super) fn write_to(&self, file: &File) -> io::Result<()> {
        let mut done = 0;
        while done < self.bytes {
            // SAFETY: `done` lies within the mapping, which lives as long as self; the kernel only reads it.
            let wrote = unsafe {
                let from = self.start.as_ptr().add(done);
                libc::write(file.as_raw_fd(), from.cast(), self.bytes - done)
            };
            match usize::try_from(wrote) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(bytes) => done += bytes,
                Err(_) => match io::Error::last_os_error() {
                    error if error.kind() == io::ErrorKind::Interrupted => {}
                    error => return Err(error),
                },
            }
        }
        Ok(())
    }

    /// By mincore(2).
    pub(super) fn resident_pages(&self) -> io::Result<usize> {
        cfg_select! {
            target_os = "linux" => {
                let mut pages = vec![0_u8; self.bytes.div_ceil(page_bytes())];
                let (start, bytes) = (self.start.as_ptr().cast(), self.bytes);
                // SAFETY: the range is this mapping, and `pages` has a byte for each page of it.
                crate::error::checked(unsafe { libc::mincore(start, bytes, pages.as_mut_ptr()) })?;
                Ok(pages.into_iter().filter(|page| page & 1 == 1).count())
            }
            _ => { Err(crate::Unsupported("which pages are in memory is asked on Linux only").into()) }
        }
    }

    /// One munmap(2).
    #[inline]
    pub(super) fn unmap(self) -> io::Result<()> {
        let (start, bytes) = (self.start, self.bytes);
        std::mem::forget(self);
        // SAFETY: the mapping was ours alone and nobody can use it any more.
        unsafe { munmap(start.as_ptr().cast(), bytes)? };
        Ok(())
    }
}

impl Drop for MappedRange {
    fn drop(&mut self) {
        // SAFETY: as in `unmap`. An error could only mean that it is gone already.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

/// Memory of this process alone, in pages of the smallest size; each page has been written.
#[derive(Debug)]
pub struct Private(MappedRange);

impl Private {
    /// Maps `bytes` and fills them with `content`.
    ///
    /// # Errors
    /// Those of mmap(2).
    pub fn filled(bytes: usize, content: u8) -> io::Result<Private> {
        let range = MappedRange::anonymous(bytes, ProtFlags::READ | ProtFlags::WRITE)?;
        #[cfg(target_os = "linux")]
        {
            // Else the kernel may take one huge page for 512 small ones, or not, as it finds memory. A kernel
            // without huge pages refuses the advice and does not need it.
            // SAFETY: the range is ours, and the advice changes neither its content nor its place.
            let _ = unsafe { madvise(range.start.as_ptr().cast(), bytes, Advice::LinuxNoHugepage) };
        }
        // SAFETY: the mapping is that long, writable, and nobody else knows it yet.
        unsafe { range.start.as_ptr().write_bytes(content, bytes) };
        Ok(Private(range))
    }

    /// The last byte.
    pub fn last(&self) -> &u8 {
        // SAFETY: the kernel maps no empty range, all of it was written, and it lives as long as self.
        unsafe { &*self.0.start.as_ptr().add(self.0.bytes - 1) }
    }

    /// Gives the memory back.
    ///
    /// # Errors
    /// Those of munmap(2).
    #[inline]
    pub fn unmap(self) -> io::Result<()> {
        self.0.unmap()
    }
}

/// The descriptor of memory that processes share.
pub(super) type MemoryHandle = OwnedFd;

/// Memory of so many zeros that a child inherits.
pub(super) fn shared_memory(bytes: usize) -> io::Result<MemoryHandle> {
    let descriptor = anonymous_file()?;
    rustix::fs::ftruncate(&descriptor, bytes as u64)?;
    Ok(descriptor)
}

/// That of the parent under this number.
pub(super) fn inherited_memory(number: i32) -> io::Result<MemoryHandle> {
    Ok(crate::process::inherited(number)?.into())
}

/// The number that a child takes.
pub(super) fn number(memory: &MemoryHandle) -> i32 {
    memory.as_raw_fd()
}

/// A file without a name, in memory, that a child inherits.
#[cfg(any(target_os = "linux", target_os = "freebsd"))]
fn anonymous_file() -> io::Result<OwnedFd> {
    Ok(rustix::fs::memfd_create("osdyno", rustix::fs::MemfdFlags::empty())?)
}

/// A file without a name, in memory, that a child inherits.
#[cfg(not(any(target_os = "linux", target_os = "freebsd")))]
fn anonymous_file() -> io::Result<OwnedFd> {
    use rustix::shm::{Mode, OFlags, open, unlink};
    let name = format!("/osdyno-{}", std::process::id());
    let file = open(&name, OFlags::CREATE | OFlags::EXCL | OFlags::RDWR, Mode::RUSR | Mode::WUSR)?;
    unlink(&name)?;
    rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty())?;
    Ok(file)
}

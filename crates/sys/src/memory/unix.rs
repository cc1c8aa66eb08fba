//! Memory on Unix: mmap(2), and memfd_create(2) or shm_open(3) for the shared region.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::AtomicU64;

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

    fn new(start: *mut u8, bytes: usize) -> io::Result<MappedRange> {
        let start = NonNull::new(start).ok_or_else(|| io::Error::other("mmap returned the null page"))?;
        Ok(MappedRange { start, bytes })
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

/// A part of a file, mapped shared and read-only.
#[derive(Debug)]
pub struct Mapping(MappedRange);

impl Mapping {
    /// Maps `bytes` of the file from `offset`, which must be a multiple of
    /// [`mapping_granularity`].
    ///
    /// # Errors
    /// Those of mmap(2); `ENOMEM` also means that the process has too many mappings.
    #[inline]
    pub fn read_only(file: &File, offset: u64, bytes: usize) -> io::Result<Mapping> {
        MappedRange::shared(file, ProtFlags::READ, offset, bytes).map(Mapping)
    }

    /// Reads the first byte, which brings the page in if it is not there.
    #[inline]
    pub fn first_byte(&self) -> u8 {
        // SAFETY: the mapping is at least one byte long and lives as long as self. Volatile: another
        // process may write the file, and the read must happen.
        unsafe { self.0.start.as_ptr().read_volatile() }
    }

    /// Reads the byte at `offset`; zero beyond the mapping's end.
    pub fn byte(&self, offset: usize) -> u8 {
        if offset >= self.0.bytes {
            return 0;
        }
        // SAFETY: within the mapping, by the line above; volatile as in `first_byte`.
        unsafe { self.0.start.as_ptr().add(offset).read_volatile() }
    }

    /// Writes all of it to the file, by write(2).
    ///
    /// # Errors
    /// Those of write(2).
    pub fn write_to(&self, file: &File) -> io::Result<()> {
        let mut done = 0;
        while done < self.0.bytes {
            // SAFETY: `done` lies within the mapping, which lives as long as self; the kernel only reads it.
            let wrote = unsafe {
                let from = self.0.start.as_ptr().add(done);
                libc::write(file.as_raw_fd(), from.cast(), self.0.bytes - done)
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

    /// How many of its pages are in memory: mincore(2).
    ///
    /// # Errors
    /// Those of mincore(2); unsupported where the system does not report it.
    pub fn resident_pages(&self) -> io::Result<usize> {
        cfg_select! {
            target_os = "linux" => {
                let mut pages = vec![0_u8; self.0.bytes.div_ceil(page_bytes())];
                let (start, bytes) = (self.0.start.as_ptr().cast(), self.0.bytes);
                // SAFETY: the range is this mapping, and `pages` has a byte for each page of it.
                crate::error::checked(unsafe { libc::mincore(start, bytes, pages.as_mut_ptr()) })?;
                Ok(pages.into_iter().filter(|page| page & 1 == 1).count())
            }
            _ => { Err(crate::Unsupported("which pages are in memory is asked on Linux only").into()) }
        }
    }

    /// Removes the mapping.
    ///
    /// # Errors
    /// Those of munmap(2).
    #[inline]
    pub fn unmap(self) -> io::Result<()> {
        self.0.unmap()
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

/// Numbers that a child process writes and its parent can still read when the child has crashed.
#[derive(Debug)]
pub struct Shared {
    range: MappedRange,
    slots: usize,
    descriptor: Option<OwnedFd>,
}

// SAFETY: the mapping is of the process, not of a thread, and is reached through atomics only.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Shared {
    /// Makes a region of `slots` zeros whose descriptor a child inherits.
    ///
    /// # Errors
    /// Those of memfd_create(2) or shm_open(3), ftruncate(2) and mmap(2).
    pub fn create(slots: usize) -> io::Result<Shared> {
        let descriptor = anonymous_file()?;
        rustix::fs::ftruncate(&descriptor, (slots.max(1) * size_of::<u64>()) as u64)?;
        Shared::map(descriptor, slots)
    }

    /// Opens the region that the parent handed down as descriptor number `inherited`, and touches every page.
    ///
    /// # Errors
    /// `EBADF` when there is no such descriptor; those of fcntl(2) and mmap(2).
    pub fn open(inherited: i32, slots: usize) -> io::Result<Shared> {
        let mut region = Shared::join(inherited, slots)?;
        // The measured process then has one descriptor less.
        region.descriptor = None;
        for slot in region.slots() {
            slot.store(0, std::sync::atomic::Ordering::Relaxed);
        }
        Ok(region)
    }

    /// Opens the region that the executing process goes on using: the numbers keep their values.
    ///
    /// # Errors
    /// As for [`Shared::open`].
    pub fn join(inherited: i32, slots: usize) -> io::Result<Shared> {
        Shared::map(crate::process::inherited(inherited)?.into(), slots)
    }

    fn map(descriptor: OwnedFd, slots: usize) -> io::Result<Shared> {
        let bytes = slots.max(1) * size_of::<u64>();
        let range = MappedRange::shared(&descriptor, ProtFlags::READ | ProtFlags::WRITE, 0, bytes)?;
        Ok(Shared { range, slots, descriptor: Some(descriptor) })
    }

    /// The number that `open` takes in the child; `None` in the child itself.
    pub fn inheritable(&self) -> Option<i32> {
        self.descriptor.as_ref().map(AsRawFd::as_raw_fd)
    }

    /// The numbers.
    pub fn slots(&self) -> &[AtomicU64] {
        // SAFETY: the mapping is page-aligned, holds `slots` numbers and lives as long as self; every
        // process reaches it through atomics only.
        unsafe { std::slice::from_raw_parts(self.range.start.as_ptr().cast::<AtomicU64>(), self.slots) }
    }
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

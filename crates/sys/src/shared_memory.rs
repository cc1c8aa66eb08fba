//! Shared memory of one page: segments of System V (sysvipc(7)), objects of POSIX (shm_overview(7)), and
//! files in memory (memfd_create(2)). The first two outlive processes: see [`persistent`](crate::persistent).

use std::fs::File;
use std::io::{self, Read};
use std::ptr::NonNull;

use rustix::fs::{MemfdFlags, Mode};
use rustix::shm;

use crate::error::checked;
use crate::memory::{Mapping, page_bytes};

/// A segment of System V.
#[derive(Clone, Copy, Debug)]
pub struct SystemVSegment(libc::c_int);

/// A segment in this address space.
#[derive(Debug)]
pub struct AttachedSegment(NonNull<u64>);

impl SystemVSegment {
    fn get(key: u32, bytes: usize, flags: libc::c_int) -> io::Result<SystemVSegment> {
        // SAFETY: it takes numbers only.
        checked(unsafe { libc::shmget(key.cast_signed(), bytes, flags) }).map(SystemVSegment)
    }

    /// One shmget(2) that makes a new segment.
    ///
    /// # Errors
    /// Those of shmget(2), `ENOSPC` at the limit.
    #[inline]
    pub fn create(key: u32) -> io::Result<SystemVSegment> {
        SystemVSegment::get(key, page_bytes(), libc::IPC_CREAT | libc::IPC_EXCL | 0o600)
    }

    /// The segment of that key.
    ///
    /// # Errors
    /// Those of shmget(2).
    pub fn open(key: u32) -> io::Result<SystemVSegment> {
        SystemVSegment::get(key, 0, 0)
    }

    /// Whether any segment has the key, be it of another user.
    pub fn exists(key: u32) -> bool {
        let error = SystemVSegment::open(key).err().and_then(|error| error.raw_os_error());
        !matches!(error, Some(libc::ENOENT | libc::ENOSYS))
    }

    /// One shmat(2).
    ///
    /// # Errors
    /// Those of shmat(2).
    #[inline]
    pub fn attach(self) -> io::Result<AttachedSegment> {
        // SAFETY: without an address the system chooses unused memory.
        let address = unsafe { libc::shmat(self.0, std::ptr::null(), 0) };
        match NonNull::new(address.cast::<u64>()) {
            Some(memory) if address.addr() != usize::MAX => Ok(AttachedSegment(memory)),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// One shmctl(2) with `IPC_RMID`.
    ///
    /// # Errors
    /// Those of shmctl(2).
    #[inline]
    pub fn remove(self) -> io::Result<()> {
        // SAFETY: this command uses no memory of ours.
        checked(unsafe { libc::shmctl(self.0, libc::IPC_RMID, std::ptr::null_mut()) }).map(drop)
    }

    /// Reads the list of all segments, as ipcs(1) does. `buffer` is used again.
    ///
    /// # Errors
    /// Those of open(2) and read(2).
    pub fn list(buffer: &mut String) -> io::Result<()> {
        buffer.clear();
        File::open("/proc/sysvipc/shm")?.read_to_string(buffer).map(drop)
    }
}

impl AttachedSegment {
    /// The number at its beginning.
    pub fn number(&self) -> u64 {
        // SAFETY: the segment is attached, and has a page.
        unsafe { self.0.read_volatile() }
    }

    /// Writes the number at its beginning.
    pub fn set_number(&mut self, number: u64) {
        // SAFETY: the segment is attached for writing, and has a page.
        unsafe { self.0.write_volatile(number) };
    }

    /// One shmdt(2).
    ///
    /// # Errors
    /// Those of shmdt(2).
    #[inline]
    pub fn detach(self) -> io::Result<()> {
        let address = std::mem::ManuallyDrop::new(self).0.as_ptr();
        // SAFETY: it was attached there, and nothing uses it after this.
        checked(unsafe { libc::shmdt(address.cast()) }).map(drop)
    }
}

impl Drop for AttachedSegment {
    fn drop(&mut self) {
        // SAFETY: it was attached there, and nothing uses it after this.
        unsafe { libc::shmdt(self.0.as_ptr().cast()) };
    }
}

/// The name of a shared memory object.
#[derive(Clone, Debug)]
pub struct SharedObject(String);

impl SharedObject {
    /// The name of the object of that number.
    ///
    /// # Errors
    /// None.
    pub fn name(number: u32) -> io::Result<SharedObject> {
        Ok(SharedObject(format!("/osdyno-{number}")))
    }

    /// One shm_open(3) that makes a new object.
    ///
    /// # Errors
    /// Those of shm_open(3).
    #[inline]
    pub fn create(&self) -> io::Result<File> {
        let flags = shm::OFlags::CREATE | shm::OFlags::EXCL | shm::OFlags::RDWR;
        Ok(shm::open(self.0.as_str(), flags, Mode::from_raw_mode(0o600))?.into())
    }

    /// One shm_open(3) and one mmap(2) of the object, whose descriptor is closed after that.
    ///
    /// # Errors
    /// Those of both calls.
    #[inline]
    pub fn attach(&self) -> io::Result<(Mapping, File)> {
        let file = File::from(shm::open(self.0.as_str(), shm::OFlags::RDONLY, Mode::empty())?);
        Ok((Mapping::read_only(&file, 0, page_bytes())?, file))
    }

    /// One shm_unlink(3).
    ///
    /// # Errors
    /// Those of shm_unlink(3).
    #[inline]
    pub fn remove(self) -> io::Result<()> {
        Ok(shm::unlink(self.0.as_str())?)
    }
}

/// One memfd_create(2).
///
/// # Errors
/// Those of memfd_create(2).
#[inline]
pub fn create_memory_file() -> io::Result<File> {
    Ok(rustix::fs::memfd_create("osdyno", MemfdFlags::CLOEXEC)?.into())
}

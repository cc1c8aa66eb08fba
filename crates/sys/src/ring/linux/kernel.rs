//! Additions to the `io-uring` crate: a check of the kernel, and calls through a registered ring descriptor.

use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::time::Duration;

use io_uring::types::{SubmitArgs, Timespec};
use io_uring::{EnterFlags, IoUring};

use super::RingSettings;
use crate::Unsupported;

const REGISTER_RING_FDS: u32 = 20;
const UNREGISTER_RING_FDS: u32 = 21;

/// A ring, or the reason why this kernel has none.
pub(super) fn set_up(settings: RingSettings) -> io::Result<IoUring> {
    let completions = settings.completions.max(settings.entries.saturating_mul(2));
    IoUring::builder()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .setup_submit_all()
        .setup_clamp()
        .setup_cqsize(completions)
        .dontfork()
        .build(settings.entries.max(1))
        .map_err(why)
}

/// The reason behind the error number of io_uring_setup(2), where it means that io_uring is missing.
fn why(error: io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(libc::ENOSYS) => Unsupported("this kernel has no io_uring, or a sandbox hides it").into(),
        Some(libc::EINVAL) => Unsupported("io_uring as it is used here needs Linux 6.1 or newer").into(),
        Some(libc::EPERM | libc::EACCES) if switched_off() => {
            Unsupported("io_uring is switched off by the sysctl kernel.io_uring_disabled").into()
        }
        Some(libc::EPERM | libc::EACCES) => {
            Unsupported("a sandbox or security module forbids io_uring").into()
        }
        _ => error,
    }
}

fn switched_off() -> bool {
    std::fs::read_to_string("/proc/sys/kernel/io_uring_disabled").is_ok_and(|value| value.trim() != "0")
}

/// How io_uring_enter(2) identifies the ring: by a number registered with it, which spares the kernel a
/// look-up, or by the descriptor, where a thread has 16 numbers in use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Door {
    number: RawFd,
    flags: EnterFlags,
}

#[repr(C)]
struct Registration {
    offset: u32,
    reserved: u32,
    data: u64,
}

impl Door {
    pub(super) fn open(ring: &IoUring) -> Door {
        let mut registration = Registration { offset: u32::MAX, reserved: 0, data: ring.as_raw_fd() as u64 };
        match register(ring, REGISTER_RING_FDS, &mut registration) {
            true => Door { number: registration.offset as RawFd, flags: EnterFlags::REGISTERED_RING },
            false => Door { number: ring.as_raw_fd(), flags: EnterFlags::empty() },
        }
    }

    /// Without it the ring would live as long as its thread.
    pub(super) fn shut(self, ring: &IoUring) {
        if self.flags.contains(EnterFlags::REGISTERED_RING) {
            let mut registration = Registration { offset: self.number as u32, reserved: 0, data: 0 };
            register(ring, UNREGISTER_RING_FDS, &mut registration);
        }
    }

    /// One io_uring_enter(2): submits, waits for `want` completions, and makes the kernel finish deferred
    /// work.
    pub(super) fn enter(self, submit: usize, want: u32, timeout: Option<Duration>) -> io::Result<()> {
        let timespec = timeout.map(Timespec::from);
        let mut arguments = SubmitArgs::new();
        if let Some(timespec) = &timespec {
            arguments = arguments.timespec(timespec);
        }
        let flags = self.flags | EnterFlags::GETEVENTS | EnterFlags::EXT_ARG;
        // SAFETY: the arguments live through the call and have the size given; the ring keeps the memory that
        // the queue's entries point to until their completion.
        let submitted = unsafe {
            libc::syscall(
                libc::SYS_io_uring_enter,
                self.number,
                u32::try_from(submit).unwrap_or(u32::MAX),
                want,
                flags.bits(),
                &raw const arguments,
                size_of::<SubmitArgs<'_, '_>>(),
            )
        };
        if submitted < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

fn register(ring: &IoUring, what: u32, registration: &mut Registration) -> bool {
    // SAFETY: one registration, alive through the call, in the layout of io_uring_rsrc_update.
    let registered = unsafe {
        libc::syscall(libc::SYS_io_uring_register, ring.as_raw_fd(), what, &raw mut *registration, 1)
    };
    registered == 1
}

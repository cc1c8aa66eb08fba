//! Message queues of System V (sysvipc(7)) and of POSIX (mq_overview(7)), which outlive processes: see
//! [`persistent`](crate::persistent).

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::error::checked;

/// Bytes of a message.
const MESSAGE_BYTES: usize = 1;

/// A message as msgsnd(2) takes it.
#[repr(C)]
struct Message {
    kind: libc::c_long,
    byte: u8,
}

/// A queue of System V.
#[derive(Clone, Copy, Debug)]
pub struct SystemVQueue(libc::c_int);

impl SystemVQueue {
    fn get(key: u32, flags: libc::c_int) -> io::Result<SystemVQueue> {
        // SAFETY: it takes numbers only.
        checked(unsafe { libc::msgget(key.cast_signed(), flags) }).map(SystemVQueue)
    }

    /// One msgget(2) that makes a new queue.
    ///
    /// # Errors
    /// Those of msgget(2), `ENOSPC` at the limit.
    #[inline]
    pub fn create(key: u32) -> io::Result<SystemVQueue> {
        SystemVQueue::get(key, libc::IPC_CREAT | libc::IPC_EXCL | 0o600)
    }

    /// The queue of that key.
    ///
    /// # Errors
    /// Those of msgget(2).
    pub fn open(key: u32) -> io::Result<SystemVQueue> {
        SystemVQueue::get(key, 0)
    }

    /// Whether any queue has the key, be it of another user.
    pub fn exists(key: u32) -> bool {
        let error = SystemVQueue::open(key).err().and_then(|error| error.raw_os_error());
        !matches!(error, Some(libc::ENOENT | libc::ENOSYS))
    }

    /// Sends a byte with that type, which is not 0, by one msgsnd(2) that does not wait.
    ///
    /// # Errors
    /// Those of msgsnd(2), `WouldBlock` when the queue is full.
    #[inline]
    pub fn send(self, kind: u32, byte: u8) -> io::Result<()> {
        let message = Message { kind: kind as libc::c_long, byte };
        // SAFETY: the message has so many bytes behind its type, and lives as long as the call.
        let sent =
            unsafe { libc::msgsnd(self.0, (&raw const message).cast(), MESSAGE_BYTES, libc::IPC_NOWAIT) };
        checked(sent).map(drop)
    }

    /// Receives the oldest message of that type, or of any where it is 0, by one msgrcv(2) that does not
    /// wait.
    ///
    /// # Errors
    /// Those of msgrcv(2), `ENOMSG` when there is none.
    #[inline]
    pub fn receive(self, kind: u32) -> io::Result<u8> {
        let mut message = Message { kind: 0, byte: 0 };
        let (room, kind) = ((&raw mut message).cast(), kind as libc::c_long);
        // SAFETY: there is room for a type and so many bytes, which lives as long as the call.
        let received = unsafe { libc::msgrcv(self.0, room, MESSAGE_BYTES, kind, libc::IPC_NOWAIT) };
        if received == MESSAGE_BYTES.cast_signed() {
            Ok(message.byte)
        } else {
            Err(io::Error::last_os_error())
        }
    }

    /// One msgctl(2) with `IPC_RMID`.
    ///
    /// # Errors
    /// Those of msgctl(2).
    #[inline]
    pub fn remove(self) -> io::Result<()> {
        // SAFETY: this command uses no memory of ours.
        checked(unsafe { libc::msgctl(self.0, libc::IPC_RMID, std::ptr::null_mut()) }).map(drop)
    }
}

/// A queue of POSIX that is open.
#[derive(Debug)]
pub struct PosixQueue(OwnedFd);

impl PosixQueue {
    /// One mq_open(3) that makes a new queue for so many messages.
    ///
    /// # Errors
    /// Those of mq_open(3): `ENOSPC` and `EMFILE` at limits, `EINVAL` for too many messages.
    #[inline]
    pub fn create(name: &std::ffi::CStr, messages: usize) -> io::Result<PosixQueue> {
        // SAFETY: all zero is a valid `mq_attr`: its parts are integers.
        let mut attributes: libc::mq_attr = unsafe { std::mem::zeroed() };
        attributes.mq_maxmsg = messages as _;
        attributes.mq_msgsize = MESSAGE_BYTES as _;
        let flags = libc::O_CREAT | libc::O_EXCL | libc::O_RDWR | libc::O_NONBLOCK | libc::O_CLOEXEC;
        let mode: libc::mode_t = 0o600;
        // SAFETY: the name ends with a zero byte, and both live as long as the call.
        let opened = unsafe { libc::mq_open(name.as_ptr(), flags, mode, &raw const attributes) };
        // SAFETY: the call has just opened it, and nothing else owns it. On Linux it is a descriptor.
        checked(opened).map(|number| PosixQueue(unsafe { OwnedFd::from_raw_fd(number) }))
    }

    /// The name of a queue of that number.
    ///
    /// # Errors
    /// None.
    pub fn name(number: u32) -> io::Result<CString> {
        Ok(CString::new(format!("/osdyno-{number}"))?)
    }

    /// Sends a byte of that priority, by one mq_send(3).
    ///
    /// # Errors
    /// Those of mq_send(3), `WouldBlock` when the queue is full.
    #[inline]
    pub fn send(&self, priority: u32, byte: u8) -> io::Result<()> {
        let bytes = [byte];
        // SAFETY: the descriptor is open, and the bytes live as long as the call.
        checked(unsafe { libc::mq_send(self.0.as_raw_fd(), bytes.as_ptr().cast(), MESSAGE_BYTES, priority) })
            .map(drop)
    }

    /// Receives the oldest message of the highest priority, by one mq_receive(3). Returns both.
    ///
    /// # Errors
    /// Those of mq_receive(3), `WouldBlock` when there is none.
    #[inline]
    pub fn receive(&self) -> io::Result<(u32, u8)> {
        let (mut bytes, mut priority) = ([0_u8; MESSAGE_BYTES], 0);
        let room = bytes.as_mut_ptr().cast();
        // SAFETY: the descriptor is open, and the memory for the message and its priority lives as long as
        // the call.
        let received =
            unsafe { libc::mq_receive(self.0.as_raw_fd(), room, MESSAGE_BYTES, &raw mut priority) };
        if received == MESSAGE_BYTES.cast_signed() {
            Ok((priority, bytes[0]))
        } else {
            Err(io::Error::last_os_error())
        }
    }

    /// Removes the name of a queue, and the queue if nothing has it open, by one mq_unlink(3).
    ///
    /// # Errors
    /// Those of mq_unlink(3).
    #[inline]
    pub fn unlink(name: &std::ffi::CStr) -> io::Result<()> {
        // SAFETY: the name ends with a zero byte and lives as long as the call.
        checked(unsafe { libc::mq_unlink(name.as_ptr()) }).map(drop)
    }

    /// The same for the queue of that number.
    ///
    /// # Errors
    /// Those of mq_unlink(3).
    pub fn remove(number: u32) -> io::Result<()> {
        PosixQueue::unlink(&PosixQueue::name(number)?)
    }
}

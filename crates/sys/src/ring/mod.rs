//! io_uring, and on Windows completion ports: operations are submitted, and the kernel reports each with a
//! completion.
//!
//! A [`Ring`] belongs to one thread. The loop around it is
//!
//! ```no_run
//! # fn main() -> std::io::Result<()> {
//! # let mut ring = sys::ring::Ring::new(sys::ring::RingSettings::default())?;
//! loop {
//!     ring.wait(None)?;
//!     while let Some(completion) = ring.completion() {
//!         // Look at `completion.input` first; then the ring is free for the next operation.
//!     }
//! }
//! # }
//! ```
//!
//! - **Memory** handed to the kernel belongs to the ring until its completion, and comes back there. A ring
//!   dropped with operations in flight cancels them and waits; memory that the kernel does not give back in
//!   time is leaked.
//! - **Descriptors** are borrowed until the operation reaches the kernel, at the next [`Ring::submit`] or
//!   [`Ring::wait`]; from then on the kernel holds the file itself. One closed before that, other than by
//!   [`Ring::close`], which keeps its place in the queue, makes the operation fail or meet another file.
//!   Leave them blocking: the ring waits, not the thread.
//! - **Again** must be asked for, whatever the result, when a completion says that no `more` follow it: a
//!   multishot operation ends at every error, and when buffers or completions ran out.
//! - **After fork** the child must not touch the ring; its memory is not there, and the child would end by
//!   SIGSEGV. Only dropping it is fine, and does nothing.
//!
//! Source: io_uring(7), io_uring_setup(2), io_uring_enter(2), io_uring_register(2).

#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")
))]
mod memory;
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")
))]
#[path = "linux.rs"]
mod platform;
#[cfg(windows)]
#[path = "windows.rs"]
mod platform;

use std::io;

use crate::handle::OwnedHandle;

pub use platform::Ring;

/// The sizes of a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingSettings {
    /// Operations that are queued before the kernel is called; more only cost another call.
    pub entries: u32,
    /// Completions that can wait to be read. Beyond them the kernel keeps a list, and ends multishot
    /// operations.
    pub completions: u32,
    /// Buffers for input, up to 32 768, rounded up to a power of two; none without [`Ring::recv_multishot`].
    pub buffers: u16,
    /// The size of each of them.
    pub buffer_bytes: u32,
}

impl Default for RingSettings {
    fn default() -> RingSettings {
        // With 50 and with 1,000 connections, neither more entries nor other buffers made a difference that
        // could be measured; 1 MiB is what a server's caches bear.
        RingSettings { entries: 256, completions: 4096, buffers: 256, buffer_bytes: 4096 }
    }
}

/// An operation of a ring, for [`Ring::cancel`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperationId(u64);

/// Whether an operation was ended by [`Ring::cancel`], or by the ring itself, which had no buffer left.
pub fn is_ended_by_ring(error: &io::Error) -> bool {
    matches!(crate::error::name(error).as_str(), "ECANCELED" | "ENOBUFS" | "ERROR_OPERATION_ABORTED")
}

/// The result of an operation. `A` is an accepted connection: a ring that tests simulate has no descriptors.
#[derive(Debug)]
pub struct Completion<'ring, A = OwnedHandle> {
    /// The token that the operation was given.
    pub token: u64,
    /// The operation's count or its error: bytes sent, read or received, where zero received is the end of
    /// the input; for a poll, the bits of poll(2).
    pub result: io::Result<u32>,
    /// Another completion of the same operation will follow.
    pub more: bool,
    /// The input. Its buffer goes back to the kernel with the next call of [`Ring::completion`] or
    /// [`Ring::wait`].
    pub input: &'ring [u8],
    /// The memory that `send` or `read_at` took.
    pub returned: Option<Vec<u8>>,
    /// The connection that was accepted.
    pub accepted: Option<A>,
}

/// Systems without io_uring.
#[cfg(all(
    unix,
    not(all(
        target_os = "linux",
        any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")
    ))
))]
mod platform {
    use std::io;
    use std::os::fd::{BorrowedFd, OwnedFd};
    use std::time::Duration;

    use super::{Completion, OperationId, RingSettings};
    use crate::event::Interest;

    missing! {
        "io_uring is of Linux, on x86-64, Arm64 and RISC-V";
        pub struct Ring;
        pub fn new(settings: RingSettings) -> io::Result<Ring>;
        pub fn accept_multishot(&mut self, listener: BorrowedFd<'_>, token: u64) -> io::Result<OperationId>;
        pub fn recv_multishot(&mut self, socket: BorrowedFd<'_>, token: u64) -> io::Result<OperationId>;
        pub fn send(&mut self, socket: BorrowedFd<'_>, bytes: Vec<u8>, token: u64) -> io::Result<OperationId>;
        pub fn read_at(
            &mut self,
            file: BorrowedFd<'_>,
            offset: u64,
            bytes: Vec<u8>,
            token: u64
        ) -> io::Result<OperationId>;
        pub fn poll_once(
            &mut self,
            descriptor: BorrowedFd<'_>,
            interest: Interest,
            token: u64
        ) -> io::Result<OperationId>;
        pub fn poll_multishot(
            &mut self,
            descriptor: BorrowedFd<'_>,
            interest: Interest,
            token: u64
        ) -> io::Result<OperationId>;
        pub fn cancel(&mut self, operation: OperationId) -> io::Result<()>;
        pub fn close(&mut self, descriptor: OwnedFd);
        pub fn submit(&mut self) -> io::Result<()>;
        pub fn wait(&mut self, timeout: Option<Duration>) -> io::Result<usize>;
        pub fn completion(&mut self) -> Option<Completion<'_>>;
        pub fn in_flight(&self) -> usize;
    }
}

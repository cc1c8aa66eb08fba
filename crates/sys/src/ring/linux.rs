//! The ring on Linux, 6.1 or newer: task work deferred to the calls of its one thread.

use std::collections::VecDeque;
use std::io;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

use io_uring::types::{CancelBuilder, Fd, SubmitArgs, Timespec};
use io_uring::{EnterFlags, IoUring, cqueue, opcode, squeue};

use super::memory::{Buffers, GROUP, Kind, Slots};
use super::{Completion, OperationId, RingSettings};
use crate::Unsupported;
use crate::error::checked;
use crate::event::Interest;

/// Marks the completions of closing and cancelling, whose results are not used.
const SILENT: OperationId = OperationId(u64::MAX);

/// The kernel reads and writes no more than this at once (MAX_RW_COUNT).
const BYTES_MAX: usize = 0x7fff_f000;

/// How often the kernel is asked to make room in the queue.
const PUSHES_MAX: u32 = 8;

/// How long dropping waits for operations in flight.
const DRAIN_MAX: Duration = Duration::from_secs(1);

const REGISTER_RING_FDS: u32 = 20;
const UNREGISTER_RING_FDS: u32 = 21;

/// An io_uring with its buffers; the page of `ring` has its contract.
pub struct Ring {
    ring: ManuallyDrop<IoUring>,
    door: Door,
    slots: ManuallyDrop<Slots>,
    buffers: ManuallyDrop<Option<Buffers>>,
    /// The buffer that the last completion showed.
    shown: Option<u16>,
    /// Completions taken off the kernel's queue, many at once.
    fetched: VecDeque<cqueue::Entry>,
    /// A child of fork(2) has no part in the ring.
    process: u32,
    /// The kernel refuses every other thread.
    one_thread: PhantomData<*mut ()>,
}

impl std::fmt::Debug for Ring {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Ring").field("in_flight", &self.in_flight()).finish_non_exhaustive()
    }
}

impl Ring {
    /// A ring of this thread.
    ///
    /// # Errors
    /// `crate::Unsupported` with the reason; else those of io_uring_setup(2) and mmap(2).
    pub fn new(settings: RingSettings) -> io::Result<Ring> {
        let ring = set_up(settings)?;
        let buffers = match settings.buffers {
            0 => None,
            count => Some(Buffers::register(&ring, count, settings.buffer_bytes.max(1))?),
        };
        Ok(Ring {
            door: Door::open(&ring),
            ring: ManuallyDrop::new(ring),
            slots: ManuallyDrop::default(),
            buffers: ManuallyDrop::new(buffers),
            shown: None,
            fetched: VecDeque::new(),
            process: std::process::id(),
            one_thread: PhantomData,
        })
    }

    /// Accepts every connection that comes; each is a completion with `accepted`, blocking and closed on
    /// exec.
    ///
    /// # Errors
    /// Those of [`Ring::submit`], when the queue is full.
    pub fn accept_multishot(&mut self, listener: BorrowedFd<'_>, token: u64) -> io::Result<OperationId> {
        let entry = opcode::AcceptMulti::new(fd(listener)).flags(libc::SOCK_CLOEXEC).build();
        self.start(entry, Kind::Accept, Vec::new(), token)
    }

    /// Receives all that arrives, into the ring's buffers; each piece is a completion with `input`. It ends
    /// with `ENOBUFS` when all buffers are full, and when the ring has none.
    ///
    /// # Errors
    /// Those of [`Ring::submit`], when the queue is full.
    pub fn recv_multishot(&mut self, socket: BorrowedFd<'_>, token: u64) -> io::Result<OperationId> {
        let entry = opcode::RecvMulti::new(fd(socket), GROUP).build();
        self.start(entry, Kind::Receive, Vec::new(), token)
    }

    /// Sends all of `bytes`, up to 2 GiB, and gives them back. Fewer sent than given mean that the connection
    /// broke on the way. One at a time for each socket: two could mix.
    ///
    /// # Errors
    /// Those of [`Ring::submit`], when the queue is full; the bytes are lost then.
    pub fn send(&mut self, socket: BorrowedFd<'_>, bytes: Vec<u8>, token: u64) -> io::Result<OperationId> {
        let entry = opcode::Send::new(fd(socket), bytes.as_ptr(), length(bytes.len()))
            .flags(libc::MSG_WAITALL | libc::MSG_NOSIGNAL)
            .build();
        self.start(entry, Kind::Send, bytes, token)
    }

    /// Reads from a file at `offset`, at most what `bytes` has capacity for, and gives them back with the
    /// bytes of the file as content.
    ///
    /// # Errors
    /// Those of [`Ring::submit`], when the queue is full.
    pub fn read_at(
        &mut self,
        file: BorrowedFd<'_>,
        offset: u64,
        mut bytes: Vec<u8>,
        token: u64,
    ) -> io::Result<OperationId> {
        bytes.clear();
        let entry =
            opcode::Read::new(fd(file), bytes.as_mut_ptr(), length(bytes.capacity())).offset(offset).build();
        self.start(entry, Kind::Read, bytes, token)
    }

    /// Waits once until the descriptor is ready.
    ///
    /// # Errors
    /// Those of [`Ring::submit`], when the queue is full.
    pub fn poll_once(
        &mut self,
        descriptor: BorrowedFd<'_>,
        interest: Interest,
        token: u64,
    ) -> io::Result<OperationId> {
        let entry = opcode::PollAdd::new(fd(descriptor), bits(interest)).build();
        self.start(entry, Kind::Poll, Vec::new(), token)
    }

    /// Reports every change that makes the descriptor ready, as edge-triggered epoll(7) does.
    ///
    /// # Errors
    /// Those of [`Ring::submit`], when the queue is full.
    pub fn poll_multishot(
        &mut self,
        descriptor: BorrowedFd<'_>,
        interest: Interest,
        token: u64,
    ) -> io::Result<OperationId> {
        let entry = opcode::PollAdd::new(fd(descriptor), bits(interest)).multi(true).build();
        self.start(entry, Kind::Poll, Vec::new(), token)
    }

    /// Ends an operation. It completes in any case: with `ECANCELED`, or as it would have.
    ///
    /// # Errors
    /// Those of [`Ring::submit`], when the queue is full.
    pub fn cancel(&mut self, operation: OperationId) -> io::Result<()> {
        if self.slots.look(operation).is_none() {
            return Ok(());
        }
        self.push(&silent(opcode::AsyncCancel::new(operation.0).build()))
    }

    /// Closes a descriptor after its earlier operations have reached the kernel, without a completion.
    /// Operations in flight go on, and keep the file open: [`Ring::cancel`] them first.
    pub fn close(&mut self, descriptor: OwnedFd) {
        let entry = silent(opcode::Close::new(Fd(descriptor.as_raw_fd())).build());
        if self.push(&entry).is_ok() {
            // The kernel closes it.
            let _ = descriptor.into_raw_fd();
        }
    }

    /// Hands all that is queued to the kernel; [`Ring::wait`] does it too.
    ///
    /// # Errors
    /// Those of io_uring_enter(2); `EAGAIN` and `EBUSY` mean that the kernel is short of memory.
    pub fn submit(&mut self) -> io::Result<()> {
        match self.enter(0, None) {
            Err(error) if is_busy(&error) => {
                // Unread completions keep it from taking more.
                self.fetch();
                self.enter(0, None)
            }
            answer => answer,
        }
    }

    /// Hands all that is queued to the kernel, and waits until a completion is there, the time is over or a
    /// signal comes. Returns how many completions there are, at most.
    ///
    /// # Errors
    /// Those of io_uring_enter(2), without `ETIME` and `EINTR`.
    pub fn wait(&mut self, timeout: Option<Duration>) -> io::Result<usize> {
        self.give_back();
        let want = u32::from(self.waiting() == 0);
        match self.enter(want, timeout) {
            Err(error) if !(is_busy(&error) && self.waiting() > 0) => Err(error),
            _ => Ok(self.waiting()),
        }
    }

    /// The next completion that is there.
    pub fn completion(&mut self) -> Option<Completion<'_>> {
        self.give_back();
        if self.fetched.is_empty() {
            self.fetch();
        }
        while let Some(entry) = self.fetched.pop_front() {
            let operation = OperationId(entry.user_data());
            if let Some((token, kind)) = self.slots.look(operation) {
                return Some(self.completed(&entry, operation, token, kind));
            }
        }
        None
    }

    /// How many operations wait for their last completion.
    pub fn in_flight(&self) -> usize {
        self.slots.in_flight()
    }

    fn completed(
        &mut self,
        entry: &cqueue::Entry,
        operation: OperationId,
        token: u64,
        kind: Kind,
    ) -> Completion<'_> {
        let result = u32::try_from(entry.result()).map_err(|_| io::Error::from_raw_os_error(-entry.result()));
        let count = entry.result().max(0) as u32;
        let more = cqueue::more(entry.flags());
        let memory = if more { Vec::new() } else { self.slots.finish(operation) };
        let mut completion = Completion { token, result, more, input: &[], returned: None, accepted: None };
        match kind {
            Kind::Accept if completion.result.is_ok() => {
                // SAFETY: the kernel made this descriptor for us, and reports it once.
                completion.accepted = Some(unsafe { OwnedFd::from_raw_fd(entry.result()) });
            }
            Kind::Receive => {
                self.shown = cqueue::buffer_select(entry.flags());
                if let (Some(id), Some(buffers)) = (self.shown, self.buffers.as_ref()) {
                    completion.input = buffers.filled(id, count).unwrap_or_default();
                }
            }
            Kind::Send => completion.returned = Some(memory),
            Kind::Read => {
                let mut bytes = memory;
                // SAFETY: the kernel wrote `count` bytes from the start, and had no room for more than fit.
                unsafe { bytes.set_len((count as usize).min(bytes.capacity())) };
                completion.returned = Some(bytes);
            }
            Kind::Accept | Kind::Poll | Kind::Free => {}
        }
        completion
    }

    /// Queues an operation; the ring owns its memory from here on.
    fn start(
        &mut self,
        entry: squeue::Entry,
        kind: Kind,
        memory: Vec<u8>,
        token: u64,
    ) -> io::Result<OperationId> {
        let full = || io::Error::other("a ring cannot have more operations in flight");
        let operation = self.slots.start(kind, memory, token).ok_or_else(full)?;
        if let Err(error) = self.push(&entry.user_data(operation.0)) {
            self.slots.finish(operation);
            return Err(error);
        }
        Ok(operation)
    }

    fn push(&mut self, entry: &squeue::Entry) -> io::Result<()> {
        for _ in 0..PUSHES_MAX {
            // SAFETY: the entry points into a slot, which keeps the memory until the operation's completion.
            if unsafe { self.ring.submission().push(entry) }.is_ok() {
                return Ok(());
            }
            self.submit()?;
        }
        Err(io::Error::new(io::ErrorKind::WouldBlock, "the kernel takes nothing off the submission queue"))
    }

    fn enter(&mut self, want: u32, timeout: Option<Duration>) -> io::Result<()> {
        let queued = self.ring.submission().len();
        match self.door.enter(queued, want, timeout) {
            Err(error) if matches!(error.raw_os_error(), Some(libc::ETIME | libc::EINTR)) => Ok(()),
            answer => answer,
        }
    }

    fn waiting(&mut self) -> usize {
        self.fetched.len() + self.ring.completion().len()
    }

    /// Makes room in the kernel's queue of completions.
    fn fetch(&mut self) {
        self.fetched.extend(self.ring.completion());
    }

    /// Gives the buffer back that the last completion showed.
    fn give_back(&mut self) {
        if let (Some(id), Some(buffers)) = (self.shown.take(), self.buffers.as_mut()) {
            buffers.give(id);
        }
    }

    /// Cancels all operations in flight and takes every completion; whether nothing is left.
    fn drain(&mut self) -> bool {
        let deadline = Instant::now() + DRAIN_MAX;
        while self.in_flight() > 0 && Instant::now() < deadline {
            let all = silent(opcode::AsyncCancel2::new(CancelBuilder::any()).build());
            if self.push(&all).is_err() {
                break;
            }
            while self.wait(Some(Duration::from_millis(10))).is_ok_and(|count| count > 0) {
                while self.completion().is_some() {}
            }
        }
        self.in_flight() == 0
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // In a child of fork(2) all of this is the parent's.
        if self.process != std::process::id() {
            return;
        }
        // Descriptors that are only queued to be closed have no other owner.
        let _ = self.submit();
        let drained = self.drain();
        self.door.shut(&self.ring);
        // SAFETY: dropped once, and not used after.
        unsafe { ManuallyDrop::drop(&mut self.ring) };
        if drained {
            // SAFETY: dropped once, not used after, and the kernel works on nothing of it any more.
            // Otherwise it is leaked on purpose.
            unsafe {
                ManuallyDrop::drop(&mut self.slots);
                ManuallyDrop::drop(&mut self.buffers);
            }
        }
    }
}

fn fd(descriptor: BorrowedFd<'_>) -> Fd {
    Fd(descriptor.as_raw_fd())
}

fn length(bytes: usize) -> u32 {
    bytes.min(BYTES_MAX) as u32
}

fn bits(interest: Interest) -> u32 {
    let bits = match interest {
        Interest::Read => libc::POLLIN | libc::POLLRDHUP,
        Interest::Write => libc::POLLOUT,
        Interest::Both => libc::POLLIN | libc::POLLRDHUP | libc::POLLOUT,
        Interest::Nothing => 0,
    };
    bits as u32
}

fn silent(entry: squeue::Entry) -> squeue::Entry {
    entry.user_data(SILENT.0).flags(squeue::Flags::SKIP_SUCCESS)
}

fn is_busy(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EBUSY | libc::EAGAIN))
}

/// A ring, or the reason why this kernel has none.
fn set_up(settings: RingSettings) -> io::Result<IoUring> {
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
struct Door {
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
    fn open(ring: &IoUring) -> Door {
        let mut registration = Registration { offset: u32::MAX, reserved: 0, data: ring.as_raw_fd() as u64 };
        match register(ring, REGISTER_RING_FDS, &mut registration) {
            true => Door { number: registration.offset as RawFd, flags: EnterFlags::REGISTERED_RING },
            false => Door { number: ring.as_raw_fd(), flags: EnterFlags::empty() },
        }
    }

    /// Without it the ring would live as long as its thread.
    fn shut(self, ring: &IoUring) {
        if self.flags.contains(EnterFlags::REGISTERED_RING) {
            let mut registration = Registration { offset: self.number as u32, reserved: 0, data: 0 };
            register(ring, UNREGISTER_RING_FDS, &mut registration);
        }
    }

    /// One io_uring_enter(2): submits, waits for `want` completions, and makes the kernel finish deferred
    /// work.
    fn enter(self, submit: usize, want: u32, timeout: Option<Duration>) -> io::Result<()> {
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
        checked(submitted).map(drop)
    }
}

fn register(ring: &IoUring, what: u32, registration: &mut Registration) -> bool {
    // SAFETY: one registration, alive through the call, in the layout of io_uring_rsrc_update.
    let registered = unsafe {
        libc::syscall(libc::SYS_io_uring_register, ring.as_raw_fd(), what, &raw mut *registration, 1)
    };
    registered == 1
}

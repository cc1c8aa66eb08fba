//! The ring on Windows: a completion port, and operations that are begun anew where Linux repeats them.
//!
//! Source: "I/O Completion Ports", and the pages of AcceptEx, WSARecv, WSASend and CancelIoEx in Microsoft's
//! documentation.

use std::cell::UnsafeCell;
use std::collections::{HashMap, VecDeque};
use std::io;
use std::mem::ManuallyDrop;
use std::net::TcpListener;
use std::os::windows::io::{AsRawSocket, BorrowedSocket, FromRawSocket, OwnedSocket};
use std::ptr;
use std::time::{Duration, Instant};

use windows_sys::Win32::Foundation::{CloseHandle, HANDLE, INVALID_HANDLE_VALUE, WAIT_TIMEOUT};
use windows_sys::Win32::Networking::WinSock::{
    AcceptEx, SOCKADDR_STORAGE, SOCKET, WSA_IO_PENDING, WSA_OPERATION_ABORTED, WSABUF, WSAECONNRESET,
    WSAGetOverlappedResult, WSARecv, WSASend,
};
use windows_sys::Win32::System::IO::{
    CancelIoEx, CreateIoCompletionPort, GetQueuedCompletionStatusEx, OVERLAPPED, OVERLAPPED_ENTRY,
};

use super::{Completion, OperationId, RingSettings};
use crate::winsock::{self, ACCEPTED_BY, last_error};

/// Completions that one call takes.
const COMPLETIONS_MAX: usize = 256;

/// AcceptEx wants room for each of two addresses, with 16 bytes of its own.
const NAME_BYTES: usize = size_of::<SOCKADDR_STORAGE>() + 16;

/// How long dropping waits for operations in flight.
const DRAIN_MAX: Duration = Duration::from_secs(1);

/// A completion port with its operations. The page of `ring` has its contract. It works on connections that
/// it has accepted itself.
pub struct Ring {
    port: Port,
    operations: HashMap<u64, Box<Operation>>,
    /// The number of the next operation.
    next: u64,
    /// The listener that belongs to the port.
    listener: Option<SOCKET>,
    buffer_bytes: usize,
    /// Completions that were taken off the port, and operations that could not go on, with the reason.
    ended: VecDeque<(u64, Option<io::Error>)>,
    /// The operation whose buffer the last completion showed.
    shown: Option<u64>,
}

/// The memory that Windows works on until the completion. It does not move.
#[repr(C)]
struct Operation {
    /// First, so that a completion, which has the address of this, has that of the operation.
    overlapped: UnsafeCell<OVERLAPPED>,
    number: u64,
    token: u64,
    /// The listener or the connection.
    socket: SOCKET,
    work: Work,
    is_cancelled: bool,
}

enum Work {
    /// The socket that is to become a connection, and room for the addresses of both ends.
    Accept(Option<OwnedSocket>, Box<[u8; 2 * NAME_BYTES]>),
    Receive(Vec<u8>),
    Send(Vec<u8>),
}

impl std::fmt::Debug for Ring {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Ring").field("in_flight", &self.in_flight()).finish_non_exhaustive()
    }
}

impl Ring {
    /// A ring of this thread. Of the settings only the size of buffers counts: each operation has its own.
    ///
    /// # Errors
    /// Those of CreateIoCompletionPort.
    pub fn new(settings: RingSettings) -> io::Result<Ring> {
        Ok(Ring {
            port: Port::new()?,
            operations: HashMap::new(),
            next: 0,
            listener: None,
            buffer_bytes: settings.buffer_bytes.max(1) as usize,
            ended: VecDeque::new(),
            shown: None,
        })
    }

    /// Accepts every connection that comes; each is a completion with `accepted`, blocking.
    ///
    /// # Errors
    /// Those of CreateIoCompletionPort, for a listener of another ring, of WSASocketW and AcceptEx.
    pub fn accept_multishot(&mut self, listener: BorrowedSocket<'_>, token: u64) -> io::Result<OperationId> {
        let socket = listener.as_raw_socket() as SOCKET;
        if self.listener != Some(socket) {
            self.port.add(socket)?;
            self.listener = Some(socket);
        }
        self.start(socket, token, Work::Accept(None, Box::new([0; 2 * NAME_BYTES])))
    }

    /// Receives all that arrives; each piece is a completion with `input`.
    ///
    /// # Errors
    /// Those of WSARecv.
    pub fn recv_multishot(&mut self, socket: BorrowedSocket<'_>, token: u64) -> io::Result<OperationId> {
        let buffer = vec![0; self.buffer_bytes];
        self.start(socket.as_raw_socket() as SOCKET, token, Work::Receive(buffer))
    }

    /// Sends all of `bytes`, up to 4 GiB, and gives them back. One at a time for each socket.
    ///
    /// # Errors
    /// Those of WSASend; the bytes are lost then.
    pub fn send(
        &mut self,
        socket: BorrowedSocket<'_>,
        bytes: Vec<u8>,
        token: u64,
    ) -> io::Result<OperationId> {
        self.start(socket.as_raw_socket() as SOCKET, token, Work::Send(bytes))
    }

    /// Ends an operation. It completes in any case: with `ERROR_OPERATION_ABORTED`, or as it would have.
    ///
    /// # Errors
    /// None.
    pub fn cancel(&mut self, operation: OperationId) -> io::Result<()> {
        let Some(known) = self.operations.get_mut(&operation.0) else { return Ok(()) };
        known.is_cancelled = true;
        // An operation whose buffer is shown is not in flight; it ends when it would go on.
        if self.shown != Some(operation.0) {
            known.cancel();
        }
        Ok(())
    }

    /// Closes a connection that has nothing in flight.
    pub fn close(&mut self, connection: OwnedSocket) {
        drop(connection);
    }

    /// Waits until a completion is there or the time is over. Returns how many completions there are.
    ///
    /// # Errors
    /// Those of GetQueuedCompletionStatusEx, without `WAIT_TIMEOUT`.
    pub fn wait(&mut self, timeout: Option<Duration>) -> io::Result<usize> {
        self.go_on();
        if self.ended.is_empty() {
            self.port.wait(timeout, |number| self.ended.push_back((number, None)))?;
        }
        Ok(self.ended.len())
    }

    /// The next completion that is there.
    pub fn completion(&mut self) -> Option<Completion<'_>> {
        self.go_on();
        while let Some((number, stopped)) = self.ended.pop_front() {
            if let Some(operation) = self.operations.get(&number) {
                let result = stopped.map_or_else(|| operation.result(), Err);
                return self.completed(number, result);
            }
        }
        None
    }

    /// How many operations wait for their last completion.
    pub fn in_flight(&self) -> usize {
        self.operations.len()
    }

    fn start(&mut self, socket: SOCKET, token: u64, work: Work) -> io::Result<OperationId> {
        let (number, overlapped) = (self.next, UnsafeCell::new(OVERLAPPED::default()));
        self.next += 1;
        let mut operation =
            Box::new(Operation { overlapped, number, token, socket, work, is_cancelled: false });
        operation.begin()?;
        self.operations.insert(number, operation);
        Ok(OperationId(number))
    }

    fn completed(&mut self, number: u64, result: io::Result<u32>) -> Option<Completion<'_>> {
        let operation = self.operations.get_mut(&number)?;
        let token = operation.token;
        let mut completion =
            Completion { token, result, more: false, input: &[], returned: None, accepted: None };
        if let Work::Accept(made, _) = &mut operation.work {
            if completion.result.is_ok() {
                let accepted = made.take().map(|socket| self.port.accepted(socket, operation.socket));
                match accepted {
                    Some(Ok(socket)) => completion.accepted = Some(socket),
                    Some(Err(error)) => completion.result = Err(error),
                    None => {}
                }
            }
            completion.more =
                completion.result.is_ok() && !operation.is_cancelled && operation.begin().is_ok();
        }
        let received = matches!((&operation.work, &completion.result), (Work::Receive(_), Ok(1..)));
        if received {
            // It goes on when its buffer has been looked at.
            completion.more = true;
            self.shown = Some(number);
        }
        if !completion.more {
            if let Some(Work::Send(bytes)) = self.operations.remove(&number).map(|ended| ended.work) {
                completion.returned = Some(bytes);
            }
            return Some(completion);
        }
        if let Some(Work::Receive(buffer)) = self.operations.get(&number).map(|operation| &operation.work) {
            let count = completion.result.as_ref().map_or(0, |&count| count as usize);
            completion.input = buffer.get(..count).unwrap_or_default();
        }
        Some(completion)
    }

    /// Resumes the operation whose buffer the last completion showed.
    fn go_on(&mut self) {
        let Some(number) = self.shown.take() else { return };
        let Some(operation) = self.operations.get_mut(&number) else { return };
        let stopped = match operation.is_cancelled {
            true => Err(io::Error::from_raw_os_error(WSA_OPERATION_ABORTED)),
            false => operation.begin(),
        };
        if let Err(error) = stopped {
            self.ended.push_back((number, Some(error)));
        }
    }
}

impl Operation {
    /// Hands it to Windows, which answers through the port in any case.
    fn begin(&mut self) -> io::Result<()> {
        *self.overlapped.get_mut() = OVERLAPPED::default();
        let overlapped = self.overlapped.get();
        let is_done = match &mut self.work {
            Work::Accept(made, names) => {
                // SAFETY: it has the number of the listener, which is not closed here.
                let listener = ManuallyDrop::new(unsafe { TcpListener::from_raw_socket(self.socket as _) });
                let socket = winsock::stream(listener.local_addr()?.is_ipv4())?;
                let raw = winsock::raw(&socket);
                *made = Some(socket);
                let (room, mut received) = (NAME_BYTES as u32, 0);
                let names = names.as_mut_ptr().cast();
                // SAFETY: the names have room for two, and stay with the overlapped until the completion.
                unsafe {
                    AcceptEx(self.socket, raw, names, 0, room, room, &raw mut received, overlapped) != 0
                }
            }
            Work::Receive(buffer) => {
                let (list, mut flags) = (list(buffer), 0);
                let flags = &raw mut flags;
                // SAFETY: the list is copied by the call; the buffer stays with the overlapped until the
                // completion.
                unsafe {
                    WSARecv(self.socket, &raw const list, 1, ptr::null_mut(), flags, overlapped, None) == 0
                }
            }
            Work::Send(bytes) => {
                let list = list(bytes);
                // SAFETY: as for receiving.
                unsafe { WSASend(self.socket, &raw const list, 1, ptr::null_mut(), 0, overlapped, None) == 0 }
            }
        };
        if is_done {
            return Ok(());
        }
        match last_error() {
            error if error.raw_os_error() == Some(WSA_IO_PENDING) => Ok(()),
            error => Err(error),
        }
    }

    /// Its result, once its completion is there: the number of bytes.
    fn result(&self) -> io::Result<u32> {
        let (mut count, mut flags) = (0, 0);
        // SAFETY: the overlapped is that of an operation that is complete, and the socket is open still.
        let is_well = unsafe {
            WSAGetOverlappedResult(self.socket, self.overlapped.get(), &raw mut count, 0, &raw mut flags)
        };
        if is_well != 0 {
            return Ok(count);
        }
        match (last_error(), &self.work) {
            // A client that closed before it was accepted, with the error that accept(2) reports elsewhere.
            (error, Work::Accept(..)) if error.raw_os_error() == Some(WSAECONNRESET) => {
                Err(io::ErrorKind::ConnectionAborted.into())
            }
            (error, _) => Err(error),
        }
    }

    fn cancel(&self) {
        // SAFETY: the overlapped is that of an operation of this socket, or of one that is complete, which
        // Windows then does not find.
        unsafe { CancelIoEx(self.socket as HANDLE, self.overlapped.get()) };
    }
}

fn list(bytes: &mut [u8]) -> WSABUF {
    WSABUF { len: u32::try_from(bytes.len()).unwrap_or(u32::MAX), buf: bytes.as_mut_ptr() }
}

/// A completion port.
struct Port(HANDLE);

impl Port {
    fn new() -> io::Result<Port> {
        // SAFETY: takes no pointer.
        let port = unsafe { CreateIoCompletionPort(INVALID_HANDLE_VALUE, ptr::null_mut(), 0, 1) };
        if port.is_null() { Err(io::Error::last_os_error()) } else { Ok(Port(port)) }
    }

    /// Directs the completions of the socket to this port.
    fn add(&self, socket: SOCKET) -> io::Result<()> {
        // SAFETY: takes handles and numbers only.
        let port = unsafe { CreateIoCompletionPort(socket as HANDLE, self.0, 0, 0) };
        if port.is_null() { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Makes a connection of a socket that AcceptEx has connected.
    fn accepted(&self, socket: OwnedSocket, listener: SOCKET) -> io::Result<OwnedSocket> {
        winsock::set(&socket, ACCEPTED_BY, &listener)?;
        self.add(winsock::raw(&socket))?;
        Ok(socket)
    }

    /// Takes the completions that are there, at least one unless the time is over.
    fn wait(&self, timeout: Option<Duration>, mut take: impl FnMut(u64)) -> io::Result<()> {
        let milliseconds =
            |time: Duration| time.as_nanos().div_ceil(1_000_000).try_into().unwrap_or(u32::MAX - 1);
        let timeout = timeout.map_or(u32::MAX, milliseconds);
        let mut entries = [OVERLAPPED_ENTRY::default(); COMPLETIONS_MAX];
        let (length, mut count) = (entries.len() as u32, 0);
        let list = entries.as_mut_ptr();
        // SAFETY: the count is that of the entries, which live as long as the call.
        let is_well =
            unsafe { GetQueuedCompletionStatusEx(self.0, list, length, &raw mut count, timeout, 0) };
        if is_well == 0 {
            let error = io::Error::last_os_error();
            let is_late = error.raw_os_error() == Some(WAIT_TIMEOUT as i32);
            return if is_late { Ok(()) } else { Err(error) };
        }
        for entry in &entries[..count as usize] {
            // SAFETY: it is that of an operation, whose first field it is; operations live until their last
            // completion was taken.
            take(unsafe { (*entry.lpOverlapped.cast::<Operation>()).number });
        }
        Ok(())
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        // SAFETY: the handle is ours, and this is its last use.
        unsafe { CloseHandle(self.0) };
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        let deadline = Instant::now() + DRAIN_MAX;
        for operation in self.operations.values_mut() {
            operation.is_cancelled = true;
            operation.cancel();
        }
        while !self.operations.is_empty() && Instant::now() < deadline {
            while self.completion().is_some() {}
            if self.wait(Some(Duration::from_millis(10))).is_err() {
                break;
            }
        }
        // Windows may still write into operations that did not end; they are leaked on purpose.
        std::mem::forget(std::mem::take(&mut self.operations));
    }
}

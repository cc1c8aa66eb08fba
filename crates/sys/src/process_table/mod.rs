//! Other processes, as the system shows them: their parents, threads, descriptors, sockets and memory, and
//! the wait of each thread.
//!
//! Nothing here stops a process or attaches to it. A process may end between two calls, and another user's
//! may be hidden: each call is an error by itself, which [`is_gone`] and [`is_kept_from_us`] tell apart.

#[cfg(target_os = "linux")]
mod linux;
pub mod proc_text;
pub mod sock_diag;

use std::io;
use std::net::IpAddr;

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(not(target_os = "linux"))]
use other as system;
#[cfg(target_os = "linux")]
pub use sock_diag::TcpDiagnosis;

/// The processes that this user may see. Threads of the kernel are among them.
///
/// # Errors
/// Unsupported, or those of reading /proc.
pub fn processes() -> io::Result<Vec<ProcessEntry>> {
    system::processes()
}

/// How many processes there are, by their names in /proc. It allocates nothing.
///
/// # Errors
/// As [`processes`].
pub fn count() -> io::Result<u64> {
    system::count()
}

/// One process.
///
/// # Errors
/// Unsupported; [`is_gone`] where no process has that number.
pub fn process(pid: u32) -> io::Result<ProcessEntry> {
    system::process(pid)
}

/// The file that it executes.
///
/// # Errors
/// As [`process`]; [`is_kept_from_us`] for another user's.
pub fn program(pid: u32) -> io::Result<String> {
    system::program(pid)
}

/// The words of its command line, which it may change: untrusted text.
///
/// # Errors
/// As [`process`].
pub fn command(pid: u32) -> io::Result<Vec<String>> {
    system::command(pid)
}

/// Its open descriptors.
///
/// # Errors
/// As [`program`].
pub fn descriptors(pid: u32) -> io::Result<Vec<Descriptor>> {
    system::descriptors(pid)
}

/// The entries of the epoll(7) set of that descriptor.
///
/// # Errors
/// As [`program`].
pub fn epoll_watches(pid: u32, descriptor: i32) -> io::Result<Vec<EpollWatch>> {
    system::epoll_watches(pid, descriptor)
}

/// Whether a signal says that the descriptor is ready (`O_ASYNC`).
///
/// # Errors
/// As [`program`].
pub fn sends_signals(pid: u32, descriptor: i32) -> io::Result<bool> {
    system::sends_signals(pid, descriptor)
}

/// The sockets of TCP and unix(7) in the network namespace of a process that listen or are connected.
///
/// # Errors
/// As [`process`].
pub fn sockets(pid: u32) -> io::Result<Vec<SocketEntry>> {
    system::sockets(pid)
}

/// The network namespace of a process, as a number.
///
/// # Errors
/// As [`program`].
pub fn network_namespace(pid: u32) -> io::Result<u64> {
    system::network_namespace(pid)
}

/// Its memory. `is_shared_known` asks how much of it is shared, for which the kernel walks all its pages.
///
/// # Errors
/// As [`process`].
pub fn memory(pid: u32, is_shared_known: bool) -> io::Result<ProcessMemory> {
    system::memory(pid, is_shared_known)
}

/// Its threads.
///
/// # Errors
/// As [`process`].
pub fn threads(pid: u32) -> io::Result<Vec<u32>> {
    system::threads(pid)
}

/// The usage of a thread so far.
///
/// # Errors
/// As [`process`].
pub fn thread_use(pid: u32, thread: u32) -> io::Result<ThreadUse> {
    system::thread_use(pid, thread)
}

/// The wait of a thread at this moment. The thread is not stopped.
///
/// # Errors
/// As [`program`].
pub fn thread_wait(pid: u32, thread: u32) -> io::Result<ThreadWait> {
    system::thread_wait(pid, thread)
}

/// Whether /proc hides the processes of other users from this one.
pub fn hides_others() -> bool {
    system::hides_others()
}

/// A process, or a thread of the kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct ProcessEntry {
    /// Its number.
    pub pid: u32,
    /// The process that started it, or that adopted it.
    pub parent: u32,
    /// Its name, at most 15 bytes, which it may choose: untrusted text.
    pub name: String,
    /// `R` running, `S` sleeping, `D` waiting for a device, `T` stopped, `Z` ended, and others of proc(5).
    pub state: char,
    /// How many threads it has.
    pub threads: u64,
    /// When it started, in clock ticks since the system did. With `pid` it names a process for good.
    pub started_ticks: u64,
    /// Whether children of it have run and ended.
    pub has_ended_children: bool,
    /// A thread of the kernel, without a program.
    pub is_of_kernel: bool,
}

impl ProcessEntry {
    /// Whether it has ended, and its parent has not waited for it yet.
    pub fn is_zombie(&self) -> bool {
        matches!(self.state, 'Z' | 'X')
    }
}

/// The object that a descriptor refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DescriptorKind {
    /// A socket; the number is that of its inode.
    Socket(u64),
    /// A pipe or FIFO.
    Pipe(u64),
    /// An epoll(7) set.
    Epoll,
    /// An io_uring(7).
    Ring,
    /// An eventfd(2).
    EventCounter,
    /// A timerfd_create(2).
    Timer,
    /// A signalfd(2).
    Signals,
    /// Another object without a name, by the kernel's word for it.
    Anonymous(String),
    /// A file, folder or device.
    File,
}

/// An open descriptor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// Its number.
    pub number: i32,
    /// The object that it refers to.
    pub kind: DescriptorKind,
}

/// One entry of an epoll(7) set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EpollWatch {
    /// The descriptor under which it was registered; it may be closed meanwhile.
    pub descriptor: i32,
    /// The events that are waited for.
    pub events: u32,
    /// The inode of the watched object, such as a socket; absent on kernels before 4.13.
    pub inode: Option<u64>,
}

impl EpollWatch {
    const OUT: u32 = 0x4;
    const EDGE: u32 = 1 << 31;
    const ONE_SHOT: u32 = 1 << 30;

    /// Whether it is reported once for each change, and not as long as it lasts.
    pub fn is_edge_triggered(self) -> bool {
        self.events & EpollWatch::EDGE != 0
    }

    /// Whether it is reported once only, until it is registered again.
    pub fn is_one_shot(self) -> bool {
        self.events & EpollWatch::ONE_SHOT != 0
    }

    /// Whether it waits for room for output.
    pub fn waits_to_write(self) -> bool {
        self.events & EpollWatch::OUT != 0
    }
}

/// The state of a socket, as far as its server depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketState {
    /// Connections arrive there.
    Listening,
    /// One end of a connection.
    Connected,
}

impl SocketState {
    /// The state of that number in Linux's tcp_states.h; `None` where nothing can be served any more, or yet.
    fn of_tcp(number: u32) -> Option<SocketState> {
        match number {
            // ESTABLISHED, and CLOSE_WAIT, in which the server still has it.
            1 | 8 => Some(SocketState::Connected),
            // LISTEN.
            10 => Some(SocketState::Listening),
            _ => None,
        }
    }
}

/// Where a socket is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SocketPlace {
    /// A port of TCP.
    Tcp {
        /// Its own address.
        address: IpAddr,
        /// Its own port.
        port: u16,
        /// The port of the other end; 0 where there is none.
        peer_port: u16,
    },
    /// A socket in the file system, or of an abstract name; untrusted text.
    Unix(String),
}

/// A socket of a network namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SocketEntry {
    /// Its inode; 0 for a connection that no process has accepted yet.
    pub inode: u64,
    /// Its state.
    pub state: SocketState,
    /// Where it is.
    pub place: SocketPlace,
    /// Of a listening socket the connections that wait to be accepted.
    pub queued: u64,
}

/// The memory of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessMemory {
    /// In memory now, its own and shared.
    pub resident_bytes: u64,
    /// Its share: a shared page is divided among its processes. `None` where that was not requested, or is
    /// hidden.
    pub proportional_bytes: Option<u64>,
    /// Its private memory. `None` as above.
    pub private_bytes: Option<u64>,
}

/// The usage of a thread so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ThreadUse {
    /// Its name, which it may choose: untrusted text.
    pub name: String,
    /// Processor time.
    pub cpu_seconds: f64,
    /// How often it waited.
    pub waits: u64,
    /// How often the scheduler gave its processor to others.
    pub preemptions: u64,
}

/// The call in which a thread waits.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WaitCall {
    /// It runs, or could.
    Running,
    /// accept(2).
    Accept,
    /// epoll_wait(2).
    Epoll,
    /// poll(2).
    Poll,
    /// select(2).
    Select,
    /// io_uring_enter(2).
    Ring,
    /// sigwaitinfo(2), sigsuspend(2), pause(2).
    Signal,
    /// read(2), recv(2).
    Read,
    /// write(2), send(2).
    Write,
    /// Another thread: a lock, a condition variable, a queue.
    Futex,
    /// A lock between processes: flock(2), fcntl(2), semop(2).
    Lock,
    /// nanosleep(2).
    Sleep,
    /// wait(2).
    Child,
    /// Another call, by its number or by the kernel's function.
    Other(String),
}

/// The evidence for the wait of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WaitSource {
    /// The system call and its arguments.
    SystemCall,
    /// The functions on its kernel stack.
    KernelStack,
    /// The function of the kernel in which it sleeps.
    WaitChannel,
}

/// The wait of a thread.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ThreadWait {
    /// The call.
    pub call: WaitCall,
    /// Its descriptor, where the call takes one.
    pub descriptor: Option<i32>,
    /// For how many descriptors it waits: of poll(2) exactly, of select(2) the highest.
    pub descriptors: Option<u64>,
    /// How this is known.
    pub source: WaitSource,
}

/// Whether the process has ended, or never was.
pub fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || crate::error::name(error) == "ESRCH"
}

/// Whether only root, or its user, may read it.
pub fn is_kept_from_us(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied
}

/// Systems whose processes we cannot look into.
#[cfg(not(target_os = "linux"))]
mod other {
    use std::io;

    use super::{Descriptor, EpollWatch, ProcessEntry, ProcessMemory, SocketEntry, ThreadUse, ThreadWait};

    missing! {
        "the waits of other processes are read from Linux's /proc only";
        pub(super) fn processes() -> io::Result<Vec<ProcessEntry>>;
        pub(super) fn count() -> io::Result<u64>;
        pub(super) fn process(pid: u32) -> io::Result<ProcessEntry>;
        pub(super) fn program(pid: u32) -> io::Result<String>;
        pub(super) fn command(pid: u32) -> io::Result<Vec<String>>;
        pub(super) fn descriptors(pid: u32) -> io::Result<Vec<Descriptor>>;
        pub(super) fn epoll_watches(pid: u32, descriptor: i32) -> io::Result<Vec<EpollWatch>>;
        pub(super) fn sends_signals(pid: u32, descriptor: i32) -> io::Result<bool>;
        pub(super) fn sockets(pid: u32) -> io::Result<Vec<SocketEntry>>;
        pub(super) fn network_namespace(pid: u32) -> io::Result<u64>;
        pub(super) fn memory(pid: u32, is_shared_known: bool) -> io::Result<ProcessMemory>;
        pub(super) fn threads(pid: u32) -> io::Result<Vec<u32>>;
        pub(super) fn thread_use(pid: u32, thread: u32) -> io::Result<ThreadUse>;
        pub(super) fn thread_wait(pid: u32, thread: u32) -> io::Result<ThreadWait>;
    }

    pub(super) fn hides_others() -> bool {
        false
    }
}

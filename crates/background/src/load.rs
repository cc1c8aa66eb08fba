//! The loads by resource, of the processor, the network and the disk: the work of each, and how the kernel
//! counts it.

use std::collections::VecDeque;
use std::fs::File;
use std::hint::black_box;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};

use sys::kernel_counter::{ProcessIo, device_written_bytes};
use sys::limit::{Resource, ceiling};
use sys::tcp::{Connection, Listener, Listening, Waiting};

use crate::spec::{FixedLoad, Kind};

/// Prepares a load on this system, or says what failed. `processor` is the one that this process is bound to,
/// and `folder` has the files.
pub(crate) fn prepare(
    load: &FixedLoad,
    processor: Option<u32>,
    folder: &Path,
) -> Result<Box<dyn Work>, String> {
    Ok(match load.kind {
        Kind::Cpu => Box::new(Cpu { processor, state: 1 }),
        Kind::Net => Box::new(Net::new(load.rate)?),
        Kind::Disk => Box::new(Disk::new(load.rate, folder)?),
        Kind::Memory(bytes) => Box::new(Memory::new(bytes)?),
        Kind::Connections(count) => Box::new(Connections::new(count)?),
        Kind::Syscalls => Box::new(Syscalls::new(load.rate)?),
    })
}

/// A load at work, in this process.
pub(crate) trait Work {
    /// Does about this amount of it, or less where that would take long.
    fn work(&mut self, amount: f64) -> io::Result<()>;

    /// The kernel's count for this process until now.
    fn counted(&mut self) -> io::Result<f64>;

    /// The kernel's count for the whole system, where it has one.
    fn counted_of_system(&mut self) -> Option<f64> {
        None
    }

    /// The amount that is held, where the load holds something.
    fn holds(&mut self) -> Option<f64> {
        None
    }

    /// How it is counted.
    fn means(&self) -> Means;
}

/// How a load is counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Means {
    /// The least work at once.
    pub(crate) grain: f64,
    /// The kernel's counter for this process; empty where the process counts itself.
    pub(crate) counter: &'static str,
    /// The kernel's counter for the whole system; may be empty.
    pub(crate) system_counter: &'static str,
}

/// An error with the attempt.
pub(crate) fn failed(attempted: &str) -> impl Fn(io::Error) -> String {
    move |error| match sys::error::advice(&error) {
        "" => format!("cannot {attempted}: {error}"),
        advice => format!("cannot {attempted}: {error}; {advice}"),
    }
}

/// `1.5 GB`.
fn size(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

/// Read in one go.
const PIECE_WORDS: usize = 8192;
const PIECE_BYTES: usize = PIECE_WORDS * size_of::<u64>();
/// The divisor of the available memory that a load may take.
const AVAILABLE_SHARE: u64 = 2;
/// Bytes read at once at most, so that no step takes long.
const READ_AT_ONCE: f64 = 64e6;

/// Reads all of a region in turn, so that caches smaller than it do not help.
struct Memory {
    words: Vec<u64>,
    place: usize,
    /// The kernel counts no reads from memory.
    read_bytes: u64,
}

impl Memory {
    fn new(bytes: u64) -> Result<Memory, String> {
        if let Ok(available) = sys::kernel_counter::available_bytes()
            && bytes > available / AVAILABLE_SHARE
        {
            let most = size(available / AVAILABLE_SHARE);
            return Err(format!(
                "{} of memory are too much; half of the available memory is {most}",
                size(bytes)
            ));
        }
        let words = usize::try_from(bytes).unwrap_or(usize::MAX) / PIECE_BYTES * PIECE_WORDS;
        let mut memory = Vec::new();
        memory.try_reserve_exact(words).map_err(|error| format!("cannot take {}: {error}", size(bytes)))?;
        // Pages that were never written are all one page of zeros.
        memory.resize(words, 0x5A5A_5A5A_5A5A_5A5A);
        Ok(Memory { words: memory, place: 0, read_bytes: 0 })
    }
}

impl Work for Memory {
    fn work(&mut self, amount: f64) -> io::Result<()> {
        let mut sum = 0_u64;
        for _ in 0..(amount.min(READ_AT_ONCE) / PIECE_BYTES as f64).max(1.0) as u64 {
            if self.place == self.words.len() {
                self.place = 0;
            }
            let piece = &self.words[self.place..self.place + PIECE_WORDS];
            sum = piece.iter().fold(sum, |sum, word| sum.wrapping_add(*word));
            self.place += PIECE_WORDS;
            self.read_bytes += PIECE_BYTES as u64;
        }
        black_box(sum);
        Ok(())
    }

    fn counted(&mut self) -> io::Result<f64> {
        Ok(self.read_bytes as f64)
    }

    fn holds(&mut self) -> Option<f64> {
        sys::kernel_counter::resident_bytes().ok().map(|bytes| bytes as f64)
    }

    fn means(&self) -> Means {
        Means { grain: PIECE_BYTES as f64, counter: "", system_counter: "" }
    }
}

/// Rounds between two readings of the clock of the kernel: some 20 µs.
const ROUNDS: u32 = 20_000;

/// Computes for a part of the time, and sleeps for the rest.
struct Cpu {
    processor: Option<u32>,
    state: u64,
}

impl Work for Cpu {
    fn work(&mut self, amount: f64) -> io::Result<()> {
        let until = self.counted()? + amount;
        while self.counted()? < until {
            for _ in 0..ROUNDS {
                self.state = black_box(self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
            }
        }
        Ok(())
    }

    fn counted(&mut self) -> io::Result<f64> {
        Ok(sys::thread::cpu_ns()? as f64 * 1e-9)
    }

    fn counted_of_system(&mut self) -> Option<f64> {
        Some(sys::kernel_counter::processor_busy_ns(self.processor?).ok()? as f64 * 1e-9)
    }

    fn means(&self) -> Means {
        Means { grain: 1e-4, counter: "CLOCK_THREAD_CPUTIME_ID", system_counter: "/proc/stat busy" }
    }
}

/// Reading the counter is a read(2) too: the calls of this time at once make it a small part of them.
const CALLS_SECONDS: f64 = 0.005;

/// The shortest system calls that the kernel counts per process: read(2) of /dev/null.
struct Syscalls {
    null: File,
    io: ProcessIo,
    grain: f64,
}

impl Syscalls {
    fn new(rate: f64) -> Result<Syscalls, String> {
        let null = File::open("/dev/null").map_err(failed("open /dev/null"))?;
        let io = ProcessIo::open().map_err(failed("read how many calls the kernel counts"))?;
        Ok(Syscalls { null, io, grain: (rate * CALLS_SECONDS).max(1.0) })
    }
}

impl Work for Syscalls {
    fn work(&mut self, amount: f64) -> io::Result<()> {
        for _ in 0..amount.min(1e6) as u64 {
            let _ = self.null.read(&mut [0])?;
        }
        Ok(())
    }

    fn counted(&mut self) -> io::Result<f64> {
        Ok(self.io.read_calls()? as f64)
    }

    fn means(&self) -> Means {
        Means { grain: self.grain, counter: "/proc/PID/io syscr", system_counter: "" }
    }
}

/// Longer than this is more than one segment on an interface whose packets have up to 64 KiB.
const SEGMENT_MOST: f64 = 60_000.0;
/// Shorter pieces would consist mostly of headers.
const SEGMENT_LEAST: f64 = 500.0;
/// A piece is the amount for this time.
const SEGMENT_SECONDS: f64 = 0.004;
/// Bytes sent at once at most, so that no step takes long.
const SENT_AT_ONCE: f64 = 8e6;

/// Headers of Ethernet, IPv4 and TCP, which the interface counts, and the option with timestamps.
const HEADERS: u64 = 14 + 20 + 20;
const TIMESTAMPS: u64 = 12;

/// Bytes over one TCP connection of the process to itself.
struct Net {
    sender: TcpStream,
    receiver: TcpStream,
    piece: Vec<u8>,
}

impl Net {
    fn new(rate: f64) -> Result<Net, String> {
        let connect = || -> io::Result<(TcpStream, TcpStream)> {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
            let sender = TcpStream::connect(listener.local_addr()?)?;
            sender.set_nodelay(true)?;
            Ok((sender, listener.accept()?.0))
        };
        let (sender, receiver) = connect().map_err(failed("connect to itself on 127.0.0.1"))?;
        sys::tcp::received(&receiver).map_err(failed("read how many bytes the kernel counts"))?;
        let bytes = (rate * SEGMENT_SECONDS).clamp(SEGMENT_LEAST, SEGMENT_MOST);
        Ok(Net { sender, receiver, piece: vec![0x5A; bytes as usize] })
    }
}

impl Work for Net {
    fn work(&mut self, amount: f64) -> io::Result<()> {
        let pieces = (amount.min(SENT_AT_ONCE) / self.piece.len() as f64).max(1.0) as u64;
        for _ in 0..pieces {
            self.sender.write_all(&self.piece)?;
            self.receiver.read_exact(&mut self.piece)?;
        }
        Ok(())
    }

    fn counted(&mut self) -> io::Result<f64> {
        let received = sys::tcp::received(&self.receiver)?;
        let header = HEADERS + if received.has_timestamps { TIMESTAMPS } else { 0 };
        Ok((received.bytes + received.segments * header) as f64)
    }

    fn counted_of_system(&mut self) -> Option<f64> {
        sys::kernel_counter::loopback_bytes().ok().map(|bytes| bytes as f64)
    }

    fn means(&self) -> Means {
        let grain = self.piece.len() as f64;
        Means { grain, counter: "TCP_INFO", system_counter: "/proc/net/dev lo" }
    }
}

/// Connections to one port of the server: the ports of the client's side are used once for each.
const PER_LISTENER: u64 = 10_000;
/// Descriptors of a connection: one for each of its ends.
const DESCRIPTORS: u64 = 2;
/// Connections made at once at most, so that no step takes long.
const MADE_AT_ONCE: f64 = 1000.0;

/// A number of connections that stay open; new ones replace the oldest.
struct Connections {
    listeners: Vec<(Listener, SocketAddr)>,
    /// Both ends of each, the oldest first.
    open: VecDeque<(Connection, Connection)>,
    next: usize,
    made: u64,
}

impl Connections {
    fn new(count: u64) -> Result<Connections, String> {
        // A limit that cannot be raised holds as it stands.
        let _ = sys::limit::raise_soft_to_hard();
        if let Ok(bound) = ceiling(Resource::Descriptors)
            && count * DESCRIPTORS > bound.usable
        {
            return Err(format!(
                "{count} connections take {} descriptors, and {} is {}; {}",
                count * DESCRIPTORS,
                bound.limit,
                bound.value,
                bound.advice
            ));
        }
        let listen = || -> io::Result<(Listener, SocketAddr)> {
            let how = Listening { blocking: true, ..Listening::default() };
            let listener = Listener::bind((Ipv4Addr::LOCALHOST, 0).into(), how)?;
            let address = listener.address()?;
            Ok((listener, address))
        };
        let listeners = (0..count.div_ceil(PER_LISTENER)).map(|_| listen()).collect::<io::Result<_>>();
        let listeners = listeners.map_err(failed("listen on 127.0.0.1"))?;
        let mut connections = Connections { listeners, open: VecDeque::new(), next: 0, made: 0 };
        for made in 0..count {
            connections.make().map_err(failed(&format!("make connection {} of {count}", made + 1)))?;
        }
        connections.made = 0;
        Ok(connections)
    }

    fn make(&mut self) -> io::Result<()> {
        self.next = (self.next + 1) % self.listeners.len();
        let (listener, address) = &self.listeners[self.next];
        let client = Connection::connect(*address, None, Waiting::Blocking)?;
        // A port in TIME_WAIT would be missing for the next minute, also in the measurement.
        client.reset_on_close()?;
        let server = listener.accept(Waiting::Blocking)?;
        self.open.push_back((client, server));
        self.made += 1;
        Ok(())
    }
}

impl Work for Connections {
    fn work(&mut self, amount: f64) -> io::Result<()> {
        for _ in 0..amount.clamp(1.0, MADE_AT_ONCE) as u64 {
            self.open.pop_front();
            self.make()?;
        }
        Ok(())
    }

    fn counted(&mut self) -> io::Result<f64> {
        Ok(self.made as f64)
    }

    fn counted_of_system(&mut self) -> Option<f64> {
        sys::kernel_counter::connections_opened().ok().map(|opened| opened as f64)
    }

    fn holds(&mut self) -> Option<f64> {
        Some(self.open.len() as f64)
    }

    fn means(&self) -> Means {
        Means { grain: 1.0, counter: "", system_counter: "/proc/net/snmp ActiveOpens" }
    }
}

/// Lengths, places and memory of a write past the cache are multiples of this (open(2), `O_DIRECT`).
const BLOCK: usize = 4096;
const DISK_PIECE_MOST: usize = 1 << 20;
/// A piece is the amount for this time.
const DISK_PIECE_SECONDS: f64 = 0.008;
/// The file is no larger than this, nor than this share of the free space.
const FILE_MOST: u64 = 64 << 20;
const FREE_SHARE: u64 = 4;
/// The most bytes written at once, so that no step takes long.
const WRITTEN_AT_ONCE: f64 = 8e6;

struct Disk {
    file: File,
    /// Whether writes bypass the cache; if not, they are flushed.
    is_direct: bool,
    file_bytes: u64,
    place: u64,
    memory: Vec<u8>,
    piece: usize,
    io: ProcessIo,
    folder: PathBuf,
}

impl Disk {
    fn new(rate: f64, folder: &Path) -> Result<Disk, String> {
        let io = ProcessIo::open().map_err(failed("read how many bytes the kernel counts"))?;
        let shown = folder.display();
        let free = sys::file::free(folder).map_err(failed(&format!("look at {shown}")))?.bytes;
        let piece = ((rate * DISK_PIECE_SECONDS) as usize / BLOCK * BLOCK).clamp(BLOCK, DISK_PIECE_MOST);
        let file_bytes = (free / FREE_SHARE).min(FILE_MOST) / DISK_PIECE_MOST as u64 * DISK_PIECE_MOST as u64;
        if file_bytes == 0 {
            return Err(format!("{shown} has {} free, which is too little for its file", size(free)));
        }
        let path = folder.join(format!("background-{}", std::process::id()));
        let (file, is_direct) = create_file(&path).map_err(failed(&format!("make a file in {shown}")))?;
        // It has no name, and ends with this process.
        std::fs::remove_file(&path).map_err(failed(&format!("unlink a file in {shown}")))?;
        let memory = vec![0x5A; DISK_PIECE_MOST + BLOCK];
        let mut disk =
            Disk { file, is_direct, file_bytes, place: 0, memory, piece, io, folder: folder.to_owned() };
        disk.fill().map_err(failed(&format!("write {} in {shown}", size(file_bytes))))?;
        // The kernel counts nothing of file systems that keep files in memory.
        match disk.io.written_bytes() {
            Ok(0) => Err(format!("{shown} is in memory, not on a disk; name another folder with --scratch")),
            _ => Ok(disk),
        }
    }

    /// Gives the file its blocks, so that later writes only overwrite them.
    fn fill(&mut self) -> io::Result<()> {
        let piece = std::mem::replace(&mut self.piece, DISK_PIECE_MOST);
        for _ in 0..self.file_bytes / DISK_PIECE_MOST as u64 {
            self.write()?;
        }
        self.file.sync_all()?;
        self.piece = piece;
        Ok(())
    }

    fn write(&mut self) -> io::Result<()> {
        if self.place + self.piece as u64 > self.file_bytes {
            self.place = 0;
        }
        let begin = self.memory.as_ptr().align_offset(BLOCK);
        self.file.seek(SeekFrom::Start(self.place))?;
        self.file.write_all(&self.memory[begin..begin + self.piece])?;
        self.place += self.piece as u64;
        if self.is_direct { Ok(()) } else { self.file.sync_data() }
    }
}

/// A file past the cache, or one in it where the file system allows nothing else.
fn create_file(path: &Path) -> io::Result<(File, bool)> {
    match sys::file::create_direct(path) {
        Ok(file) => Ok((file, true)),
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
            let _ = std::fs::remove_file(path);
            Ok((File::options().write(true).create_new(true).open(path)?, false))
        }
        Err(error) => Err(error),
    }
}

impl Work for Disk {
    fn work(&mut self, amount: f64) -> io::Result<()> {
        for _ in 0..(amount.min(WRITTEN_AT_ONCE) / self.piece as f64).max(1.0) as u64 {
            self.write()?;
        }
        Ok(())
    }

    fn counted(&mut self) -> io::Result<f64> {
        Ok(self.io.written_bytes()? as f64)
    }

    fn counted_of_system(&mut self) -> Option<f64> {
        device_written_bytes(&self.folder).ok().map(|bytes| bytes as f64)
    }

    fn means(&self) -> Means {
        Means {
            grain: self.piece as f64,
            counter: "/proc/PID/io write_bytes",
            system_counter: "/sys/dev/block stat",
        }
    }
}

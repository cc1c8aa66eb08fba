//! The interface of perf_event_open(2): the attributes of an event, `struct perf_event_attr` of
//! linux/perf_event.h as far as Linux 4.8 has it; its ring; and the records in it ("MMAP layout").

use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::mm::ProtFlags;

use super::{CodeMapping, CounterKind, SOFTWARE, Sample};
use crate::memory::MappedRange;

/// The fields of a sample, in their order.
const SAMPLE_FIELDS: u64 = SAMPLE_THREAD | SAMPLE_TIME | SAMPLE_READ | SAMPLE_CALLCHAIN;
const SAMPLE_THREAD: u64 = 1 << 1;
const SAMPLE_TIME: u64 = 1 << 2;
const SAMPLE_READ: u64 = 1 << 4;
const SAMPLE_CALLCHAIN: u64 = 1 << 5;

/// A value for each member of the group.
const READ_GROUP: u64 = 1 << 3;

/// Time on a processor, by a timer of high resolution.
const CPU_CLOCK: u64 = 0;

const DISABLED: u64 = 1;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const EXCLUDE_IDLE: u64 = 1 << 7;
/// Records of executed programs, distinguished from mere changes of a thread's name.
const COMMANDS: u64 = 1 << 9 | 1 << 24;
/// Records of mappings whose code may be executed, each with its file (`mmap` and `mmap2`).
const MAPPINGS: u64 = 1 << 8 | 1 << 23;
/// Records of forks and ends.
const TASKS: u64 = 1 << 13;
/// All records end with thread and time, as samples begin with them.
const TIMED: u64 = 1 << 18;
const USE_CLOCK: u64 = 1 << 25;

/// The layout of the kernel; fields without a name are zero.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Attributes {
    kind: u32,
    size: u32,
    event: u64,
    period: u64,
    sample: u64,
    read: u64,
    flags: u64,
    wakeup: u32,
    breakpoint: u32,
    more_event: [u64; 2],
    branches: u64,
    user_registers: u64,
    user_stack: u32,
    clock: i32,
    registers: u64,
    auxiliary_watermark: u32,
    stack_frames: u16,
    reserved: u16,
}

const _: () = assert!(size_of::<Attributes>() == 112, "PERF_ATTR_SIZE_VER5");

impl Attributes {
    /// Samples of stacks, one for each period that the thread was on a processor.
    pub(super) fn of_samples(period: Duration) -> Attributes {
        Attributes {
            kind: SOFTWARE,
            event: CPU_CLOCK,
            period: u64::try_from(period.as_nanos()).unwrap_or(u64::MAX),
            sample: SAMPLE_FIELDS,
            flags: DISABLED | EXCLUDE_HYPERVISOR | USE_CLOCK,
            ..Attributes::counting()
        }
    }

    /// The same for a processor, whatever runs there, with records that identify the process.
    pub(super) fn of_processor(period: Duration) -> Attributes {
        let samples = Attributes::of_samples(period);
        Attributes { flags: samples.flags | EXCLUDE_IDLE | COMMANDS | MAPPINGS | TASKS | TIMED, ..samples }
    }

    /// A counter that is read with each sample. All events of a group have the same clock.
    pub(super) fn of_counter(counter: &CounterKind) -> Attributes {
        Attributes {
            kind: counter.kind,
            event: counter.event,
            flags: EXCLUDE_HYPERVISOR | USE_CLOCK,
            ..Attributes::counting()
        }
    }

    fn counting() -> Attributes {
        Attributes {
            size: size_of::<Attributes>() as u32,
            read: READ_GROUP,
            clock: libc::CLOCK_MONOTONIC_RAW,
            ..Attributes::default()
        }
    }
}

/// Where `data_head` and `data_tail` are in the first page: `struct perf_event_mmap_page`.
const HEAD: usize = 1024;
const TAIL: usize = 1032;

/// Pages of records, a power of two: 512 KiB, the default of `kernel.perf_event_mlock_kb` for every user, and
/// less where that is refused.
const PAGES: [usize; 4] = [128, 64, 16, 4];

/// The memory into which the kernel writes the records of an event.
#[derive(Debug)]
pub(super) struct Ring {
    memory: MappedRange,
    page: usize,
    data: usize,
}

// SAFETY: the mapping belongs to this value alone, and any thread may read it.
unsafe impl Send for Ring {}

impl Ring {
    pub(super) fn map(event: impl AsFd) -> io::Result<Ring> {
        let page = rustix::param::page_size();
        let mut last = io::Error::from(io::ErrorKind::OutOfMemory);
        for pages in PAGES {
            let protection = ProtFlags::READ | ProtFlags::WRITE;
            match MappedRange::shared(&event, protection, 0, (1 + pages) * page) {
                Ok(memory) => return Ok(Ring { memory, page, data: pages * page }),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// The unread bytes, which are then given back to the kernel.
    pub(super) fn take(&self, bytes: &mut Vec<u8>) {
        bytes.clear();
        let head = self.position(HEAD).load(Ordering::Acquire);
        let tail = self.position(TAIL).load(Ordering::Relaxed);
        let unread = usize::try_from(head.wrapping_sub(tail)).unwrap_or(0).min(self.data);
        let from = (tail % self.data as u64) as usize;
        let first = unread.min(self.data - from);
        for (from, length) in [(from, first), (0, unread - first)] {
            // SAFETY: the range is inside the data pages, behind the first one, and the kernel writes nothing
            // between tail and head.
            let part = unsafe {
                std::slice::from_raw_parts(self.memory.start.as_ptr().add(self.page + from), length)
            };
            bytes.extend_from_slice(part);
        }
        self.position(TAIL).store(head, Ordering::Release);
    }

    fn position(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: the first page holds an aligned number there, which both sides access atomically.
        unsafe { AtomicU64::from_ptr(self.memory.start.as_ptr().add(offset).cast()) }
    }
}

/// The kinds of records.
const LOST: u32 = 2;
const COMMAND: u32 = 3;
const FORK: u32 = 7;
const SAMPLE: u32 = 9;
const MAPPING: u32 = 10;

/// The fields of a mapping before the name of its file: ids, address, length, offset, device, inode, its
/// generation, protection with flags.
const MAPPING_WORDS: usize = 8;
/// Thread and time, which end each record.
const IDENTITY_WORDS: usize = 2;

/// In a record of a command: another program, not a new name of the same.
const EXECUTED: u16 = 1 << 13;

/// The marks that begin a part of a chain of callers.
const CONTEXT_KERNEL: u64 = -128_i64 as u64;
const CONTEXT_USER: u64 = -512_i64 as u64;
/// All such marks are above this.
const CONTEXT_MAX: u64 = -4095_i64 as u64;

/// The content of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record<'a> {
    /// A sample of a thread.
    Sampled {
        /// Its process.
        process: u32,
        /// The thread itself.
        thread: u32,
        /// Its addresses.
        sample: Sample<'a>,
    },
    /// A process was made; or a thread, where both are one.
    Forked {
        /// When, by the clock of samples.
        time_ns: u64,
        /// The process that made it.
        parent: u32,
        /// The new one.
        child: u32,
    },
    /// A process executes another program from now on.
    Executed {
        /// When, by the clock of samples.
        time_ns: u64,
        /// The process.
        process: u32,
    },
    /// A process has code at other addresses.
    Mapped {
        /// When, by the clock of samples.
        time_ns: u64,
        /// The process.
        process: u32,
        /// The code.
        mapping: CodeMapping,
    },
}

/// Hands over all whole records in `bytes`, and returns how many the kernel lost by its own count.
pub fn parse_records(bytes: &[u8], on_record: &mut dyn FnMut(Record<'_>)) -> u64 {
    let (mut rest, mut lost) = (bytes, 0);
    while let Some((RawRecord { kind, flags, body }, behind)) = record(rest) {
        match kind {
            SAMPLE => sample(body, on_record),
            LOST => lost = u64::saturating_add(lost, body.get(1).copied().unwrap_or(0)),
            FORK => forked(&body, on_record),
            MAPPING => mapped(&body, on_record),
            COMMAND if flags & EXECUTED != 0 => executed(&body, on_record),
            _ => {}
        }
        rest = behind;
    }
    lost
}

/// A raw record of the ring.
struct RawRecord {
    kind: u32,
    flags: u16,
    /// In words.
    body: Vec<u64>,
}

/// The first record, and the rest.
fn record(bytes: &[u8]) -> Option<(RawRecord, &[u8])> {
    let (header, _) = bytes.split_first_chunk::<8>()?;
    let kind = u32::from_ne_bytes([header[0], header[1], header[2], header[3]]);
    let flags = u16::from_ne_bytes([header[4], header[5]]);
    let size = usize::from(u16::from_ne_bytes([header[6], header[7]]));
    let body = bytes.get(8..size)?;
    let words = body.chunks_exact(8).map(|word| {
        let mut whole = [0; 8];
        whole.copy_from_slice(word);
        u64::from_ne_bytes(whole)
    });
    Some((RawRecord { kind, flags, body: words.collect() }, &bytes[size..]))
}

/// Two numbers of 32 bits, in the order of the memory.
fn halves(word: u64) -> (u32, u32) {
    let [a, b, c, d, e, f, g, h] = word.to_ne_bytes();
    (u32::from_ne_bytes([a, b, c, d]), u32::from_ne_bytes([e, f, g, h]))
}

/// A process with its parent, a thread with its parent, the time.
fn forked(words: &[u64], on_record: &mut dyn FnMut(Record<'_>)) {
    let &[processes, _, time_ns, ..] = words else { return };
    let (child, parent) = halves(processes);
    on_record(Record::Forked { time_ns, parent, child });
}

/// A process with its thread, and a name; then, as at the end of each record, process, thread and time.
fn executed(words: &[u64], on_record: &mut dyn FnMut(Record<'_>)) {
    let &[ids, .., time_ns] = words else { return };
    on_record(Record::Executed { time_ns, process: halves(ids).0 });
}

/// A process with its thread, the fields of a mapping, the file's name padded with zeros.
fn mapped(words: &[u64], on_record: &mut dyn FnMut(Record<'_>)) {
    let Some((&[ids, start, length, offset, _, inode, _, _], rest)) =
        words.split_first_chunk::<MAPPING_WORDS>()
    else {
        return;
    };
    let Some((name, &[_, time_ns])) = rest.split_last_chunk::<IDENTITY_WORDS>() else { return };
    let name: Vec<u8> =
        name.iter().flat_map(|word| word.to_ne_bytes()).take_while(|&byte| byte != 0).collect();
    let path = String::from_utf8_lossy(&name).into_owned();
    // The kernel's name for memory without a file.
    let path = if path == "//anon" { String::new() } else { path };
    let mapping = CodeMapping { start, end: start.saturating_add(length), offset, inode, path };
    on_record(Record::Mapped { time_ns, process: halves(ids).0, mapping });
}

/// A sample: process and thread, time, the values of the group, the chain of callers.
fn sample(words: Vec<u64>, on_record: &mut dyn FnMut(Record<'_>)) {
    let Some((&[ids, time_ns], rest)) = words.split_first_chunk::<2>() else { return };
    let Some((values, rest)) = counted(rest) else { return };
    let Some((chain, _)) = counted(rest) else { return };
    let (mut kernel, mut user) = (&chain[..0], &chain[..0]);
    let mut from = 0;
    while let Some(length) = chain[from..].iter().position(|&address| address >= CONTEXT_MAX) {
        let mark = chain[from + length];
        let begin = from + length + 1;
        let end = chain[begin..].iter().position(|&address| address >= CONTEXT_MAX);
        let part = &chain[begin..end.map_or(chain.len(), |end| begin + end)];
        match mark {
            CONTEXT_KERNEL => kernel = part,
            CONTEXT_USER => user = part,
            _ => {}
        }
        from = begin;
    }
    // The first value is that of the event which samples.
    let sample = Sample { time_ns, kernel, user, counters: values.get(1..).unwrap_or_default() };
    let (process, thread) = halves(ids);
    on_record(Record::Sampled { process, thread, sample });
}

/// So many words as the first one says, and the rest.
fn counted(words: &[u64]) -> Option<(&[u64], &[u64])> {
    let (&count, rest) = words.split_first()?;
    rest.split_at_checked(usize::try_from(count).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(kind: u32, words: &[u64]) -> Vec<u8> {
        let size = 8 + 8 * words.len() as u16;
        let header = [&kind.to_ne_bytes()[..], &0_u16.to_ne_bytes(), &size.to_ne_bytes()].concat();
        header.into_iter().chain(words.iter().flat_map(|word| word.to_ne_bytes())).collect()
    }

    /// Process 7 and its thread 8.
    fn ids() -> u64 {
        let [a, b, c, d] = 7_u32.to_ne_bytes();
        let [e, f, g, h] = 8_u32.to_ne_bytes();
        u64::from_ne_bytes([a, b, c, d, e, f, g, h])
    }

    #[test]
    fn chains_are_divided_at_their_marks() {
        let chain = [6, CONTEXT_KERNEL, 0xffff_8001, 0xffff_8002, CONTEXT_USER, 0x40, 0x50];
        let words = [&[ids(), 11, 2, 1000, 3][..], &chain].concat();
        let stream =
            [bytes(SAMPLE, &words), bytes(LOST, &[1, 4]), bytes(SAMPLE, &[0, 5, 1, 1, 2, CONTEXT_USER, 9])];
        let mut seen = Vec::new();
        let lost = parse_records(&stream.concat(), &mut |record| {
            let Record::Sampled { process, thread, sample } = record else { panic!("{record:?}") };
            let Sample { time_ns, kernel, user, counters } = sample;
            seen.push((process, thread, time_ns, kernel.to_vec(), user.to_vec(), counters.to_vec()));
        });
        assert_eq!(lost, 4);
        let first = (7, 8, 11, vec![0xffff_8001, 0xffff_8002], vec![0x40, 0x50], vec![3]);
        assert_eq!(seen, [first, (0, 0, 5, vec![], vec![9], vec![])]);
    }

    #[test]
    fn forks_and_programs_are_told() {
        let mut executed = bytes(COMMAND, &[ids(), 0x74, ids(), 21]);
        executed[4..6].copy_from_slice(&EXECUTED.to_ne_bytes());
        // The new name of a thread is no program.
        let stream = [bytes(FORK, &[ids(), ids(), 20]), executed, bytes(COMMAND, &[ids(), 0x74, ids(), 22])];
        let mut seen = Vec::new();
        let _ = parse_records(&stream.concat(), &mut |record| match record {
            Record::Forked { time_ns, parent, child } => seen.push((time_ns, parent, child)),
            Record::Executed { time_ns, process } => seen.push((time_ns, process, 0)),
            Record::Sampled { .. } | Record::Mapped { .. } => panic!("{record:?}"),
        });
        assert_eq!(seen, [(20, 8, 7), (21, 7, 0)]);
    }

    #[test]
    fn a_mapping_has_its_file() {
        let name = u64::from_ne_bytes(*b"/bin/sed");
        let words = [ids(), 0x5000, 0x1000, 0x2000, 0, 34, 0, 0, name, 0, ids(), 23];
        let mut seen = Vec::new();
        let _ = parse_records(&bytes(MAPPING, &words), &mut |record| {
            let Record::Mapped { time_ns, process, mapping } = record else { panic!("{record:?}") };
            seen.push((time_ns, process, mapping));
        });
        let mapping = CodeMapping {
            start: 0x5000,
            end: 0x6000,
            offset: 0x2000,
            inode: 34,
            path: "/bin/sed".to_owned(),
        };
        assert_eq!(seen, [(23, 7, mapping)]);
    }

    #[test]
    fn what_is_said_to_be_lost_is_counted_without_overflow() {
        let stream = [bytes(LOST, &[1, u64::MAX]), bytes(LOST, &[1, 4])].concat();
        assert_eq!(parse_records(&stream, &mut |record| panic!("{record:?}")), u64::MAX);
    }

    #[test]
    fn what_is_no_record_is_no_sample_and_no_panic() {
        let cases: [&[u64]; 6] =
            [&[], &[1], &[1, 1], &[1, 1, u64::MAX], &[1, 1, 1, 5], &[1, 1, 0, 9, CONTEXT_USER]];
        for words in cases {
            parse_records(&bytes(SAMPLE, words), &mut |record| panic!("{record:?} of {words:?}"));
        }
        parse_records(&bytes(MAPPING, &[1; 9]), &mut |record| panic!("{record:?}"));
        parse_records(&bytes(FORK, &[1, 1]), &mut |record| panic!("{record:?}"));
        parse_records(&[9, 0, 0, 0, 0, 0, 3, 0, 1], &mut |record| panic!("{record:?}"));
        parse_records(&[0; 16], &mut |record| panic!("{record:?}"));
    }
}

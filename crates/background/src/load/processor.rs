//! Loads of the processor: its time, system calls, and reads from memory.

use std::fs::File;
use std::hint::black_box;
use std::io::{self, Read};

use sys::kernel_counter::ProcessIo;

use super::{Means, Work, failed, size};

/// Read in one go.
const PIECE_WORDS: usize = 8192;
const WORD: usize = size_of::<u64>();
/// The divisor of the available memory that a load may take.
const AVAILABLE_SHARE: u64 = 2;
/// Bytes read at once at most, so that no step takes long.
const READ_AT_ONCE: f64 = 64e6;

/// Reads all of a region in turn, so that caches smaller than it do not help.
pub(super) struct Memory {
    words: Vec<u64>,
    place: usize,
    /// The kernel counts no reads from memory.
    read_bytes: u64,
}

impl Memory {
    pub(super) fn new(bytes: u64) -> Result<Memory, String> {
        if let Ok(available) = sys::kernel_counter::available_bytes()
            && bytes > available / AVAILABLE_SHARE
        {
            let most = size(available / AVAILABLE_SHARE);
            return Err(format!(
                "{} of memory are too much; half of what is available is {most}",
                size(bytes)
            ));
        }
        let words = usize::try_from(bytes).unwrap_or(usize::MAX) / WORD / PIECE_WORDS * PIECE_WORDS;
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
        for _ in 0..(amount.min(READ_AT_ONCE) / (PIECE_WORDS * WORD) as f64).max(1.0) as u64 {
            if self.place == self.words.len() {
                self.place = 0;
            }
            let piece = &self.words[self.place..self.place + PIECE_WORDS];
            sum = piece.iter().fold(sum, |sum, word| sum.wrapping_add(*word));
            self.place += PIECE_WORDS;
            self.read_bytes += (PIECE_WORDS * WORD) as u64;
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
        Means { grain: (PIECE_WORDS * WORD) as f64, counter: "", system_counter: "" }
    }
}

/// Rounds between two readings of the clock of the kernel: some 20 µs.
const ROUNDS: u32 = 20_000;

/// Computes for a part of the time, and sleeps for the rest.
pub(super) struct Cpu {
    processor: Option<u32>,
    state: u64,
}

impl Cpu {
    pub(super) fn new(processor: Option<u32>) -> Cpu {
        Cpu { processor, state: 1 }
    }
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
const AT_ONCE_SECONDS: f64 = 0.005;

/// The shortest system calls that the kernel counts per process: read(2) of /dev/null.
pub(super) struct Syscalls {
    null: File,
    io: ProcessIo,
    grain: f64,
}

impl Syscalls {
    pub(super) fn new(rate: f64) -> Result<Syscalls, String> {
        let null = File::open("/dev/null").map_err(failed("open /dev/null"))?;
        let io = ProcessIo::open().map_err(failed("read how many calls the kernel counts"))?;
        Ok(Syscalls { null, io, grain: (rate * AT_ONCE_SECONDS).max(1.0) })
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

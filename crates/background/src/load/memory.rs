//! Reads from memory: all of a region in turn, so that caches which are smaller than it do not help.

use std::hint::black_box;
use std::io;

use super::work::{Means, Work, size};

/// What is read in one go.
const PIECE_WORDS: usize = 8192;
const WORD: usize = size_of::<u64>();
/// Of the memory that is available, so much may be taken.
const AVAILABLE_SHARE: u64 = 2;
/// What is read at once at most, so that no step takes long.
const AT_ONCE: f64 = 64e6;

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
        for _ in 0..(amount.min(AT_ONCE) / (PIECE_WORDS * WORD) as f64).max(1.0) as u64 {
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

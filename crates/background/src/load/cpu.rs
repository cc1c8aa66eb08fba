//! Processor time: computes for a part of the time, and sleeps for the rest.

use std::hint::black_box;
use std::io;

use super::work::{Means, Work};

/// Computes so long between two looks at the clock of the kernel: some 20 µs.
const ROUNDS: u32 = 20_000;

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

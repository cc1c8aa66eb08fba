//! Systems without perf_event_open(2).

use std::io;
use std::time::Duration;

use super::{CodeMapping, Holding, KernelSymbols, Sample};
use crate::Unsupported;

const MISSING: Unsupported = Unsupported("samples of stacks need perf_event_open(2), which only Linux has");

/// There is none.
#[derive(Debug)]
pub enum Sampler {}

impl Sampler {
    /// Unsupported.
    ///
    /// # Errors
    /// Always.
    pub fn attach(_process: u32, _period: Duration, _processors: &[u32]) -> io::Result<Sampler> {
        Err(MISSING.into())
    }

    /// Not reached: there is no sampler.
    ///
    /// # Errors
    /// None.
    pub fn enable(&self) -> io::Result<()> {
        match *self {}
    }

    /// Not reached: there is no sampler.
    pub fn counters(&self) -> &[&'static str] {
        match *self {}
    }

    /// Not reached: there is no sampler.
    pub fn uncounted(&self) -> &str {
        match *self {}
    }

    /// Not reached: there is no sampler.
    pub fn unsampled(&self) -> &str {
        match *self {}
    }

    /// Not reached: there is no sampler.
    pub fn finish(&mut self, _on_sample: &mut dyn FnMut(Sample<'_>)) {
        match *self {}
    }

    /// Not reached: there is no sampler.
    pub fn drain(&mut self, _on_sample: &mut dyn FnMut(Sample<'_>)) {
        match *self {}
    }

    /// Not reached: there is no sampler.
    pub fn code_of_others(&self) -> &[CodeMapping] {
        match *self {}
    }

    /// Not reached: there is no sampler.
    pub fn lost(&self) -> u64 {
        match *self {}
    }
}

/// There is no such clock.
pub fn sample_clock_ns() -> u64 {
    0
}

/// Unsupported.
///
/// # Errors
/// Always.
pub fn kernel_symbols() -> io::Result<KernelSymbols> {
    Err(MISSING.into())
}

/// Unsupported.
///
/// # Errors
/// Always.
pub fn mappings(_process: u32) -> io::Result<Vec<CodeMapping>> {
    Err(MISSING.into())
}

/// Nothing is known.
pub fn in_use(_process: u32) -> Vec<Holding> {
    Vec::new()
}

/// That cannot be known.
pub fn waits_for_input(_process: u32) -> bool {
    true
}

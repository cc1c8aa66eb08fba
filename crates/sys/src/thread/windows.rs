//! Threads on Windows by std.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{Builder, JoinHandle};

use windows_sys::Win32::Foundation::FILETIME;
use windows_sys::Win32::System::Threading::{GetCurrentThread, GetThreadTimes};

use super::Gate;

/// Times of Windows are counted in tenths of a microsecond.
const NANOSECONDS_PER_TICK: u64 = 100;

/// Threads with default attributes.
#[derive(Debug)]
pub struct ThreadGroup {
    hello_read: PipeReader,
    hello_write: Arc<PipeWriter>,
    gates: Arc<[Gate]>,
    waiting: Arc<AtomicUsize>,
}

/// A thread of a [`ThreadGroup`].
#[derive(Debug)]
pub struct Member<'group> {
    thread: JoinHandle<()>,
    gate: &'group Gate,
}

impl ThreadGroup {
    /// Room for `members` threads.
    ///
    /// # Errors
    /// Those of CreatePipe.
    pub fn new(members: usize) -> io::Result<ThreadGroup> {
        let (hello_read, hello_write) = io::pipe()?;
        let gates = (0..members).map(|_| Gate::default()).collect();
        Ok(ThreadGroup { hello_read, hello_write: Arc::new(hello_write), gates, waiting: Arc::default() })
    }

    /// How many threads have written their byte and were not released yet.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::SeqCst)
    }

    /// Creates thread `number`, once, and returns when its first byte has arrived; never when the thread
    /// cannot write it, for the pipe stays open here. The time-out of the trial ends that.
    ///
    /// # Errors
    /// Those of CreateThread.
    pub fn create(&self, number: usize) -> io::Result<Member<'_>> {
        let gate = self.gates.get(number).ok_or(io::ErrorKind::InvalidInput)?;
        let (hello, gates) = (Arc::clone(&self.hello_write), Arc::clone(&self.gates));
        let waiting = Arc::clone(&self.waiting);
        let thread = Builder::new().spawn(move || {
            waiting.fetch_add(1, Ordering::SeqCst);
            let _ = (&*hello).write_all(b".");
            gates[number].pass();
            waiting.fetch_sub(1, Ordering::SeqCst);
        })?;
        (&self.hello_read).read_exact(&mut [0])?;
        Ok(Member { thread, gate })
    }
}

impl Member<'_> {
    /// Releases the thread and joins it.
    ///
    /// # Errors
    /// `Other` when the thread panicked.
    pub fn join(self) -> io::Result<()> {
        self.gate.open();
        self.thread.join().map_err(|_| io::Error::other("the thread panicked"))
    }
}

/// Processor time that this thread has used, in ticks of the scheduler.
///
/// # Errors
/// Those of GetThreadTimes.
pub fn cpu_ns() -> io::Result<u64> {
    let mut times = [FILETIME::default(); 4];
    let [created, ended, kernel, user] = &mut times;
    // SAFETY: all four outlive the call, and the handle is always valid.
    let answer = unsafe { GetThreadTimes(GetCurrentThread(), created, ended, kernel, user) };
    if answer == 0 {
        return Err(io::Error::last_os_error());
    }
    let ticks = |time: FILETIME| u64::from(time.dwHighDateTime) << 32 | u64::from(time.dwLowDateTime);
    Ok((ticks(times[2]) + ticks(times[3])) * NANOSECONDS_PER_TICK)
}

/// Windows does not count that for a thread.
pub fn involuntary_switches() -> Option<u64> {
    None
}

//! Threads on Windows by std.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

use super::Gate;

/// Threads with default attributes.
#[derive(Debug)]
pub struct Crew {
    hello_read: PipeReader,
    hello_write: Arc<PipeWriter>,
    gates: Arc<[Gate]>,
}

/// A thread of a [`Crew`].
#[derive(Debug)]
pub struct Member {
    thread: JoinHandle<()>,
    number: usize,
    gates: Arc<[Gate]>,
}

impl Crew {
    /// Room for `members` threads.
    ///
    /// # Errors
    /// Those of CreatePipe.
    pub fn new(members: usize) -> io::Result<Crew> {
        let (hello_read, hello_write) = io::pipe()?;
        let gates = (0..members).map(|_| Gate::default()).collect();
        Ok(Crew { hello_read, hello_write: Arc::new(hello_write), gates })
    }

    /// Creates thread `number`, once, and returns when its first byte has arrived.
    ///
    /// # Errors
    /// Those of CreateThread; `UnexpectedEof` when the byte did not come.
    pub fn create(&self, number: usize) -> io::Result<Member> {
        let (hello, gates) = (Arc::clone(&self.hello_write), Arc::clone(&self.gates));
        let thread = Builder::new().spawn(move || {
            let _ = (&*hello).write_all(b".");
            gates[number].pass();
        })?;
        (&self.hello_read).read_exact(&mut [0])?;
        Ok(Member { thread, number, gates: Arc::clone(&self.gates) })
    }
}

impl Member {
    /// Lets the thread go and joins it.
    ///
    /// # Errors
    /// `Other` when the thread panicked.
    pub fn join(self) -> io::Result<()> {
        self.gates[self.number].open();
        self.thread.join().map_err(|_| io::Error::other("the thread panicked"))
    }
}

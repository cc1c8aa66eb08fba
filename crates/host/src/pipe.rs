//! Threads around pipes, so that a process that does not read or write blocks no caller.

use std::io::{self, Read, Write};
use std::sync::mpsc::{Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

/// At most so much is read at a time.
pub(crate) const CHUNK_BYTES: usize = 64 << 10;

/// Writes what is sent, in a thread: a process that does not read blocks nothing else. The pipe is closed
/// when the sender is dropped or the other end is.
pub(crate) fn writer(mut pipe: impl Write + Send + 'static) -> io::Result<Sender<Vec<u8>>> {
    let (sender, receiver) = channel::<Vec<u8>>();
    Builder::new().spawn(move || {
        while let Ok(bytes) = receiver.recv() {
            if pipe.write_all(&bytes).and_then(|()| pipe.flush()).is_err() {
                return;
            }
        }
    })?;
    Ok(sender)
}

/// Hands on what a pipe has, in a thread, until its end or until nothing receives it.
pub(crate) fn reader(
    mut pipe: impl Read + Send + 'static,
    mut hand_on: impl FnMut(&[u8]) -> bool + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    Builder::new().spawn(move || {
        let mut chunk = vec![0_u8; CHUNK_BYTES];
        loop {
            match pipe.read(&mut chunk) {
                Ok(count @ 1..) if hand_on(&chunk[..count]) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                _ => break,
            }
        }
    })
}

/// How long the rest of what a process wrote is waited for, once it has ended: a process that it left may
/// hold the other end.
const REST: Duration = Duration::from_millis(500);

/// Waits for the end of a child and of these threads that read what it writes. The child is left to be waited
/// for, so that its group can be killed before its number may be somebody else's.
pub(crate) fn await_end(child: u32, readers: Vec<JoinHandle<()>>) {
    if sys::process::await_end(child).is_err() {
        // Somebody else has waited for it, or this system cannot tell: the end of its output is its own.
        readers.into_iter().for_each(|reader| drop(reader.join()));
        return;
    }
    let deadline = Instant::now() + REST;
    while readers.iter().any(|reader| !reader.is_finished()) && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(1));
    }
}

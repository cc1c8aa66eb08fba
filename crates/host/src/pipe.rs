//! Threads around the pipes of a process, so that one that does not read or write blocks no caller; and the
//! tail of its standard error.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use crate::frame::one_line;
use crate::lock;

/// Files are sent in pieces of this size, so that no frame is long.
const PIECE_BYTES: usize = 256 << 10;

/// At most so much is read at a time.
pub(crate) const CHUNK_BYTES: usize = 64 << 10;

/// Pieces of a message or a file. They are made as they are written: a program is sent to a hundred hosts at
/// once, and is never in memory as a whole.
pub(crate) type Pieces = Box<dyn Iterator<Item = Vec<u8>> + Send>;

/// Writes the sent bytes, in a thread: a process that does not read blocks nothing else. The pipe is closed
/// when the sender is dropped or the other end is.
pub(crate) fn writer(mut pipe: impl Write + Send + 'static) -> io::Result<Sender<Pieces>> {
    let (sender, receiver) = channel::<Pieces>();
    Builder::new().spawn(move || {
        while let Ok(pieces) = receiver.recv() {
            for bytes in pieces {
                if pipe.write_all(&bytes).and_then(|()| pipe.flush()).is_err() {
                    return;
                }
            }
        }
    })?;
    Ok(sender)
}

/// A message as its only piece.
pub(crate) fn whole(bytes: Vec<u8>) -> Pieces {
    Box::new(std::iter::once(bytes))
}

/// A file that is to be sent.
pub(crate) struct SentFile {
    file: File,
    /// Its length.
    pub(crate) bytes: usize,
    /// Its checksum, by which the other side knows that all of it came.
    pub(crate) crc32: u32,
}

impl SentFile {
    pub(crate) fn open(path: &Path) -> io::Result<SentFile> {
        let mut file = File::open(path)?;
        let (mut hasher, mut chunk, mut bytes) = (crc32fast::Hasher::new(), vec![0_u8; PIECE_BYTES], 0);
        while let count @ 1.. = file.read(&mut chunk)? {
            hasher.update(&chunk[..count]);
            bytes += count;
        }
        file.rewind()?;
        Ok(SentFile { file, bytes, crc32: hasher.finalize() })
    }

    /// Its pieces. They end where it cannot be read, which its checksum shows.
    pub(crate) fn pieces(mut self) -> impl Iterator<Item = Vec<u8>> + Send {
        std::iter::from_fn(move || {
            let mut piece = Vec::with_capacity(PIECE_BYTES);
            let limited = Read::take(&mut self.file, PIECE_BYTES as u64).read_to_end(&mut piece);
            limited.is_ok_and(|count| count > 0).then_some(piece)
        })
    }
}

/// Hands on the bytes of a pipe, in a thread, until its end or until nothing receives them.
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

/// How long to wait for the rest of a process's output, once it has ended: a process that it left may hold
/// the other end.
const REST: Duration = Duration::from_millis(500);

/// Waits for the end of a child and of the threads that read its output. The child is not reaped, so that its
/// group can be killed before its number is reused.
pub(crate) fn await_end(child: u32, readers: Vec<JoinHandle<()>>) {
    if sys::process::await_end(child).is_err() {
        // It was reaped elsewhere, or this system cannot tell: the end of its output counts as its end.
        readers.into_iter().for_each(|reader| drop(reader.join()));
        return;
    }
    let deadline = Instant::now() + REST;
    while readers.iter().any(|reader| !reader.is_finished()) && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// So much of the end of a process's standard error is kept.
const TAIL_BYTES_MAX: usize = 1000;

/// How long to wait for the first words after an error: standard error that was written before the faulty
/// output may arrive after it.
const FIRST_WORDS: Duration = Duration::from_secs(1);

/// The end of a process's standard error, which is read as it comes.
#[derive(Clone, Debug, Default)]
pub(crate) struct StderrTail {
    shared: Arc<(Mutex<Tail>, Condvar)>,
}

#[derive(Debug, Default)]
struct Tail {
    bytes: Vec<u8>,
    is_whole: bool,
}

impl StderrTail {
    /// Reads the pipe to its end, in a thread.
    pub(crate) fn new(mut pipe: impl Read + Send + 'static) -> io::Result<StderrTail> {
        let tail = StderrTail::default();
        let writing = tail.clone();
        Builder::new().spawn(move || {
            let mut chunk = [0_u8; TAIL_BYTES_MAX];
            while let Ok(count @ 1..) = pipe.read(&mut chunk) {
                writing.push(&chunk[..count]);
            }
            writing.close();
        })?;
        Ok(tail)
    }

    pub(crate) fn push(&self, bytes: &[u8]) {
        let kept = &mut lock(&self.shared.0).bytes;
        kept.extend_from_slice(bytes);
        kept.drain(..kept.len().saturating_sub(TAIL_BYTES_MAX));
        self.shared.1.notify_all();
    }

    /// Nothing more will come.
    pub(crate) fn close(&self) {
        lock(&self.shared.0).is_whole = true;
        self.shared.1.notify_all();
    }

    /// The text so far, on one line.
    pub(crate) fn text(&self) -> String {
        one_line(&lock(&self.shared.0).bytes)
    }

    /// The text so far, or if there is none, the first that comes.
    pub(crate) fn first_text(&self) -> String {
        let tail = lock(&self.shared.0);
        let is_silent = |tail: &mut Tail| tail.bytes.is_empty() && !tail.is_whole;
        let waited = self.shared.1.wait_timeout_while(tail, FIRST_WORDS, is_silent);
        one_line(&waited.unwrap_or_else(PoisonError::into_inner).0.bytes)
    }

    /// All of it, for a process that has ended.
    pub(crate) fn whole_text(&self) -> String {
        let tail = lock(&self.shared.0);
        let waited = self.shared.1.wait_timeout_while(tail, REST, |tail| !tail.is_whole);
        one_line(&waited.unwrap_or_else(PoisonError::into_inner).0.bytes)
    }
}

/// A reason, with the last words of standard error where there are any.
pub fn with_stderr(reason: &str, stderr: &str) -> String {
    if stderr.is_empty() { reason.to_owned() } else { format!("{reason} ({stderr})") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_words_are_waited_for() {
        let tail = StderrTail::default();
        let writing = tail.clone();
        let thread = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(20));
            writing.push(b"Kernel panic\n");
        });
        assert_eq!(tail.first_text(), "Kernel panic");
        thread.join().unwrap();
        let silent = StderrTail::default();
        silent.close();
        assert_eq!(silent.first_text(), "", "nothing will come");
    }

    #[test]
    fn the_end_is_kept_on_one_line() {
        let long = "x".repeat(5000) + "\n  it is forbidden \n\nreally\n";
        let tail = StderrTail::new(io::Cursor::new(long)).expect("a thread");
        let text = tail.whole_text();
        assert!(text.ends_with("x; it is forbidden; really"), "{text}");
        assert!(text.len() <= TAIL_BYTES_MAX + 10);
        assert_eq!(with_stderr("it ended", &text), format!("it ended ({text})"));
        assert_eq!(with_stderr("it ended", ""), "it ended");
    }
}

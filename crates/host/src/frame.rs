//! Frames: a magic number, the length, a checksum, and the bytes; and the side of a role, which reads
//! requests from standard input and writes replies to standard output, both JSON in frames.
//!
//! A command may print a banner before its first frame, so up to [`BANNER_BYTES_MAX`] bytes are skipped in
//! search of the magic number. Behind the first frame every byte belongs to one, and anything else is an
//! error.

use std::io::{self, Read, Stdin, Stdout, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Begins every frame; its first byte occurs in no UTF-8 text, and its last is the version of this format.
const MAGIC: [u8; 4] = [0xF5, b'O', b'D', 1];

/// Magic number, length and checksum, the latter two in little-endian order.
const HEAD_BYTES: usize = 12;

/// No frame is longer: ten series of a million values, which take ten bytes each, fit.
const FRAME_BYTES_MAX: usize = 256 << 20;

/// A banner is not longer: a screen of text has 4 KiB, and message-of-the-day files have a few of them.
const BANNER_BYTES_MAX: usize = 64 << 10;

/// So much of a banner is quoted in an error, its end.
const BANNER_BYTES_KEPT: usize = 300;

/// At most so much is read at a time: little, because a worker's fork(2) copies the buffer.
const CHUNK_BYTES: usize = 4 << 10;

/// The fault that makes a stream of frames unusable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// No frame within the bytes that may be skipped.
    #[error(
        "no frame within {} KiB: the command prints something else, which ends with {end:?}",
        BANNER_BYTES_MAX >> 10
    )]
    NoFrame {
        /// The end of the other output.
        end: String,
    },
    /// A frame does not begin where the last one ended.
    #[error("a frame begins with {found:?}: something else writes to the same output")]
    Garbage {
        /// The first bytes.
        found: String,
    },
    /// A frame longer than any that is sent.
    #[error("a frame of {bytes} bytes; at most {FRAME_BYTES_MAX} are allowed")]
    Oversized {
        /// Its length.
        bytes: usize,
    },
    /// The bytes are not those that were sent.
    #[error("a frame of {bytes} bytes has a wrong checksum: it was changed on its way")]
    Checksum {
        /// Its length.
        bytes: usize,
    },
}

/// A frame with these bytes.
pub fn encode(payload: &[u8]) -> Vec<u8> {
    // The receiver refuses a payload that is too long; beyond 4 GiB the length is wrong too, and is refused
    // as well.
    let length = (payload.len() as u32).to_le_bytes();
    let mut frame = Vec::with_capacity(HEAD_BYTES + payload.len());
    frame.extend_from_slice(&MAGIC);
    frame.extend_from_slice(&length);
    frame.extend_from_slice(&checksum(length, payload).to_le_bytes());
    frame.extend_from_slice(payload);
    frame
}

/// CRC-32 of length and bytes.
fn checksum(length: [u8; 4], payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&length);
    hasher.update(payload);
    hasher.finalize()
}

/// Finds the frames in a stream of bytes that arrives in pieces of any size.
#[derive(Debug, Default)]
pub struct Frames {
    buffer: Vec<u8>,
    /// A frame has been found: from here on there is nothing to skip.
    is_in_step: bool,
    skipped_bytes: usize,
    /// The end of the skipped bytes.
    banner: Vec<u8>,
    broken: Option<FrameError>,
}

/// A frame at the beginning of the buffer.
enum Candidate {
    Whole(Vec<u8>),
    /// More bytes are needed to decide.
    Partial,
    No(FrameError),
}

impl Frames {
    /// For a stream whose first byte begins a frame.
    fn without_banner() -> Frames {
        Frames { is_in_step: true, ..Frames::default() }
    }

    /// Takes more of the stream. After an error nothing is kept.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.broken.is_none() {
            self.buffer.extend_from_slice(bytes);
        }
    }

    /// The next frame's bytes; `None` until more of the stream is there.
    ///
    /// # Errors
    /// When the stream holds something else. The error stays.
    pub fn next_frame(&mut self) -> Result<Option<Vec<u8>>, FrameError> {
        let next = match &self.broken {
            Some(error) => Err(error.clone()),
            None => self.find(),
        };
        if let Err(error) = &next {
            self.broken = Some(error.clone());
            self.buffer = Vec::new();
        }
        next
    }

    /// The end of the bytes before the first frame, on one line.
    pub fn banner(&self) -> String {
        one_line(&self.banner)
    }

    /// Whether the stream may end here: not within a frame.
    fn is_between_frames(&self) -> bool {
        self.buffer.is_empty()
    }

    fn find(&mut self) -> Result<Option<Vec<u8>>, FrameError> {
        loop {
            if !self.is_in_step {
                self.skip_to_magic()?;
            }
            match self.candidate() {
                Candidate::Whole(payload) => {
                    self.is_in_step = true;
                    return Ok(Some(payload));
                }
                Candidate::Partial => return Ok(None),
                Candidate::No(error) if self.is_in_step => return Err(error),
                // A magic number by chance, in a banner.
                Candidate::No(_) => self.skip(1)?,
            }
        }
    }

    fn candidate(&mut self) -> Candidate {
        let beginning = self.buffer.len().min(MAGIC.len());
        if self.buffer[..beginning] != MAGIC[..beginning] {
            let found = one_line(&self.buffer[..self.buffer.len().min(BANNER_BYTES_KEPT)]);
            return Candidate::No(FrameError::Garbage { found });
        }
        let Some(([.., l0, l1, l2, l3, c0, c1, c2, c3], rest)) =
            self.buffer.split_first_chunk::<HEAD_BYTES>()
        else {
            return Candidate::Partial;
        };
        let length = [*l0, *l1, *l2, *l3];
        let bytes = u32::from_le_bytes(length) as usize;
        if bytes > FRAME_BYTES_MAX {
            return Candidate::No(FrameError::Oversized { bytes });
        }
        let Some(payload) = rest.get(..bytes) else { return Candidate::Partial };
        if checksum(length, payload) != u32::from_le_bytes([*c0, *c1, *c2, *c3]) {
            return Candidate::No(FrameError::Checksum { bytes });
        }
        let payload = payload.to_vec();
        self.buffer.drain(..HEAD_BYTES + bytes);
        Candidate::Whole(payload)
    }

    /// Skips bytes that cannot begin a frame; the last three bytes may be the beginning of a magic number.
    fn skip_to_magic(&mut self) -> Result<(), FrameError> {
        let magic = memchr::memmem::find(&self.buffer, &MAGIC);
        self.skip(magic.unwrap_or(self.buffer.len().saturating_sub(MAGIC.len() - 1)))
    }

    fn skip(&mut self, bytes: usize) -> Result<(), FrameError> {
        self.banner.extend(self.buffer.drain(..bytes));
        self.banner.drain(..self.banner.len().saturating_sub(BANNER_BYTES_KEPT));
        self.skipped_bytes += bytes;
        if self.skipped_bytes > BANNER_BYTES_MAX {
            return Err(FrameError::NoFrame { end: self.banner() });
        }
        Ok(())
    }
}

/// A text as one line, without the blanks around its lines.
pub(crate) fn one_line(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("; ")
}

/// The requests that a role receives.
pub type Incoming = FrameReader<Stdin>;
/// The replies of a role.
pub type Outgoing = FrameWriter<Stdout>;

/// Reads frames.
#[derive(Debug)]
pub struct FrameReader<R> {
    input: R,
    frames: Frames,
}

impl FrameReader<Stdin> {
    /// From standard input.
    pub fn standard_input() -> Incoming {
        FrameReader::new(io::stdin())
    }
}

impl<R: Read> FrameReader<R> {
    /// From any input whose first byte begins a frame.
    pub fn new(input: R) -> FrameReader<R> {
        FrameReader { input, frames: Frames::without_banner() }
    }

    /// The next message; `None` at the end of the input: this process is not needed any more.
    ///
    /// # Errors
    /// Those of read(2); `InvalidData` for anything but a whole frame with such a message.
    pub fn receive<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        match self.receive_bytes()? {
            Some(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
            None => Ok(None),
        }
    }

    /// The next frame's bytes; `None` at the end of the input.
    ///
    /// # Errors
    /// Those of read(2); `InvalidData` for anything but a whole frame.
    pub(crate) fn receive_bytes(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut chunk = Vec::new();
        loop {
            if let Some(frame) = self.frames.next_frame().map_err(invalid)? {
                return Ok(Some(frame));
            }
            chunk.resize(CHUNK_BYTES, 0);
            match self.input.read(&mut chunk) {
                Ok(0) if self.frames.is_between_frames() => return Ok(None),
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => self.frames.push(&chunk[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Waits for the end of the input, whatever comes before: the lifeline of a role.
    pub fn wait_for_end(mut self) {
        let mut sink = [0_u8; 64];
        loop {
            match self.input.read(&mut sink) {
                Ok(1..) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                _ => return,
            }
        }
    }
}

/// Writes frames, each at once.
#[derive(Debug)]
pub struct FrameWriter<W> {
    output: W,
}

impl FrameWriter<Stdout> {
    /// To standard output.
    pub fn standard_output() -> Outgoing {
        FrameWriter::new(io::stdout())
    }
}

impl<W: Write> FrameWriter<W> {
    /// To any output.
    pub fn new(output: W) -> FrameWriter<W> {
        FrameWriter { output }
    }

    /// Sends a message.
    ///
    /// # Errors
    /// Those of write(2); `InvalidInput` for more bytes than a frame holds.
    pub fn send(&mut self, message: &impl Serialize) -> io::Result<()> {
        self.send_bytes(&serde_json::to_vec(message)?)
    }

    /// Sends bytes.
    ///
    /// # Errors
    /// Those of write(2); `InvalidInput` for more bytes than a frame holds.
    pub fn send_bytes(&mut self, payload: &[u8]) -> io::Result<()> {
        if payload.len() > FRAME_BYTES_MAX {
            let text = format!("{} bytes do not fit into one frame", payload.len());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        self.output.write_all(&encode(payload))?;
        self.output.flush()
    }
}

fn invalid(error: impl std::error::Error + Send + Sync + 'static) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// All frames of a stream that arrives in pieces which end at these places, and its error.
    fn frames_of(mut frames: Frames, stream: &[u8], cuts: &[usize]) -> (Vec<Vec<u8>>, Option<FrameError>) {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (stream.len() + 1)).collect();
        cuts.extend([0, stream.len()]);
        cuts.sort_unstable();
        let mut found = Vec::new();
        for piece in cuts.windows(2) {
            frames.push(&stream[piece[0]..piece[1]]);
            loop {
                match frames.next_frame() {
                    Ok(Some(frame)) => found.push(frame),
                    Ok(None) => break,
                    Err(error) => return (found, Some(error)),
                }
            }
        }
        (found, None)
    }

    proptest! {
        #[test]
        fn frames_arrive_however_the_stream_is_cut(
            banner in proptest::collection::vec(any::<u8>(), 0..200),
            payloads in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..300), 1..5),
            cuts in proptest::collection::vec(any::<usize>(), 0..9),
        ) {
            let sent: Vec<u8> = payloads.iter().flat_map(|payload| encode(payload)).collect();
            let stream = [banner, sent].concat();
            prop_assert_eq!(frames_of(Frames::default(), &stream, &cuts), (payloads, None));
        }

        #[test]
        fn one_changed_bit_is_found(
            payload in proptest::collection::vec(any::<u8>(), 0..300),
            bit in any::<usize>(),
        ) {
            let mut stream = encode(&payload);
            let bit = bit % (stream.len() * 8);
            stream[bit / 8] ^= 1 << (bit % 8);
            let (found, _) = frames_of(Frames::without_banner(), &stream, &[]);
            prop_assert_eq!(found, Vec::<Vec<u8>>::new());
        }

        #[test]
        fn any_bytes_end_in_frames_or_an_error(
            stream in proptest::collection::vec(any::<u8>(), 0..2000),
            cuts in proptest::collection::vec(any::<usize>(), 0..9),
        ) {
            let whole = frames_of(Frames::default(), &stream, &[]);
            prop_assert_eq!(frames_of(Frames::default(), &stream, &cuts), whole);
        }
    }

    #[test]
    fn a_magic_number_by_chance_is_part_of_the_banner() {
        let oversized = [&MAGIC[..], &[0xFF; 8]].concat();
        let damaged = [&MAGIC[..], &[1, 0, 0, 0, 9, 9, 9, 9, b'x']].concat();
        let stream = [b"Welcome.\n".to_vec(), oversized, damaged, encode(b"hello")].concat();
        let (found, error) = frames_of(Frames::default(), &stream, &[3, 12, 20]);
        assert_eq!((found, error), (vec![b"hello".to_vec()], None));
    }

    #[test]
    fn behind_the_first_frame_nothing_is_skipped_and_the_error_stays() {
        let mut frames = Frames::default();
        frames.push(&[encode(b"one"), b"Broadcast message from root".to_vec()].concat());
        assert_eq!(frames.next_frame(), Ok(Some(b"one".to_vec())));
        let error = frames.next_frame().expect_err("no frame");
        assert!(error.to_string().contains("Broadcast message"), "{error}");
        frames.push(&encode(b"two"));
        assert_eq!(frames.next_frame(), Err(error));
    }

    #[test]
    fn a_banner_without_an_end_is_quoted() {
        let mut frames = Frames::default();
        frames.push(&b"please log in\n".repeat(BANNER_BYTES_MAX));
        let error = frames.next_frame().expect_err("no frame");
        assert!(error.to_string().contains("please log in"), "{error}");
        assert!(error.to_string().len() < 2 * BANNER_BYTES_KEPT, "{error}");
    }

    #[test]
    fn what_is_too_long_is_refused_before_it_has_come() {
        let mut frames = Frames::without_banner();
        frames.push(&[&MAGIC[..], &u32::MAX.to_le_bytes(), &[0; 4]].concat());
        assert_eq!(frames.next_frame(), Err(FrameError::Oversized { bytes: u32::MAX as usize }));
    }

    #[test]
    fn messages_arrive_in_order_and_then_the_end() {
        let mut sent = FrameWriter::new(Vec::new());
        sent.send(&"one").expect("memory");
        sent.send(&2).expect("memory");
        let mut received = FrameReader::new(sent.output.as_slice());
        assert_eq!(received.receive::<String>().expect("a message").as_deref(), Some("one"));
        assert_eq!(received.receive::<u32>().expect("a message"), Some(2));
        assert_eq!(received.receive::<u32>().expect("the end"), None);
    }

    #[test]
    fn an_end_within_a_frame_and_another_message_are_errors() {
        let frame = encode(b"\"text\"");
        let cut = FrameReader::new(&frame[..frame.len() - 1]).receive::<String>();
        assert_eq!(cut.expect_err("half a frame").kind(), io::ErrorKind::UnexpectedEof);
        let other = FrameReader::new(frame.as_slice()).receive::<u32>();
        assert_eq!(other.expect_err("a text").kind(), io::ErrorKind::InvalidData);
    }
}

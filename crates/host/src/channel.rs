//! The side of a role: requests from standard input, replies to standard output, both JSON in frames.

use std::io::{self, Read, Stdin, Stdout, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::frame::{FRAME_BYTES_MAX, Frames, encode};

/// The requests that a role receives.
pub type Incoming = FrameReader<Stdin>;
/// The replies of a role.
pub type Outgoing = FrameWriter<Stdout>;

/// At most so much is read at a time: little, because a worker's fork(2) copies the buffer.
const CHUNK_BYTES: usize = 4 << 10;

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
    /// Those of write(2); `InvalidInput` for what is too long for a frame.
    pub fn send(&mut self, message: &impl Serialize) -> io::Result<()> {
        self.send_bytes(&serde_json::to_vec(message)?)
    }

    /// Sends bytes.
    ///
    /// # Errors
    /// Those of write(2); `InvalidInput` for what is too long for a frame.
    pub(crate) fn send_bytes(&mut self, payload: &[u8]) -> io::Result<()> {
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
    use super::*;

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

//! Messages to and from an agent: a header in JSON, a line feed, and bytes.
//!
//! Output of processes is packed on its way (RFC 1951): the serial line of a guest carries some hundred
//! kilobytes per second, and the lines of a record are digits.

use miniz_oxide::deflate::compress_to_vec;
use miniz_oxide::inflate::decompress_to_vec_with_limit;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::Ending;
use crate::frame::encode;
use crate::pipe::CHUNK_BYTES;

/// Fewer bytes are sent as they are.
const PACKED_FROM_BYTES: usize = 1 << 10;

/// The fastest, because the processor of a guest may be emulated.
const LEVEL: u8 = 1;

/// A request to the agent.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Request {
    /// The beginning or the next piece of a file in the agent's folder.
    Piece { name: String },
    /// The file is whole, and must have this length and checksum.
    Whole { name: String, bytes: u64, crc32: u32 },
    /// Start a program that was sent.
    Start { stream: u32, program: String, words: Vec<String> },
    /// For the standard input of a started process.
    Input { stream: u32 },
    /// The end of that input.
    Close { stream: u32 },
    /// Kill it.
    Kill { stream: u32 },
}

/// A message of the agent.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Reply {
    /// The first message: the checksum of its program, and its folder.
    Hello { crc32: u32, folder: String },
    /// The request was fulfilled; the number of a process that was started.
    Done { process: u32 },
    /// The request was refused.
    Refused { reason: String },
    /// From the standard output of a started process.
    Output { stream: u32 },
    /// The same, packed.
    Packed { stream: u32 },
    /// From its standard error.
    Stderr { stream: u32 },
    /// Its end, behind all that it wrote.
    Exited { stream: u32, ending: Ending },
}

/// A frame with a head and bytes.
pub(crate) fn frame(head: &impl Serialize, body: &[u8]) -> Vec<u8> {
    encode(&message(head, body))
}

/// The content of that frame.
pub(crate) fn message(head: &impl Serialize, body: &[u8]) -> Vec<u8> {
    // These types are plain numbers and texts, which JSON can hold.
    let mut message = serde_json::to_vec(head).unwrap_or_default();
    message.push(b'\n');
    message.extend_from_slice(body);
    message
}

/// Head and bytes; JSON on one line holds no line feed.
pub(crate) fn parse<T: DeserializeOwned>(message: &[u8]) -> Result<(T, &[u8]), serde_json::Error> {
    let end = memchr::memchr(b'\n', message).unwrap_or(message.len());
    Ok((serde_json::from_slice(&message[..end])?, message.get(end + 1..).unwrap_or_default()))
}

/// The bytes packed; `None` where that saves nothing.
pub(crate) fn pack(bytes: &[u8]) -> Option<Vec<u8>> {
    let packed = (bytes.len() >= PACKED_FROM_BYTES).then(|| compress_to_vec(bytes, LEVEL))?;
    (packed.len() < bytes.len()).then_some(packed)
}

/// The unpacked bytes. The input comes from a guest and may be anything: more than is read at a time is
/// refused.
pub(crate) fn unpack(packed: &[u8]) -> Option<Vec<u8>> {
    decompress_to_vec_with_limit(packed, CHUNK_BYTES).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_and_bytes_are_told_apart() {
        let request = Request::Piece { name: "a\nb".to_owned() };
        let sent = message(&request, b"\n\n{}");
        assert_eq!(parse::<Request>(&sent).expect("a message"), (request, &b"\n\n{}"[..]));
        assert!(parse::<Request>(b"nonsense").is_err());
        assert!(parse::<Request>(b"").is_err());
    }

    #[test]
    fn digits_take_half_the_bytes_and_come_back_as_they_were() {
        let digits: String =
            (0..20_000_u32).map(|number| format!("{},", number.wrapping_mul(2_654_435_761))).collect();
        for chunk in digits.as_bytes().chunks(CHUNK_BYTES) {
            let packed = pack(chunk).expect("worth it");
            assert!(packed.len() * 2 < chunk.len() + 4096, "{} of {}", packed.len(), chunk.len());
            assert_eq!(unpack(&packed).expect("packed bytes"), chunk);
        }
    }

    #[test]
    fn little_and_random_bytes_stay_as_they_are() {
        let mut state = 1_u64;
        let random: Vec<u8> = (0..CHUNK_BYTES)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 56) as u8
            })
            .collect();
        assert!(pack(&random).is_none());
        assert!(pack(&[b'0'; PACKED_FROM_BYTES - 1]).is_none());
    }

    #[test]
    fn what_cannot_have_been_packed_is_refused() {
        assert!(unpack(b"nonsense").is_none());
        let bomb = compress_to_vec(&vec![0; CHUNK_BYTES + 1], LEVEL);
        assert!(bomb.len() < 1000 && unpack(&bomb).is_none());
    }
}

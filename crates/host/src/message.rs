//! Messages to and from an agent: a header in JSON, a line feed, and bytes.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::Ending;
use crate::frame::encode;

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
}

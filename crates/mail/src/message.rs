//! The message, held once in both forms in which it can leave: as lines for DATA, with dots doubled, and as
//! it is for BDAT. Every delivery puts a line with a name of its own before it.

use std::io::Write as _;
use std::sync::Arc;

use net::output::Output;
use net::smtp::{Command, dot_stuffed};

/// A message that many connections share.
#[derive(Clone, Debug)]
pub struct Message {
    /// Ends with a line's end.
    plain: Arc<[u8]>,
    /// For DATA, with the dot that ends it.
    lines: Arc<[u8]>,
    /// What is unique about the names of this run's messages.
    run: u64,
    host: String,
}

/// The longest line that names a message: 20 digits, 16 digits of the run, and the host.
const NAME_BYTES: u64 = "Message-ID: <.@>\r\n".len() as u64 + 20 + 16;

impl Message {
    /// A message whose lines may end in LF or in CR LF; `host` is the name of this machine in `Message-ID`
    /// (RFC 5322, section 3.6.4), and `run` tells the names of this run from those of others.
    pub fn new(text: &[u8], host: &str, run: u64) -> Message {
        let plain = with_line_ends(text);
        let mut lines = Vec::with_capacity(plain.len() + 8);
        dot_stuffed(&plain, &mut lines);
        Message { lines: lines.into(), plain: plain.into(), run, host: host.to_owned() }
    }

    /// A message of that many bytes, header included, in lines of 72 letters.
    pub fn of_bytes(bytes: usize, host: &str, run: u64) -> Message {
        // An address without a local part, as in `<>`, has no place in a header (RFC 5322, section 3.4).
        let mut text = format!("From: osdyno <postmaster@{host}>\r\nSubject: osdyno\r\n\r\n").into_bytes();
        while text.len() < bytes {
            let left = bytes - text.len();
            text.extend(std::iter::repeat_n(b'x', left.saturating_sub(2).clamp(1, 70)));
            text.extend_from_slice(b"\r\n");
        }
        Message::new(&text, host, run)
    }

    /// Its length, with the longest name that it can have.
    pub(crate) fn bytes_max(&self) -> u64 {
        self.plain.len() as u64 + NAME_BYTES + self.host.len() as u64
    }

    /// Whether it has octets beyond 127.
    pub(crate) fn is_8bit(&self) -> bool {
        !self.plain.is_ascii()
    }

    fn name(&self, number: u64) -> String {
        format!("Message-ID: <{number}.{:x}@{}>\r\n", self.run, self.host)
    }

    /// As DATA has it, with the dot at the end.
    pub(crate) fn send_lines(&self, number: u64, output: &mut Output) {
        // A vector takes everything.
        let _ = output.bytes().write_all(self.name(number).as_bytes());
        output.shared(self.lines.clone());
    }

    /// BDAT with all of it (RFC 3030).
    pub(crate) fn send_chunk(&self, number: u64, output: &mut Output) {
        let name = self.name(number);
        let bytes = (name.len() + self.plain.len()) as u64;
        Command::Bdat { bytes, is_last: true }.write(output.bytes());
        output.bytes().extend_from_slice(name.as_bytes());
        output.shared(self.plain.clone());
    }
}

/// Every line ends in CR LF, the last one too (RFC 5321, section 2.3.8).
fn with_line_ends(text: &[u8]) -> Vec<u8> {
    let mut lines = Vec::with_capacity(text.len() + 2);
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        // A bare CR is no line's end, and must not be sent (section 2.3.8).
        lines.extend(line.iter().filter(|&&byte| byte != b'\r'));
        lines.extend_from_slice(b"\r\n");
    }
    lines
}

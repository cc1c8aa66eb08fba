//! The message, held once in both forms in which it can leave: as lines for DATA, with dots doubled, and as
//! it is for BDAT. Every delivery puts a `Message-ID` of its own before it; the message's own is left out,
//! for there may be one (RFC 5322, section 3.6).

use std::fmt::{self, Display, Formatter};
use std::io::Write as _;
use std::sync::Arc;
use std::time::SystemTime;

use net::output::Output;
use net::smtp::{Command, dot_stuffed};
use serde::{Deserialize, Serialize};

use crate::header::Parts;

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
    checksum: MessageChecksum,
    changes: Vec<&'static str>,
}

/// Tells a message from others, by what was given: without the fields that are added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageChecksum {
    bytes: u64,
    crc32: u32,
}

impl Display for MessageChecksum {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "a message of {} bytes with CRC-32 {:08x}", self.bytes, self.crc32)
    }
}

/// A message that no server has to take.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the message has more than one field {0}, and RFC 5322 (section 3.6) allows one; leave the others out"
)]
pub struct RepeatedField(&'static str);

/// The longest line that names a message: 20 digits, 16 digits of the run, and the host.
const NAME_BYTES: u64 = "Message-ID: <.@>\r\n".len() as u64 + 20 + 16;

const MESSAGE_ID: &str = "Message-ID";

/// The field with the date, whatever the date.
const DATE_BYTES: usize = "Date: Thu, 01 Jan 1970 00:00:00 +0000\r\n".len();

impl Message {
    /// A message whose lines may end in LF or in CR LF; `host` is the name of this machine in `Message-ID`
    /// (RFC 5322, section 3.6.4), and `run` tells the names of this run from those of others. The fields Date
    /// and From, which every message has, are added where they are missing.
    ///
    /// # Errors
    /// A field that is there twice and may not be.
    pub fn new(text: &[u8], host: &str, run: u64) -> Result<Message, RepeatedField> {
        let message = Message::of_text(text, host, run);
        Parts::parse(&with_line_ends(text)).repeated().map_or(Ok(message), |name| Err(RepeatedField(name)))
    }

    /// A message of that many bytes, header included, in lines of 72 letters.
    pub fn of_bytes(bytes: usize, host: &str, run: u64) -> Message {
        let mut text = format!("{}Subject: osdyno\r\n\r\n", from(host)).into_bytes();
        while text.len() + DATE_BYTES < bytes {
            let left = bytes - DATE_BYTES - text.len();
            text.extend(std::iter::repeat_n(b'x', left.saturating_sub(2).clamp(1, 70)));
            text.extend_from_slice(b"\r\n");
        }
        Message::of_text(&text, host, run)
    }

    fn of_text(text: &[u8], host: &str, run: u64) -> Message {
        let own = with_line_ends(text);
        let parts = Parts::parse(&own);
        let (mut plain, mut changes) = (Vec::with_capacity(own.len() + 128), Vec::new());
        if parts.has(MESSAGE_ID) {
            changes.push("each delivery has a Message-ID of its own in place of the message's");
        }
        if !parts.has("Date") {
            changes.push("a field Date is added");
            plain.extend(date(SystemTime::now()).into_bytes());
        }
        if !parts.has("From") {
            changes.push("a field From is added");
            plain.extend(from(host).into_bytes());
        }
        parts.write_without(MESSAGE_ID, &mut plain);
        let mut lines = Vec::with_capacity(plain.len() + 8);
        dot_stuffed(&plain, &mut lines);
        let checksum = MessageChecksum { bytes: text.len() as u64, crc32: crc32fast::hash(text) };
        let (lines, plain) = (lines.into(), plain.into());
        Message { plain, lines, run, host: host.to_owned(), checksum, changes }
    }

    /// Which message it is.
    pub fn checksum(&self) -> MessageChecksum {
        self.checksum
    }

    /// What is delivered otherwise than it was given, as sentences.
    pub fn changes(&self) -> &[&'static str] {
        &self.changes
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
        format!("{MESSAGE_ID}: <{number}.{:x}@{}>\r\n", self.run, self.host)
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

/// An address without a local part, as in `<>`, has no place in a header (RFC 5322, section 3.4).
fn from(host: &str) -> String {
    format!("From: osdyno <postmaster@{host}>\r\n")
}

/// RFC 5322, section 3.3; in UTC, which HTTP calls by another name.
fn date(time: SystemTime) -> String {
    format!("Date: {}\r\n", httpdate::fmt_http_date(time).replace("GMT", "+0000"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines that a server gets of a message by DATA.
    fn sent(text: &str) -> Vec<String> {
        let message = Message::new(text.as_bytes(), "here.test", 255).unwrap();
        let (mut output, mut bytes) = (Output::default(), Vec::with_capacity(1 << 16));
        message.send_lines(3, &mut output);
        output.fill(&mut bytes).unwrap();
        String::from_utf8(bytes).unwrap().lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_message_has_each_field_once() {
        for own in [
            "",
            "Message-ID: <1@a.test>\n",
            "message-id:\n <1@a.test>\nTo: x@a.test\n",
            "From: a@a.test\nDate: Thu, 01 Jan 1970 00:00:00 +0000\nMessage-ID: <1@a.test>\n\
             Message-Id: <2@a.test>\n",
        ] {
            let lines = sent(&format!("{own}Subject: hello\n\nMessage-ID: of the body\n"));
            let end = lines.iter().position(String::is_empty).unwrap();
            assert_eq!(lines[0], "Message-ID: <3.ff@here.test>", "{own:?}");
            for name in ["message-id:", "date:", "from:", "subject:"] {
                let is_of_name = |line: &&String| line.to_lowercase().starts_with(name);
                assert_eq!(lines[..end].iter().filter(is_of_name).count(), 1, "{own:?}: {lines:?}");
            }
            assert_eq!(lines[end + 1..], ["Message-ID: of the body", "."], "{own:?}");
            assert!(!lines.iter().any(|line| line.contains("@a.test>")), "{own:?}: {lines:?}");
        }
    }

    #[test]
    fn changes_are_told_and_a_field_that_is_repeated_is_refused() {
        let message = |text: &str| Message::new(text.as_bytes(), "here.test", 1);
        assert_eq!(message("From: a@b\nDate: now\n\n").unwrap().changes(), <[&str; 0]>::default());
        assert_eq!(message("Message-ID: <1@a>\n\nx\n").unwrap().changes().len(), 3);
        let refused = message("From: a@b\nFROM: c@d\n\n").unwrap_err();
        assert!(refused.to_string().contains("field From"), "{refused}");
    }

    #[test]
    fn a_generated_message_has_its_length() {
        for bytes in [200, 1000, 1001, 100_000] {
            let message = Message::of_bytes(bytes, "here.test", 1);
            assert!(message.plain.len().abs_diff(bytes) <= 2, "{bytes}: {}", message.plain.len());
        }
        let other = |bytes| Message::of_bytes(bytes, "here.test", 1).checksum();
        assert!(other(1000) == other(1000) && other(1000) != other(1100));
    }

    #[test]
    fn the_date_is_that_of_mail() {
        let date = date(SystemTime::UNIX_EPOCH);
        assert_eq!((date.as_str(), date.len()), ("Date: Thu, 01 Jan 1970 00:00:00 +0000\r\n", DATE_BYTES));
    }
}

//! The message, held once in both forms in which it can leave: as lines for DATA, with dots doubled, and as
//! it is for BDAT; and the fields of its header. Every delivery puts a `Message-ID` of its own before it; the
//! message's own is left out, because there may be only one (RFC 5322, section 3.6).

use std::fmt::{self, Display, Formatter};
use std::io::Write as _;
use std::sync::Arc;
use std::time::SystemTime;

use net::output::Output;
use net::smtp::{Command, dot_stuffed};
use serde::{Deserialize, Serialize};

/// A message that many connections share.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Message {
    /// Ends with a line's end.
    plain: Arc<[u8]>,
    /// For DATA, with the dot that ends it.
    lines: Arc<[u8]>,
    /// The unique part of the names of this run's messages.
    run: u64,
    host: String,
    checksum: MessageChecksum,
    #[serde(skip)]
    changes: Vec<&'static str>,
}

/// Identifies a message by its original form, without the fields that are added.
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

/// A message larger than servers must accept.
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
    /// (RFC 5322, section 3.6.4), and `run` distinguishes the names of this run from those of others. The
    /// fields Date and From, which every message has, are added where they are missing.
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

    /// The number of the message.
    pub fn checksum(&self) -> MessageChecksum {
        self.checksum
    }

    /// The differences between the original and the delivered message, as sentences.
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

    /// In the form of DATA, with the dot at the end.
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

/// A field, with its end of line and those of its folded lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Field<'a> {
    name: &'a [u8],
    text: &'a [u8],
}

/// A message in two parts.
#[derive(Debug, PartialEq, Eq)]
struct Parts<'a> {
    fields: Vec<Field<'a>>,
    /// Behind the empty line.
    body: &'a [u8],
}

/// Fields that a message has once at most (RFC 5322, section 3.6), beside Message-ID.
const ONCE: [&str; 10] =
    ["Date", "From", "Sender", "Reply-To", "To", "Cc", "Bcc", "In-Reply-To", "References", "Subject"];

impl<'a> Parts<'a> {
    /// Reads a text whose lines end in CR LF. The header ends at an empty line, or else where a line is no
    /// field: so the whole of a text without fields is a body.
    pub(crate) fn parse(text: &'a [u8]) -> Parts<'a> {
        let (mut fields, mut rest): (Vec<Field<'a>>, _) = (Vec::new(), text);
        while let Some(line) = rest.split_inclusive(|&byte| byte == b'\n').next() {
            if line == b"\r\n" {
                return Parts { fields, body: &rest[line.len()..] };
            }
            let Some(name) = field_name(line) else { break };
            let length = line.len() + folded_bytes(&rest[line.len()..]);
            fields.push(Field { name, text: &rest[..length] });
            rest = &rest[length..];
        }
        Parts { fields, body: rest }
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.fields.iter().any(|field| field.is(name))
    }

    /// A field that is there more often than it may be.
    pub(crate) fn repeated(&self) -> Option<&'static str> {
        ONCE.into_iter().find(|name| self.fields.iter().filter(|field| field.is(name)).nth(1).is_some())
    }

    /// The message without the fields of that name.
    fn write_without(&self, name: &str, to: &mut Vec<u8>) {
        for field in self.fields.iter().filter(|field| !field.is(name)) {
            to.extend_from_slice(field.text);
        }
        to.extend_from_slice(b"\r\n");
        to.extend_from_slice(self.body);
    }
}

impl Field<'_> {
    fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name.as_bytes())
    }
}

/// The name before the colon: printable, without a space but right before the colon (section 4.5).
fn field_name(line: &[u8]) -> Option<&[u8]> {
    let colon = line.iter().position(|&byte| byte == b':')?;
    let name = line[..colon].trim_ascii_end();
    (!name.is_empty() && name.iter().all(u8::is_ascii_graphic)).then_some(name)
}

/// Bytes of the lines that begin with a space, and so belong to the field before.
fn folded_bytes(rest: &[u8]) -> usize {
    let lines = rest.split_inclusive(|&byte| byte == b'\n');
    lines.take_while(|line| matches!(line.first(), Some(b' ' | b'\t'))).map(<[u8]>::len).sum()
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

    fn without_date(text: &str) -> (usize, String) {
        let (parts, mut written) = (Parts::parse(text.as_bytes()), Vec::new());
        parts.write_without("date", &mut written);
        (parts.fields.len(), String::from_utf8_lossy(&written).into_owned())
    }

    #[test]
    fn a_field_is_left_out_with_all_of_its_lines() {
        let text = "A: 1\r\nDATE :\r\n now\r\n\tthen\r\nB: 2\r\n\r\nDate: body\r\n";
        assert_eq!(without_date(text), (3, "A: 1\r\nB: 2\r\n\r\nDate: body\r\n".to_owned()));
    }

    #[test]
    fn what_is_no_field_begins_the_body() {
        for (text, fields, written) in [
            ("hello: world\r\n\r\n", 1, "hello: world\r\n\r\n"),
            ("hello, world\r\n", 0, "\r\nhello, world\r\n"),
            ("From a@b.test: now\r\nA: 1\r\n", 0, "\r\nFrom a@b.test: now\r\nA: 1\r\n"),
            ("A: 1\r\nhello\r\n", 1, "A: 1\r\n\r\nhello\r\n"),
            (" A: 1\r\n", 0, "\r\n A: 1\r\n"),
            ("\r\nbody\r\n", 0, "\r\nbody\r\n"),
            ("", 0, "\r\n"),
        ] {
            assert_eq!(without_date(text), (fields, written.to_owned()), "{text:?}");
        }
    }

    #[test]
    fn fields_that_may_be_there_once_are_counted() {
        assert_eq!(Parts::parse(b"From: a\r\nfrom: b\r\n").repeated(), Some("From"));
        assert_eq!(Parts::parse(b"Received: a\r\nReceived: b\r\nFrom: c\r\n").repeated(), None);
    }
}

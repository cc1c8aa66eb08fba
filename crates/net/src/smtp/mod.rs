//! SMTP (RFC 5321) without a socket and without a clock: the parts that its client and its server share.
//!
//! - here are addresses, and the text of a message between DATA and its reply;
//! - `command` commands, written and read;
//! - `reply` replies, written and read, the extensions that a server lists, and lines, whose bytes come cut
//!   anywhere.
//!
//! A field that holds a control character does not exist here: [`Mailbox`] and [`ArgumentText`] refuse it,
//! and commands are made of these. So an address cannot smuggle in a command. No input of the other end
//! causes a panic, or takes more memory than a limit: `fuzz/fuzz_targets/smtp_*.rs`.
//!
//! Lines of commands and replies end in LF, with or without CR before it, as in most servers. The lines of a
//! message do not, because a server that accepts LF as their end could be sent a second message inside the
//! first ("SMTP smuggling", CVE-2023-51764): see [`DotDecoder`].

mod command;
mod reply;

pub use command::{ArgumentText, COMMAND_BYTES_MAX, Command, CommandError};
pub use reply::{
    EnhancedCode, Extensions, LineBuffer, LineTooLong, Reply, ReplyError, ReplyParser, write_reply,
};

use std::fmt::{self, Display, Formatter};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use memchr::memchr_iter;

/// The longest local part, in octets (RFC 5321, section 4.5.3.1.1).
const LOCAL_BYTES_MAX: usize = 64;

/// The longest domain, in octets (section 4.5.3.1.2).
const DOMAIN_BYTES_MAX: usize = 255;

/// The longest label of a domain, in octets (RFC 1035, section 2.3.4).
const LABEL_BYTES_MAX: usize = 63;

/// The longest address, in octets: a path has 256 with its brackets (RFC 5321, section 4.5.3.1.3).
const ADDRESS_BYTES_MAX: usize = 254;

/// An address that is well formed: a local part, `@`, and a domain or the literal address of a host (RFC
/// 5321, section 4.1.2; RFC 6531, section 3.3). It has no control character, and needs no escape in a
/// command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mailbox<'a> {
    text: &'a str,
    local_bytes: usize,
}

/// Why a text is no address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MailboxError {
    /// It is longer than 254 octets.
    #[error("the address is longer than {ADDRESS_BYTES_MAX} octets")]
    TooLong,
    /// It has no `@`, or nothing before or after it.
    #[error("the address is not of the form local-part@domain")]
    Form,
    /// The local part has more than 64 octets, characters that must be quoted, or a dot in a wrong place.
    #[error(
        "the local part of the address has more than {LOCAL_BYTES_MAX} octets or is not allowed unquoted"
    )]
    Local,
    /// The domain is not one of labels of letters, digits and hyphens.
    #[error("the domain of the address is not well formed")]
    Domain,
    /// The brackets hold no address of a host.
    #[error("the address literal is neither IPv4 nor IPv6:…")]
    Literal,
}

impl<'a> Mailbox<'a> {
    /// The address that the text is, with no space around it.
    ///
    /// # Errors
    /// [`MailboxError`].
    pub fn parse(text: &'a str) -> Result<Mailbox<'a>, MailboxError> {
        if text.len() > ADDRESS_BYTES_MAX {
            return Err(MailboxError::TooLong);
        }
        let local_bytes = if text.starts_with('"') {
            quoted_bytes(text).ok_or(MailboxError::Local)?
        } else {
            text.find('@').ok_or(MailboxError::Form)?
        };
        let (local, domain) = text.split_at(local_bytes);
        let domain = domain.strip_prefix('@').ok_or(MailboxError::Form)?;
        if local.is_empty() || domain.is_empty() {
            return Err(MailboxError::Form);
        }
        if local.len() > LOCAL_BYTES_MAX || !(text.starts_with('"') || is_dot_string(local)) {
            return Err(MailboxError::Local);
        }
        match domain.strip_prefix('[') {
            Some(literal) => {
                let literal = literal.strip_suffix(']').and_then(host_address);
                literal.ok_or(MailboxError::Literal)?;
            }
            None if !is_domain(domain) => return Err(MailboxError::Domain),
            None => {}
        }
        Ok(Mailbox { text, local_bytes })
    }

    /// The one address without a domain, which every server has (section 4.5.1).
    fn postmaster(text: &'a str) -> Option<Mailbox<'a>> {
        text.eq_ignore_ascii_case("postmaster").then_some(Mailbox { text, local_bytes: text.len() })
    }

    /// All of it.
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// The part before the `@`, with its quotes if it has any.
    pub fn local(&self) -> &'a str {
        &self.text[..self.local_bytes]
    }

    /// The part behind the `@`: a domain, or an address in brackets. Empty for `postmaster` alone.
    pub fn domain(&self) -> &'a str {
        self.text.get(self.local_bytes + 1..).unwrap_or_default()
    }

    /// The address of a host that stands for a domain.
    pub fn host_address(&self) -> Option<IpAddr> {
        host_address(self.domain().strip_prefix('[')?.strip_suffix(']')?)
    }
}

impl Display for Mailbox<'_> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.text)
    }
}

/// The length of the quoted string that the text begins with, which has no control character; `None` if it
/// does not end.
fn quoted_bytes(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    for (place, character) in text.char_indices().skip(1) {
        match character {
            _ if character.is_control() => return None,
            // A quoted pair is of ASCII (section 4.1.2).
            _ if is_escaped && !character.is_ascii() => return None,
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return Some(place + 1),
            _ => {}
        }
    }
    None
}

fn is_dot_string(text: &str) -> bool {
    text.split('.').all(|atom| !atom.is_empty() && atom.chars().all(is_atom_character))
}

/// RFC 5322, section 3.2.3, with RFC 6532, section 3.2.
fn is_atom_character(character: char) -> bool {
    match character {
        'a'..='z' | 'A'..='Z' | '0'..='9' => true,
        _ if character.is_ascii() => "!#$%&'*+-/=?^_`{|}~".contains(character),
        _ => is_printable(character),
    }
}

fn is_domain(text: &str) -> bool {
    text.len() <= DOMAIN_BYTES_MAX && text.split('.').all(is_label)
}

fn is_label(label: &str) -> bool {
    let is_inside = |character: char| match character {
        _ if character.is_ascii() => character.is_ascii_alphanumeric() || character == '-',
        _ => is_printable(character),
    };
    (1..=LABEL_BYTES_MAX).contains(&label.len())
        && label.chars().all(is_inside)
        && !label.starts_with('-')
        && !label.ends_with('-')
}

fn is_printable(character: char) -> bool {
    !character.is_control() && !character.is_whitespace()
}

fn host_address(literal: &str) -> Option<IpAddr> {
    const IPV6: &str = "IPv6:";
    match literal.get(..IPV6.len()) {
        Some(tag) if tag.eq_ignore_ascii_case(IPV6) => {
            literal[IPV6.len()..].parse::<Ipv6Addr>().ok().map(IpAddr::V6)
        }
        _ => literal.parse::<Ipv4Addr>().ok().map(IpAddr::V4),
    }
}

/// Writes a message in the form of DATA (RFC 5321, section 4.5.2): lines that end in CR LF, with a dot before
/// each dot that begins one, and a dot alone behind the last. LF alone becomes CR LF, and CR alone is left
/// out, because a client must send neither (section 2.3.8); the last line is ended.
pub fn dot_stuffed(message: &[u8], output: &mut Vec<u8>) {
    output.reserve(message.len() + message.len() / 32 + 5);
    for line in message.split_inclusive(|&byte| byte == b'\n') {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let begin = output.len();
        let mut pieces = line.split(|&byte| byte == b'\r');
        output.extend_from_slice(pieces.next().unwrap_or_default());
        pieces.for_each(|piece| output.extend_from_slice(piece));
        if output.get(begin) == Some(&b'.') {
            output.insert(begin, b'.');
        }
        output.extend_from_slice(b"\r\n");
    }
    output.extend_from_slice(b".\r\n");
}

/// Reads a message from the input behind DATA, whose bytes come cut anywhere.
///
/// Only CR LF ends a line, and only CR LF . CR LF the message. CR alone and LF alone are bytes of the message
/// like others, so that no message can contain an end that only some servers see.
#[derive(Clone, Copy, Debug, Default)]
pub struct DotDecoder {
    state: DotState,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum DotState {
    /// Behind CR LF, or at the beginning.
    #[default]
    LineBegin,
    /// In a line.
    Text,
    /// Behind a CR in a line.
    Cr,
    /// Behind a dot that begins a line. It is not part of the message.
    Dot,
    /// Behind that dot and a CR.
    DotCr,
    Ended,
}

impl DotDecoder {
    /// Takes input up to the end of the message, leaves the rest, and passes on the message. Returns whether
    /// the message has ended.
    pub fn decode(&mut self, input: &mut &[u8], content: &mut impl FnMut(&[u8])) -> bool {
        while self.state != DotState::Ended {
            let Some(&next) = input.first() else { return false };
            self.state = match (self.state, next) {
                (DotState::LineBegin, b'.') => self.skip(input, DotState::Dot),
                (DotState::Dot, b'\r') => self.skip(input, DotState::DotCr),
                (DotState::DotCr, b'\n') => self.skip(input, DotState::Ended),
                (DotState::DotCr, _) => {
                    content(b"\r");
                    DotState::Text
                }
                (DotState::Cr, b'\n') => {
                    content(b"\n");
                    self.skip(input, DotState::LineBegin)
                }
                _ => {
                    let (text, state) = text(input);
                    content(text);
                    *input = &input[text.len()..];
                    state
                }
            };
        }
        true
    }

    fn skip(&self, input: &mut &[u8], next: DotState) -> DotState {
        *input = &input[1..];
        next
    }
}

/// The bytes up to the next dot that begins a line, and their ending. The first byte is no such dot.
fn text(input: &[u8]) -> (&[u8], DotState) {
    for end in memchr_iter(b'\n', input) {
        if input[end + 1..].first() == Some(&b'.') && input[..end].last() == Some(&b'\r') {
            return (&input[..=end], DotState::LineBegin);
        }
    }
    match input {
        [.., b'\r', b'\n'] => (input, DotState::LineBegin),
        [.., b'\r'] => (input, DotState::Cr),
        _ => (input, DotState::Text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_a_local_part_and_a_domain() {
        for (text, local, domain) in [
            ("a@b", "a", "b"),
            ("user+tag@d1.test", "user+tag", "d1.test"),
            ("a.b.c@x-y.test", "a.b.c", "x-y.test"),
            ("\"a b\"@c.test", "\"a b\"", "c.test"),
            ("\"a@b\"@c.test", "\"a@b\"", "c.test"),
            ("\"a\\\"b\"@c.test", "\"a\\\"b\"", "c.test"),
            ("\"\"@c.test", "\"\"", "c.test"),
            ("ж@пример.test", "ж", "пример.test"),
        ] {
            let mailbox = Mailbox::parse(text).unwrap();
            assert_eq!((mailbox.local(), mailbox.domain()), (local, domain));
            assert_eq!(mailbox.host_address(), None);
        }
    }

    #[test]
    fn a_host_may_stand_for_a_domain() {
        let address = |text| Mailbox::parse(text).unwrap().host_address().unwrap().to_string();
        assert_eq!(address("a@[127.0.0.1]"), "127.0.0.1");
        assert_eq!(address("a@[IPv6:::1]"), "::1");
        for text in ["a@[]", "a@[1.2.3]", "a@[::1]", "a@[IPv6:1.2.3.4]", "a@[1.2.3.4", "a@[1.2.3.4]x"] {
            assert_eq!(Mailbox::parse(text), Err(MailboxError::Literal), "{text}");
        }
    }

    #[test]
    fn what_is_not_well_formed_is_refused() {
        use MailboxError::*;
        for (text, error) in [
            ("", Form),
            ("a", Form),
            ("@b", Form),
            ("a@", Form),
            ("\"a\"b@c", Form),
            (".a@b", Local),
            ("a.@b", Local),
            ("a..b@c", Local),
            ("a b@c", Local),
            ("a\r\n@c", Local),
            ("a\0@c", Local),
            ("a>@c", Local),
            ("\"a@c", Local),
            ("\"a\r\nb\"@c", Local),
            ("\"a\\\u{e4}\"@c", Local),
            ("a\u{85}@c", Local),
            ("a@b@c", Domain),
            ("a@b..c", Domain),
            ("a@b.", Domain),
            ("a@-b", Domain),
            ("a@b-", Domain),
            ("a@b_c", Domain),
            ("a@b>\r\nDATA", Domain),
            ("a@b c", Domain),
        ] {
            assert_eq!(Mailbox::parse(text), Err(error), "{text:?}");
        }
    }

    #[test]
    fn lengths_are_those_of_the_rfc() {
        let label = "l".repeat(63);
        let parsed =
            |local: usize, domain: &str| Mailbox::parse(&format!("{}@{domain}", "a".repeat(local))).err();
        assert_eq!(parsed(64, "b"), None);
        assert_eq!(parsed(65, "b"), Some(MailboxError::Local));
        assert_eq!(parsed(1, &label), None);
        assert_eq!(parsed(1, &format!("{label}l")), Some(MailboxError::Domain));
        let long = [&label[..]; 4].join(".");
        assert_eq!(parsed(1, &long[..252]), None);
        assert_eq!(parsed(1, &long[..253]), Some(MailboxError::TooLong));
    }

    /// The message, whether it ended, and the rest, of a stream in pieces of that length.
    fn decoded(stream: &[u8], cut: usize) -> (Vec<u8>, bool, Vec<u8>) {
        let (mut decoder, mut message, mut left) = (DotDecoder::default(), Vec::new(), Vec::new());
        let mut ended = false;
        for mut input in stream.chunks(cut) {
            ended = decoder.decode(&mut input, &mut |piece| message.extend_from_slice(piece));
            left.extend_from_slice(input);
        }
        (message, ended, left)
    }

    #[test]
    fn a_message_ends_at_a_dot_alone_however_it_is_cut() {
        let stream = b"a\r\n..b\r\n.c\r\n\r\n...\r\n.\r\nQUIT\r\n";
        for cut in 1..=stream.len() {
            let (message, ended, left) = decoded(stream, cut);
            assert_eq!(message, b"a\r\n.b\r\nc\r\n\r\n..\r\n");
            assert!(ended);
            assert_eq!(left, b"QUIT\r\n");
        }
        assert_eq!(decoded(b".\r\n", 1), (Vec::new(), true, Vec::new()));
    }

    #[test]
    fn no_other_line_end_ends_a_message() {
        for end in ["\n.\n", "\n.\r\n", "\r.\r", "\r.\r\n", "\r\n.\n", "\r\n.\r", "\r\n.\r\r\n", "\r\n.\r\n"]
        {
            let stream = format!("a{end}b\r\n");
            for cut in 1..=stream.len() {
                assert_eq!(decoded(stream.as_bytes(), cut).1, end == "\r\n.\r\n", "{end:?}");
            }
        }
        assert_eq!(decoded(b"a\n.\nb\r\r\n.\r.\r\n.\r\n", 3).0, b"a\n.\nb\r\r\n\r.\r\n");
    }

    #[test]
    fn lines_are_written_with_crlf() {
        let written = |message: &[u8]| {
            let mut output = Vec::new();
            dot_stuffed(message, &mut output);
            output
        };
        assert_eq!(written(b"a\n.b\r\n.\nc"), b"a\r\n..b\r\n..\r\nc\r\n.\r\n");
        assert_eq!(written(b"a\r\r\n\r.b"), b"a\r\n..b\r\n.\r\n");
        assert_eq!(written(b""), b".\r\n");
    }
}

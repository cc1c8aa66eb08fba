//! Addresses: a local part, `@`, and a domain or the literal address of a host (RFC 5321, section 4.1.2; RFC
//! 6531, section 3.3).

use std::fmt::{self, Display, Formatter};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The longest local part, in octets (RFC 5321, section 4.5.3.1.1).
const LOCAL_BYTES_MAX: usize = 64;

/// The longest domain, in octets (section 4.5.3.1.2).
const DOMAIN_BYTES_MAX: usize = 255;

/// The longest label of a domain, in octets (RFC 1035, section 2.3.4).
const LABEL_BYTES_MAX: usize = 63;

/// The longest address, in octets: a path has 256 with its brackets (RFC 5321, section 4.5.3.1.3).
const ADDRESS_BYTES_MAX: usize = 254;

/// An address that is well formed: it has no control character, and needs no escape in a command.
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
    pub(super) fn postmaster(text: &'a str) -> Option<Mailbox<'a>> {
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

    /// Whether it has characters beyond ASCII, so that only a server with SMTPUTF8 can take it.
    pub fn needs_smtp_utf8(&self) -> bool {
        !self.text.is_ascii()
    }
}

impl Display for Mailbox<'_> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.text)
    }
}

/// The length of the quoted string that the text begins with, which has no control character; `None` if it
/// does not end.
pub(super) fn quoted_bytes(text: &str) -> Option<usize> {
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
            assert_eq!(mailbox.needs_smtp_utf8(), !text.is_ascii());
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
}

//! What a server says of itself in its reply to EHLO.

use std::io::Write as _;

use super::reply::{Reply, write_reply};

/// The extensions of a server that concern mail as osdyno sends it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extensions {
    /// Commands may be sent before the replies to others (RFC 2920).
    pub pipelining: bool,
    /// The largest message in octets, 0 if no limit is known (RFC 1870); `None` without the extension.
    pub size_max: Option<u64>,
    /// Messages may have octets beyond 127 (RFC 6152).
    pub eight_bit_mime: bool,
    /// Addresses may have characters beyond ASCII (RFC 6531).
    pub smtp_utf8: bool,
    /// Replies have enhanced status codes (RFC 2034).
    pub enhanced_status_codes: bool,
    /// Messages may be sent by BDAT (RFC 3030).
    pub chunking: bool,
    /// The connection can be encrypted (RFC 3207).
    pub start_tls: bool,
}

impl Extensions {
    /// Those of a reply to EHLO: each of its lines but the first is a keyword, in any case, with parameters.
    /// What is unknown, or has parameters that are, is left out.
    pub fn parse(reply: &Reply<'_>) -> Extensions {
        let mut extensions = Extensions::default();
        for line in reply.lines().skip(1) {
            let mut words = line.split(|byte| b" \t".contains(byte)).filter(|word| !word.is_empty());
            let Some(keyword) = words.next() else { continue };
            match &keyword.to_ascii_uppercase()[..] {
                b"PIPELINING" => extensions.pipelining = true,
                b"SIZE" => extensions.size_max = size(words.next()),
                b"8BITMIME" => extensions.eight_bit_mime = true,
                b"SMTPUTF8" => extensions.smtp_utf8 = true,
                b"ENHANCEDSTATUSCODES" => extensions.enhanced_status_codes = true,
                b"CHUNKING" => extensions.chunking = true,
                b"STARTTLS" => extensions.start_tls = true,
                _ => {}
            }
        }
        extensions
    }

    /// Writes the reply to EHLO of a server of that name.
    pub fn write(&self, host: &str, output: &mut Vec<u8>) {
        let mut text = host.as_bytes().to_vec();
        let keywords = [
            (self.pipelining, "PIPELINING"),
            (self.eight_bit_mime, "8BITMIME"),
            (self.smtp_utf8, "SMTPUTF8"),
            (self.enhanced_status_codes, "ENHANCEDSTATUSCODES"),
            (self.chunking, "CHUNKING"),
            (self.start_tls, "STARTTLS"),
        ];
        for (_, keyword) in keywords.iter().filter(|(is_offered, _)| *is_offered) {
            text.push(b'\n');
            text.extend_from_slice(keyword.as_bytes());
        }
        if let Some(most) = self.size_max {
            // A vector takes everything.
            let _ = write!(text, "\nSIZE {most}");
        }
        write_reply(output, 250, None, &String::from_utf8_lossy(&text));
    }
}

/// A limit that cannot be read is none.
fn size(word: Option<&[u8]>) -> Option<u64> {
    let digits = word.and_then(|word| std::str::from_utf8(word).ok());
    Some(digits.and_then(|digits| digits.parse().ok()).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smtp::ReplyParser;

    fn parsed(text: &[u8]) -> Extensions {
        Extensions::parse(&ReplyParser::default().parse(&mut &text[..]).unwrap().unwrap())
    }

    #[test]
    fn what_is_written_is_read() {
        for bits in 0..128_u64 {
            let is = |bit: u64| bits & (1 << bit) != 0;
            let extensions = Extensions {
                pipelining: is(0),
                size_max: is(1).then_some(bits * 1000),
                eight_bit_mime: is(2),
                smtp_utf8: is(3),
                enhanced_status_codes: is(4),
                chunking: is(5),
                start_tls: is(6),
            };
            let mut output = Vec::new();
            extensions.write("mx.test", &mut output);
            assert_eq!(parsed(&output), extensions);
        }
    }

    #[test]
    fn a_keyword_is_read_in_any_case_and_not_in_the_first_line() {
        let reply =
            b"250-PIPELINING\r\n250-size\r\n250-\r\n250-AUTH=LOGIN\r\n250-X8BITMIME\r\n250 Chunking \r\n";
        let expected = Extensions { size_max: Some(0), chunking: true, ..Extensions::default() };
        assert_eq!(parsed(reply), expected);
        assert_eq!(parsed(b"250-h\r\n250 SIZE many\r\n").size_max, Some(0));
        assert_eq!(parsed(b"250 PIPELINING\r\n"), Extensions::default());
    }
}

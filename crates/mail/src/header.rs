//! The header of a message (RFC 5322, section 2.2): its fields, each with its name and its lines.

/// A field, with its end of line and those of its folded lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Field<'a> {
    name: &'a [u8],
    text: &'a [u8],
}

/// A message in two parts.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Parts<'a> {
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
    pub(crate) fn write_without(&self, name: &str, to: &mut Vec<u8>) {
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

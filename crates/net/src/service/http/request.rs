//! The head of a request, read in place and strictly (RFC 9112). A head that two readers could understand
//! differently is refused, because such heads smuggle requests.

use memchr::memchr;

/// Why a request gets only an error. The connection then ends, because the beginning of the next request is
/// unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: u16,
    /// For people.
    pub(super) why: &'static str,
}

const fn refuse<T>(status: u16, why: &'static str) -> Result<T, Refusal> {
    Err(Refusal { status, why })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    Get,
    Head,
    Options,
}

/// The head of a request; everything borrowed is as it was sent.
#[derive(Debug)]
pub(super) struct Request<'a> {
    pub(super) method: Method,
    /// Begins with `/`; or `*`, of OPTIONS alone.
    pub(super) path: &'a [u8],
    /// From the `?` on.
    pub(super) query: &'a [u8],
    /// Whether it is of version 1.0, whose connections end unless the client requests otherwise.
    pub(super) old: bool,
    /// Whether the connection is to be kept.
    pub(super) keep: bool,
    /// Content that follows, and is dropped.
    pub(super) content_bytes: u64,
    pub(super) fields: Fields<'a>,
}

/// The fields that change a response or stand in the log.
#[derive(Debug, Default)]
pub(super) struct Fields<'a> {
    pub(super) host: Option<&'a [u8]>,
    pub(super) accept_encoding: Option<&'a [u8]>,
    pub(super) range: Option<&'a [u8]>,
    pub(super) if_range: Option<&'a [u8]>,
    pub(super) if_match: Option<&'a [u8]>,
    pub(super) if_none_match: Option<&'a [u8]>,
    pub(super) if_modified_since: Option<&'a [u8]>,
    pub(super) if_unmodified_since: Option<&'a [u8]>,
    pub(super) referer: Option<&'a [u8]>,
    pub(super) user_agent: Option<&'a [u8]>,
}

/// More content than this is not taken.
const CONTENT_BYTES_MAX: u64 = 64 << 10;

/// Where a head ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// At this byte.
    At(usize),
    /// Further on.
    Beyond,
    /// Nowhere: a line does not end as lines must.
    BareLineFeed,
}

/// Looks for the empty line that ends a head; the first `seen` bytes are known to hold none.
///
/// A bare line feed may count as a line's end (RFC 9112, section 2.2), but does not here: a proxy in front
/// may read it otherwise.
#[inline]
pub(super) fn end_of_head(bytes: &[u8], seen: usize) -> End {
    let mut from = seen;
    while let Some(found) = memchr(b'\n', &bytes[from..]) {
        let at = from + found;
        if at == 0 || bytes[at - 1] != b'\r' {
            return End::BareLineFeed;
        }
        if at == 1 || bytes[at - 2] == b'\n' {
            return End::At(at + 1);
        }
        from = at + 1;
    }
    End::Beyond
}

/// Reads the head that lies at the beginning, up to the empty line, and says how long it is.
///
/// Where it is cut off the error means nothing: ask [`end_of_head`] whether it was.
#[inline]
pub(super) fn parse(bytes: &[u8]) -> Result<(Request<'_>, usize), Refusal> {
    let (First { method, target, old }, mut rest) = request_line(bytes)?;
    let mut framing = Framing::default();
    let mut fields = Fields::default();
    while !rest.starts_with(b"\r\n") {
        rest = field(rest, &mut framing, &mut fields)?;
    }
    let (path, query) = target_parts(method, target)?;
    if fields.host.is_none() && !old {
        return refuse(400, "a request of HTTP/1.1 names its host");
    }
    match (framing.coded, framing.content_bytes) {
        (true, Some(_)) => return refuse(400, "Content-Length and Transfer-Encoding exclude each other"),
        (true, None) if old => return refuse(400, "HTTP/1.0 has no Transfer-Encoding"),
        (true, None) => return refuse(501, "requests with a Transfer-Encoding are not taken"),
        (false, Some(CONTENT_TOO_LARGE..)) => return refuse(413, "requests with much content are not taken"),
        (false, _) => {}
    }
    // A client that expects 100 (Continue) may or may not send its content after another response: the end
    // would be unknown.
    if framing.expects && !old {
        return refuse(417, "expectations are not met");
    }
    let keep = !framing.close && (!old || framing.keep);
    let content_bytes = framing.content_bytes.unwrap_or(0);
    let request = Request { method, path, query, old, keep, content_bytes, fields };
    Ok((request, bytes.len() - rest.len() + 2))
}

const CONTENT_TOO_LARGE: u64 = CONTENT_BYTES_MAX + 1;

/// The content of the first line.
struct First<'a> {
    method: Method,
    target: &'a [u8],
    /// Whether it is HTTP/1.0.
    old: bool,
}

/// `GET /path HTTP/1.1`, and the bytes behind it.
#[inline]
fn request_line(bytes: &[u8]) -> Result<(First<'_>, &[u8]), Refusal> {
    let (method, rest) = word(bytes, TOKEN);
    let (target, rest) = word(rest.strip_prefix(b" ").unwrap_or_default(), TARGET);
    let Some(rest) = rest.strip_prefix(b" ").filter(|_| !method.is_empty() && !target.is_empty()) else {
        return refuse(400, "the first line is no request");
    };
    let (old, rest) = match rest {
        [b'H', b'T', b'T', b'P', b'/', b'1', b'.', b'1'..=b'9', b'\r', b'\n', rest @ ..] => (false, rest),
        [b'H', b'T', b'T', b'P', b'/', b'1', b'.', b'0', b'\r', b'\n', rest @ ..] => (true, rest),
        [b'H', b'T', b'T', b'P', b'/', b'0'..=b'9', b'.', b'0'..=b'9', b'\r', b'\n', ..] => {
            return refuse(505, "only HTTP/1.0 and HTTP/1.1 are spoken");
        }
        _ => return refuse(400, "the first line has no version"),
    };
    let method = match method {
        b"GET" => Method::Get,
        b"HEAD" => Method::Head,
        b"OPTIONS" => Method::Options,
        b"POST" | b"PUT" | b"DELETE" | b"PATCH" | b"TRACE" | b"CONNECT" => {
            return refuse(405, "files can be read here, and nothing else");
        }
        _ => return refuse(501, "no such method is known"),
    };
    Ok((First { method, target, old }, rest))
}

/// Path and query of a target: `/path?query`, `http://host/path?query`, or `*` (RFC 9112, section 3.2).
#[inline]
fn target_parts(method: Method, target: &[u8]) -> Result<(&[u8], &[u8]), Refusal> {
    let target = if target[0] == b'/' {
        target
    } else if target == b"*" && method == Method::Options {
        return Ok((target, b""));
    } else {
        match target.split_at_checked(7) {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case(b"http://") => after_authority(rest)?,
            _ => return refuse(400, "the target is neither a path nor a URI of http"),
        }
    };
    let end = memchr(b'?', target).unwrap_or(target.len());
    let (path, query) = target.split_at(end);
    Ok((if path.is_empty() { b"/" } else { path }, query))
}

fn after_authority(rest: &[u8]) -> Result<&[u8], Refusal> {
    let end = rest.iter().position(|byte| matches!(byte, b'/' | b'?')).unwrap_or(rest.len());
    let (authority, target) = rest.split_at(end);
    if authority.is_empty() || !all(authority, HOST) {
        return refuse(400, "the target names no host");
    }
    Ok(target)
}

/// The fields that decide where the request ends and whether the connection stays.
#[derive(Default)]
struct Framing {
    content_bytes: Option<u64>,
    coded: bool,
    expects: bool,
    close: bool,
    keep: bool,
}

/// Reads one field and returns what follows. The first of duplicate fields holds; a duplicate that changes
/// the meaning of the request is refused.
#[inline]
fn field<'a>(bytes: &'a [u8], framing: &mut Framing, fields: &mut Fields<'a>) -> Result<&'a [u8], Refusal> {
    // This refuses white space before the colon, and lines that continue the one before.
    let (name, rest) = word(bytes, TOKEN);
    let Some(rest) = rest.strip_prefix(b":").filter(|_| !name.is_empty()) else {
        return refuse(400, "a field has no proper name");
    };
    let (value, rest) = rest.split_at(text_bytes(rest));
    let Some(rest) = rest.strip_prefix(b"\r\n") else {
        return refuse(400, "a field has a control character");
    };
    known_field(name, value.trim_ascii(), framing, fields)?;
    Ok(rest)
}

#[inline]
fn known_field<'a>(
    name: &[u8],
    value: &'a [u8],
    framing: &mut Framing,
    fields: &mut Fields<'a>,
) -> Result<(), Refusal> {
    let slot = match name.len() {
        4 if is(name, b"host") => {
            if fields.host.replace(value).is_some() || !all(value, HOST) {
                return refuse(400, "the host is not named once and properly");
            }
            return Ok(());
        }
        5 if is(name, b"range") => &mut fields.range,
        6 if is(name, b"expect") => {
            framing.expects = true;
            return Ok(());
        }
        7 if is(name, b"referer") => &mut fields.referer,
        8 if is(name, b"if-match") => &mut fields.if_match,
        8 if is(name, b"if-range") => &mut fields.if_range,
        10 if is(name, b"connection") => {
            for option in value.split(|byte| *byte == b',') {
                framing.close |= is(option.trim_ascii(), b"close");
                framing.keep |= is(option.trim_ascii(), b"keep-alive");
            }
            return Ok(());
        }
        10 if is(name, b"user-agent") => &mut fields.user_agent,
        13 if is(name, b"if-none-match") => &mut fields.if_none_match,
        14 if is(name, b"content-length") => {
            let length = decimal(value);
            if length.is_none() || framing.content_bytes.is_some() {
                return refuse(400, "the Content-Length is not one number");
            }
            framing.content_bytes = length;
            return Ok(());
        }
        15 if is(name, b"accept-encoding") => &mut fields.accept_encoding,
        17 if is(name, b"if-modified-since") => &mut fields.if_modified_since,
        17 if is(name, b"transfer-encoding") => {
            framing.coded = true;
            return Ok(());
        }
        19 if is(name, b"if-unmodified-since") => &mut fields.if_unmodified_since,
        _ => return Ok(()),
    };
    slot.get_or_insert(value);
    Ok(())
}

/// Whether it is that word, in letters of any case.
#[inline]
fn is(bytes: &[u8], word: &[u8]) -> bool {
    bytes.eq_ignore_ascii_case(word)
}

/// A number of digits only; too large ones become the largest.
#[inline]
pub(super) fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |number, digit| {
        let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        Some(number.saturating_mul(10).saturating_add(digit))
    })
}

/// Letters of methods and names (RFC 9110, section 5.6.2).
const TOKEN: u8 = 1;
/// Letters of a host with its port (RFC 3986, section 3.2), without those that only passwords need.
const HOST: u8 = 2;
/// Characters of a target: visible ones, but for the `#` that no client sends.
const TARGET: u8 = 4;

static CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let letter = byte as u8;
        if letter.is_ascii_alphanumeric() || contains(b"!#$%&'*+-.^_`|~", letter) {
            classes[byte] |= TOKEN;
        }
        if letter.is_ascii_alphanumeric() || contains(b"-._~%!$&'()*+,;=:[]", letter) {
            classes[byte] |= HOST;
        }
        if letter.is_ascii_graphic() && letter != b'#' {
            classes[byte] |= TARGET;
        }
        byte += 1;
    }
    classes
};

const fn contains(letters: &[u8], letter: u8) -> bool {
    let mut at = 0;
    while at < letters.len() {
        if letters[at] == letter {
            return true;
        }
        at += 1;
    }
    false
}

#[inline]
fn all(bytes: &[u8], class: u8) -> bool {
    bytes.iter().all(|byte| CLASSES[usize::from(*byte)] & class != 0)
}

/// The letters of that class at the beginning, and the rest.
#[inline]
fn word(bytes: &[u8], class: u8) -> (&[u8], &[u8]) {
    let end = bytes.iter().position(|byte| CLASSES[usize::from(*byte)] & class == 0);
    bytes.split_at(end.unwrap_or(bytes.len()))
}

/// The length up to a control character. Blocks are searched without a branch for each byte, so that the
/// compiler takes all of one at a time.
#[inline]
fn text_bytes(bytes: &[u8]) -> usize {
    let is_control = |byte: u8| ((byte < b' ') & (byte != b'\t')) | (byte == 0x7f);
    let (blocks, _) = bytes.as_chunks::<16>();
    let free =
        blocks.iter().take_while(|block| !block.iter().fold(false, |found, byte| found | is_control(*byte)));
    let from = free.count() * 16;
    bytes[from..].iter().position(|byte| is_control(*byte)).map_or(bytes.len(), |at| from + at)
}

/// A path below the root.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Target {
    /// Without a slash at either end; empty for the root itself.
    pub(super) path: Vec<u8>,
    /// Whether a slash stood at its end, so that it must be a folder.
    pub(super) is_folder: bool,
    /// Whether some part of it begins with a dot; such files are not served.
    pub(super) is_hidden: bool,
}

const WRONG: Refusal = Refusal { status: 400, why: "the path is not one that a file could have" };

/// Decodes a path that begins with a slash, once. Empty parts are left out, as most servers do. Ambiguous
/// paths are refused: parts that lead upward, and slashes or NUL behind a `%`.
pub(super) fn decode_path(raw: &[u8]) -> Result<Target, Refusal> {
    let mut path = Vec::with_capacity(raw.len());
    let mut is_hidden = false;
    for part in raw.split(|byte| *byte == b'/').filter(|part| !part.is_empty()) {
        if !path.is_empty() {
            path.push(b'/');
        }
        let begin = path.len();
        decode_part(part, &mut path)?;
        match &path[begin..] {
            b".." => return Err(WRONG),
            decoded => is_hidden |= decoded.first() == Some(&b'.'),
        }
    }
    Ok(Target { is_folder: raw.ends_with(b"/"), path, is_hidden })
}

fn decode_part(part: &[u8], path: &mut Vec<u8>) -> Result<(), Refusal> {
    let mut bytes = part.iter().copied();
    while let Some(byte) = bytes.next() {
        let decoded = match byte {
            b'%' => {
                let mut digit = || char::from(bytes.next()?).to_digit(16);
                match (digit(), digit()) {
                    (Some(high), Some(low)) => (high * 16 + low) as u8,
                    _ => return Err(WRONG),
                }
            }
            _ => byte,
        };
        if matches!(decoded, 0 | b'/' | b'\\') {
            return Err(WRONG);
        }
        path.push(decoded);
    }
    Ok(())
}

/// Percent-encodes a path; also encodes the bytes that HTML would interpret.
pub(super) fn encode_path(path: &[u8], out: &mut Vec<u8>) {
    for byte in path {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(byte) {
            out.push(*byte);
        } else {
            let digit = |value: u8| b"0123456789ABCDEF"[usize::from(value)];
            out.extend([b'%', digit(byte >> 4), digit(byte & 15)]);
        }
    }
}

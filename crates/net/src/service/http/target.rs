//! From the path of a target to a path below the root, and back.

use super::request::Refusal;

/// A path below the root.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Target {
    /// Without a slash at either end; empty for the root itself.
    pub(super) path: Vec<u8>,
    /// Whether a slash stood at its end, so that it must be a folder.
    pub(super) is_folder: bool,
    /// Whether some part of it begins with a dot; such are nobody's business.
    pub(super) is_hidden: bool,
}

const WRONG: Refusal = Refusal { status: 400, why: "the path is not one that a file could have" };

/// Decodes a path that begins with a slash, once. Empty parts are left out, as most servers do. Refused is
/// what could mean one path here and another elsewhere: parts that lead upward, and slashes or NUL behind a
/// `%`.
pub(super) fn decode(raw: &[u8]) -> Result<Target, Refusal> {
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

/// Writes a path as a URI has it: of all that is not harmless there, and in HTML, the code.
pub(super) fn encode(path: &[u8], out: &mut Vec<u8>) {
    for byte in path {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(byte) {
            out.push(*byte);
        } else {
            let digit = |value: u8| b"0123456789ABCDEF"[usize::from(value)];
            out.extend([b'%', digit(byte >> 4), digit(byte & 15)]);
        }
    }
}

//! The part of a page that is wanted: preconditions, ranges and codings (RFC 9110, sections 12 to 14).

use super::date;
use super::page::{Page, Version};
use super::request::{Fields, Method, decimal};

/// The part of a page to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// All of it.
    Whole,
    /// `count` bytes from `offset`; at least one.
    Part { offset: u64, count: u64 },
    /// Nothing, because the client has it: 304.
    Nothing,
    /// Nothing, because the page is not the one that the client expects: 412.
    Other,
    /// A part that does not exist: 416.
    Beyond,
}

/// Evaluates the fields in the order of RFC 9110, section 13.2.2.
#[inline]
pub(super) fn wanted(method: Method, fields: &Fields<'_>, page: &Page) -> Wanted {
    let Some(version) = &page.version else { return Wanted::Whole };
    if let Some(tags) = fields.if_match {
        if !names(tags, version, false) {
            return Wanted::Other;
        }
    } else if let Some(moment) = fields.if_unmodified_since.and_then(date::parse)
        && version.modified > moment
    {
        return Wanted::Other;
    }
    if let Some(tags) = fields.if_none_match {
        if names(tags, version, true) {
            return Wanted::Nothing;
        }
    } else if let Some(moment) = fields.if_modified_since.and_then(date::parse)
        && version.modified <= moment
    {
        return Wanted::Nothing;
    }
    match fields.range {
        Some(range) if method == Method::Get && fields.if_range.is_none_or(|is| is_that(is, version)) => {
            part(range, page.length)
        }
        _ => Wanted::Whole,
    }
}

/// Whether a list of entity tags has ours. None of ours has a comma, so those of others may be cut at one.
fn names(tags: &[u8], version: &Version, weak_too: bool) -> bool {
    tags.split(|byte| *byte == b',').map(<[u8]>::trim_ascii).any(|tag| {
        let strong = tag.strip_prefix(b"W/").filter(|_| weak_too).unwrap_or(tag);
        tag == b"*" || strong == &*version.tag
    })
}

/// If-Range: the same tag, or the same date.
fn is_that(validator: &[u8], version: &Version) -> bool {
    validator == &*version.tag || date::parse(validator) == Some(version.modified)
}

/// One range of bytes. For several, and for a malformed one, the whole file is sent (RFC 9110, section 14.2).
fn part(range: &[u8], length: u64) -> Wanted {
    let Some((unit, set)) = range.split_at_checked(6) else { return Wanted::Whole };
    let Some(dash) = set.iter().position(|byte| *byte == b'-') else { return Wanted::Whole };
    if !unit.eq_ignore_ascii_case(b"bytes=") {
        return Wanted::Whole;
    }
    let (first, last) = (set[..dash].trim_ascii(), set[dash + 1..].trim_ascii());
    let (offset, end) = match (decimal(first), decimal(last)) {
        (None, Some(count)) if first.is_empty() => (length.saturating_sub(count), length),
        (Some(first), None) if last.is_empty() => (first, length),
        (Some(first), Some(last)) if first <= last => (first, length.min(last.saturating_add(1))),
        _ => return Wanted::Whole,
    };
    if offset >= end {
        return Wanted::Beyond;
    }
    Wanted::Part { offset, count: end - offset }
}

/// Whether gzip is as welcome as the file as it is (RFC 9110, section 12.5.3).
pub(super) fn accepts_gzip(accept_encoding: &[u8]) -> bool {
    let (mut gzip, mut any, mut identity) = (None, None, None);
    for item in accept_encoding.split(|byte| *byte == b',') {
        let mut parameters = item.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
        let coding = parameters.next().unwrap_or_default();
        let weight = parameters.next().map_or(1000, weight);
        if coding.eq_ignore_ascii_case(b"gzip") || coding.eq_ignore_ascii_case(b"x-gzip") {
            gzip = Some(weight);
        } else if coding.eq_ignore_ascii_case(b"identity") {
            identity = Some(weight);
        } else if coding == b"*" {
            any = Some(weight);
        }
    }
    let gzip = gzip.or(any).unwrap_or(0);
    gzip > 0 && gzip >= identity.unwrap_or(0)
}

/// `q=0.5` in thousandths; 0 if it is invalid.
fn weight(parameter: &[u8]) -> u32 {
    let Some(value) = parameter.strip_prefix(b"q=").or_else(|| parameter.strip_prefix(b"Q=")) else {
        return 0;
    };
    match value {
        [b'1'] | [b'1', b'.', ..] => 1000,
        [b'0'] => 0,
        [b'0', b'.', digits @ ..] if digits.len() <= 3 && digits.iter().all(u8::is_ascii_digit) => {
            let digits = digits.iter().chain(b"000").take(3);
            digits.fold(0, |number, digit| number * 10 + u32::from(digit - b'0'))
        }
        _ => 0,
    }
}

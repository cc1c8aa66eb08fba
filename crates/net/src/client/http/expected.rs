//! What a response must be: its status, and for each path the body of the first good response.

use std::ops::RangeInclusive;

use crate::Error;
use crate::client::ResponseError;

/// What a response was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) status: u16,
    pub(super) body: Body,
}

/// What a body is known by. Where bodies are not compared, all of them are equal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Body {
    pub(super) length: u64,
    pub(super) crc: u32,
}

/// Statuses that are right.
#[derive(Clone, Debug)]
pub(super) struct Statuses(Vec<RangeInclusive<u16>>);

impl Statuses {
    /// Reads texts such as `200`, `2xx` and `200,304`. None is every success.
    pub(super) fn parse(texts: &[String]) -> Result<Statuses, Error> {
        let parts = texts.iter().flat_map(|text| text.split(',')).map(str::trim);
        let ranges = parts.map(|part| {
            parse_status(part).ok_or_else(|| {
                Error::Settings(format!("{part:?} is no status; write 200, 2xx, or a list such as 200,304"))
            })
        });
        let ranges = ranges.collect::<Result<Vec<_>, _>>()?;
        Ok(Statuses(if ranges.is_empty() { vec![200..=299] } else { ranges }))
    }

    fn contains(&self, status: u16) -> bool {
        self.0.iter().any(|range| range.contains(&status))
    }
}

fn parse_status(text: &str) -> Option<RangeInclusive<u16>> {
    let class = text.strip_suffix("xx").or_else(|| text.strip_suffix("XX"));
    let (first, last) = match class {
        Some(class) => {
            let first = class.parse::<u16>().ok()?.checked_mul(100)?;
            (first, first.checked_add(99)?)
        }
        None => (text.parse().ok()?, text.parse().ok()?),
    };
    // Other statuses are interim, or none.
    (first >= 200 && last <= 999).then_some(first..=last)
}

/// What is wrong with a response that is not the first of `known`, if anything: one that is right and the
/// first of its status is kept there.
#[cold]
pub(super) fn compare(known: &mut Vec<Seen>, statuses: &Statuses, seen: Seen) -> Option<ResponseError> {
    if !statuses.contains(seen.status) {
        return Some(ResponseError::Status(seen.status));
    }
    match known.iter().find(|known| known.status == seen.status) {
        Some(known) => (known.body != seen.body).then_some(ResponseError::Content),
        None => {
            known.push(seen);
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_numbers_and_classes() {
        let contains = |text: &str, status| Statuses::parse(&[text.to_owned()]).unwrap().contains(status);
        assert!(contains("2xx", 200) && contains("2xx", 299) && !contains("2xx", 300));
        assert!(contains("200, 404", 404) && !contains("200,404", 204));
        assert!(Statuses::parse(&[]).unwrap().contains(204));
        for wrong in ["", "ok", "20", "1xx", "100", "70000", "200,", "xx", "99xx", "655xx"] {
            assert!(Statuses::parse(&[wrong.to_owned()]).is_err(), "{wrong}");
        }
    }
}

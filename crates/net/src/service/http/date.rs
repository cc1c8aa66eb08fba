//! The present second in the form of HTTP; each thread writes it once per second.

use std::cell::Cell;
use std::time::{Duration, UNIX_EPOCH};

/// Length of a date in its fixed form (RFC 9110, section 5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`.
pub(super) const LENGTH: usize = 29;

/// The last second that a year of four digits has; the end of 9999.
const LAST_SECOND: u64 = 253_402_300_799;

/// A moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Now {
    /// Since 1970.
    pub(super) second: u64,
    /// In the form of HTTP.
    pub(super) text: [u8; LENGTH],
}

thread_local! {
    static LAST: Cell<Now> = const { Cell::new(Now { second: u64::MAX, text: [b'-'; LENGTH] }) };
}

/// The present moment.
#[inline]
pub(super) fn now() -> Now {
    let second = sys::clock::unix_seconds();
    let last = LAST.get();
    if last.second == second {
        return last;
    }
    let now = Now { second, text: format(second) };
    LAST.set(now);
    now
}

/// Seconds since 1970 in the form of HTTP.
pub(super) fn format(second: u64) -> [u8; LENGTH] {
    let mut text = [b' '; LENGTH];
    // The library panics beyond the year 9999, which would not fit.
    let moment = UNIX_EPOCH + Duration::from_secs(second.min(LAST_SECOND));
    let written = httpdate::fmt_http_date(moment);
    let length = written.len().min(LENGTH);
    text[..length].copy_from_slice(&written.as_bytes()[..length]);
    text
}

/// Seconds since 1970 of a date in any of the three forms of HTTP.
pub(super) fn parse(text: &[u8]) -> Option<u64> {
    let moment = httpdate::parse_http_date(std::str::from_utf8(text).ok()?).ok()?;
    Some(moment.duration_since(UNIX_EPOCH).ok()?.as_secs())
}

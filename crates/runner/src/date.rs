//! Dates as the record writes them.

use std::time::{Duration, SystemTime};

/// The last second that RFC 3339 can write: 9999-12-31T23:59:59Z.
const LAST_SECOND: u64 = 253_402_300_799;

/// The date in UTC, to the second. A clock that was never set, or set to nonsense, must not end a run: what
/// is before 1970 or after 9999 becomes the nearest date that can be written.
pub fn rfc3339(date: SystemTime) -> String {
    let since_1970 = date.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let second = since_1970.as_secs().min(LAST_SECOND);
    humantime::format_rfc3339_seconds(SystemTime::UNIX_EPOCH + Duration::from_secs(second)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_date_can_be_written() {
        let epoch = SystemTime::UNIX_EPOCH;
        assert_eq!(rfc3339(epoch - Duration::from_secs(1)), "1970-01-01T00:00:00Z");
        assert_eq!(rfc3339(epoch + Duration::from_secs(1_700_000_000)), "2023-11-14T22:13:20Z");
        let last = epoch + Duration::from_secs(LAST_SECOND);
        assert_eq!(rfc3339(last), "9999-12-31T23:59:59Z");
        assert_eq!(rfc3339(last + Duration::from_secs(1)), "9999-12-31T23:59:59Z");
    }
}

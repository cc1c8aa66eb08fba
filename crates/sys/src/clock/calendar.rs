//! The time of day, from the cheapest clock of the system.

/// Seconds since 1970, in UTC, some milliseconds late at most; for whoever needs a second and counts the
/// cost.
#[inline]
pub fn unix_seconds() -> u64 {
    cfg_select! {
        any(target_os = "linux", target_os = "android") => {
            let now = super::reading::read(libc::CLOCK_REALTIME_COARSE);
            u64::try_from(now.tv_sec).unwrap_or_default()
        }
        target_os = "freebsd" => {
            let now = super::reading::read(libc::CLOCK_REALTIME_FAST);
            u64::try_from(now.tv_sec).unwrap_or_default()
        }
        _ => {
            let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            since.unwrap_or_default().as_secs()
        }
    }
}

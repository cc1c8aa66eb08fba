//! An alarm: a descriptor that becomes readable at a set time, to the microsecond. Waits of event interfaces
//! may be as coarse as milliseconds.

#[cfg(target_os = "linux")]
#[path = "linux.rs"]
mod platform;
#[cfg(not(target_os = "linux"))]
#[path = "other.rs"]
mod platform;

pub use platform::Alarm;

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::event::{Epoll, Interest, Poller};

    #[test]
    fn it_rings_in_time_and_until_it_is_set_anew() {
        let mut poller = Epoll::new().unwrap();
        let alarm = Alarm::new().unwrap();
        poller.add(alarm.descriptor(), 7, Interest::Read).unwrap();
        let mut events = Vec::new();
        let start = Instant::now();
        let waited = Duration::from_micros(300);
        alarm.set(waited).unwrap();
        poller.wait(&mut events, Some(Duration::from_secs(10))).unwrap();
        assert_eq!(events.len(), 1);
        assert!(start.elapsed() >= waited, "{:?}", start.elapsed());
        poller.wait(&mut events, Some(Duration::ZERO)).unwrap();
        assert_eq!(events.len(), 1);
        alarm.set(Duration::from_secs(10)).unwrap();
        poller.wait(&mut events, Some(Duration::ZERO)).unwrap();
        assert_eq!(events.len(), 0);
    }
}

//! Threads that write one byte when they start, and then wait until they are released one by one.

#[cfg(unix)]
#[path = "unix.rs"]
mod platform;
#[cfg(windows)]
#[path = "windows.rs"]
mod platform;

use std::sync::{Condvar, Mutex, PoisonError};

pub use platform::{Member, ThreadGroup, cpu_ns};

/// The gate where one thread waits until it is released.
#[derive(Debug, Default)]
struct Gate {
    open: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    fn pass(&self) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        while !*open {
            open = self.opened.wait(open).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn open(&self) {
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.opened.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_wait_from_their_hello_until_they_are_let_go() {
        let group = ThreadGroup::new(2).unwrap();
        assert_eq!(group.waiting(), 0);
        let members = [group.create(0).unwrap(), group.create(1).unwrap()];
        assert_eq!(group.waiting(), 2);
        for (member, left) in members.into_iter().zip([1, 0]) {
            member.join().unwrap();
            assert_eq!(group.waiting(), left);
        }
    }
}

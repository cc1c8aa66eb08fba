//! Threads that write one byte when they start, and then wait until they are released one by one.

#[cfg(unix)]
#[path = "unix.rs"]
mod platform;
#[cfg(windows)]
#[path = "windows.rs"]
mod platform;

use std::sync::{Condvar, Mutex, PoisonError};

#[cfg(target_os = "linux")]
pub use linux::{is_asleep, thread_number};
pub use platform::{Member, ThreadGroup, cpu_ns, involuntary_switches};

/// How long the calling thread could have run and waited for a processor, in nanoseconds; `None` where the
/// system does not count that. See Documentation/scheduler/sched-stats.rst.
pub fn run_delay_ns() -> Option<u64> {
    cfg_select! {
        target_os = "linux" => {
            crate::pseudo_file::text("/proc/thread-self/schedstat")?.split(' ').nth(1)?.parse().ok()
        }
        _ => { None }
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::io;

    /// The number of the calling thread, gettid(2).
    pub fn thread_number() -> i32 {
        rustix::thread::gettid().as_raw_nonzero().get()
    }

    /// Whether that thread of this process sleeps until something wakes it, proc_pid_stat(5).
    ///
    /// # Errors
    /// Those of reading its file in /proc.
    pub fn is_asleep(thread: i32) -> io::Result<bool> {
        let stat = std::fs::read_to_string(format!("/proc/self/task/{thread}/stat"))?;
        // Its name, in parentheses, may contain any character.
        Ok(stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('S')))
    }
}

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

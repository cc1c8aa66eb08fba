//! The memory that the connections of a server take: user memory of its processes, kernel memory of the
//! machine.

use std::io;

use crate::LevelRecorder;
use crate::server::ServerUnderTest;

/// If more than one connection in this many left TIME_WAIT meanwhile, the memory that they gave back hides
/// that of the others.
const TIME_WAIT_SHARE: u64 = 10;

/// Resources of the server and the kernel; `None` where they are unknown.
pub struct Memory {
    user_bytes: Option<u64>,
    kernel_bytes: Option<u64>,
    /// Connections in TIME_WAIT, which are part of what the kernel has taken.
    time_wait: Option<u64>,
}

impl Memory {
    /// Reads both now.
    pub fn read(server: &mut ServerUnderTest) -> io::Result<Memory> {
        let user_bytes = server.report()?.and_then(|report| report.memory_bytes);
        let kernel_bytes = sys::memory::kernel_bytes().ok();
        Ok(Memory { user_bytes, kernel_bytes, time_wait: sys::tcp::time_wait().ok() })
    }

    /// Reports `user memory` and `kernel memory` for each of the n connections that were added since. A
    /// server that gave back memory took none. Kernel memory is that of the whole machine: if others gave
    /// memory back, the difference is meaningless, so it is not reported, and a remark says why.
    pub fn report_each(&self, before: &Memory, recorder: &mut LevelRecorder<'_>) {
        let n = recorder.n() as f64;
        let user = self.user_bytes.zip(before.user_bytes);
        let user = user.map(|(now, before)| now.saturating_sub(before) as f64 / n);
        recorder.value("user memory", user.unwrap_or(f64::NAN));
        match self.kernel_gained(before, recorder.n()) {
            Ok(gained) => recorder.value("kernel memory", gained.map_or(f64::NAN, |gained| gained / n)),
            Err(why) => recorder.warn(format!("Kernel memory is not reported at some n: {why}.")),
        }
    }

    /// Increase in kernel memory for n connections, in bytes; `None` where it is unknown.
    fn kernel_gained(&self, before: &Memory, n: u64) -> Result<Option<f64>, &'static str> {
        let expired = before.time_wait.zip(self.time_wait).map_or(0, |(then, now)| then.saturating_sub(now));
        if expired > n / TIME_WAIT_SHARE {
            return Err("meanwhile connections that were closed before left TIME_WAIT and gave theirs back");
        }
        let Some((now, then)) = self.kernel_bytes.zip(before.kernel_bytes) else { return Ok(None) };
        now.checked_sub(then).map(|gained| Some(gained as f64)).ok_or("others gave back more meanwhile")
    }
}

#[cfg(test)]
mod tests {
    use super::Memory;

    #[test]
    fn memory_that_others_gave_back_is_a_gap_and_not_a_value() {
        let memory = |kernel, time_wait| Memory {
            user_bytes: None,
            kernel_bytes: Some(kernel),
            time_wait: Some(time_wait),
        };
        let gained = |now: Memory, n| now.kernel_gained(&memory(5000, 100), n);
        assert_eq!(gained(memory(6000, 100), 10), Ok(Some(1000.0)));
        assert_eq!(gained(memory(6000, 99), 10), Ok(Some(1000.0)));
        assert!(gained(memory(6000, 98), 10).is_err_and(|why| why.contains("TIME_WAIT")));
        assert!(gained(memory(4999, 200), 10).is_err_and(|why| why.contains("others")));
        let unknown = Memory { user_bytes: None, kernel_bytes: None, time_wait: None };
        assert_eq!(gained(unknown, 10), Ok(None));
    }
}

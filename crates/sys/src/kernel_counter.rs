//! Counts that the kernel keeps of a process and of the whole system.

pub use platform::{
    ProcessIo, available_bytes, connections_opened, device_written_bytes, loopback_bytes, processor_busy_ns,
    resident_bytes,
};

/// Linux: files of /proc and /sys (proc(5), Documentation/block/stat).
#[cfg(target_os = "linux")]
mod platform {
    use std::fs::File;
    use std::io;
    use std::os::unix::fs::{FileExt, MetadataExt};
    use std::path::Path;

    use crate::Unsupported;
    use crate::pseudo_file::{column, field, field_bytes, text};

    /// Longer than /proc/PID/io.
    const IO_BYTES: usize = 512;

    /// The kernel's counters of reads and writes of this process. The file stays open, so that a reading is
    /// one call.
    #[derive(Debug)]
    pub struct ProcessIo(File);

    impl ProcessIo {
        /// Opens the counters of the calling process.
        ///
        /// # Errors
        /// Those of open(2), where the kernel has no such counters; unsupported.
        pub fn open() -> io::Result<ProcessIo> {
            File::open("/proc/self/io").map(ProcessIo)
        }

        /// Calls of read(2) and its relatives, including those that read this counter.
        ///
        /// # Errors
        /// Those of pread(2).
        pub fn read_calls(&self) -> io::Result<u64> {
            self.field("syscr")
        }

        /// Bytes that went to a device, or will; without those that a file system keeps in memory.
        ///
        /// # Errors
        /// Those of pread(2).
        pub fn written_bytes(&self) -> io::Result<u64> {
            self.field("write_bytes")
        }

        fn field(&self, name: &str) -> io::Result<u64> {
            let mut content = [0; IO_BYTES];
            let bytes = self.0.read_at(&mut content, 0)?;
            let content = String::from_utf8_lossy(&content[..bytes]);
            field(&content, name)
                .and_then(|value| value.parse().ok())
                .ok_or_else(|| Unsupported("/proc/PID/io lacks the counter").into())
        }
    }

    /// Processor time of one processor that was not idle, of all processes and the kernel, in nanoseconds;
    /// most kernels sample it at their ticks.
    ///
    /// # Errors
    /// There is no such processor; unsupported.
    pub fn processor_busy_ns(processor: u32) -> io::Result<u64> {
        let stat = text("/proc/stat").ok_or(Unsupported("there is no /proc/stat"))?;
        let tick = 1_000_000_000 / rustix::param::clock_ticks_per_second();
        busy_ticks(&stat, processor)
            .map(|ticks| ticks * tick)
            .ok_or_else(|| Unsupported("/proc/stat has no line of that processor").into())
    }

    /// `cpu1 user nice system idle iowait irq softirq steal guest guest_nice`: all but idle, waiting and
    /// stolen time; guest time is part of user time already.
    pub(super) fn busy_ticks(stat: &str, processor: u32) -> Option<u64> {
        let name = format!("cpu{processor}");
        let mut lines = stat.lines().map(str::split_whitespace);
        let mut times = lines.find_map(|mut words| (words.next()? == name).then_some(words))?;
        let times: Vec<u64> = times.by_ref().map_while(|time| time.parse().ok()).collect();
        let [user, nice, system, _idle, _iowait, irq, softirq, ..] = times[..] else { return None };
        Some(user + nice + system + irq + softirq)
    }

    /// Bytes that the loopback interface of this network namespace has sent, with their headers.
    ///
    /// # Errors
    /// Unsupported.
    pub fn loopback_bytes() -> io::Result<u64> {
        text("/proc/self/net/dev")
            .and_then(|devices| sent_bytes(&devices, "lo"))
            .ok_or_else(|| Unsupported("/proc/net/dev has no interface lo").into())
    }

    /// `lo: 16480 186 0 0 0 0 0 0 16480 186 …`: eight numbers about received packets come first.
    pub(super) fn sent_bytes(devices: &str, interface: &str) -> Option<u64> {
        field(devices, interface)?.split_whitespace().nth(8)?.parse().ok()
    }

    /// TCP connections that were opened from this network namespace.
    ///
    /// # Errors
    /// Unsupported.
    pub fn connections_opened() -> io::Result<u64> {
        let table = text("/proc/self/net/snmp").ok_or(Unsupported("there is no /proc/net/snmp"))?;
        column(&table, "Tcp:", "ActiveOpens")
            .ok_or_else(|| Unsupported("/proc/net/snmp lacks the counter").into())
    }

    /// Bytes that were written to the device which has the folder.
    ///
    /// # Errors
    /// The file system of the folder is on no device of its own; unsupported.
    pub fn device_written_bytes(folder: &Path) -> io::Result<u64> {
        /// Of the counters of a block device, whatever the size of its sectors.
        const SECTOR_BYTES: u64 = 512;
        /// Reads, their merges, sectors and time come first, then writes and their merges.
        const SECTORS_WRITTEN: usize = 6;
        let device = std::fs::metadata(folder)?.dev();
        let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
        let counters = text(format!("/sys/dev/block/{major}:{minor}/stat"));
        let counters = counters.ok_or(Unsupported("the file system is on no block device of its own"))?;
        let sectors =
            counters.split_whitespace().nth(SECTORS_WRITTEN).and_then(|word| word.parse::<u64>().ok());
        sectors
            .map(|sectors| sectors * SECTOR_BYTES)
            .ok_or_else(|| Unsupported("the device counts no writes").into())
    }

    /// Memory of this process that is resident, in bytes.
    ///
    /// # Errors
    /// Unsupported.
    pub fn resident_bytes() -> io::Result<u64> {
        let status = text("/proc/self/status").ok_or(Unsupported("there is no /proc/PID/status"))?;
        field_bytes(&status, "VmRSS").ok_or_else(|| Unsupported("/proc/PID/status lacks VmRSS").into())
    }

    /// Memory that can be taken without swapping, in bytes.
    ///
    /// # Errors
    /// Unsupported.
    pub fn available_bytes() -> io::Result<u64> {
        let memory = text("/proc/meminfo").ok_or(Unsupported("there is no /proc/meminfo"))?;
        field_bytes(&memory, "MemAvailable")
            .ok_or_else(|| Unsupported("/proc/meminfo lacks MemAvailable").into())
    }
}

/// Systems whose counters are not read yet.
#[cfg(not(target_os = "linux"))]
mod platform {
    use std::io;
    use std::path::Path;

    const REASON: &str = "this counter of the kernel is read on Linux only";

    missing! {
        REASON;
        pub struct ProcessIo;
        pub fn open() -> io::Result<ProcessIo>;
        pub fn read_calls(&self) -> io::Result<u64>;
        pub fn written_bytes(&self) -> io::Result<u64>;
    }

    missing! {
        REASON;
        pub fn processor_busy_ns(processor: u32) -> io::Result<u64>;
        pub fn loopback_bytes() -> io::Result<u64>;
        pub fn connections_opened() -> io::Result<u64>;
        pub fn device_written_bytes(folder: &Path) -> io::Result<u64>;
        pub fn resident_bytes() -> io::Result<u64>;
        pub fn available_bytes() -> io::Result<u64>;
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::FileExt;

    use super::platform::{busy_ticks, sent_bytes};
    use super::*;

    #[test]
    fn counters_are_found_in_their_places() {
        let stat =
            "cpu  9 9 9 9 9 9 9 9 9 9\ncpu1 1 2 4 1000 1000 8 16 1000 0 0\ncpu11 7 7 7 7 7 7 7 7\nintr 5\n";
        assert_eq!(busy_ticks(stat, 1), Some(31));
        assert_eq!(busy_ticks(stat, 2), None);
        let devices = "Inter-| Receive\n face |bytes\n    lo: 1 2 3 4 5 6 7 8 90 10 0 0\n  eth0: 1 2\n";
        assert_eq!((sent_bytes(devices, "lo"), sent_bytes(devices, "eth0")), (Some(90), None));
    }

    #[test]
    fn what_is_done_is_counted() {
        let io = ProcessIo::open().unwrap();
        let null = File::open("/dev/null").unwrap();
        let before = io.read_calls().unwrap();
        for _ in 0..1000 {
            assert_eq!(null.read_at(&mut [0], 0).unwrap(), 0);
        }
        let calls = io.read_calls().unwrap() - before;
        assert!(calls >= 1000, "{calls} of 1000");

        let opened = connections_opened().unwrap();
        let sent = loopback_bytes().unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let _connection = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        assert!(connections_opened().unwrap() > opened && loopback_bytes().unwrap() > sent);

        assert!(resident_bytes().unwrap() > 100_000 && available_bytes().unwrap() > 1 << 20);
        assert!(processor_busy_ns(0).is_ok() && processor_busy_ns(1_000_000).is_err());
    }
}

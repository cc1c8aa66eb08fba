//! The objects that a process and its network hold now, as the kernel counts them; an operation may have to
//! walk through them. Read from outside; the process does not notice.

/// An amount of something that a process or its network holds now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holding {
    /// Its name, with the unit unless it is a count: `page tables (KiB)`.
    pub name: &'static str,
    /// How much.
    pub value: u64,
}

/// Lines of /proc/PID/status (proc_pid_status(5)).
#[cfg(any(target_os = "linux", test))]
const STATUS: &[(&str, &str)] =
    &[("VmPTE:", "page tables (KiB)"), ("VmRSS:", "resident memory (KiB)"), ("Threads:", "threads")];

/// Of /proc/PID/status.
#[cfg(any(target_os = "linux", test))]
pub(super) fn of_status(text: &str) -> impl Iterator<Item = Holding> + '_ {
    STATUS.iter().filter_map(|&(key, name)| {
        let line = text.lines().find_map(|line| line.strip_prefix(key))?;
        Some(Holding { name, value: line.split_whitespace().next()?.parse().ok()? })
    })
}

/// Of /proc/PID/net/sockstat: all sockets of the network name space.
#[cfg(any(target_os = "linux", test))]
pub(super) fn of_sockets(text: &str) -> Option<Holding> {
    let value = text.lines().find_map(|line| line.strip_prefix("sockets: used "))?;
    Some(Holding { name: "sockets", value: value.trim().parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_says_is_understood_and_nonsense_is_nothing() {
        let status = "Name:\tVmPTE: 7\nVmRSS:\t    1236 kB\nVmPTE:\t      52 kB\nThreads:\t3\n";
        let all: Vec<(&str, u64)> = of_status(status).map(|one| (one.name, one.value)).collect();
        assert_eq!(all, [("page tables (KiB)", 52), ("resident memory (KiB)", 1236), ("threads", 3)]);
        assert_eq!(of_status("VmPTE:\nThreads: many\n").count(), 0);
        let sockets = "sockets: used 301\nTCP: inuse 5 orphan 0 tw 1 alloc 9 mem 3\n";
        assert_eq!(of_sockets(sockets), Some(Holding { name: "sockets", value: 301 }));
        assert_eq!(of_sockets("TCP: inuse 5\n"), None);
    }
}

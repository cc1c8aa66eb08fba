//! How many sockets Linux has: /proc/net/sockstat and sockstat6 (proc_pid_net(5)).

use std::io;

use crate::pseudo_file::text;

pub(super) fn in_use() -> io::Result<u64> {
    let of = |file: &str, name: &str| {
        text(file)?.lines().find_map(|line| line.strip_prefix(name)?.split(' ').next()?.parse().ok())
    };
    let v4: Option<u64> = of("/proc/net/sockstat", "TCP: inuse ");
    // A kernel without IPv6 has no such file.
    let v6: u64 = of("/proc/net/sockstat6", "TCP6: inuse ").unwrap_or(0);
    v4.map(|v4| v4 + v6).ok_or_else(|| io::Error::other("/proc/net/sockstat cannot be read"))
}

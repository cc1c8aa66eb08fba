//! How many sockets Linux has: /proc/net/sockstat and sockstat6 (proc_pid_net(5)).

use std::io;

use crate::pseudo_file::text;

pub(super) fn in_use() -> io::Result<u64> {
    // A kernel without IPv6 has no such file.
    let v6 = count("/proc/net/sockstat6", "TCP6:", "inuse").unwrap_or(0);
    count("/proc/net/sockstat", "TCP:", "inuse").map(|v4| v4 + v6).ok_or_else(unreadable)
}

pub(super) fn time_wait() -> io::Result<u64> {
    // Those of IPv6 are among them.
    count("/proc/net/sockstat", "TCP:", "tw").ok_or_else(unreadable)
}

/// What stands after the name in the line of the protocol: `TCP: inuse 8 orphan 0 tw 2`.
fn count(file: &str, protocol: &str, name: &str) -> Option<u64> {
    let text = text(file)?;
    let mut words = text.lines().find_map(|line| line.strip_prefix(protocol))?.split_whitespace();
    words.find(|word| *word == name)?;
    words.next()?.parse().ok()
}

fn unreadable() -> io::Error {
    io::Error::other("/proc/net/sockstat cannot be read")
}

#[cfg(test)]
mod tests {
    #[test]
    fn sockets_are_counted_by_name() {
        assert!(super::in_use().is_ok());
        assert!(super::time_wait().is_ok());
        assert_eq!(super::count("/proc/net/sockstat", "TCP:", "no such name"), None);
    }
}

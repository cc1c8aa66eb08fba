//! Reads the texts of proc(5) about a process. Names in them are chosen by programs: they hold spaces, new
//! lines and parentheses. Other text is `None`, or left out.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{DescriptorKind, EpollWatch, ProcessEntry, ProcessMemory, SocketEntry, SocketPlace, SocketState};

/// Of a thread of the kernel (`PF_KTHREAD`).
const FLAG_OF_KERNEL: u64 = 0x0020_0000;
/// Of a socket of unix(7) that listens (`__SO_ACCEPTCON`).
const FLAG_ACCEPTS: u64 = 0x0001_0000;
/// Of a descriptor that sends signals: `O_ASYNC`.
const FLAG_ASYNC: u64 = 0o20000;
/// `O_ACCMODE`, and its value for a descriptor that is open for writing.
const FLAGS_ACCESS: u64 = 0o3;
const FLAG_WRITE_ONLY: u64 = 0o1;
const FLAG_READ_WRITE: u64 = 0o2;

/// /proc/PID/stat, and its processor time, in ticks.
pub fn stat(text: &str) -> Option<(ProcessEntry, u64)> {
    // The name is in parentheses and may contain parentheses: it ends at the last one.
    let (start, end) = (text.find('(')?, text.rfind(')')?);
    let pid = text.get(..start)?.trim().parse().ok()?;
    let name = text.get(start + 1..end)?.to_owned();
    let fields: Vec<&str> = text.get(end + 1..)?.split_ascii_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
    let process = ProcessEntry {
        pid,
        parent: fields.get(1)?.parse().ok()?,
        name,
        state: fields.first()?.chars().next()?,
        threads: number(17)?,
        started_ticks: number(19)?,
        // Page faults of children that it waited for.
        has_ended_children: number(8)? > 0,
        is_of_kernel: number(6)? & FLAG_OF_KERNEL != 0,
    };
    Some((process, number(11)?.saturating_add(number(12)?)))
}

/// The target of a link in /proc/PID/fd.
pub fn descriptor(link: &str) -> DescriptorKind {
    let inode = |kind: &str| link.strip_prefix(kind)?.strip_suffix(']')?.parse().ok();
    if let Some(inode) = inode("socket:[") {
        return DescriptorKind::Socket(inode);
    }
    if let Some(inode) = inode("pipe:[") {
        return DescriptorKind::Pipe(inode);
    }
    match link.strip_prefix("anon_inode:") {
        Some("[eventpoll]") => DescriptorKind::Epoll,
        Some("[io_uring]") => DescriptorKind::Ring,
        Some("[eventfd]") => DescriptorKind::EventCounter,
        Some("[timerfd]") => DescriptorKind::Timer,
        Some("[signalfd]") => DescriptorKind::Signals,
        Some(other) => DescriptorKind::Anonymous(other.trim_matches(['[', ']']).to_owned()),
        None => DescriptorKind::File,
    }
}

/// /proc/PID/fdinfo/FD of an epoll set: its entries.
pub fn epoll(text: &str) -> Vec<EpollWatch> {
    let entry = |line: &str| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        // "tfd: 11 events: 2019 data: 0  pos:0 ino:32a0c sdev:9"
        let after = |name: &str| words.iter().skip_while(|word| **word != name).nth(1).copied();
        let inode = words.iter().find_map(|word| word.strip_prefix("ino:"));
        Some(EpollWatch {
            descriptor: after("tfd:")?.parse().ok()?,
            events: u32::from_str_radix(after("events:")?, 16).ok()?,
            inode: inode.and_then(|inode| u64::from_str_radix(inode, 16).ok()),
        })
    };
    text.lines().filter_map(entry).collect()
}

/// /proc/PID/fdinfo/FD of a descriptor: whether it sends signals.
pub fn sends_signals(text: &str) -> bool {
    flags(text).is_some_and(|flags| flags & FLAG_ASYNC != 0)
}

/// The same: whether it is open for writing.
pub fn is_writable(text: &str) -> bool {
    flags(text).is_some_and(|flags| matches!(flags & FLAGS_ACCESS, FLAG_WRITE_ONLY | FLAG_READ_WRITE))
}

fn flags(text: &str) -> Option<u64> {
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"))?;
    u64::from_str_radix(flags.trim(), 8).ok()
}

/// /proc/PID/net/tcp and tcp6: the sockets that listen or are connected. Most of the table are often others,
/// in TIME_WAIT.
pub fn tcp_sockets(text: &str) -> Vec<SocketEntry> {
    text.lines().skip(1).filter_map(tcp_socket).collect()
}

fn tcp_socket(line: &str) -> Option<SocketEntry> {
    let mut fields = line.split_ascii_whitespace().skip(1);
    let (own, peer) = (fields.next()?, fields.next()?);
    let state = SocketState::of_tcp(u32::from_str_radix(fields.next()?, 16).ok()?)?;
    let (address, port) = address(own)?;
    let (_, peer_port) = self::address(peer)?;
    let (_, received) = fields.next()?.split_once(':')?;
    Some(SocketEntry {
        inode: fields.nth(4)?.parse().ok()?,
        state,
        place: SocketPlace::Tcp { address, port, peer_port },
        queued: u64::from_str_radix(received, 16).ok()?,
    })
}

/// An address as `0100007F:1F90`: words of 32 bits in the order of this machine, in hexadecimal.
fn address(text: &str) -> Option<(IpAddr, u16)> {
    let (address, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |index: usize| u32::from_str_radix(address.get(index * 8..index * 8 + 8)?, 16).ok();
    let address = match address.len() {
        8 => IpAddr::from(Ipv4Addr::from(word(0)?.to_ne_bytes())),
        32 => {
            let mut octets = [0; 16];
            for (index, part) in octets.chunks_exact_mut(4).enumerate() {
                part.copy_from_slice(&word(index)?.to_ne_bytes());
            }
            IpAddr::from(Ipv6Addr::from(octets)).to_canonical()
        }
        _ => return None,
    };
    Some((address, port))
}

/// /proc/PID/net/unix: the sockets that listen or are connected.
pub fn unix_sockets(text: &str) -> Vec<SocketEntry> {
    text.lines().skip(1).filter_map(unix_socket).collect()
}

fn unix_socket(line: &str) -> Option<SocketEntry> {
    // "Num RefCount Protocol Flags Type St Inode Path"; the path may hold spaces.
    let mut rest = line;
    let mut fields = [""; 7];
    for field in &mut fields {
        rest = rest.trim_start();
        let end = rest.find(' ').unwrap_or(rest.len());
        (*field, rest) = rest.split_at(end);
    }
    let flags = u64::from_str_radix(fields[3], 16).ok()?;
    let state = match fields[5] {
        _ if flags & FLAG_ACCEPTS != 0 => SocketState::Listening,
        "03" => SocketState::Connected,
        _ => return None,
    };
    let path = rest.strip_prefix(' ').unwrap_or(rest).to_owned();
    Some(SocketEntry { inode: fields[6].parse().ok()?, state, place: SocketPlace::Unix(path), queued: 0 })
}

/// /proc/PID/syscall: the number of the call and its arguments; `None` for a thread that runs, or is in no
/// call.
pub fn system_call(text: &str) -> Option<(i64, [u64; 6])> {
    let mut words = text.split_ascii_whitespace();
    let number: i64 = words.next()?.parse().ok()?;
    let mut arguments = [0; 6];
    for argument in &mut arguments {
        *argument = u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok()?;
    }
    (number >= 0).then_some((number, arguments))
}

/// /proc/PID/syscall: where the stack of the thread is.
pub fn stack_pointer(text: &str) -> Option<u64> {
    let word = text.split_ascii_whitespace().rev().nth(1)?;
    u64::from_str_radix(word.strip_prefix("0x")?, 16).ok()
}

/// /proc/PID/stack: the functions, innermost first.
pub fn kernel_stack(text: &str) -> Vec<&str> {
    let function = |line| {
        let (_, function) = str::split_once(line, "] ")?;
        Some(function.split(['+', ' ']).next().unwrap_or(function))
    };
    text.lines().filter_map(function).filter(|function| !function.is_empty()).collect()
}

/// A number of /proc/PID/status, such as `voluntary_ctxt_switches`.
pub fn status_number(text: &str, name: &str) -> Option<u64> {
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    value.split_ascii_whitespace().next()?.parse().ok()
}

/// /proc/PID/smaps_rollup, or /proc/PID/status where there is none.
pub fn memory(text: &str) -> ProcessMemory {
    let bytes = |name| status_number(text, name).map(|kib| kib.saturating_mul(1024));
    let private = bytes("Private_Clean").zip(bytes("Private_Dirty"));
    ProcessMemory {
        resident_bytes: bytes("Rss").or_else(|| bytes("VmRSS")).unwrap_or(0),
        proportional_bytes: bytes("Pss"),
        private_bytes: private.map(|(clean, dirty)| clean.saturating_add(dirty)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_of_the_kernel_is_told_apart_and_broken_text_is_left_out() {
        assert!(
            stat("2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 1 0")
                .expect("one")
                .0
                .is_of_kernel
        );
        for broken in ["", "42", ")(", "42 (x)", "42 (x) S", "x (x) S 1 7 7"] {
            assert!(stat(broken).is_none(), "{broken:?}");
        }
    }

    #[test]
    fn links_say_what_a_descriptor_is() {
        assert_eq!(descriptor("socket:[123]"), DescriptorKind::Socket(123));
        assert_eq!(descriptor("anon_inode:[eventpoll]"), DescriptorKind::Epoll);
        assert_eq!(descriptor("anon_inode:inotify"), DescriptorKind::Anonymous("inotify".to_owned()));
        assert_eq!(descriptor("/tmp/socket:[123]"), DescriptorKind::File);
    }

    #[test]
    fn an_epoll_set_lists_what_it_watches() {
        let text = "pos:\t0\nflags:\t02000002\nmnt_id:\t16\nino:\t1038\n\
                    tfd:       11 events: 8000201d data:                0  pos:0 ino:32a0c sdev:9\n\
                    tfd:        5 events:       19 data:               7\n";
        let watches = epoll(text);
        assert_eq!((watches[0].descriptor, watches[0].inode), (11, Some(0x32a0c)));
        assert!(watches[0].is_edge_triggered() && watches[0].waits_to_write());
        assert_eq!((watches[1].descriptor, watches[1].inode), (5, None));
        assert!(!watches[1].is_edge_triggered() && !watches[1].waits_to_write());
        assert!(sends_signals("flags:\t02024002\n") && !sends_signals(text));
        let writable = ["0100000", "0100001", "02102", "010000000"].map(|flags| format!("flags:\t{flags}\n"));
        assert_eq!(writable.map(|text| is_writable(&text)), [false, true, true, false]);
    }

    #[cfg(target_endian = "little")]
    #[test]
    fn sockets_have_address_state_and_queue() {
        let text = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n\
            \x20  0: 0100007F:1F90 00000000:0000 0A 00000000:00000003 00:00000000 0 0 0 777 1 0\n\
            \x20  1: 0000000000000000FFFF00000100007F:0016 0000000000000000FFFF00000100007F:D431 01 \
            00000000:00000000 02:000 0 0 0 778 2 0\n  2: broken\n";
        let sockets = tcp_sockets(text);
        assert_eq!(sockets.len(), 2);
        assert_eq!((sockets[0].inode, sockets[0].state, sockets[0].queued), (777, SocketState::Listening, 3));
        let loopback = IpAddr::from([127, 0, 0, 1]);
        assert_eq!(sockets[0].place, SocketPlace::Tcp { address: loopback, port: 8080, peer_port: 0 });
        assert_eq!(sockets[1].place, SocketPlace::Tcp { address: loopback, port: 22, peer_port: 0xD431 });
        assert_eq!(sockets[1].state, SocketState::Connected);
        let text = "Num       RefCount Protocol Flags    Type St Inode Path\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 19 /run/with space/php.sock\n\
            0000000000000000: 00000003 00000000 00000000 0001 03 20\n";
        let sockets = unix_sockets(text);
        assert_eq!(sockets[0].place, SocketPlace::Unix("/run/with space/php.sock".to_owned()));
        assert_eq!((sockets[0].state, sockets[1].state), (SocketState::Listening, SocketState::Connected));
    }

    #[test]
    fn calls_and_stacks_are_read() {
        let (number, arguments) =
            system_call("281 0x9 0x55 0x200 0xc8 0x0 0x0 0x7ffc 0x55bb\n").expect("a call");
        assert_eq!((number, arguments[0], arguments[3]), (281, 9, 200));
        assert_eq!(stack_pointer("281 0x9 0x55 0x200 0xc8 0x0 0x0 0x7ffc 0x55bb\n"), Some(0x7ffc));
        assert_eq!(stack_pointer("running\n"), None);
        assert_eq!(system_call("running\n"), None);
        assert_eq!(system_call("-1 0x7ffc 0x55bb\n"), None);
        let stack = "[<0>] inet_csk_accept+0x1f0/0x2a0\n[<0>] do_accept+0x10/0x20\n[<0>] 0xffffffff\n";
        assert_eq!(kernel_stack(stack), ["inet_csk_accept", "do_accept", "0xffffffff"]);
        let text = "Rss:  1000 kB\nPss:   400 kB\nPrivate_Clean:   10 kB\nPrivate_Dirty:  20 kB\n";
        let memory = memory(text);
        assert_eq!((memory.resident_bytes, memory.private_bytes), (1_024_000, Some(30 << 10)));
    }
}

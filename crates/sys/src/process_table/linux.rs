//! Linux: proc(5). The wait of a thread comes from its system call, its kernel stack, or its wait channel.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use rustix::net::{RecvFlags, SendFlags};

use super::sock_diag::{self, IpFamily};
use super::{
    Descriptor, EpollWatch, ProcessEntry, ProcessMemory, SocketEntry, ThreadUse, ThreadWait, WaitCall,
    WaitSource, is_gone, proc_text,
};

/// Most files of /proc are shorter.
const TEXT_BYTES: usize = 4096;
/// No line of a table of /proc/PID/net is longer: one of unix(7) has a path of 108 bytes, each of which may
/// be printed as four.
const LINE_BYTES: usize = 1024;
/// So many bytes of a link in /proc/PID/fd identify its object. Those to files are longer, and begin with a
/// path.
const LINK_BYTES: usize = 64;

pub(super) fn processes() -> io::Result<Vec<ProcessEntry>> {
    let entries = fs::read_dir("/proc").map_err(no_proc)?;
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let found: Vec<ProcessEntry> = numbers.filter_map(|pid| process(pid).ok()).collect();
    if found.is_empty() { Err(no_proc(io::ErrorKind::NotFound.into())) } else { Ok(found) }
}

/// As much of a folder is read by one call.
const NAMES_BYTES: usize = 32 << 10;

pub(super) fn count() -> io::Result<u64> {
    use rustix::fs::{CWD, Mode, OFlags, RawDir, openat};

    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = openat(CWD, c"/proc", flags, Mode::empty())?;
    let mut names = [std::mem::MaybeUninit::<u8>::uninit(); NAMES_BYTES];
    let (mut folder, mut count) = (RawDir::new(folder, &mut names), 0);
    while let Some(entry) = folder.next() {
        let is_process = entry?.file_name().to_bytes().first().is_some_and(u8::is_ascii_digit);
        count += u64::from(is_process);
    }
    Ok(count)
}

/// A missing /proc is another error than a process that has ended.
fn no_proc(error: io::Error) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, format!("/proc shows no process ({error}); mount it"))
}

pub(super) fn process(pid: u32) -> io::Result<ProcessEntry> {
    let text = text(format!("/proc/{pid}/stat"))?;
    proc_text::stat(&text).map(|(process, _)| process).ok_or_else(|| unreadable("stat"))
}

pub(super) fn program(pid: u32) -> io::Result<String> {
    Ok(fs::read_link(format!("/proc/{pid}/exe"))?.to_string_lossy().into_owned())
}

pub(super) fn command(pid: u32) -> io::Result<Vec<String>> {
    let text = text(format!("/proc/{pid}/cmdline"))?;
    Ok(text.trim_end_matches('\0').split('\0').map(str::to_owned).collect())
}

pub(super) fn descriptors(pid: u32) -> io::Result<Vec<Descriptor>> {
    let folder = fs::File::open(format!("/proc/{pid}/fd"))?;
    let mut link = [0; LINK_BYTES];
    let mut found = Vec::new();
    for entry in rustix::fs::Dir::read_from(&folder)? {
        let entry = entry?;
        let Ok(number) = entry.file_name().to_string_lossy().parse() else { continue };
        match rustix::fs::readlinkat_raw(&folder, entry.file_name(), &mut link[..]) {
            Ok(length) => {
                let kind = proc_text::descriptor(&String::from_utf8_lossy(&link[..length]));
                found.push(Descriptor { number, kind });
            }
            // The others are hidden from this user as well.
            Err(rustix::io::Errno::ACCESS) => break,
            // A descriptor that is closed meanwhile is left out.
            Err(_) => {}
        }
    }
    Ok(found)
}

pub(super) fn epoll_watches(pid: u32, descriptor: i32) -> io::Result<Vec<EpollWatch>> {
    Ok(proc_text::epoll(&text(format!("/proc/{pid}/fdinfo/{descriptor}"))?))
}

pub(super) fn sends_signals(pid: u32, descriptor: i32) -> io::Result<bool> {
    Ok(proc_text::sends_signals(&text(format!("/proc/{pid}/fdinfo/{descriptor}"))?))
}

pub(super) fn sockets(pid: u32) -> io::Result<Vec<SocketEntry>> {
    // A query is about the network of the process that sends it; a kernel or a container may refuse it.
    let namespace = network_namespace(pid).ok();
    let is_ours = namespace.is_some() && namespace == network_namespace(std::process::id()).ok();
    let mut sockets = match is_ours.then(queried_tcp_sockets) {
        Some(Ok(sockets)) => sockets,
        _ => printed_tcp_sockets(pid)?,
    };
    // A kernel may be without unix(7).
    let unix = lines(&format!("/proc/{pid}/net/unix")).unwrap_or_default();
    sockets.extend(proc_text::unix_sockets(&unix));
    Ok(sockets)
}

/// The sockets of TCP in the network of a process, as proc(5) prints them.
fn printed_tcp_sockets(pid: u32) -> io::Result<Vec<SocketEntry>> {
    let mut sockets = proc_text::tcp_sockets(&lines(&format!("/proc/{pid}/net/tcp"))?);
    // A kernel may be without IPv6.
    let version_6 = lines(&format!("/proc/{pid}/net/tcp6")).unwrap_or_default();
    sockets.extend(proc_text::tcp_sockets(&version_6));
    Ok(sockets)
}

/// Those in the network of this process, by sock_diag(7).
fn queried_tcp_sockets() -> io::Result<Vec<SocketEntry>> {
    let kernel = sock_diag::open()?;
    let mut datagram = vec![0; sock_diag::DATAGRAM_BYTES];
    let mut sockets = Vec::new();
    for family in [IpFamily::V4, IpFamily::V6] {
        rustix::net::send(&kernel, &sock_diag::query(family), SendFlags::empty())?;
        // It ends, because the kernel goes through its table once.
        loop {
            let (length, _) = rustix::net::recv(&kernel, &mut datagram[..], RecvFlags::empty())?;
            let answer = sock_diag::answer(&datagram[..length])?;
            sockets.extend(answer.sockets);
            if answer.is_last {
                break;
            }
        }
    }
    Ok(sockets)
}

pub(super) fn network_namespace(pid: u32) -> io::Result<u64> {
    let link = fs::read_link(format!("/proc/{pid}/ns/net"))?;
    let link = link.to_string_lossy();
    let number = link.strip_prefix("net:[").and_then(|link| link.strip_suffix(']')?.parse().ok());
    number.ok_or_else(|| unreadable("ns/net"))
}

pub(super) fn memory(pid: u32, is_shared_known: bool) -> io::Result<ProcessMemory> {
    if is_shared_known && let Ok(text) = text(format!("/proc/{pid}/smaps_rollup")) {
        return Ok(proc_text::memory(&text));
    }
    Ok(proc_text::memory(&text(format!("/proc/{pid}/status"))?))
}

pub(super) fn threads(pid: u32) -> io::Result<Vec<u32>> {
    let entries = fs::read_dir(format!("/proc/{pid}/task"))?;
    Ok(entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect())
}

pub(super) fn thread_use(pid: u32, thread: u32) -> io::Result<ThreadUse> {
    let folder = format!("/proc/{pid}/task/{thread}");
    let stat = text(format!("{folder}/stat"))?;
    let (process, ticks) = proc_text::stat(&stat).ok_or_else(|| unreadable("stat"))?;
    let status = text(format!("{folder}/status"))?;
    let number = |name| proc_text::status_number(&status, name).unwrap_or(0);
    // To the nanosecond, where the kernel counts that.
    let ran = text(format!("{folder}/schedstat")).ok();
    let ran = ran.and_then(|line| line.split_ascii_whitespace().next()?.parse::<u64>().ok());
    let of_ticks = || ticks as f64 / rustix::param::clock_ticks_per_second() as f64;
    Ok(ThreadUse {
        name: process.name,
        cpu_seconds: ran.filter(|ns| *ns > 0).map_or_else(of_ticks, |ns| ns as f64 / 1e9),
        waits: number("voluntary_ctxt_switches"),
        preemptions: number("nonvoluntary_ctxt_switches"),
    })
}

pub(super) fn thread_wait(pid: u32, thread: u32) -> io::Result<ThreadWait> {
    let folder = format!("/proc/{pid}/task/{thread}");
    let running =
        |source| ThreadWait { call: WaitCall::Running, descriptor: None, descriptors: None, source };
    // Programs for another machine, such as those of 32 bits, have other numbers: the function's name shows
    // which call it is, and the number shows more than the function.
    match text(format!("{folder}/syscall")) {
        Ok(line) if line.starts_with("running") => return Ok(running(WaitSource::SystemCall)),
        Ok(line) => {
            // The stack of a program of 64 bits is above the first 4 GiB, almost always.
            if let Some((number, arguments)) = proc_text::system_call(&line)
                && !(is_stack_low(&line) && is_of_32_bits(pid))
            {
                return Ok(of_call(number, arguments));
            }
        }
        Err(error) if is_gone(&error) => return Err(error),
        Err(_) => {}
    }
    if let Ok(stack) = text(format!("{folder}/stack"))
        && let Some(wait) = of_functions(proc_text::kernel_stack(&stack), WaitSource::KernelStack)
    {
        return Ok(wait);
    }
    let channel = text(format!("{folder}/wchan"))?;
    if matches!(channel.trim(), "" | "0") {
        return match is_running(&folder) {
            true => Ok(running(WaitSource::WaitChannel)),
            false => Err(io::Error::new(io::ErrorKind::PermissionDenied, "its wait channel is hidden")),
        };
    }
    of_functions([channel.trim()], WaitSource::WaitChannel).ok_or_else(|| unreadable("wchan"))
}

fn is_running(folder: &str) -> bool {
    let text = text(format!("{folder}/stat")).ok();
    text.and_then(|text| proc_text::stat(&text)).is_some_and(|(process, _)| process.state == 'R')
}

/// Whether the thread in /proc/PID/syscall may have a stack of 32 bits.
fn is_stack_low(line: &str) -> bool {
    proc_text::stack_pointer(line).is_none_or(|stack| stack <= u64::from(u32::MAX))
}

/// Whether a 64-bit kernel runs a program of 32 bits, from the class in its ELF header.
fn is_of_32_bits(pid: u32) -> bool {
    let mut start = [0; 5];
    let is_read = cfg!(target_pointer_width = "64")
        && fs::File::open(format!("/proc/{pid}/exe"))
            .is_ok_and(|mut file| file.read_exact(&mut start).is_ok());
    is_read && start == *b"\x7fELF\x01"
}

pub(super) fn hides_others() -> bool {
    let mounts = text("/proc/mounts").unwrap_or_default();
    // The last one covers those before.
    let proc = mounts.lines().rfind(|line| line.split(' ').nth(1) == Some("/proc"));
    proc.is_some_and(|line| line.contains("hidepid=") && !line.contains("hidepid=0"))
}

fn unreadable(file: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("/proc has a {file} that proc(5) does not describe"))
}

/// A table of /proc/PID/net. The kernel gives it a page at a time, in whole lines, and walks all connections
/// of the machine before it reports the end: a page with room for another line is the last.
fn lines(path: &str) -> io::Result<String> {
    let mut file = fs::File::open(path)?;
    let (mut bytes, mut page) = (Vec::new(), [0; TEXT_BYTES]);
    loop {
        let read = file.read(&mut page)?;
        bytes.extend_from_slice(&page[..read]);
        if read < TEXT_BYTES - LINE_BYTES {
            return Ok(String::from_utf8_lossy(&bytes).into_owned());
        }
    }
}

/// A file of /proc. Its size is unknown before it is read, and most are short: one read takes all of it.
fn text(path: impl AsRef<Path>) -> io::Result<String> {
    let mut bytes = Vec::with_capacity(TEXT_BYTES);
    fs::File::open(path)?.take(u64::MAX).read_to_end(&mut bytes)?;
    Ok(String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

/// The meaning of a call's arguments.
#[derive(Clone, Copy)]
enum Arguments {
    Nothing,
    /// The first is a descriptor.
    Descriptor,
    /// The first is one more than the highest descriptor.
    Highest,
    /// The second is a number of descriptors.
    Count,
}

/// The wait of a thread in that call.
fn of_call(number: i64, arguments: [u64; 6]) -> ThreadWait {
    let (call, meaning) =
        named(number).unwrap_or((WaitCall::Other(format!("call {number}")), Arguments::Nothing));
    let descriptor = || i32::try_from(arguments[0] as u32).ok();
    ThreadWait {
        call,
        descriptor: matches!(meaning, Arguments::Descriptor).then(descriptor).flatten(),
        descriptors: match meaning {
            Arguments::Highest => Some(arguments[0] & 0xffff_ffff),
            Arguments::Count => Some(arguments[1] & 0xffff_ffff),
            _ => None,
        },
        source: WaitSource::SystemCall,
    }
}

fn named(number: i64) -> Option<(WaitCall, Arguments)> {
    macro_rules! calls {
        ($($call:ident $arguments:ident: $($name:ident)*;)*) => {
            $($(if number == i64::from(libc::$name) {
                return Some((WaitCall::$call, Arguments::$arguments));
            })*)*
        };
    }
    calls! {
        Accept Descriptor: SYS_accept SYS_accept4;
        Epoll Descriptor: SYS_epoll_pwait SYS_epoll_pwait2;
        Poll Count: SYS_ppoll;
        Select Highest: SYS_pselect6;
        Ring Descriptor: SYS_io_uring_enter;
        Signal Nothing: SYS_rt_sigtimedwait SYS_rt_sigsuspend;
        Read Descriptor: SYS_read SYS_readv SYS_recvfrom SYS_recvmsg SYS_recvmmsg;
        Write Descriptor: SYS_write SYS_writev SYS_sendto SYS_sendmsg SYS_sendmmsg SYS_sendfile SYS_splice;
        Futex Nothing: SYS_futex SYS_futex_waitv;
        Lock Nothing: SYS_flock SYS_fcntl SYS_semop SYS_semtimedop;
        Sleep Nothing: SYS_nanosleep SYS_clock_nanosleep;
        Child Nothing: SYS_wait4 SYS_waitid;
    }
    // Newer machines have only the general form of these.
    #[cfg(any(target_arch = "x86_64", target_arch = "x86", target_arch = "arm"))]
    calls! {
        Epoll Descriptor: SYS_epoll_wait;
        Poll Count: SYS_poll;
        Select Highest: SYS_select;
        Signal Nothing: SYS_pause;
    }
    None
}

/// Functions of the kernel in which a thread sleeps, and the call that they belong to; a name may have more
/// behind it, such as `.isra.0`.
const FUNCTIONS: &[(&str, WaitCall)] = &[
    ("inet_csk_accept", WaitCall::Accept),
    ("inet_csk_wait_for_connect", WaitCall::Accept),
    ("unix_accept", WaitCall::Accept),
    ("do_accept", WaitCall::Accept),
    ("ep_poll", WaitCall::Epoll),
    ("do_epoll_wait", WaitCall::Epoll),
    ("do_select", WaitCall::Select),
    ("core_sys_select", WaitCall::Select),
    ("do_sys_poll", WaitCall::Poll),
    ("do_poll", WaitCall::Poll),
    ("io_cqring_wait", WaitCall::Ring),
    ("do_sigtimedwait", WaitCall::Signal),
    ("sigsuspend", WaitCall::Signal),
    ("sk_wait_data", WaitCall::Read),
    ("tcp_recvmsg", WaitCall::Read),
    ("unix_stream_read_generic", WaitCall::Read),
    ("wait_woken", WaitCall::Read),
    ("pipe_read", WaitCall::Read),
    ("anon_pipe_read", WaitCall::Read),
    ("sk_stream_wait_memory", WaitCall::Write),
    ("pipe_write", WaitCall::Write),
    ("futex_wait", WaitCall::Futex),
    ("futex_do_wait", WaitCall::Futex),
    ("do_semtimedop", WaitCall::Lock),
    ("locks_lock_inode_wait", WaitCall::Lock),
    ("do_nanosleep", WaitCall::Sleep),
    ("hrtimer_nanosleep", WaitCall::Sleep),
    ("do_wait", WaitCall::Child),
];

/// The wait of a thread with those functions, innermost first.
fn of_functions<'a>(functions: impl IntoIterator<Item = &'a str>, source: WaitSource) -> Option<ThreadWait> {
    let mut innermost = None;
    for function in functions {
        let known = FUNCTIONS.iter().find(|(name, _)| {
            function.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '_']))
        });
        if let Some((_, call)) = known {
            return Some(ThreadWait { call: call.clone(), descriptor: None, descriptors: None, source });
        }
        innermost = innermost.or(Some(function));
    }
    let call = WaitCall::Other(innermost?.to_owned());
    Some(ThreadWait { call, descriptor: None, descriptors: None, source })
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::time::{Duration, Instant};

    use super::super::SocketPlace;
    use super::*;

    /// Those of TCP that are at one of these ports, or connected to one.
    fn near(ports: &[u16], sockets: Vec<SocketEntry>) -> Vec<String> {
        let is_near = |entry: &SocketEntry| match entry.place {
            SocketPlace::Tcp { port, peer_port, .. } => ports.contains(&port) || ports.contains(&peer_port),
            SocketPlace::Unix(_) => false,
        };
        let mut near: Vec<String> =
            sockets.into_iter().filter(is_near).map(|entry| format!("{entry:?}")).collect();
        near.sort();
        near
    }

    #[test]
    fn the_kernel_answers_what_it_prints() {
        if let Err(error) = queried_tcp_sockets() {
            println!("skipped: this kernel does not answer sock_diag(7): {error}");
            return;
        }
        // A system may be without IPv6. Where it has it, this one takes connections over IPv4 too.
        let addresses = ["127.0.0.1:0", "127.0.0.1:0", "[::]:0"];
        let listeners: Vec<TcpListener> =
            addresses.iter().filter_map(|address| TcpListener::bind(address).ok()).collect();
        let ports: Vec<u16> =
            listeners.iter().map(|listener| listener.local_addr().expect("an address").port()).collect();
        let connect = |port: &u16| TcpStream::connect(("127.0.0.1", *port)).expect("a connection");
        let mut clients: Vec<TcpStream> = ports.iter().map(connect).collect();
        // The first connection has ended, the second waits to be accepted, and the last one is open.
        drop(listeners[0].accept().expect("a connection"));
        drop(clients.remove(0));
        let _accepted = listeners[listeners.len() - 1].accept().expect("a connection");
        let printed = || near(&ports, printed_tcp_sockets(std::process::id()).expect("sockets"));
        let answered = || near(&ports, queried_tcp_sockets().expect("sockets"));
        assert!(printed().len() >= listeners.len(), "{:#?}", printed());
        // A last segment may still be on its way.
        let deadline = Instant::now() + Duration::from_secs(60);
        while answered() != printed() {
            assert!(Instant::now() < deadline, "{:#?} and {:#?}", answered(), printed());
        }
    }

    #[test]
    fn the_call_says_for_what_a_thread_waits() {
        let wait = of_call(libc::SYS_ppoll, [1, 12, 0, 0, 0, 0]);
        assert_eq!((wait.call, wait.descriptors, wait.descriptor), (WaitCall::Poll, Some(12), None));
        let wait = of_call(libc::SYS_accept4, [7, 0, 0, 0, 0, 0]);
        assert_eq!((wait.call, wait.descriptor), (WaitCall::Accept, Some(7)));
        assert_eq!(of_call(9999, [0; 6]).call, WaitCall::Other("call 9999".to_owned()));
    }

    #[test]
    fn without_the_call_the_kernels_functions_say_it() {
        let stack = ["schedule", "do_sys_poll", "__x64_sys_poll"];
        let wait = of_functions(stack, WaitSource::KernelStack).expect("a wait");
        assert_eq!(wait.call, WaitCall::Poll);
        let wait = of_functions(["do_sigtimedwait.isra.0"], WaitSource::WaitChannel).expect("a wait");
        assert_eq!(wait.call, WaitCall::Signal);
        // A function that begins alike is another one.
        let wait = of_functions(["do_pollute"], WaitSource::WaitChannel).expect("a wait");
        assert_eq!(wait.call, WaitCall::Other("do_pollute".to_owned()));
    }
}

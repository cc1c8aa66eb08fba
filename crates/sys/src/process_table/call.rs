//! The wait of a thread, from its system call, its kernel stack, or its wait channel.

use super::entry::{ThreadWait, WaitCall, WaitSource};

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
pub(super) fn of_call(number: i64, arguments: [u64; 6]) -> ThreadWait {
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
pub(super) fn of_functions<'a>(
    functions: impl IntoIterator<Item = &'a str>,
    source: WaitSource,
) -> Option<ThreadWait> {
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
    use super::*;

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

//! Queued real-time signals, the event interface of Linux 2.4: every change of a descriptor sends one signal
//! that carries its number, and sigtimedwait(2) takes one after the other. See fcntl(2), `F_SETSIG`.
//!
//! Difficulties: a signal reports a change, not a state, so the state of a descriptor that is added or
//! changed is read once with poll(2). The queue is bounded by `RLIMIT_SIGPENDING`; on overflow the kernel
//! sends one SIGIO, after which all descriptors are checked. Signals outlive their descriptor, so `remove`
//! empties the queue; otherwise they could be attributed to the next descriptor with that number. eventfd(2)
//! sends no signals.

use std::cell::Cell;
use std::io;
use std::marker::PhantomData;
use std::mem::{self, MaybeUninit};
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::ptr;
use std::time::Duration;

use super::poll::poll;
use super::{
    BROKEN, ByDescriptor, EVENTS_MAX, Event, Interest, Poller, event_from_revents, narrow, poll_events,
};
use crate::error::checked;

/// From <asm-generic/fcntl.h>; the libc crate has them for one system only.
const F_SETSIG: libc::c_int = 10;
const F_SETOWN_EX: libc::c_int = 15;
const F_OWNER_TID: libc::c_int = 0;

/// No queue is longer in practice; emptying one must end even while others fill it.
const QUEUE_MAX: usize = 1 << 20;

/// `struct f_owner_ex`.
#[repr(C)]
struct Owner {
    kind: libc::c_int,
    thread: libc::pid_t,
}

/// `siginfo_t` of a signal about a descriptor.
#[repr(C)]
#[derive(Clone, Copy)]
struct About {
    signal: libc::c_int,
    error: libc::c_int,
    code: libc::c_int,
    band: libc::c_long,
    descriptor: libc::c_int,
}

thread_local! {
    static TAKEN: Cell<bool> = const { Cell::new(false) };
}

/// Queued real-time signals. There is one queue per thread, so there can be one of these per thread, and it
/// stays there. The signals, SIGRTMIN and SIGIO, remain blocked in that thread when it is dropped, because a
/// late signal would kill the process.
pub struct SignalIo {
    signals: libc::sigset_t,
    thread: libc::pid_t,
    watched: ByDescriptor<Watched>,
    /// Descriptors with something to report.
    news: Vec<RawFd>,
    /// Signals were lost.
    lost: bool,
    of_this_thread: PhantomData<*const ()>,
}

#[derive(Debug)]
struct Watched {
    token: u32,
    interest: Interest,
    /// Bits of poll(2) to report.
    bits: libc::c_short,
}

impl Poller for SignalIo {
    const EDGE: bool = true;

    fn new() -> io::Result<SignalIo> {
        if TAKEN.get() {
            return Err(io::Error::other("this thread's queue of signals is in use already"));
        }
        let signals = block()?;
        TAKEN.set(true);
        Ok(SignalIo {
            signals,
            thread: rustix::thread::gettid().as_raw_nonzero().get(),
            watched: ByDescriptor::new(),
            news: Vec::new(),
            lost: false,
            of_this_thread: PhantomData,
        })
    }

    fn add(&mut self, descriptor: BorrowedFd<'_>, token: usize, interest: Interest) -> io::Result<()> {
        let number = descriptor.as_raw_fd();
        self.watched.insert(number, Watched { token: narrow(token)?, interest, bits: 0 })?;
        let begun = send_signals(number, self.thread).and_then(|()| self.ask(number, interest));
        if begun.is_err() {
            self.watched.remove(number)?;
        }
        begun
    }

    fn change(&mut self, descriptor: BorrowedFd<'_>, token: usize, interest: Interest) -> io::Result<()> {
        let number = descriptor.as_raw_fd();
        let watched = self.watched.known(number)?;
        *watched = Watched { token: narrow(token)?, interest, bits: 0 };
        self.ask(number, interest)
    }

    fn remove(&mut self, descriptor: BorrowedFd<'_>, _token: usize) -> io::Result<()> {
        let number = descriptor.as_raw_fd();
        self.watched.known(number)?;
        set_async(number, false)?;
        for _ in 0..QUEUE_MAX {
            if !self.take(Some(Duration::ZERO))? {
                break;
            }
        }
        self.watched.remove(number)?;
        Ok(())
    }

    fn wait(&mut self, events: &mut Vec<Event>, timeout: Option<Duration>) -> io::Result<()> {
        events.clear();
        let mut timeout = if self.news.is_empty() { timeout } else { Some(Duration::ZERO) };
        for _ in 0..EVENTS_MAX {
            if !self.take(timeout)? {
                break;
            }
            timeout = Some(Duration::ZERO);
        }
        if mem::take(&mut self.lost) {
            self.ask_all()?;
        }
        for number in self.news.drain(..) {
            let Some(watched) = self.watched.get_mut(number) else { continue };
            let bits = mem::take(&mut watched.bits);
            if wanted(watched.interest, bits) {
                events
                    .push(event_from_revents(watched.token, bits & (poll_events(watched.interest) | BROKEN)));
            }
        }
        Ok(())
    }
}

impl SignalIo {
    /// Takes one signal; whether there was one.
    fn take(&mut self, timeout: Option<Duration>) -> io::Result<bool> {
        match next_signal(&self.signals, timeout) {
            Ok(about) if about.signal == libc::SIGIO => self.lost = true,
            // Codes above zero are the kernel's; other signals carry no information.
            Ok(about) if about.code > 0 => self.note(about.descriptor, about.band as libc::c_short),
            Ok(_) => {}
            Err(error) => {
                let is_none = matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted);
                return if is_none { Ok(false) } else { Err(error) };
            }
        }
        Ok(true)
    }

    fn note(&mut self, number: RawFd, bits: libc::c_short) {
        let Some(watched) = self.watched.get_mut(number) else { return };
        if watched.bits == 0 {
            self.news.push(number);
        }
        watched.bits |= bits;
    }

    /// Whether it is ready already, which no signal reports.
    fn ask(&mut self, number: RawFd, interest: Interest) -> io::Result<()> {
        if interest != Interest::Nothing {
            self.ask_each(&mut [entry(number, interest)])?;
        }
        Ok(())
    }

    fn ask_all(&mut self) -> io::Result<()> {
        let waiting = self.watched.iter().filter(|(_, watched)| watched.interest != Interest::Nothing);
        let mut entries: Vec<_> = waiting.map(|(number, watched)| entry(number, watched.interest)).collect();
        self.ask_each(&mut entries)
    }

    fn ask_each(&mut self, entries: &mut [libc::pollfd]) -> io::Result<()> {
        poll(entries, Some(Duration::ZERO))?;
        for entry in entries {
            if entry.revents != 0 {
                self.note(entry.fd, entry.revents);
            }
        }
        Ok(())
    }
}

impl Drop for SignalIo {
    fn drop(&mut self) {
        for (number, _) in self.watched.iter() {
            // A descriptor that was closed without `remove` sends nothing either.
            let _ = set_async(number, false);
        }
        for _ in 0..QUEUE_MAX {
            if next_signal(&self.signals, Some(Duration::ZERO)).is_err() {
                break;
            }
        }
        TAKEN.set(false);
    }
}

impl std::fmt::Debug for SignalIo {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("SignalIo")
            .field("thread", &self.thread)
            .field("watched", &self.watched)
            .finish()
    }
}

fn wanted(interest: Interest, bits: libc::c_short) -> bool {
    interest != Interest::Nothing && bits & (poll_events(interest) | BROKEN) != 0
}

fn entry(number: RawFd, interest: Interest) -> libc::pollfd {
    libc::pollfd { fd: number, events: poll_events(interest), revents: 0 }
}

/// Blocks both signals in this thread and returns their set.
fn block() -> io::Result<libc::sigset_t> {
    let mut set = MaybeUninit::uninit();
    // SAFETY: sigemptyset writes the whole set, the others read and change it, and nothing else is touched.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), libc::SIGRTMIN());
        libc::sigaddset(set.as_mut_ptr(), libc::SIGIO);
        match libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), ptr::null_mut()) {
            0 => Ok(set.assume_init()),
            number => Err(io::Error::from_raw_os_error(number)),
        }
    }
}

/// Has the descriptor send its signals to the thread.
fn send_signals(number: RawFd, thread: libc::pid_t) -> io::Result<()> {
    let owner = Owner { kind: F_OWNER_TID, thread };
    // SAFETY: F_SETSIG takes an int, F_SETOWN_EX a `struct f_owner_ex` that lives as long as the call.
    unsafe {
        checked(libc::fcntl(number, F_SETSIG, libc::SIGRTMIN()))?;
        checked(libc::fcntl(number, F_SETOWN_EX, &raw const owner))?;
    }
    set_async(number, true)
}

fn set_async(number: RawFd, on: bool) -> io::Result<()> {
    // SAFETY: F_GETFL takes nothing and F_SETFL an int.
    unsafe {
        let flags = checked(libc::fcntl(number, libc::F_GETFL))?;
        let flags = if on { flags | libc::O_ASYNC } else { flags & !libc::O_ASYNC };
        checked(libc::fcntl(number, libc::F_SETFL, flags))?;
    }
    Ok(())
}

/// One sigtimedwait(2).
fn next_signal(signals: &libc::sigset_t, timeout: Option<Duration>) -> io::Result<About> {
    let time = timeout.map(|timeout| libc::timespec {
        tv_sec: timeout.as_secs().try_into().unwrap_or(libc::time_t::MAX),
        tv_nsec: timeout.subsec_nanos() as _,
    });
    let time = time.as_ref().map_or(ptr::null(), ptr::from_ref);
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    // SAFETY: all three live as long as the call. The answer is larger than `About`, whose fields lie where
    // the kernel puts them for these signals (<asm-generic/siginfo.h>), and was all zeroes before.
    unsafe {
        checked(libc::sigtimedwait(signals, info.as_mut_ptr(), time))?;
        Ok(*info.as_ptr().cast::<About>())
    }
}

//! Processes by fork(2), kill(2) and waitpid(2), their groups, and descriptors of processes that are polled
//! together.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::{Pid, Signal, WaitOptions};

/// The number of the parent: a system call with almost no work.
#[inline]
pub fn parent() -> i32 {
    Pid::as_raw(rustix::process::getppid())
}

/// Forked children that write one byte and then wait for their end.
///
/// They wait on a pipe whose other end only the parent holds, so they end by themselves when the parent ends
/// in any way.
#[derive(Debug)]
pub struct Family {
    hello_read: OwnedFd,
    hello_write: OwnedFd,
    lifeline_read: OwnedFd,
    lifeline_write: OwnedFd,
}

/// A child of a [`Family`].
#[derive(Debug)]
pub struct Child(Pid);

/// The first byte of a child that holds something, and of one that cannot.
const MADE: u8 = b'.';
const NOT_MADE: u8 = b'!';

impl Family {
    /// A family without children.
    ///
    /// # Errors
    /// Those of pipe(2).
    pub fn new() -> io::Result<Family> {
        let (hello_read, hello_write) = rustix::pipe::pipe()?;
        let (lifeline_read, lifeline_write) = rustix::pipe::pipe()?;
        Ok(Family { hello_read, hello_write, lifeline_read, lifeline_write })
    }

    /// Forks a child, and returns when its first byte has arrived; never when the child ends before it
    /// has written, for the pipe stays open here. The time-out of the trial ends that.
    ///
    /// # Errors
    /// Those of fork(2).
    #[inline]
    pub fn fork(&self) -> io::Result<Child> {
        // On the stack, which the child has, and not among the constants, whose page it would fault in.
        let hello = b'.';
        self.fork_with_reply(std::hint::black_box(&hello)).map(|(child, _)| child)
    }

    /// Like [`Family::fork`], with `byte` as the first byte: the child reads it from its parent's memory;
    /// returns the byte that arrived.
    ///
    /// # Errors
    /// Those of fork(2).
    // All our code that a child runs is in a section of its own, beside that for calls of shared libraries:
    // a child has one page fault for both, whatever else is linked.
    // SAFETY: nothing else is in this section, and it holds code as `.text` does.
    #[inline(never)]
    #[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".child"))]
    pub fn fork_with_reply(&self, byte: &u8) -> io::Result<(Child, u8)> {
        // SAFETY: trials have one thread when they fork, and the child calls nothing but write, close,
        // read and _exit, all of which are safe after fork (signal-safety(7)).
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => self.live(byte),
            pid => {
                let told = self.hear_hello()?;
                let pid = Pid::from_raw(pid).ok_or_else(|| io::Error::other("fork returned no process"))?;
                Ok((Child(pid), told))
            }
        }
    }

    /// Forks a child that makes something and then holds it, and returns once it has.
    ///
    /// # Errors
    /// Those of fork(2); those of `make` in the child.
    pub fn fork_to_hold<T>(&self, make: impl FnOnce() -> io::Result<T>) -> io::Result<Child> {
        let number = super::fork(|| match make() {
            Ok(_held) => self.live(&MADE),
            Err(error) => {
                // The parent reads the code once this byte has come.
                let _ = rustix::io::write(&self.hello_write, &[NOT_MADE]);
                error.raw_os_error().and_then(|number| u8::try_from(number).ok()).unwrap_or(super::PANICKED)
            }
        })?;
        let child = Child(pid(number).ok_or_else(|| io::Error::other("no process has that number"))?);
        if self.hear_hello()? == MADE {
            return Ok(child);
        }
        let ended = rustix::process::waitpid(Some(child.0), WaitOptions::empty())?;
        match ended.and_then(|(_, status)| status.exit_status()) {
            Some(number) if number != i32::from(super::PANICKED) => Err(io::Error::from_raw_os_error(number)),
            _ => Err(io::Error::other("the child could not make the objects that it is to hold")),
        }
    }

    /// The whole life of a child. It calls the C library, as programs do: where symbols are bound at their
    /// first use, every child of a dynamically linked program binds them anew, and that is part of its price.
    #[inline(always)]
    fn live(&self, hello: &u8) -> ! {
        let mut end = [0_u8; 1];
        // SAFETY: the descriptors are open, both bytes live as long as the calls, and the copies of the
        // descriptors are this child's own, for `_exit` runs no destructor. Holding the lifeline's end would
        // keep it open for every sibling.
        unsafe {
            libc::write(self.hello_write.as_raw_fd(), std::ptr::from_ref(hello).cast(), 1);
            libc::close(self.lifeline_write.as_raw_fd());
            libc::read(self.lifeline_read.as_raw_fd(), end.as_mut_ptr().cast(), 1);
            libc::_exit(0)
        }
    }

    #[inline]
    fn hear_hello(&self) -> io::Result<u8> {
        let mut byte = [0_u8; 1];
        loop {
            match rustix::io::read(self.hello_read.as_fd(), &mut byte) {
                Ok(1) => return Ok(byte[0]),
                Ok(_) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Child {
    /// The number of the process.
    pub fn number(&self) -> u32 {
        Pid::as_raw(Some(self.0)).unsigned_abs()
    }

    /// Kills the child with SIGTERM and waits for it.
    ///
    /// # Errors
    /// Those of kill(2) and waitpid(2); `Other` when it ended in any other way.
    #[inline]
    pub fn reap(self) -> io::Result<()> {
        rustix::process::kill_process(self.0, Signal::TERM)?;
        let ended = rustix::process::waitpid(Some(self.0), WaitOptions::empty())?;
        match ended {
            Some((pid, status)) if pid == self.0 && status.terminating_signal() == Some(libc::SIGTERM) => {
                Ok(())
            }
            _ => Err(io::Error::other("the child did not end by the signal it was sent")),
        }
    }

    /// Makes the child a member of the process group of that number, which is its own or that of another
    /// child.
    ///
    /// # Errors
    /// Those of setpgid(2).
    pub fn join_group(&self, leader: u32) -> io::Result<()> {
        Ok(rustix::process::setpgid(Some(self.0), pid(leader))?)
    }

    /// Kills the child and waits until it has ended; it is not reaped.
    ///
    /// # Errors
    /// Those of kill(2) and waitid(2).
    pub fn end(&self) -> io::Result<()> {
        rustix::process::kill_process(self.0, Signal::KILL)?;
        await_end(self.number())
    }
}

/// Starts the command in a process group of its own, so that the terminal's Ctrl-C does not reach it and
/// `kill_group` reaches all its descendants.
pub fn lead_group(command: &mut Command) {
    command.process_group(0);
}

/// Makes the command run on one processor, where the system can do that.
pub fn pin(command: &mut Command, cpu: u32) {
    // Otherwise the system chooses the processor.
    let pin = move || {
        let _ = crate::cpu::pin(cpu);
        Ok(())
    };
    // SAFETY: between fork and execve the closure only makes a system call.
    unsafe { command.pre_exec(pin) };
}

/// Kills every process of the group that `leader` was started to lead.
pub fn kill_group(leader: u32) {
    if let Some(leader) = pid(leader) {
        // An error means that the group has no process left.
        let _ = rustix::process::kill_process_group(leader, Signal::KILL);
    }
}

/// Sends signal 0 to every member of a process group: it reaches all of them, and changes none.
///
/// # Errors
/// Those of kill(2).
pub fn probe_group(leader: u32) -> io::Result<()> {
    let leader = pid(leader).ok_or(io::ErrorKind::InvalidInput)?;
    Ok(rustix::process::test_kill_process_group(leader)?)
}

/// Waits for the end of a child without reaping it, so that its number is not given to another process.
///
/// # Errors
/// Those of waitid(2): it is no child, or was reaped meanwhile. On OpenBSD unsupported.
pub fn await_end(child: u32) -> io::Result<()> {
    let child = pid(child).ok_or(io::ErrorKind::InvalidInput)?;
    #[cfg(target_os = "openbsd")]
    {
        let _ = child;
        Err(crate::Unsupported("waitid(2) of OpenBSD is not in the library that makes our calls").into())
    }
    #[cfg(not(target_os = "openbsd"))]
    loop {
        use rustix::process::{WaitId, WaitIdOptions, waitid};
        match waitid(WaitId::Pid(child), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
            Ok(_) => return Ok(()),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Gives up the terminal of this process, so that no program which it starts can wait for input from there.
pub fn leave_terminal() {
    /// `_IO('t', 113)` of `<sys/ttycom.h>`, which the library does not name for these systems.
    #[cfg(any(target_os = "netbsd", target_os = "openbsd"))]
    const LEAVE_TERMINAL: libc::c_ulong = 0x2000_7471;
    #[cfg(not(any(target_os = "netbsd", target_os = "openbsd")))]
    use libc::TIOCNOTTY as LEAVE_TERMINAL;
    if let Ok(terminal) = std::fs::File::open("/dev/tty") {
        // SAFETY: the call takes no argument, and the descriptor is open. An error means that there is none.
        let _ = unsafe { libc::ioctl(terminal.as_raw_fd(), LEAVE_TERMINAL as _) };
    }
}

/// Makes orphaned descendants of this process its children, so that no descendant can escape.
pub fn adopt_orphans() {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        // An old kernel lacks it; the process group and the lifelines still hold.
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    }
}

/// Looks at the children that are left, and pauses between them: together at most a second. A process of
/// another user, which cannot be killed, must not be waited for without end.
#[cfg(any(target_os = "linux", target_os = "android"))]
const KILL_LOOKS: u32 = 200;
#[cfg(any(target_os = "linux", target_os = "android"))]
const KILL_PAUSE: std::time::Duration = std::time::Duration::from_millis(5);

/// Kills every child and, after [`adopt_orphans`], whatever they leave behind, in other process groups and
/// sessions too; says whether there were any. Where orphans cannot be adopted this does nothing, and the
/// process group has to do.
pub fn kill_descendants() -> bool {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    for look in 0..KILL_LOOKS {
        while matches!(rustix::process::wait(WaitOptions::NOHANG), Ok(Some(_))) {}
        // Mostly there is no child, and no need to read all of /proc.
        if matches!(rustix::process::wait(WaitOptions::NOHANG), Err(rustix::io::Errno::CHILD)) {
            return look > 0;
        }
        for child in children() {
            let _ = rustix::process::kill_process(child, Signal::KILL);
        }
        std::thread::sleep(KILL_PAUSE);
    }
    cfg!(any(target_os = "linux", target_os = "android"))
}

/// The children of this process, those that have ended too.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn children() -> Vec<Pid> {
    let processes = crate::process_table::processes().unwrap_or_default();
    let own = processes.into_iter().filter(|process| process.parent == std::process::id());
    own.filter_map(|process| pid(process.pid)).collect()
}

/// Waits for every child that is left; they must have been killed before.
pub fn reap_orphans() {
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
            Ok(None) | Err(_) => return,
        }
    }
}

/// Makes the system kill this process when its parent ends, where it supports that.
pub fn die_with_parent() {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    }
}

/// The same for a parent of that number. False where the parent has ended before: then nothing would end this
/// process.
pub fn die_with(number: u32) -> bool {
    die_with_parent();
    parent().unsigned_abs() == number
}

/// Executes the command in place of this program. It returns where that fails. See execve(2).
pub fn replace_by(command: &mut Command) -> io::Error {
    command.exec()
}

/// Processes that are polled together, by a descriptor of each.
#[cfg(target_os = "linux")]
#[derive(Debug, Default)]
pub struct ProcessWatch {
    descriptors: Vec<OwnedFd>,
    polled: Vec<libc::pollfd>,
}

#[cfg(target_os = "linux")]
impl ProcessWatch {
    /// Of no process yet.
    pub fn new() -> ProcessWatch {
        ProcessWatch::default()
    }

    /// Adds a child.
    ///
    /// # Errors
    /// Those of pidfd_open(2).
    pub fn add(&mut self, child: &Child) -> io::Result<()> {
        let descriptor = rustix::process::pidfd_open(child.0, rustix::process::PidfdFlags::empty())?;
        self.polled.push(libc::pollfd { fd: descriptor.as_raw_fd(), events: libc::POLLIN, revents: 0 });
        self.descriptors.push(descriptor);
        Ok(())
    }

    /// How many have ended. Does not wait.
    ///
    /// # Errors
    /// Those of poll(2).
    #[inline]
    pub fn poll(&mut self) -> io::Result<usize> {
        // SAFETY: the array has so many elements, and its descriptors are open as long as `self`.
        let ended = unsafe { libc::poll(self.polled.as_mut_ptr(), self.polled.len() as libc::nfds_t, 0) };
        usize::try_from(ended).map_err(|_| io::Error::last_os_error())
    }
}

/// There is none on this system.
#[cfg(not(target_os = "linux"))]
#[derive(Debug, Default)]
pub struct ProcessWatch(());

#[cfg(not(target_os = "linux"))]
impl ProcessWatch {
    /// Of no process.
    pub fn new() -> ProcessWatch {
        ProcessWatch::default()
    }

    /// Unsupported.
    ///
    /// # Errors
    /// Always.
    pub fn add(&mut self, _child: &Child) -> io::Result<()> {
        Err(crate::Unsupported("descriptors of processes are Linux's; FreeBSD has them by pdfork(2) only")
            .into())
    }

    /// None has ended.
    ///
    /// # Errors
    /// None.
    pub fn poll(&mut self) -> io::Result<usize> {
        Ok(0)
    }
}

/// The number as calls take it; `None` for none that a process can have.
pub(super) fn pid(number: u32) -> Option<Pid> {
    i32::try_from(number).ok().and_then(Pid::from_raw)
}

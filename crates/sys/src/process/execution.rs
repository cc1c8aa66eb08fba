//! Executions of programs: timed ones, with their end and their costs, by posix_spawn(3) or fork(2),
//! wait4(2), and on Linux proc_pid_io(5); and children that are made in different ways and execute another
//! program.

use std::ffi::{CString, c_char};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus};

use rustix::process::{Pid, WaitOptions};

#[cfg(not(any(target_os = "illumos", target_os = "solaris")))]
use crate::activity::usage::seconds;
use crate::clock::Clock;

/// Starts programs one after the other.
#[derive(Debug)]
pub struct ProgramLauncher {
    clock: Clock,
}

/// How a process is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Making {
    /// By posix_spawn(3), as shells and build tools do: it takes the same time however large this process is.
    /// Linux counts the memory of this process in the peak of the program.
    Spawned,
    /// By fork(2). The child has little of the memory of this process, so the peak is that of the program;
    /// and it is killed when the calling thread ends, where the system can promise that.
    Forked,
}

/// A program at work.
#[derive(Debug)]
pub struct RunningProgram {
    /// Its process, with the pipes that the command asked for. It is not to be waited for.
    pub child: Child,
    begun_ticks: u64,
}

/// An amount, or why this system does not count it.
pub type Amount = Result<f64, &'static str>;

/// The costs of an execution, with those of the children that it waited for.
#[derive(Clone, Copy, Debug)]
pub struct ExecutionUsage {
    /// Processor time in user mode, in seconds.
    pub user_seconds: Amount,
    /// Processor time in the kernel.
    pub system_seconds: Amount,
    /// The most memory that one of its processes had resident at a time.
    pub memory_bytes: Amount,
    /// Page faults, with and without input.
    pub faults: Amount,
    /// Context switches, voluntary or not.
    pub switches: Amount,
    /// Bytes that it read by read(2) and its kin, from anywhere.
    pub read_bytes: Amount,
    /// Bytes that it wrote by write(2) and its kin, to anywhere.
    pub written_bytes: Amount,
}

/// How an execution ended.
#[derive(Clone, Copy, Debug)]
pub struct Executed {
    /// Its exit status, or the signal.
    pub status: ExitStatus,
    /// By the clock, right before its process was made.
    pub begun_ticks: u64,
    /// From right before its process was made until its end was known.
    pub ticks: u64,
    /// The costs.
    pub usage: ExecutionUsage,
}

impl ProgramLauncher {
    /// A launcher that reads this clock.
    pub fn new(clock: &Clock) -> ProgramLauncher {
        ProgramLauncher { clock: clock.clone() }
    }

    /// Starts the command in a process group of its own. A command is to be started once.
    ///
    /// # Errors
    /// Those of posix_spawn(3), or of fork(2) and execve(2).
    pub fn start(&self, command: &mut Command, making: Making) -> io::Result<RunningProgram> {
        command.process_group(0);
        if making == Making::Forked {
            let begin = || {
                super::die_with_parent();
                Ok(())
            };
            // SAFETY: between fork and execve the closure only makes a system call.
            unsafe { command.pre_exec(begin) };
        }
        let begun_ticks = self.clock.now();
        command.spawn().map(|child| RunningProgram { child, begun_ticks })
    }

    /// Waits for the end of an execution.
    ///
    /// # Errors
    /// Those of wait4(2).
    pub fn wait(&self, execution: &RunningProgram) -> io::Result<Executed> {
        let number = execution.child.id();
        let ended = super::await_end(number).map(|()| self.clock.now());
        // The counts of reads and writes are there until it has been waited for.
        let (read_bytes, written_bytes) = transferred(number);
        let (status, usage) = reap(number)?;
        let begun_ticks = execution.begun_ticks;
        let ticks = ended.unwrap_or_else(|_| self.clock.now()).saturating_sub(begun_ticks);
        Ok(Executed {
            status,
            begun_ticks,
            ticks,
            usage: ExecutionUsage { read_bytes, written_bytes, ..usage },
        })
    }
}

const NOT_HERE: &str = "this system does not count it for a process";

/// Waits for a child that has ended; the bytes that it read and wrote are not known to this call.
#[cfg(not(any(target_os = "illumos", target_os = "solaris")))]
fn reap(number: u32) -> io::Result<(ExitStatus, ExecutionUsage)> {
    let (mut status, mut usage) = (0, std::mem::MaybeUninit::<libc::rusage>::zeroed());
    // SAFETY: both pointers are to memory of their type that lives as long as the call.
    while unsafe { libc::wait4(number.cast_signed(), &raw mut status, 0, usage.as_mut_ptr()) } == -1 {
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    // SAFETY: zeros are a value of this type, and the call has written it.
    let usage = unsafe { usage.assume_init() };
    // getrusage(2) of macOS counts bytes, that of all others KiB.
    let unit_bytes = if cfg!(target_vendor = "apple") { 1.0 } else { 1024.0 };
    let usage = ExecutionUsage {
        user_seconds: Ok(seconds(usage.ru_utime)),
        system_seconds: Ok(seconds(usage.ru_stime)),
        memory_bytes: Ok(usage.ru_maxrss as f64 * unit_bytes),
        faults: Ok((usage.ru_minflt + usage.ru_majflt) as f64),
        switches: Ok((usage.ru_nvcsw + usage.ru_nivcsw) as f64),
        read_bytes: Err(NOT_HERE),
        written_bytes: Err(NOT_HERE),
    };
    Ok((ExitStatus::from_raw(status), usage))
}

/// The same. wait4(3C) of these systems is not in the library that makes our calls.
#[cfg(any(target_os = "illumos", target_os = "solaris"))]
fn reap(number: u32) -> io::Result<(ExitStatus, ExecutionUsage)> {
    let pid = Pid::from_raw(number.cast_signed());
    let ended = rustix::process::waitpid(pid, WaitOptions::empty())?.ok_or(io::ErrorKind::NotFound)?;
    let none = Err(NOT_HERE);
    let usage = ExecutionUsage {
        user_seconds: none,
        system_seconds: none,
        memory_bytes: none,
        faults: none,
        switches: none,
        read_bytes: none,
        written_bytes: none,
    };
    Ok((ExitStatus::from_raw(ended.1.as_raw()), usage))
}

/// Bytes that a process which has ended, and was not waited for yet, has read and written, with its children.
fn transferred(number: u32) -> (Amount, Amount) {
    if !cfg!(target_os = "linux") {
        return (Err(NOT_HERE), Err(NOT_HERE));
    }
    let refused = "/proc/PID/io cannot be read: the kernel lacks CONFIG_TASK_IO_ACCOUNTING, or forbids it";
    let text = std::fs::read_to_string(format!("/proc/{number}/io")).unwrap_or_default();
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|bytes| bytes.trim().parse().ok()).ok_or(refused)
    };
    (field("rchar:"), field("wchar:"))
}

/// How a child is made that executes another program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpawnMeans {
    /// fork(2) and execve(2): the child has a copy of the memory until it executes.
    Fork,
    /// vfork(2), which is clone(2) with `CLONE_VM` and `CLONE_VFORK`: the child uses the memory of its
    /// parent, which waits until it executes.
    Vfork,
    /// posix_spawn(3): the system or its library decides.
    PosixSpawn,
    /// clone3(2) without flags, as fork(2) does, but past the C library.
    Clone3,
}

/// A program that is executed without arguments and with an empty environment.
#[derive(Debug)]
pub struct SpawnedProgram {
    path: CString,
    /// For a child that uses the memory of its parent.
    stack: Vec<u8>,
}

const STACK_BYTES: usize = 64 << 10;
/// As a shell reports a program that cannot be executed.
const NOT_EXECUTED: i32 = 127;

impl SpawnedProgram {
    /// The program of that path.
    ///
    /// # Errors
    /// `InvalidInput` for a path with a zero.
    pub fn new(path: &Path) -> io::Result<SpawnedProgram> {
        Ok(SpawnedProgram { path: CString::new(path.as_os_str().as_bytes())?, stack: vec![0; STACK_BYTES] })
    }

    /// Makes a child that executes it, and waits for its end.
    ///
    /// # Errors
    /// Those of the call that makes the child; `Other` where the program did not end with 0; unsupported
    /// where the system lacks the call.
    #[inline]
    pub fn execute(&mut self, means: SpawnMeans) -> io::Result<()> {
        let child = match means {
            SpawnMeans::Fork => self.fork(),
            SpawnMeans::PosixSpawn => self.posix_spawn(),
            SpawnMeans::Vfork => self.vfork(),
            SpawnMeans::Clone3 => self.clone3(),
        }?;
        let child = Pid::from_raw(child).ok_or_else(|| io::Error::other("no process has that number"))?;
        match rustix::process::waitpid(Some(child), WaitOptions::empty())? {
            Some((_, status)) if status.exit_status() == Some(0) => Ok(()),
            _ => Err(io::Error::other("the program did not end with 0")),
        }
    }

    fn fork(&self) -> io::Result<i32> {
        // SAFETY: the child calls nothing but execve and _exit, which are safe after fork (signal-safety(7)).
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => execute_or_end(&self.path),
            child => Ok(child),
        }
    }

    fn posix_spawn(&self) -> io::Result<i32> {
        let (mut child, words, environment) =
            (0, [self.path.as_ptr(), std::ptr::null()], [std::ptr::null::<c_char>()]);
        // SAFETY: path and lists end with zero and live through the call, which does not write to them; null
        // stands for no actions and no attributes.
        let refused = unsafe {
            libc::posix_spawn(
                &raw mut child,
                self.path.as_ptr(),
                std::ptr::null(),
                std::ptr::null(),
                words.as_ptr().cast::<*mut c_char>(),
                environment.as_ptr().cast::<*mut c_char>(),
            )
        };
        if refused == 0 { Ok(child) } else { Err(io::Error::from_raw_os_error(refused)) }
    }

    #[cfg(target_os = "linux")]
    fn vfork(&mut self) -> io::Result<i32> {
        extern "C" fn child(path: *mut std::ffi::c_void) -> i32 {
            // SAFETY: it is the path that the parent gave, which waits and keeps it.
            execute_or_end(unsafe { &*path.cast::<CString>() })
        }
        let top = self.stack.as_mut_ptr_range().end;
        // SAFETY: stacks grow down on the processors that we have, and this one is aligned below; the child
        // uses it alone while this thread waits, and calls nothing but execve and _exit.
        let child = unsafe {
            let top = top.sub(top as usize % 16);
            let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
            libc::clone(child, top.cast(), flags, (&raw mut self.path).cast())
        };
        crate::error::checked(child)
    }

    #[cfg(target_os = "linux")]
    fn clone3(&self) -> io::Result<i32> {
        /// `struct clone_args` of its first version.
        #[repr(C)]
        #[derive(Default)]
        struct CloneArguments {
            flags: u64,
            descriptor: u64,
            child_number: u64,
            parent_number: u64,
            exit_signal: u64,
            stack: u64,
            stack_size: u64,
            thread_local: u64,
        }
        let arguments = CloneArguments { exit_signal: libc::SIGCHLD as u64, ..CloneArguments::default() };
        // SAFETY: the structure has the size that is given; without flags and stack the child is a copy, as
        // after fork, and calls nothing but execve and _exit.
        match unsafe { libc::syscall(libc::SYS_clone3, &raw const arguments, size_of::<CloneArguments>()) } {
            -1 => Err(io::Error::last_os_error()),
            0 => execute_or_end(&self.path),
            child => Ok(child as i32),
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn vfork(&mut self) -> io::Result<i32> {
        let _ = &self.stack;
        Err(crate::Unsupported("vfork(2) returns twice in one memory, which Rust does not permit").into())
    }

    #[cfg(not(target_os = "linux"))]
    fn clone3(&self) -> io::Result<i32> {
        Err(crate::Unsupported("clone3(2) is Linux's").into())
    }
}

fn execute_or_end(path: &CString) -> ! {
    let words = [path.as_ptr(), std::ptr::null()];
    let environment = [std::ptr::null()];
    // SAFETY: path and lists end with zero and live through the call.
    unsafe {
        libc::execve(path.as_ptr(), words.as_ptr(), environment.as_ptr());
        libc::_exit(NOT_EXECUTED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]).stdin(std::process::Stdio::null());
        command
    }

    #[test]
    fn an_execution_is_timed_and_what_it_took_is_counted() {
        let clock = Clock::start();
        let launcher = ProgramLauncher::new(&clock);
        for making in [Making::Spawned, Making::Forked] {
            expect_usage(&clock, &launcher, making);
        }
    }

    fn expect_usage(clock: &Clock, launcher: &ProgramLauncher, making: Making) {
        let execution = launcher.start(&mut sh("sleep 0.02; exit 7"), making).unwrap();
        let executed = launcher.wait(&execution).unwrap();
        assert_eq!(executed.status.code(), Some(7));
        let seconds = executed.ticks as f64 * clock.seconds_per_tick();
        assert!((0.02..60.0).contains(&seconds), "{seconds} s");
        let usage = executed.usage;
        if cfg!(target_os = "linux") {
            assert!(usage.memory_bytes.unwrap() > 65536.0 && usage.faults.unwrap() > 10.0, "{usage:?}");
            assert!(usage.switches.unwrap() >= 1.0 && usage.system_seconds.is_ok(), "{usage:?}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn bytes_are_those_of_the_program_and_of_its_children() {
        let launcher = ProgramLauncher::new(&Clock::start());
        let mut command = sh("head -c 100000 /dev/zero | cat > /dev/null; exit 0");
        let execution = launcher.start(&mut command, Making::Spawned).unwrap();
        let usage = launcher.wait(&execution).unwrap().usage;
        let (Ok(read), Ok(written)) = (usage.read_bytes, usage.written_bytes) else { return };
        assert!(read >= 200_000.0 && (200_000.0..300_000.0).contains(&written), "{usage:?}");
    }

    #[test]
    fn a_signal_is_an_end_and_a_missing_program_an_error() {
        let launcher = ProgramLauncher::new(&Clock::start());
        for making in [Making::Spawned, Making::Forked] {
            assert!(launcher.start(&mut Command::new("/nowhere/at/all"), making).is_err());
            let execution = launcher.start(&mut sh("kill -9 $$"), making).unwrap();
            assert_eq!(launcher.wait(&execution).unwrap().status.signal(), Some(9));
        }
    }
}

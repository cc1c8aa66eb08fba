//! A child that executes another program, made in different ways, until it has ended.

use std::ffi::{CString, c_char};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::process::{Pid, WaitOptions};

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
        if child < 0 { Err(io::Error::last_os_error()) } else { Ok(child) }
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

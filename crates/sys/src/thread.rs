//! Threads that write one byte when they start, and then wait until they are released one by one.

#[cfg(target_os = "linux")]
use std::io;
use std::sync::{Condvar, Mutex, PoisonError};

pub use platform::{Member, ThreadGroup, cpu_ns, involuntary_switches};

/// How long the calling thread could have run and waited for a processor, in nanoseconds; `None` where the
/// system does not count that. See Documentation/scheduler/sched-stats.rst.
pub fn run_delay_ns() -> Option<u64> {
    cfg_select! {
        target_os = "linux" => {
            crate::pseudo_file::text("/proc/thread-self/schedstat")?.split(' ').nth(1)?.parse().ok()
        }
        _ => { None }
    }
}

/// The number of the calling thread, gettid(2).
#[cfg(target_os = "linux")]
pub fn thread_number() -> i32 {
    rustix::thread::gettid().as_raw_nonzero().get()
}

/// Whether that thread of this process sleeps until something wakes it, proc_pid_stat(5).
///
/// # Errors
/// Those of reading its file in /proc.
#[cfg(target_os = "linux")]
pub fn is_asleep(thread: i32) -> io::Result<bool> {
    let stat = std::fs::read_to_string(format!("/proc/self/task/{thread}/stat"))?;
    // Its name, in parentheses, may contain any character.
    Ok(stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('S')))
}

/// The gate where one thread waits until it is released.
#[derive(Debug, Default)]
struct Gate {
    open: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    fn pass(&self) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        while !*open {
            open = self.opened.wait(open).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn open(&self) {
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.opened.notify_one();
    }
}

/// By pthread_create(3), because threads of std allocate, which must not be timed.
#[cfg(unix)]
mod platform {
    use std::cell::Cell;
    use std::ffi::c_void;
    use std::io;
    use std::mem::{self, MaybeUninit};
    use std::os::fd::OwnedFd;
    use std::ptr;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::Gate;

    /// Threads with default attributes.
    #[derive(Debug)]
    pub struct ThreadGroup {
        hello_read: OwnedFd,
        /// The gates where the threads wait. The group frees them only when no thread is left.
        pub(super) posts: Arc<[Post]>,
        waiting: Arc<AtomicUsize>,
        /// Threads that were created and have not been joined.
        unjoined: Cell<usize>,
    }

    /// A thread of a [`ThreadGroup`].
    #[derive(Debug)]
    pub struct Member<'group> {
        pub(super) thread: libc::pthread_t,
        post: &'group Post,
        group: &'group ThreadGroup,
    }

    /// The argument of a thread: where to write its byte, and where to wait.
    #[derive(Debug)]
    pub(super) struct Post {
        hello_write: Arc<OwnedFd>,
        waiting: Arc<AtomicUsize>,
        gate: Gate,
    }

    impl ThreadGroup {
        /// Room for `members` threads.
        ///
        /// # Errors
        /// Those of pipe(2).
        pub fn new(members: usize) -> io::Result<ThreadGroup> {
            let (hello_read, hello_write) = rustix::pipe::pipe()?;
            let (hello_write, waiting) = (Arc::new(hello_write), Arc::new(AtomicUsize::new(0)));
            let post = || Post {
                hello_write: Arc::clone(&hello_write),
                waiting: Arc::clone(&waiting),
                gate: Gate::default(),
            };
            let posts = (0..members).map(|_| post()).collect();
            Ok(ThreadGroup { hello_read, posts, waiting, unjoined: Cell::new(0) })
        }

        /// How many threads have written their byte and were not released yet.
        pub fn waiting(&self) -> usize {
            self.waiting.load(Ordering::SeqCst)
        }

        /// Creates thread `number`, once, and returns when its first byte has arrived; never when the thread
        /// cannot write it, for the pipe stays open here. The time-out of the trial ends that.
        ///
        /// # Errors
        /// Those of pthread_create(3).
        #[inline]
        pub fn create(&self, number: usize) -> io::Result<Member<'_>> {
            let post = self.posts.get(number).ok_or(io::ErrorKind::InvalidInput)?;
            let mut thread = MaybeUninit::uninit();
            let argument = ptr::from_ref(post).cast_mut().cast::<c_void>();
            // SAFETY: `work` takes a pointer to a Post. The posts live until every thread has been joined:
            // the group holds them, counts the thread right below, and never gives up its hold while any is
            // counted.
            let error = unsafe { libc::pthread_create(thread.as_mut_ptr(), ptr::null(), work, argument) };
            if error != 0 {
                return Err(io::Error::from_raw_os_error(error));
            }
            self.unjoined.set(self.unjoined.get() + 1);
            // SAFETY: pthread_create succeeded and so has written it.
            let thread = unsafe { thread.assume_init() };
            self.hear_hello()?;
            Ok(Member { thread, post, group: self })
        }

        #[inline]
        fn hear_hello(&self) -> io::Result<()> {
            let mut byte = [0_u8; 1];
            loop {
                match rustix::io::read(&self.hello_read, &mut byte) {
                    Ok(1) => return Ok(()),
                    Ok(_) => return Err(io::ErrorKind::UnexpectedEof.into()),
                    Err(rustix::io::Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
    }

    impl Drop for ThreadGroup {
        fn drop(&mut self) {
            if self.unjoined.get() > 0 {
                // Threads still wait at the posts, which are leaked.
                mem::forget(Arc::clone(&self.posts));
            }
        }
    }

    extern "C" fn work(argument: *mut c_void) -> *mut c_void {
        // SAFETY: `create` passes a Post that outlives this thread, shared and never written but by atomics
        // and under its gate's lock.
        let post = unsafe { &*argument.cast::<Post>() };
        post.waiting.fetch_add(1, Ordering::SeqCst);
        let _ = rustix::io::write(&*post.hello_write, b".");
        post.gate.pass();
        post.waiting.fetch_sub(1, Ordering::SeqCst);
        ptr::null_mut()
    }

    impl Member<'_> {
        /// Releases the thread and joins it.
        ///
        /// # Errors
        /// Those of pthread_join(3).
        #[inline]
        pub fn join(self) -> io::Result<()> {
            self.post.gate.open();
            // SAFETY: the thread was created joinable, and self, its only handle, is used up here.
            let error = unsafe { libc::pthread_join(self.thread, ptr::null_mut()) };
            if error != 0 {
                return Err(io::Error::from_raw_os_error(error));
            }
            self.group.unjoined.set(self.group.unjoined.get() - 1);
            Ok(())
        }
    }

    /// Processor time that the calling thread has used, in nanoseconds. See clock_gettime(2).
    ///
    /// # Errors
    /// None where threads have such a clock; `Unsupported` on NetBSD.
    pub fn cpu_ns() -> io::Result<u64> {
        #[cfg(target_os = "netbsd")]
        return Err(crate::Unsupported(
            "the crate libc has no name for the clock of a thread's processor time on NetBSD",
        )
        .into());
        #[cfg(not(target_os = "netbsd"))]
        Ok(crate::clock::reading::read_ns(libc::CLOCK_THREAD_CPUTIME_ID))
    }

    /// How often the system took the processor from the calling thread, getrusage(2); `None` where it does
    /// not count that for a thread.
    pub fn involuntary_switches() -> Option<u64> {
        cfg_select! {
            any(target_os = "linux", target_os = "freebsd") => {
                crate::activity::usage::usage(libc::RUSAGE_THREAD).map(|usage| usage.ru_nivcsw.unsigned_abs())
            }
            _ => { None }
        }
    }
}

/// Windows: by std.
#[cfg(windows)]
mod platform {
    use std::io::{self, PipeReader, PipeWriter, Read, Write};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread::{Builder, JoinHandle};

    use windows_sys::Win32::Foundation::FILETIME;
    use windows_sys::Win32::System::Threading::{GetCurrentThread, GetThreadTimes};

    use super::Gate;

    /// Times of Windows are counted in tenths of a microsecond.
    const NANOSECONDS_PER_TICK: u64 = 100;

    /// Threads with default attributes.
    #[derive(Debug)]
    pub struct ThreadGroup {
        hello_read: PipeReader,
        hello_write: Arc<PipeWriter>,
        gates: Arc<[Gate]>,
        waiting: Arc<AtomicUsize>,
    }

    /// A thread of a [`ThreadGroup`].
    #[derive(Debug)]
    pub struct Member<'group> {
        thread: JoinHandle<()>,
        gate: &'group Gate,
    }

    impl ThreadGroup {
        /// Room for `members` threads.
        ///
        /// # Errors
        /// Those of CreatePipe.
        pub fn new(members: usize) -> io::Result<ThreadGroup> {
            let (hello_read, hello_write) = io::pipe()?;
            let gates = (0..members).map(|_| Gate::default()).collect();
            Ok(ThreadGroup { hello_read, hello_write: Arc::new(hello_write), gates, waiting: Arc::default() })
        }

        /// How many threads have written their byte and were not released yet.
        pub fn waiting(&self) -> usize {
            self.waiting.load(Ordering::SeqCst)
        }

        /// Creates thread `number`, once, and returns when its first byte has arrived; never when the thread
        /// cannot write it, for the pipe stays open here. The time-out of the trial ends that.
        ///
        /// # Errors
        /// Those of CreateThread.
        pub fn create(&self, number: usize) -> io::Result<Member<'_>> {
            let gate = self.gates.get(number).ok_or(io::ErrorKind::InvalidInput)?;
            let (hello, gates) = (Arc::clone(&self.hello_write), Arc::clone(&self.gates));
            let waiting = Arc::clone(&self.waiting);
            let thread = Builder::new().spawn(move || {
                waiting.fetch_add(1, Ordering::SeqCst);
                let _ = (&*hello).write_all(b".");
                gates[number].pass();
                waiting.fetch_sub(1, Ordering::SeqCst);
            })?;
            (&self.hello_read).read_exact(&mut [0])?;
            Ok(Member { thread, gate })
        }
    }

    impl Member<'_> {
        /// Releases the thread and joins it.
        ///
        /// # Errors
        /// `Other` when the thread panicked.
        pub fn join(self) -> io::Result<()> {
            self.gate.open();
            self.thread.join().map_err(|_| io::Error::other("the thread panicked"))
        }
    }

    /// Processor time that this thread has used, in ticks of the scheduler.
    ///
    /// # Errors
    /// Those of GetThreadTimes.
    pub fn cpu_ns() -> io::Result<u64> {
        let mut times = [FILETIME::default(); 4];
        let [created, ended, kernel, user] = &mut times;
        // SAFETY: all four outlive the call, and the handle is always valid.
        let answer = unsafe { GetThreadTimes(GetCurrentThread(), created, ended, kernel, user) };
        if answer == 0 {
            return Err(io::Error::last_os_error());
        }
        let ticks = |time: FILETIME| u64::from(time.dwHighDateTime) << 32 | u64::from(time.dwLowDateTime);
        Ok((ticks(times[2]) + ticks(times[3])) * NANOSECONDS_PER_TICK)
    }

    /// Windows does not count that for a thread.
    pub fn involuntary_switches() -> Option<u64> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_wait_from_their_hello_until_they_are_let_go() {
        let group = ThreadGroup::new(2).unwrap();
        assert_eq!(group.waiting(), 0);
        let members = [group.create(0).unwrap(), group.create(1).unwrap()];
        assert_eq!(group.waiting(), 2);
        for (member, left) in members.into_iter().zip([1, 0]) {
            member.join().unwrap();
            assert_eq!(group.waiting(), left);
        }
    }

    #[cfg(unix)]
    #[test]
    fn posts_outlive_the_crew_while_a_thread_stands_at_one() {
        let all_joined = ThreadGroup::new(1).unwrap();
        let posts = std::sync::Arc::downgrade(&all_joined.posts);
        all_joined.create(0).unwrap().join().unwrap();
        drop(all_joined);
        assert!(posts.upgrade().is_none());

        let forsaken = ThreadGroup::new(2).unwrap();
        let posts = std::sync::Arc::downgrade(&forsaken.posts);
        forsaken.create(0).unwrap().join().unwrap();
        let _never_joined = forsaken.create(1).unwrap().thread;
        drop(forsaken);
        assert!(posts.upgrade().is_some());
    }
}

//! Threads by pthread_create(3), because threads of std allocate, which must not be timed.

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
    posts: Arc<[Post]>,
    waiting: Arc<AtomicUsize>,
    /// Threads that were created and have not been joined.
    unjoined: Cell<usize>,
}

/// A thread of a [`ThreadGroup`].
#[derive(Debug)]
pub struct Member<'group> {
    thread: libc::pthread_t,
    post: &'group Post,
    group: &'group ThreadGroup,
}

/// The argument of a thread: where to write its byte, and where to wait.
#[derive(Debug)]
struct Post {
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
        // SAFETY: `work` takes a pointer to a Post. The posts live until every thread has been joined: the
        // group holds them, counts the thread right below, and never gives up its hold while any is counted.
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

/// How often the system took the processor from the calling thread, getrusage(2); `None` where it does not
/// count that for a thread.
pub fn involuntary_switches() -> Option<u64> {
    cfg_select! {
        any(target_os = "linux", target_os = "freebsd") => {
            crate::activity::usage::usage(libc::RUSAGE_THREAD).map(|usage| usage.ru_nivcsw.unsigned_abs())
        }
        _ => { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn posts_outlive_the_crew_while_a_thread_stands_at_one() {
        let all_joined = ThreadGroup::new(1).unwrap();
        let posts = Arc::downgrade(&all_joined.posts);
        all_joined.create(0).unwrap().join().unwrap();
        drop(all_joined);
        assert!(posts.upgrade().is_none());

        let forsaken = ThreadGroup::new(2).unwrap();
        let posts = Arc::downgrade(&forsaken.posts);
        forsaken.create(0).unwrap().join().unwrap();
        let _never_joined = forsaken.create(1).unwrap().thread;
        drop(forsaken);
        assert!(posts.upgrade().is_some());
    }
}

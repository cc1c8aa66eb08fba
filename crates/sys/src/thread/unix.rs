//! Threads by pthread_create(3): std's threads allocate, which must not be timed.

use std::ffi::c_void;
use std::io;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::os::fd::OwnedFd;
use std::ptr;
use std::sync::Arc;

use super::Gate;

/// Threads with default attributes.
#[derive(Debug)]
pub struct Crew {
    hello_read: OwnedFd,
    posts: Arc<[Post]>,
}

/// A thread of a [`Crew`].
#[derive(Debug)]
pub struct Member {
    thread: libc::pthread_t,
    number: usize,
    /// Never dropped but by `join`: the thread stands at one of them.
    posts: ManuallyDrop<Arc<[Post]>>,
}

/// What a thread is given: where to say hello, and where to wait.
#[derive(Debug)]
struct Post {
    hello_write: Arc<OwnedFd>,
    gate: Gate,
}

impl Crew {
    /// Room for `members` threads.
    ///
    /// # Errors
    /// Those of pipe(2).
    pub fn new(members: usize) -> io::Result<Crew> {
        let (hello_read, hello_write) = rustix::pipe::pipe()?;
        let hello_write = Arc::new(hello_write);
        let post = || Post { hello_write: Arc::clone(&hello_write), gate: Gate::default() };
        Ok(Crew { hello_read, posts: (0..members).map(|_| post()).collect() })
    }

    /// Creates thread `number`, once, and returns when its first byte has arrived.
    ///
    /// # Errors
    /// Those of pthread_create(3); `UnexpectedEof` when the byte did not come.
    #[inline]
    pub fn create(&self, number: usize) -> io::Result<Member> {
        let post = self.posts.get(number).ok_or(io::ErrorKind::InvalidInput)?;
        let mut thread = MaybeUninit::uninit();
        let argument = ptr::from_ref(post).cast_mut().cast::<c_void>();
        // SAFETY: `work` takes a pointer to a Post. The posts live until the last Member has been joined:
        // each Member holds them, and gives up its hold only once it is joined.
        let error = unsafe { libc::pthread_create(thread.as_mut_ptr(), ptr::null(), work, argument) };
        if error != 0 {
            return Err(io::Error::from_raw_os_error(error));
        }
        // SAFETY: pthread_create succeeded and so has written it.
        let thread = unsafe { thread.assume_init() };
        let member = Member { thread, number, posts: ManuallyDrop::new(Arc::clone(&self.posts)) };
        let mut byte = [0_u8; 1];
        match rustix::io::read(&self.hello_read, &mut byte)? {
            1 => Ok(member),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

extern "C" fn work(argument: *mut c_void) -> *mut c_void {
    // SAFETY: `create` passes a Post that outlives this thread, shared and never written but by atomics.
    let post = unsafe { &*argument.cast::<Post>() };
    let _ = rustix::io::write(&*post.hello_write, b".");
    post.gate.pass();
    ptr::null_mut()
}

impl Member {
    /// Lets the thread go and joins it.
    ///
    /// # Errors
    /// Those of pthread_join(3).
    #[inline]
    pub fn join(self) -> io::Result<()> {
        self.posts[self.number].gate.open();
        // SAFETY: the thread was created joinable, and self, its only handle, is used up here.
        let error = unsafe { libc::pthread_join(self.thread, ptr::null_mut()) };
        if error != 0 {
            return Err(io::Error::from_raw_os_error(error));
        }
        drop(ManuallyDrop::into_inner(self.posts));
        Ok(())
    }
}

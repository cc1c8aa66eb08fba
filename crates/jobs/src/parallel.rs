//! Threads that work on one level of a job together: they begin at once, and the error of one ends all.

use std::io;
use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// A call that the system refused to a thread.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) operation: &'static str,
    pub(crate) error: io::Error,
}

impl Refused {
    /// For `map_err`: adds the operation.
    pub(crate) fn at(operation: &'static str) -> impl FnOnce(io::Error) -> Refused {
        move |error| Refused { operation, error }
    }
}

/// Makes each of `members` work in a thread of its own. All of them begin when the last thread was created.
/// The work gets a function that says whether another thread has failed.
///
/// # Errors
/// That of the first thread that failed, or of creating a thread.
pub(crate) fn at_once<T: Send>(
    members: &mut [T],
    work: impl Fn(&mut T, &dyn Fn() -> bool) -> Result<(), Refused> + Sync,
) -> Result<(), Refused> {
    let (gate, stopped) = (RwLock::new(()), AtomicBool::new(false));
    let is_stopped = || stopped.load(Ordering::Relaxed);
    let member = |member: &mut T| {
        drop(gate.read());
        let done = if is_stopped() { Ok(()) } else { work(member, &is_stopped) };
        done.inspect_err(|_| stopped.store(true, Ordering::Relaxed))
    };
    thread::scope(|scope| {
        let closed = gate.write();
        let mut threads = Vec::with_capacity(members.len());
        let mut ended = Ok(());
        for one in members {
            match thread::Builder::new().spawn_scoped(scope, || member(one)) {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    stopped.store(true, Ordering::Relaxed);
                    ended = Err(Refused { operation: "thread", error });
                    break;
                }
            }
        }
        drop(closed);
        for thread in threads {
            let panicked = |_| Err(Refused::at("thread")(io::Error::other("a thread has panicked")));
            ended = ended.and(thread.join().unwrap_or_else(panicked));
        }
        ended
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_work_at_once_and_the_error_of_one_ends_all() {
        let mut numbers = [1, 2, 3];
        let barrier = std::sync::Barrier::new(3);
        // It would wait for ever for a thread that was not created.
        let doubled = at_once(&mut numbers, |number, _| {
            barrier.wait();
            *number *= 2;
            Ok(())
        });
        assert!(doubled.is_ok());
        assert_eq!(numbers, [2, 4, 6]);
        let failed = at_once(&mut numbers, |number, is_stopped| {
            if *number == 4 {
                return Err(Refused::at("write")(io::ErrorKind::StorageFull.into()));
            }
            while !is_stopped() {
                thread::yield_now();
            }
            Ok(())
        });
        let refused = failed.unwrap_err();
        assert_eq!((refused.operation, refused.error.kind()), ("write", io::ErrorKind::StorageFull));
    }
}

//! One test for every architecture, several at a time.

use std::sync::Mutex;

use net::arch::{ALL, Architecture};

/// Those that this system has; for the others it prints the reason.
pub(crate) fn architectures() -> impl Iterator<Item = &'static Architecture> {
    ALL.iter().copied().filter(|architecture| {
        let reason = architecture.unavailable_reason();
        if let Some(reason) = &reason {
            skipped!("{} is unsupported here: {reason}", architecture.name);
        }
        reason.is_none()
    })
}

/// Tests every item, so many at a time, and fails with the names of those that failed.
pub(crate) fn each<T: Send>(at_once: usize, items: Vec<(String, T)>, test: impl Fn(T) + Sync) {
    let total = items.len();
    let (items, failed) = (Mutex::new(items.into_iter()), Mutex::new(Vec::new()));
    let next = || items.lock().expect("items").next();
    std::thread::scope(|scope| {
        for _ in 0..at_once.min(total) {
            scope.spawn(|| {
                while let Some((name, item)) = next() {
                    // A thread of its own, so that a failed assertion names the item and ends nothing else.
                    let work = std::thread::Builder::new().name(name.clone());
                    let work = work.spawn_scoped(scope, || test(item)).expect("a thread");
                    if work.join().is_err() {
                        failed.lock().expect("names").push(name);
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().expect("names");
    println!("{} of {total} passed", total - failed.len());
    assert!(failed.is_empty(), "{} of {total} failed: {failed:#?}", failed.len());
}

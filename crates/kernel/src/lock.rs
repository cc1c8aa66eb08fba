//! Cost of one more lock on a file that has n.
//!
//! **Question.** What does it cost to lock, test or unlock a part of a file on which n locks are held?
//! Databases and mail servers lock records of one file; `flock` stands for programs that share a lock file.
//!
//! **Method.** With `posix` and `ofd` every second byte of an empty file is locked for writing, in random
//! order, by fcntl(2): adjacent locks of one owner would become one. The owner is the process or the open
//! file description. After each, another open file description asks for the holder of one of the locked
//! bytes, chosen at random (`F_OFD_GETLK`), which must be found. With `flock` n open file descriptions hold a
//! shared lock of the file, and the test is an attempt to lock it exclusively, which must be refused. At the
//! end all are unlocked in another random order. Opening and closing are not timed. With `waiters` n threads
//! wait for one byte, each with an open file description of its own (`F_OFD_SETLKW`); each is known to sleep
//! before the next begins. Then the owner unlocks the byte, timed, until every waiter was its owner once.
//!
//! **Expected answer.** Linear: Linux keeps the locks of a file in lists, which every call searches from the
//! beginning (`posix_lock_inode` and `flock_lock_inode` in fs/locks.c). flock(2) looks for a lock of its own
//! open file description before it looks for one in its way, so even its refusal is linear. A tree of ranges
//! would be logarithmic. An unlock that others wait for is flat: a waiter waits for the one before it, and
//! only the first one is woken (`__locks_insert_block`).

use std::fs::{File, TryLockError};
use std::io;
#[cfg(target_os = "linux")]
use std::sync::atomic::{AtomicUsize, Ordering};

use sys::lock::{LockOwner, is_locked_for, lock_byte, unlock_byte};
use workload::resource::{DESCRIPTORS, MAPPINGS, MEMORY, PROCESSES, THREADS};
use workload::{Expect, Need, Operation, Trial, TrialError, Variant, Workload};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "lock",
    source: workload::page!("lock.rs"),
    grows: "locks of a file",
    variants: &[
        Variant { name: "posix", summary: "bytes, owned by the process (F_SETLK)" },
        Variant { name: "ofd", summary: "bytes, owned by the open file description (F_OFD_SETLK)" },
        Variant { name: "flock", summary: "the whole file, shared by n open file descriptions (flock(2))" },
        Variant { name: "waiters", summary: "one byte for which n threads wait (F_OFD_SETLKW)" },
    ],
    remedies: &[
        ("posix", "lock fewer ranges of one file, or use several files"),
        ("ofd", "lock fewer ranges of one file, or use several files"),
    ],
    operations: &[
        Operation::up("lock", Expect::Linear, "one fcntl(2) or flock(2) that gets the lock at once")
            .only(HELD),
        Operation::up(
            "test",
            Expect::Linear,
            "one fcntl(2) that finds a holder, or flock(2) that is refused",
        )
        .only(HELD)
        .detail(),
        Operation::down("unlock", Expect::Linear, "one fcntl(2) or flock(2), in random order")
            .except(&[("waiters", Expect::Constant)]),
    ],
    needs: &[
        Need::new(MEMORY, 512),
        Need::new(DESCRIPTORS, 1).only_in(&["flock", "waiters"]),
        // A thread with its stack, which has a guard page.
        Need::new(PROCESSES, 1).only_in(&["waiters"]),
        Need::new(THREADS, 1).only_in(&["waiters"]),
        Need::new(MAPPINGS, 2).only_in(&["waiters"]),
        Need::new(MEMORY, 48 << 10).only_in(&["waiters"]),
    ],
    run: Ok(run),
    ..Workload::CURVE
};

const HELD: &[&str] = &["posix", "ofd", "flock"];

/// Bytes between the locks that are tested: all of them would take as long as the measurement.
const SAMPLE: usize = 100;

fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
    let folder = trial.own_folder()?;
    let path = folder.join("locked");
    let open = || File::options().read(true).write(true).create(true).truncate(false).open(&path);
    let (file, other) = open()
        .and_then(|file| Ok((file, open()?)))
        .map_err(TrialError::at(format!("to open {}", path.display())))?;
    match trial.variant() {
        "flock" => whole_files(trial, &open, &other),
        "waiters" => waiters(trial, &open, &file),
        "ofd" => bytes(trial, LockOwner::OpenFile, &file, &other),
        _ => bytes(trial, LockOwner::Process, &file, &other),
    }
}

fn bytes(trial: &mut Trial<'_>, owner: LockOwner, file: &File, other: &File) -> Result<(), TrialError> {
    let bytes: Vec<u64> = trial.shuffled((0..trial.n() as u64).map(|place| 2 * place).collect()).collect();
    let mut random = fastrand::Rng::with_seed(trial.seed());
    trial.warm(|| {
        lock_byte(file, owner, 0)?;
        is_locked_for(other, 0)?;
        unlock_byte(file, owner, 0)
    });
    let mut missed = 0;
    let locked = trial.compact_steps(&["lock", "test"], |n, lap| {
        lock_byte(file, owner, bytes[n])?;
        lap.mark();
        let chosen = bytes[random.usize(..=n)];
        lap.skip();
        let is_found = is_locked_for(other, chosen)?;
        lap.mark();
        missed += usize::from(!is_found);
        Ok(bytes[n])
    })?;
    trial.check("every locked byte had a holder", missed == 0);
    let between = locked.iter().take(SAMPLE).map(|byte| is_locked_for(other, byte + 1));
    let between = TrialError::collect("to test the bytes between the locks", between)?;
    trial.check("no byte between them had one", !between.contains(&true));
    let locked = trial.shuffled(locked);
    trial.compact_down("unlock", locked, |byte| unlock_byte(file, owner, byte))?;
    let is_left = is_locked_for(other, 0).map_err(TrialError::at("to test an unlocked byte"))?;
    trial.check("no lock was left", !is_left);
    Ok(())
}

fn whole_files(
    trial: &mut Trial<'_>,
    open: &dyn Fn() -> io::Result<File>,
    other: &File,
) -> Result<(), TrialError> {
    let mut taken = 0;
    trial.warm(|| {
        let file = open()?;
        file.lock_shared()?;
        file.unlock()
    });
    let files = trial.compact_steps(&["lock", "test"], |_, lap| {
        let file = open()?;
        lap.skip();
        file.lock_shared()?;
        lap.mark();
        let refused = other.try_lock();
        lap.mark();
        match refused {
            Ok(()) => taken += 1,
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(error),
        }
        Ok(file)
    })?;
    trial.check("no shared file could be locked exclusively", taken == 0);
    let files = trial.shuffled(files);
    trial.compact_steps_back(&["unlock"], files, |file, lap| {
        file.unlock()?;
        lap.mark();
        drop(file);
        lap.skip();
        Ok(())
    })?;
    trial.check("an unlocked file can be locked exclusively", other.try_lock().is_ok());
    Ok(())
}

#[cfg(target_os = "linux")]
fn waiters(
    trial: &mut Trial<'_>,
    open: &dyn Fn() -> io::Result<File>,
    first: &File,
) -> Result<(), TrialError> {
    use sys::lock::await_byte;
    use workload::{Sleepers, SleepersRelease};

    let files = TrialError::collect("to open the file for every waiter", (0..trial.n()).map(|_| open()))?;
    // Every waiter notes its number when it owns the byte.
    let owner = AtomicUsize::new(usize::MAX);
    let own = |number: usize| {
        let has_it = await_byte(&files[number], 0)?;
        if has_it {
            owner.store(number, Ordering::Release);
        }
        Ok(has_it)
    };
    let sleepers = Sleepers::new(trial.n(), &own);
    let unlock_all = || {
        for file in files.iter().chain([first]) {
            let _ = unlock_byte(file, LockOwner::OpenFile, 0);
        }
    };
    lock_byte(first, LockOwner::OpenFile, 0).map_err(TrialError::at("to lock the byte"))?;
    std::thread::scope(|threads| {
        let _release = SleepersRelease(&sleepers, &unlock_all);
        let waiting = trial.untimed("wait", |n| sleepers.start(n, threads))?;
        let (mut holder, mut wrong) = (first, 0);
        trial.compact_steps_back(&["unlock"], waiting.into_iter().enumerate(), |(woken, ()), lap| {
            unlock_byte(holder, LockOwner::OpenFile, 0)?;
            lap.mark();
            wrong += usize::from(sleepers.await_woken(woken + 1)? != woken + 1);
            holder = files.get(owner.load(Ordering::Acquire)).unwrap_or(first);
            lap.skip();
            Ok(())
        })?;
        trial.check("every unlock let one waiter have the byte", wrong == 0);
        Ok(())
    })
}

#[cfg(not(target_os = "linux"))]
fn waiters(_: &mut Trial<'_>, _: &dyn Fn() -> io::Result<File>, _: &File) -> Result<(), TrialError> {
    let error = sys::Unsupported("threads that wait for a byte are known to sleep on Linux only");
    Err(TrialError::at("to wait for a byte")(error.into()))
}

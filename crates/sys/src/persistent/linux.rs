//! Linux: sysvipc(7), shm_overview(7), mq_overview(7) and cgroups(7).

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;

use super::PersistentKind;
use crate::control_group::ControlGroup;
use crate::message_queue::{PosixQueue, SystemVQueue};
use crate::shared_memory::{SharedObject, SystemVSegment};

/// How often other names are tried when some are in use.
const TRIES: u32 = 100;

/// The first of so many numbers that no object of that kind has.
pub(super) fn free_range(kind: PersistentKind, count: u32) -> io::Result<u32> {
    for _ in 0..TRIES {
        // 0 is `IPC_PRIVATE`, which is no name.
        let first = (RandomState::new().build_hasher().finish() as u32 >> 1).max(1);
        let first = first.min(i32::MAX.unsigned_abs() - count);
        if (first..first + count).all(|number| is_free(kind, number)) {
            return Ok(first);
        }
    }
    Err(io::Error::other("no names are free"))
}

fn is_free(kind: PersistentKind, number: u32) -> bool {
    match kind {
        PersistentKind::Segment => !SystemVSegment::exists(number),
        PersistentKind::MessageQueue => !SystemVQueue::exists(number),
        // Nothing else has such names, unless it has the same number of 31 bits by chance.
        PersistentKind::SharedObject | PersistentKind::PosixQueue | PersistentKind::ControlGroup => true,
    }
}

/// Removes those that exist.
pub(super) fn remove(kind: PersistentKind, numbers: impl Iterator<Item = u32>) {
    for number in numbers {
        // An object that is not there is removed.
        let _ = match kind {
            PersistentKind::Segment => SystemVSegment::open(number).and_then(|one| one.remove()),
            PersistentKind::MessageQueue => SystemVQueue::open(number).and_then(|one| one.remove()),
            PersistentKind::SharedObject => SharedObject::name(number).and_then(|one| one.remove()),
            PersistentKind::PosixQueue => PosixQueue::remove(number),
            PersistentKind::ControlGroup => ControlGroup::name(number).and_then(|one| one.remove()),
        };
    }
}

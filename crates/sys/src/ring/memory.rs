//! The memory that the kernel works on: that of the operations in flight, each in a slot, and provided
//! buffers, where the kernel puts input, with the ring that passes them to it.

use std::io;
use std::mem;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::IoUring;
use io_uring::types::BufRingEntry;
use rustix::mm::{Advice, ProtFlags, madvise};

use super::OperationId;
use crate::memory::MappedRange;

/// The kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Accept,
    Receive,
    Poll,
    Send,
    Read,
    /// Nothing: the slot is free.
    Free,
}

/// 40 bytes, for each of perhaps a million connections.
#[derive(Debug)]
struct Slot {
    token: u64,
    /// The memory that the kernel reads or writes; empty for all but [`Kind::Send`] and [`Kind::Read`].
    memory: Vec<u8>,
    /// How often the slot was used before, so that an old [`OperationId`] does not name a new one.
    generation: u32,
    kind: Kind,
}

/// All operations in flight. Slots are used again, so nothing is allocated once there are enough.
#[derive(Debug, Default)]
pub(super) struct Slots {
    slots: Vec<Slot>,
    free: Vec<u32>,
}

impl Slots {
    pub(super) fn in_flight(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Takes a slot; none when there are 2³² operations.
    pub(super) fn start(&mut self, kind: Kind, memory: Vec<u8>, token: u64) -> Option<OperationId> {
        let index = match self.free.pop() {
            Some(index) => index,
            None => self.grow()?,
        };
        let slot = self.slots.get_mut(index as usize)?;
        slot.token = token;
        slot.memory = memory;
        slot.kind = kind;
        Some(OperationId(u64::from(slot.generation) << 32 | u64::from(index)))
    }

    fn grow(&mut self) -> Option<u32> {
        // The last number stands for operations without a slot.
        let index = u32::try_from(self.slots.len()).ok().filter(|index| *index < u32::MAX)?;
        self.slots.push(Slot { token: 0, memory: Vec::new(), generation: 0, kind: Kind::Free });
        Some(index)
    }

    /// The token and the kind of an operation; none when it is not in flight.
    pub(super) fn look(&self, operation: OperationId) -> Option<(u64, Kind)> {
        let slot = self.slots.get(operation.0 as u32 as usize)?;
        let current = slot.generation == (operation.0 >> 32) as u32 && slot.kind != Kind::Free;
        current.then_some((slot.token, slot.kind))
    }

    /// Gives the slot of an operation in flight back, and its memory.
    pub(super) fn finish(&mut self, operation: OperationId) -> Vec<u8> {
        let index = operation.0 as u32;
        let Some(slot) = self.slots.get_mut(index as usize) else {
            return Vec::new();
        };
        slot.generation = slot.generation.wrapping_add(1);
        slot.kind = Kind::Free;
        self.free.push(index);
        mem::take(&mut slot.memory)
    }
}

/// The only group of buffers a ring has.
pub(super) const GROUP: u16 = 0;

const COUNT_MAX: u16 = 1 << 15;

/// One mapping: the ring of entries, then the buffers. It must outlive every receive operation, so the ring
/// drops it only when nothing is in flight.
#[derive(Debug)]
pub(super) struct Buffers {
    memory: MappedRange,
    /// Where the buffers begin.
    first: usize,
    buffer_bytes: u32,
    /// A power of two.
    count: u16,
    tail: u16,
}

impl Buffers {
    /// Maps the buffers, and gives all of them to the kernel. Pages are used only once something arrives.
    pub(super) fn register(ring: &IoUring, count: u16, buffer_bytes: u32) -> io::Result<Buffers> {
        let count = count.min(COUNT_MAX).next_power_of_two();
        let first = usize::from(count) * size_of::<BufRingEntry>();
        let bytes = first + usize::from(count) * buffer_bytes as usize;
        let memory = MappedRange::anonymous(bytes, ProtFlags::READ | ProtFlags::WRITE)?;
        let start = memory.start.as_ptr();
        let mut buffers = Buffers { memory, first, buffer_bytes, count, tail: 0 };
        // SAFETY: the mapping is ours and new; this only keeps it from children.
        unsafe { madvise(start.cast(), bytes, Advice::LinuxDontFork)? };
        // SAFETY: a page-aligned mapping with room for `count` entries, which lives until nothing is in
        // flight.
        unsafe {
            ring.submitter().register_buf_ring_with_flags(start as u64, count, GROUP, 0)?;
        }
        for id in 0..count {
            buffers.give(id);
        }
        Ok(buffers)
    }

    /// The buffer as the kernel filled it. It is the caller's until [`Buffers::give`]; `None` when the kernel
    /// named an unknown buffer.
    pub(super) fn filled(&self, id: u16, bytes: u32) -> Option<&[u8]> {
        if id >= self.count || bytes > self.buffer_bytes {
            return None;
        }
        let start = self.first + usize::from(id) * self.buffer_bytes as usize;
        // SAFETY: inside the mapping, by the line above; zeroed at first, so always initialised; and the
        // kernel does not write a buffer that it handed out until it is given back, which takes `&mut self`.
        Some(unsafe { std::slice::from_raw_parts(self.memory.start.as_ptr().add(start), bytes as usize) })
    }

    /// Gives a buffer to the kernel.
    pub(super) fn give(&mut self, id: u16) {
        if id >= self.count {
            return;
        }
        let place = usize::from(self.tail & (self.count - 1));
        let start = self.first + usize::from(id) * self.buffer_bytes as usize;
        let entries: *mut BufRingEntry = self.memory.start.as_ptr().cast();
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: place and id are below count, so both are inside the mapping. The kernel reads an entry
        // only once the tail, which lies in the first entry's spare field and is ours to write, has passed
        // it.
        unsafe {
            let entry = &mut *entries.add(place);
            entry.set_addr(self.memory.start.as_ptr().add(start) as u64);
            entry.set_len(self.buffer_bytes);
            entry.set_bid(id);
            let tail = BufRingEntry::tail(entries).cast_mut();
            AtomicU16::from_ptr(tail).store(self.tail, Ordering::Release);
        }
    }
}

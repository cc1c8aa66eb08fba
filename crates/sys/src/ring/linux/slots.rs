//! The operations in flight, each in a slot that owns the memory the kernel works on.

use std::mem;

use super::OperationId;

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

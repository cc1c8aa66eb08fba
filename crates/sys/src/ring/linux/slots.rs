//! The operations in flight, each in a slot that owns the memory the kernel works on.

use super::Operation;

/// What an operation does, and the memory it does it with.
#[derive(Debug)]
pub(super) enum Work {
    Accept,
    Receive,
    Poll,
    Send(Vec<u8>),
    Read(Vec<u8>),
    /// Nobody's: the slot is free.
    Free,
}

#[derive(Debug)]
struct Slot {
    token: u64,
    /// How often the slot was used before, so that an old [`Operation`] does not name a new one.
    generation: u32,
    work: Work,
}

/// All operations in flight. Slots are used again, so that nothing is allocated once there are enough.
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
    pub(super) fn start(&mut self, work: Work, token: u64) -> Option<Operation> {
        let index = match self.free.pop() {
            Some(index) => index,
            None => {
                // The last number stands for operations without a slot.
                let index = u32::try_from(self.slots.len()).ok().filter(|index| *index < u32::MAX)?;
                self.slots.push(Slot { token: 0, generation: 0, work: Work::Free });
                index
            }
        };
        let slot = self.slots.get_mut(index as usize)?;
        slot.token = token;
        slot.work = work;
        Some(Operation(u64::from(slot.generation) << 32 | u64::from(index)))
    }

    /// The token and the work of an operation; none when it is not in flight.
    pub(super) fn of(&mut self, operation: Operation) -> Option<(u64, &mut Work)> {
        let slot = self.slots.get_mut(operation.0 as u32 as usize)?;
        let current = slot.generation == (operation.0 >> 32) as u32 && !matches!(slot.work, Work::Free);
        current.then_some((slot.token, &mut slot.work))
    }

    /// Gives the slot back, and the work that was in it.
    pub(super) fn finish(&mut self, operation: Operation) -> Work {
        let Some((_, work)) = self.of(operation) else {
            return Work::Free;
        };
        let work = std::mem::replace(work, Work::Free);
        let index = operation.0 as u32;
        if let Some(slot) = self.slots.get_mut(index as usize) {
            slot.generation = slot.generation.wrapping_add(1);
        }
        self.free.push(index);
        work
    }
}

//! Over how many boots the trials of a run are spread, and when the next one is due.
//!
//! A boot affects all of its trials alike, so boots are the observations of a comparison, and each should
//! have about as many trials of every item as the others. All systems that the run boots boot together: the
//! trials of a pair are then of boots of one time.

/// How the trials on systems that the run boots are spread over boots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Boots {
    /// Over so many, until the first look or the end; one boots once.
    Over(u32),
    /// So many trials of an item in each boot, however many trials there are.
    Of(u32),
}

/// When the systems that the run boots should boot anew.
#[derive(Debug)]
pub(crate) struct BootSchedule {
    boots: Boots,
    /// For each item the blocks that it had since the last boot.
    blocks: Vec<u32>,
}

impl BootSchedule {
    pub(crate) fn new(boots: Boots, items: usize) -> BootSchedule {
        BootSchedule { boots, blocks: vec![0; items] }
    }

    /// Counts the next block of an item, which is to have `target` blocks in all; whether its systems should
    /// boot before it. Over so many boots, the trials between two looks double, and with them those of a
    /// boot, so that a long run does not boot for ever: each look adds about half as many boots as the first
    /// had.
    pub(crate) fn is_due(&mut self, item: usize, target: u32) -> bool {
        let share = match self.boots {
            Boots::Over(0 | 1) => u32::MAX,
            Boots::Over(boots) => target.div_ceil(boots).max(1),
            Boots::Of(trials) => trials.max(1),
        };
        let is_due = self.blocks[item] >= share;
        if is_due {
            self.blocks.fill(0);
        }
        self.blocks[item] += 1;
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In how many boots an item's blocks are, and the most of them in one.
    fn spread(boots: Boots, targets: &[u32]) -> (u32, u32) {
        let mut schedule = BootSchedule::new(boots, 1);
        let (mut blocks, mut count, mut most, mut within) = (0, 1, 0, 0);
        for &target in targets {
            while blocks < target {
                (count, within) =
                    if schedule.is_due(0, target) { (count + 1, 1) } else { (count, within + 1) };
                most = most.max(within);
                blocks += 1;
            }
        }
        (count, most)
    }

    #[test]
    fn trials_are_spread_over_the_boots() {
        assert_eq!(spread(Boots::Over(1), &[40]), (1, 40));
        assert_eq!(spread(Boots::Over(5), &[3]), (3, 1));
        assert_eq!(spread(Boots::Over(5), &[10]), (5, 2));
        assert_eq!(spread(Boots::Over(5), &[11]), (4, 3));
        assert_eq!(spread(Boots::Over(5), &[1, 10, 20, 40, 80]), (11, 16));
        assert_eq!(spread(Boots::Of(2), &[1, 16, 32]), (16, 2));
    }

    #[test]
    fn all_items_boot_together() {
        let mut schedule = BootSchedule::new(Boots::Over(2), 2);
        let due: Vec<bool> = [0, 1, 1, 0, 0, 1].map(|item| schedule.is_due(item, 4)).to_vec();
        assert_eq!(due, [false, false, false, false, true, false]);
    }
}

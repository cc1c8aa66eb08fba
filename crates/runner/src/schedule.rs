//! How many trials each workload gets, in which order, and in which boots.
//!
//! A boot affects all of its trials alike, so boots are the observations of a comparison, and each should
//! have about as many trials of every item as the others. All systems that the run boots boot together: the
//! trials of a pair are then of boots of one time. A boot for each trial would take longer than the trials.

use std::time::Duration;

use workload::Workload;

/// Fewer trials than this show almost nothing, so each item gets them even if the budget is small.
const TRIALS_MIN: u32 = 3;
/// Fewer trials than this are not compared.
const COMPARED_MIN: u32 = 4;

/// The trials that an item gets even if the budget is small, and the least by the plan.
pub(crate) fn least(workload: &Workload, planned: u32) -> u32 {
    let useful = if workload.rivals { COMPARED_MIN } else { TRIALS_MIN };
    planned.max(useful + u32::from(workload.equal_offered_load))
}

/// How many trials each of the items gets, when each wants `wanted` more than the `done` it has, one costs
/// `costs` seconds, and `remaining` is all the time there is. Cheap items get all they want; the rest is
/// divided in equal times among the expensive ones, each of which gets at least its `least`.
pub(crate) fn share(
    costs: &[f64],
    done: &[u32],
    wanted: u32,
    least: &[u32],
    remaining: Duration,
) -> Vec<u32> {
    let missing = |index: usize| wanted.saturating_sub(done[index]);
    let demand = |index: usize| costs[index] * f64::from(missing(index));
    let mut order: Vec<usize> = (0..costs.len()).collect();
    order.sort_by(|&a, &b| demand(a).total_cmp(&demand(b)));
    let mut targets = vec![0; costs.len()];
    let mut left = remaining.as_secs_f64();
    for (place, &index) in order.iter().enumerate() {
        let portion = left / (order.len() - place) as f64;
        let affordable = (portion / costs[index].max(1e-6)).floor() as u32;
        let least = least[index].saturating_sub(done[index]).min(missing(index));
        let more = missing(index).min(affordable.max(least));
        targets[index] = done[index] + more;
        left = (left - f64::from(more) * costs[index]).max(0.0);
    }
    targets
}

/// More trials for one item, up to the next look.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Step {
    pub(crate) item: usize,
    pub(crate) trials: u32,
    pub(crate) cost_seconds: f64,
}

/// Steps that cost at most this many times the cheapest are taken together, so that they interleave.
const ALIKE: f64 = 3.0;

/// The steps to be taken next: the cheapest and those like it, as long as the time lasts. Expensive
/// items wait until the cheap ones, whose trials narrow intervals in less time, are decided.
pub(crate) fn next(mut steps: Vec<Step>, remaining: Duration) -> Vec<Step> {
    steps.sort_by(|a, b| a.cost_seconds.total_cmp(&b.cost_seconds));
    let most = steps.first().map_or(0.0, |cheapest| cheapest.cost_seconds * ALIKE);
    let mut left = remaining.as_secs_f64();
    steps.retain(|step| {
        left -= step.cost_seconds;
        step.cost_seconds <= most && left >= 0.0
    });
    steps
}

/// A random order of `counts[i]` trials of each item i, spread evenly: in rounds, each in an order of its
/// own, so that drift of the machine affects all items alike.
pub(crate) fn interleave(counts: &[(usize, u32)], random: &mut fastrand::Rng) -> Vec<usize> {
    let rounds = counts.iter().map(|&(_, count)| count).max().unwrap_or(0);
    let mut order = Vec::new();
    for round in 0..rounds {
        // Rare items begin in the first round, so that an early end does not cut them off.
        let due = |&&(_, count): &&(usize, u32)| {
            u64::from(round) * u64::from(count) % u64::from(rounds) < u64::from(count)
        };
        let mut items: Vec<usize> = counts.iter().filter(due).map(|&(item, _)| item).collect();
        random.shuffle(&mut items);
        order.append(&mut items);
    }
    order
}

/// The order of the systems within the blocks of one item.
///
/// A block is one trial of every system, back to back, so that the trials of a block are a pair: drift of the
/// machine affects them alike. Each block with an odd number has a random order, and the next one the reverse
/// of it: ABBA or BAAB for two systems. So, every two blocks, each system comes before each other as often as
/// after it, and the effect of a trial on the next one cancels (randomised complete blocks in balanced pairs;
/// Cochran & Cox, Experimental Designs, 1957, chapter 4).
#[derive(Clone, Debug)]
pub(crate) struct Blocks {
    order: Vec<usize>,
    is_reverse_due: bool,
}

impl Blocks {
    pub(crate) fn new(systems: usize) -> Blocks {
        Blocks { order: (0..systems).collect(), is_reverse_due: false }
    }

    /// The order of the next block.
    pub(crate) fn next(&mut self, random: &mut fastrand::Rng) -> Vec<usize> {
        if self.is_reverse_due {
            self.order.reverse();
        } else {
            random.shuffle(&mut self.order);
        }
        self.is_reverse_due = !self.is_reverse_due;
        self.order.clone()
    }
}

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

    #[test]
    fn cheap_items_get_all_and_expensive_ones_the_rest() {
        let targets = share(&[0.01, 0.01, 2.0], &[1, 1, 1], 10, &[3; 3], Duration::from_secs(9));
        assert_eq!(targets, [10, 10, 5]);
    }

    #[test]
    fn no_item_gets_less_than_the_least() {
        assert_eq!(share(&[5.0, 5.0], &[1, 1], 10, &[3, 4], Duration::ZERO), [3, 4]);
        assert_eq!(share(&[5.0], &[1], 2, &[3], Duration::ZERO), [2]);
        assert_eq!(share(&[5.0], &[1], 20, &[10], Duration::ZERO), [10]);
    }

    #[test]
    fn rivals_get_enough_to_be_compared() {
        let rivals = Workload { rivals: true, ..Workload::LOAD };
        let alike = Workload { rivals: true, equal_offered_load: true, ..Workload::LOAD };
        assert_eq!([&Workload::CURVE, &rivals, &alike].map(|workload| least(workload, 0)), [3, 4, 5]);
        assert_eq!(least(&alike, 10), 10);
    }

    #[test]
    fn cheap_steps_are_taken_together_while_time_lasts() {
        let step = |item, cost_seconds| Step { item, trials: 20, cost_seconds };
        let steps = || vec![step(0, 3.0), step(1, 1.0), step(2, 100.0), step(3, 2.0)];
        let items = |remaining| next(steps(), remaining).iter().map(|step| step.item).collect::<Vec<_>>();
        assert_eq!(items(Duration::from_secs(1000)), [1, 3, 0]);
        assert_eq!(items(Duration::from_secs(4)), [1, 3]);
        assert!(items(Duration::ZERO).is_empty());
    }

    #[test]
    fn rounds_hold_every_item_once_and_spread_the_rare() {
        let order = interleave(&[(0, 4), (1, 4), (2, 2)], &mut fastrand::Rng::with_seed(7));
        assert_eq!(order.len(), 10);
        assert_eq!(order.iter().filter(|&&item| item == 2).count(), 2);
        assert!(order[..5].contains(&2) && order[5..].contains(&2), "{order:?}");
        assert!(!order[8..].contains(&2), "the last round is not theirs: {order:?}");
    }

    #[test]
    fn every_two_blocks_are_balanced_and_their_order_is_random() {
        let mut random = fastrand::Rng::with_seed(7);
        let mut blocks = Blocks::new(3);
        let mut first = [0; 3];
        for _ in 0..300 {
            let (one, mut two) = (blocks.next(&mut random), blocks.next(&mut random));
            first[one[0]] += 1;
            two.reverse();
            assert_eq!(one, two);
        }
        assert!(first.iter().all(|&count| (70..=130).contains(&count)), "{first:?}");
    }

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

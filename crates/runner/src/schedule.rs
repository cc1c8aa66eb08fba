//! Who gets how many trials, and in which order.

use std::time::Duration;

/// Fewer trials than this say next to nothing, so each item gets them even where the budget is thin.
const TRIALS_MIN: u32 = 3;

/// How many trials each of the items gets, when each wants `wanted` more than the `done` it has, one costs
/// `costs` seconds, and `remaining` is all the time there is. Cheap items get all they want; what is left
/// is shared out in equal times among the dear ones.
pub(crate) fn share(costs: &[f64], done: &[u32], wanted: u32, remaining: Duration) -> Vec<u32> {
    let missing = |index: usize| wanted.saturating_sub(done[index]);
    let demand = |index: usize| costs[index] * f64::from(missing(index));
    let mut order: Vec<usize> = (0..costs.len()).collect();
    order.sort_by(|&a, &b| demand(a).total_cmp(&demand(b)));
    let mut targets = vec![0; costs.len()];
    let mut left = remaining.as_secs_f64();
    for (place, &index) in order.iter().enumerate() {
        let portion = left / (order.len() - place) as f64;
        let affordable = (portion / costs[index].max(1e-6)).floor() as u32;
        let least = TRIALS_MIN.saturating_sub(done[index]).min(missing(index));
        let more = missing(index).min(affordable.max(least));
        targets[index] = done[index] + more;
        left = (left - f64::from(more) * costs[index]).max(0.0);
    }
    targets
}

/// The items that get twice as many trials next, cheapest first, as long as the time lasts.
pub(crate) fn afford(
    costs: &[f64],
    done: &[u32],
    wanted: u32,
    undecided: &[usize],
    remaining: Duration,
) -> Vec<usize> {
    let cost = |index: usize| costs[index] * f64::from(wanted.saturating_sub(done[index]));
    let mut order = undecided.to_vec();
    order.sort_by(|&a, &b| cost(a).total_cmp(&cost(b)));
    let mut left = remaining.as_secs_f64();
    order.retain(|&index| {
        let fits = cost(index) <= left;
        if fits {
            left -= cost(index);
        }
        fits
    });
    order
}

/// A random order of `counts[i]` trials of each item i, spread evenly: in rounds, each in an order of its
/// own, so that whatever drifts in the machine meets all items alike.
pub(crate) fn interleave(counts: &[(usize, u32)], random: &mut fastrand::Rng) -> Vec<usize> {
    let rounds = counts.iter().map(|&(_, count)| count).max().unwrap_or(0);
    let mut order = Vec::new();
    for round in 0..rounds {
        let due = |&&(_, count): &&(usize, u32)| {
            let by_then = |round: u32| u64::from(round) * u64::from(count) / u64::from(rounds);
            by_then(round + 1) > by_then(round)
        };
        let mut items: Vec<usize> = counts.iter().filter(due).map(|&(item, _)| item).collect();
        random.shuffle(&mut items);
        order.append(&mut items);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cheap_items_get_all_and_dear_ones_the_rest() {
        let targets = share(&[0.01, 0.01, 2.0], &[1, 1, 1], 10, Duration::from_secs(9));
        assert_eq!(targets, [10, 10, 5]);
    }

    #[test]
    fn no_item_gets_less_than_the_least() {
        assert_eq!(share(&[5.0, 5.0], &[1, 1], 10, Duration::ZERO), [3, 3]);
        assert_eq!(share(&[5.0], &[1], 2, Duration::ZERO), [2]);
    }

    #[test]
    fn more_trials_go_to_the_cheap_while_time_lasts() {
        let chosen = afford(&[0.1, 10.0, 0.2], &[10, 10, 10], 20, &[0, 1, 2], Duration::from_secs(4));
        assert_eq!(chosen, [0, 2]);
    }

    #[test]
    fn rounds_hold_every_item_once_and_spread_the_rare() {
        let order = interleave(&[(0, 4), (1, 4), (2, 2)], &mut fastrand::Rng::with_seed(7));
        assert_eq!(order.len(), 10);
        assert_eq!(order.iter().filter(|&&item| item == 2).count(), 2);
        assert!(order[..5].contains(&2) && order[5..].contains(&2), "{order:?}");
    }
}

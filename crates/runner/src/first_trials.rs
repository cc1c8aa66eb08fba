//! How the budget of a run is divided among the first trials of its loads.
//!
//! The cost of a load is unknown before its first trial: on a slow system all cost many times as much as
//! elsewhere, and on any system a server that starts a program for each connection costs many times as much
//! as the others. Equal shares would cut the expensive ones everywhere. First come, first served would leave
//! nothing for the last ones on a slow system. So a trial may take the time that the others will probably not
//! need. Their expected cost is that of loads on a machine of today, corrected by the measured ones. Where
//! that leaves less than an equal share, it may take an equal share.

use std::collections::BTreeSet;
use std::time::Duration;

use record::Recording;

use crate::plan::RunPlan;

/// A first trial of a load on a machine of today takes so many times its windows: before each window there
/// are connections to be made, and around all of them a server to be started.
const USUAL_WINDOWS: f64 = 4.0;

/// That expectation weighs as much as so many trials: one load that is expensive by itself does not make
/// the system slow, and several do.
const USUAL_WEIGHT: f64 = 10.0;

/// The first trials of all loads of a run, one for each system.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FirstTrials {
    /// Those that are over.
    pub(crate) done: usize,
    /// What these took.
    pub(crate) spent_seconds: f64,
    /// Those to come, without the next one.
    pub(crate) others: usize,
}

impl FirstTrials {
    /// Before a trial of this number, from the record so far.
    pub(crate) fn new(plan: &RunPlan, recording: &Recording, number: u32) -> FirstTrials {
        let loads: BTreeSet<&str> =
            plan.items.iter().filter(|item| item.has_levels()).map(|item| item.workload.name).collect();
        let trials = recording.trials.iter().map(|trial| (&trial.order, trial.elapsed_seconds));
        let first = trials.filter(|(order, _)| order.trial == 1 && loads.contains(&*order.workload));
        let costs: Vec<f64> = first.map(|(_, elapsed_seconds)| elapsed_seconds).collect();
        let all = plan.items.iter().filter(|item| item.has_levels()).count() * plan.targets.len();
        FirstTrials {
            done: costs.len(),
            spent_seconds: costs.iter().sum(),
            others: all.saturating_sub(costs.len() + usize::from(number == 1)),
        }
    }

    /// How much of the time that is left the next one may take. All of its windows take `windows`. It may
    /// take `most`, or, where the others leave plenty, twice as much up to half of the rest: a user wants the
    /// last level.
    pub(crate) fn share(self, left: Duration, windows: Duration, most: Duration) -> Duration {
        let FirstTrials { done, spent_seconds, others } = self;
        let equal = left.as_secs_f64() / (others as f64 + 1.0);
        let usual = USUAL_WEIGHT * USUAL_WINDOWS * windows.as_secs_f64();
        let expected = (usual + spent_seconds) / (USUAL_WEIGHT + done as f64);
        let spare = left.as_secs_f64() - expected * others as f64;
        let most = most.as_secs_f64();
        let share = equal.max(spare.min(most)).max((spare / 2.0).min(2.0 * most));
        Duration::try_from_secs_f64(share).unwrap_or(left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOWS: Duration = Duration::from_millis(250);
    const MOST: Duration = Duration::from_millis(7500);

    /// The shares of the first trials of a run that would take so long.
    fn given(budget_seconds: f64, costs: &[f64]) -> Vec<f64> {
        let (mut left, mut spent_seconds) = (budget_seconds, 0.0);
        let mut given = Vec::new();
        for (done, cost) in costs.iter().enumerate() {
            let first = FirstTrials { done, spent_seconds, others: costs.len() - done - 1 };
            let share = first.share(Duration::from_secs_f64(left), WINDOWS, MOST).as_secs_f64();
            given.push(share.min(*cost));
            left -= share.min(*cost);
            spent_seconds += share.min(*cost);
        }
        given
    }

    #[test]
    fn one_load_has_all_the_time() {
        let alone = FirstTrials { done: 0, spent_seconds: 0.0, others: 0 };
        assert_eq!(alone.share(Duration::from_secs(48), WINDOWS, MOST), Duration::from_secs(48));
    }

    #[test]
    fn loads_that_are_expensive_by_themselves_are_not_cut() {
        let mut costs = [0.7; 20];
        for places in [[0, 1], [0, 19], [7, 8], [18, 19]] {
            places.iter().zip([9.0, 5.0]).for_each(|(&place, cost)| costs[place] = cost);
            assert_eq!(given(48.0, &costs), costs, "{places:?}");
            places.iter().for_each(|&place| costs[place] = 0.7);
        }
    }

    #[test]
    fn on_a_slow_system_all_have_time_and_most_have_about_as_much() {
        let given = given(48.0, &[30.0; 20]);
        assert!(given.iter().sum::<f64>() <= 48.0 + 1e-9, "{given:?}");
        assert!(given.iter().all(|&seconds| seconds >= 1.5), "{given:?}");
        assert!(given.iter().filter(|&&seconds| seconds > 2.4).count() <= 3, "{given:?}");
    }
}

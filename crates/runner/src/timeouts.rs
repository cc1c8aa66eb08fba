//! The times of a trial: the window of a load, the allowance of its way up, and its time-out; and how the
//! budget of a run is divided among the first trials of its loads.
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
use workload::Shape;

use crate::plan::{Item, RunPlan};

/// The way up of a load may take this many times its windows before levels are left out: between them,
/// connections are made and servers started, and if each response takes a new process, four rounds of a
/// thousand connections take seconds.
const WINDOWS: u32 = 30;

/// A window of workers is not longer than this, unless the user wants that: it has thousands of operations,
/// and more trials tell more than longer windows.
const SCALING_MAX: Duration = Duration::from_millis(40);

/// The times of one trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Timeouts {
    /// How long to measure at each level.
    pub(crate) window: Option<Duration>,
    /// The way up stops when this is used up.
    pub(crate) allowance: Option<Duration>,
    /// A load ends below the levels with which it would take longer than this.
    pub(crate) share: Option<Duration>,
    /// The trial is killed when this is used up.
    pub(crate) timeout: Duration,
}

impl Timeouts {
    /// For a trial of `item` to `n`; once it is known which n fits, the way up is not cut any more. A window
    /// is the same in all trials of an item, however far they go: it depends on `top`, the largest n of them
    /// all. A load is never cut below the n that the user asked for: rivals are compared where each was
    /// measured. With a budget, `first` is the time that is left, and how far the first trials of loads are.
    pub(crate) fn new(
        plan: &RunPlan,
        item: &Item,
        (n, top): (u64, u64),
        fitted: bool,
        first: Option<(Duration, FirstTrials)>,
    ) -> Timeouts {
        let window = match item.workload.sizes.levels(top) {
            Some(levels) => plan.window.or_else(|| {
                let window = workload::window(plan.allowance, levels.len());
                // The operations of workers are short, and many.
                let most = if item.workload.shape == Shape::Scaling { SCALING_MAX } else { Duration::MAX };
                Some(window.min(most))
            }),
            None => plan.window.filter(|_| item.is_load()),
        };
        let levels = item.workload.sizes.levels(n).map_or(0, |levels| levels.len());
        let windows = window.unwrap_or_default() * u32::try_from(levels).unwrap_or(u32::MAX);
        let is_whole = fitted || (plan.n.is_some() && item.has_levels());
        let allowance = plan.allowance.filter(|_| !is_whole).map(|allowed| allowed.max(windows * WINDOWS));
        let share = first.zip(allowance).filter(|_| item.has_levels());
        let share = share.map(|((left, trials), allowed)| trials.share(left, windows, allowed));
        Timeouts {
            window,
            allowance: allowance.map(|allowed| allowed.min(share.unwrap_or(allowed))),
            share,
            timeout: plan.timeout.saturating_add(windows * WINDOWS),
        }
    }
}

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
    done: usize,
    /// The time that these took.
    spent_seconds: f64,
    /// Those to come, without the next one.
    others: usize,
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
    fn share(self, left: Duration, windows: Duration, most: Duration) -> Duration {
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
    use std::collections::BTreeMap;

    use workload::Workload;

    use super::*;
    use crate::RunOptions;

    const LOAD: Workload = Workload { name: "load", ..Workload::LOAD };

    fn item(workload: &'static Workload) -> Item {
        Item { workload, variant: workload.variants[0], settings: BTreeMap::new() }
    }

    #[test]
    fn all_trials_of_a_load_have_one_window_and_time_for_all_of_them() {
        let plan = RunPlan::make(&RunOptions { trials: Some(1), ..RunOptions::default() }).expect("a plan");
        let item = item(&LOAD);
        let first = Timeouts::new(&plan, &item, (1000, 1000), false, None);
        // Ten levels within half a second.
        assert_eq!(first.window, Some(Duration::from_millis(50)));
        assert_eq!(first.allowance, Some(WINDOWS * Duration::from_millis(500)));
        assert_eq!(first.timeout, plan.timeout + WINDOWS * Duration::from_millis(500));
        let later = Timeouts::new(&plan, &item, (100, 1000), true, None);
        assert_eq!((later.window, later.allowance), (first.window, None));
        assert_eq!(later.timeout, plan.timeout + 7 * WINDOWS * Duration::from_millis(50));
    }

    #[test]
    fn a_load_goes_as_far_as_was_asked_and_all_else_as_far_as_there_is_time() {
        let plan = RunPlan::make(&RunOptions { n: Some(20), ..RunOptions::default() }).expect("a plan");
        let load = Timeouts::new(&plan, &item(&LOAD), (20, 1000), false, None);
        assert_eq!((load.allowance, load.window.is_some()), (None, true));
        let bind = item(crate::find("bind").expect("bind"));
        assert_eq!(Timeouts::new(&plan, &bind, (20, 1000), false, None).allowance, plan.allowance);
    }

    #[test]
    fn a_chosen_window_is_taken_by_loads_alone() {
        let window = Some(Duration::from_secs(5));
        let plan = RunPlan::make(&RunOptions { window, ..RunOptions::default() }).expect("a plan");
        let timeouts = Timeouts::new(&plan, &item(&LOAD), (10, 1000), false, None);
        assert_eq!((timeouts.window, timeouts.allowance), (window, Some(WINDOWS * Duration::from_secs(20))));
        let bind = item(crate::find("bind").expect("bind"));
        let timeouts = Timeouts::new(&plan, &bind, (10, 1000), false, None);
        let expected =
            Timeouts { window: None, allowance: plan.allowance, share: None, timeout: plan.timeout };
        assert_eq!(timeouts, expected);
    }

    const WINDOWS_TIME: Duration = Duration::from_millis(250);
    const MOST: Duration = Duration::from_millis(7500);

    /// The shares of the first trials of a run that would take so long.
    fn given(budget_seconds: f64, costs: &[f64]) -> Vec<f64> {
        let (mut left, mut spent_seconds) = (budget_seconds, 0.0);
        let mut given = Vec::new();
        for (done, cost) in costs.iter().enumerate() {
            let first = FirstTrials { done, spent_seconds, others: costs.len() - done - 1 };
            let share = first.share(Duration::from_secs_f64(left), WINDOWS_TIME, MOST).as_secs_f64();
            given.push(share.min(*cost));
            left -= share.min(*cost);
            spent_seconds += share.min(*cost);
        }
        given
    }

    #[test]
    fn one_load_has_all_the_time() {
        let alone = FirstTrials { done: 0, spent_seconds: 0.0, others: 0 };
        assert_eq!(alone.share(Duration::from_secs(48), WINDOWS_TIME, MOST), Duration::from_secs(48));
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

//! Time-outs of a trial, and the window of a load.

use std::time::Duration;

use workload::Shape;

use crate::first_trials::FirstTrials;
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
        let windows = window.unwrap_or_default() * levels(item, n);
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

/// At how many levels a load is held on the way to `n`.
fn levels(item: &Item, n: u64) -> u32 {
    let levels = item.workload.sizes.levels(n);
    levels.map_or(0, |levels| u32::try_from(levels.len()).unwrap_or(u32::MAX))
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
}

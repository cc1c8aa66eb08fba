//! Histories whose changes are known.

use proptest::prelude::*;
use stats::{
    ChangeGround, Confirmation, Confirmed, Decision, HistorySettings, Interval, LevelHistory, NightCosts,
    SeriesLevels, YEARLY_DRIFT, confirm, history,
};

use crate::simulation::normal;

const SERIES: usize = 12;

fn levels(nights: &[NightCosts]) -> LevelHistory {
    history(nights, &HistorySettings::default())
}

/// Nights with noise of 1 % and a common part of 2 %, and whatever `more` adds to a series on a night.
fn nights(count: usize, seed: u64, more: impl Fn(usize, usize) -> f64) -> Vec<NightCosts> {
    let mut random = fastrand::Rng::with_seed(seed);
    (0..count)
        .map(|night| {
            let shared = 0.02 * normal(&mut random);
            let log = |series: usize| Some(shared + 0.01 * normal(&mut random) + more(night, series));
            let logs = (0..SERIES).map(log).collect();
            NightCosts {
                machine: 0,
                day: night as f64,
                logs,
                starts_epoch: false,
                has_new_system: false,
                is_measured_again: false,
                confirmations: Vec::new(),
            }
        })
        .collect()
}

fn step(size: f64) -> impl Fn(usize, usize) -> f64 {
    move |night, series| if series == 3 && night >= 60 { size } else { 0.0 }
}

#[test]
fn a_step_in_one_series_is_raised_once_and_where_it_is() {
    let found = levels(&nights(120, 1, step(0.08)));
    let [change] = found.changes[..] else { panic!("{:?}", found.changes) };
    assert_eq!((change.series, change.from, change.ground), (Some(3), 60, ChangeGround::Nights));
    assert!((61..=63).contains(&change.raised), "{change:?}");
    assert!(change.ratio.low < 0.08_f64.exp() && change.ratio.high > 0.08_f64.exp(), "{change:?}");
    let segments = &found.series[3].segments;
    assert_eq!(
        segments.iter().map(|segment| (segment.first, segment.last)).collect::<Vec<_>>(),
        [(0, 59), (60, 119)]
    );
    assert!(segments[0].starts_epoch && !segments[1].starts_epoch);
    assert_eq!(found.series[4].segments.len(), 1);
}

/// Each night alone would be beyond the threshold of a series.
#[test]
fn outlier_nights_are_no_change() {
    let neighbour =
        |night: usize, series: usize| if night % 20 == 7 { 0.08 + 0.005 * series as f64 } else { 0.0 };
    let outlier = |night: usize, series: usize| if night % 25 == 3 && series == 5 { 0.3 } else { 0.0 };
    let found = levels(&nights(300, 3, |night, series| neighbour(night, series) + outlier(night, series)));
    assert_eq!(found.changes, []);
}

#[test]
fn a_slower_machine_is_one_change_and_not_one_of_each_series() {
    let slower = |night: usize, series: usize| if night < 60 { 0.0 } else { 0.05 + 0.002 * series as f64 };
    let found = levels(&nights(120, 4, slower));
    let [change] = found.changes[..] else { panic!("{:?}", found.changes) };
    assert_eq!(change.series, None);
    assert!(change.from.abs_diff(60) <= 2, "{change:?}");
    assert!(found.series.iter().all(|series| series.segments.len() == 2));
}

#[test]
fn a_known_change_is_no_alarm_and_noise_is_not_forgotten() {
    let mut all = nights(120, 5, |night, series| if night < 60 { 0.0 } else { 0.1 * series as f64 });
    assert!(!levels(&all).changes.is_empty());
    all[60].starts_epoch = true;
    let found = levels(&all);
    assert_eq!(found.changes, []);
    assert_eq!(found.series[7].segments.len(), 2);
    assert!((0.007..0.015).contains(&levels(&all[..62]).series[7].noise));
}

#[test]
fn a_slow_drift_is_a_drift_and_no_ladder() {
    let drift =
        |night: usize, series: usize| if series == 2 { YEARLY_DRIFT * night as f64 / 365.25 } else { 0.0 };
    let found = levels(&nights(365, 6, drift));
    assert_eq!(found.changes, []);
    let decisions: Vec<_> = found.series.iter().filter_map(|series| Some(series.drift?.decision)).collect();
    assert_eq!(decisions[2], Decision::Certain);
    assert_eq!(decisions.iter().filter(|one| **one == Decision::Excluded).count(), SERIES - 1);
}

#[test]
fn what_is_suspected_is_raised_dismissed_or_left_open() {
    let mut all = nights(61, 7, step(0.08));
    all.iter_mut().for_each(|night| night.is_measured_again = true);
    let suspected = levels(&all).suspected;
    let suspicion = suspected.iter().find(|one| one.series == 3).expect("a suspicion");
    assert!(suspicion.from == 60 && suspicion.base < 60 && suspicion.ratio.value > 1.04);
    let about = |value: f64, reach: f64| Interval { value, low: value - reach, high: value + reach };
    for (ratio, confirmed, changes, left) in [
        (about(1.08, 0.03), Confirmed::Raised, 1, false),
        (about(1.00, 0.03), Confirmed::Dismissed, 0, false),
        (about(0.90, 0.03), Confirmed::Dismissed, 0, false),
        (about(1.04, 0.06), Confirmed::Open, 0, true),
        (about(f64::NAN, 0.0), Confirmed::Open, 0, true),
    ] {
        assert_eq!(confirm(suspicion, ratio, &HistorySettings::default()), confirmed, "{ratio:?}");
        all[60].confirmations = vec![Confirmation { series: 3, ratio }];
        let found = levels(&all);
        assert_eq!(found.changes.len(), changes, "{ratio:?}");
        assert_eq!(found.suspected.iter().any(|one| one.series == 3), left, "{ratio:?}");
    }
}

/// The level of the nights did change, and a confirming measurement says that the system did not.
#[test]
fn a_change_that_is_dismissed_again_and_again_is_a_boundary_and_no_alarm() {
    let mut all = nights(90, 8, step(0.10));
    let ratio = Interval { value: 1.0, low: 0.99, high: 1.01 };
    for night in &mut all {
        night.is_measured_again = true;
        night.confirmations = vec![Confirmation { series: 3, ratio }];
    }
    let found = levels(&all);
    let [change] = found.changes[..] else { panic!("{:?}", found.changes) };
    assert!(!change.is_alarm() && change.from == 60, "{change:?}");
}

#[test]
fn nights_of_two_machines_find_a_change_together() {
    let mut all =
        nights(120, 9, |night, series| step(0.08)(night, series) + if night % 2 == 0 { 0.5 } else { 0.0 });
    all.iter_mut().enumerate().for_each(|(night, one)| one.machine = usize::from(night % 2 == 0));
    let found = levels(&all);
    let [change] = found.changes[..] else { panic!("{:?}", found.changes) };
    assert!((change.series, change.from) == (Some(3), 60) && change.raised <= 63, "{change:?}");
    let machines: Vec<usize> = found.series[3].segments.iter().map(|segment| segment.machine).collect();
    assert_eq!(machines, [0, 0, 1, 1]);
}

#[test]
fn any_input_has_an_answer() {
    assert_eq!(levels(&[]).changes, []);
    let mut random = fastrand::Rng::with_seed(10);
    for _ in 0..300 {
        let count = random.usize(..40);
        let mut all = nights(count, random.u64(..), |_, _| 0.0);
        for night in &mut all {
            night.machine = random.usize(..3);
            night.starts_epoch = random.u8(..) < 20;
            night.logs.truncate(random.usize(..=SERIES));
            night.logs.iter_mut().for_each(|log| match random.u8(..) {
                0..40 => *log = None,
                40 => *log = Some(f64::NAN),
                41 => *log = Some(f64::INFINITY),
                42 => *log = Some(1e300),
                _ => (),
            });
        }
        let found = levels(&all);
        let ends =
            |series: &SeriesLevels| series.segments.iter().all(|segment| segment.first <= segment.last);
        assert!(found.series.iter().all(ends));
    }
}

/// One series has no common part beside it.
#[test]
fn a_single_series_is_judged_too() {
    let mut all = nights(120, 11, |night, _| if night < 60 { 0.0 } else { 0.2 });
    all.iter_mut().for_each(|night| night.logs.truncate(1));
    let [change] = levels(&all).changes[..] else { panic!("one change") };
    assert_eq!((change.series, change.from), (Some(0), 60));
}

proptest! {
    #[test]
    fn no_later_night_moves_or_removes_a_change(seed in 0_u64..1000, cut in 20_usize..150, size in -0.2_f64..0.2) {
        let more = |night: usize, series: usize| {
            step(size)(night, series) + step(-0.2)(night.saturating_sub(40), series)
        };
        let all = nights(150, seed, more);
        let key = |history: &LevelHistory| -> Vec<(Option<usize>, usize, usize)> {
            history.changes.iter().map(|change| (change.series, change.from, change.raised)).collect()
        };
        let last = key(&levels(&all));
        let then = key(&levels(&all[..cut]));
        prop_assert_eq!(&then[..], &last[..then.len()]);
        prop_assert!(last[then.len()..].iter().all(|change| change.2 >= cut), "{:?}", last);
    }
}

/// The machine wanders by as much from night to night; a new system is where a change is looked for.
#[test]
fn a_new_system_may_change_what_all_series_share() {
    let cheaper = |night: usize, series: usize| match (night < 40, series) {
        (true, _) => 0.0,
        (false, 3) => 0.2,
        (false, _) => -0.06,
    };
    let mut all = nights(46, 12, cheaper);
    assert!(levels(&all).changes.iter().all(|change| change.series.is_some()));
    all[40].has_new_system = true;
    let found = levels(&all);
    let of = |series: Option<usize>| found.changes.iter().find(|change| change.series == series);
    let shared = of(None).expect("a change of all series");
    assert_eq!(shared.from, 40);
    assert!(shared.ratio.low < 0.942 && shared.ratio.high > 0.942, "{shared:?}");
    let expensive = of(Some(3)).expect("a change of one series");
    assert!(expensive.ratio.low < 1.221 && expensive.ratio.high > 1.221, "{expensive:?}");
}

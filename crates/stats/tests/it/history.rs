//! Courses of costs over nights: what is raised, and that it stays raised as it was.

use proptest::prelude::*;
use stats::{Decision, HistoryFold, HistoryOfMachine, HistorySettings, Interval, NightOfMachine, confirms};

const SERIES: usize = 10;

fn normal(random: &mut fastrand::Rng) -> f64 {
    (0..12).map(|_| random.f64()).sum::<f64>() - 6.0
}

/// Nights of quiet series around -10, with 1 % of scatter, and 2 % that all series share.
fn quiet(nights: usize, seed: u64) -> Vec<[f64; SERIES]> {
    let mut random = fastrand::Rng::with_seed(seed);
    let night = |_| {
        let shared = 0.02 * normal(&mut random);
        std::array::from_fn(|_| -10.0 + shared + 0.01 * normal(&mut random))
    };
    (0..nights).map(night).collect()
}

fn folded(
    nights: &[[f64; SERIES]],
    boundaries: &[usize],
    again: &dyn Fn(usize, usize) -> Option<Interval>,
) -> HistoryOfMachine {
    let mut fold = HistoryFold::new(SERIES, HistorySettings::default());
    for (night, costs) in nights.iter().enumerate() {
        let log_costs: Vec<Option<f64>> =
            costs.iter().map(|cost| cost.is_finite().then_some(*cost)).collect();
        let is_boundary = boundaries.contains(&night);
        fold.add(&NightOfMachine { day: night as f64, log_costs: &log_costs, is_boundary }, &mut |series| {
            again(series, night)
        });
    }
    fold.answer()
}

fn alone(nights: &[[f64; SERIES]]) -> HistoryOfMachine {
    folded(nights, &[], &|_, _| None)
}

#[test]
fn a_change_of_one_series_is_raised_once_with_its_night_and_size() {
    let mut nights = quiet(60, 1);
    nights[40..].iter_mut().for_each(|night| night[3] += 0.08);
    let history = alone(&nights);
    assert!(history.machine.is_empty());
    for (series, course) in history.series.iter().enumerate() {
        let changes: Vec<_> = course.segments.iter().filter_map(|segment| segment.change).collect();
        if series != 3 {
            assert!(changes.is_empty(), "{series}: {changes:?}");
            continue;
        }
        let [change] = changes[..] else { panic!("one change: {changes:?}") };
        assert_eq!((change.night, change.is_of_machine), (40, false));
        assert!((42..46).contains(&change.raised), "{change:?}");
        assert!(
            change.ratio.low < 1.083 && change.ratio.high > 1.083 && change.ratio.low > 1.0,
            "{change:?}"
        );
        let [before, after] = [&course.segments[0], &course.segments[1]];
        assert_eq!((before.first, before.last, after.first, after.last), (0, 39, 40, 59));
    }
}

#[test]
fn single_nights_of_a_neighbour_raise_nothing() {
    let mut nights = quiet(120, 2);
    let mut random = fastrand::Rng::with_seed(7);
    for night in (20..120).step_by(9) {
        nights[night].iter_mut().for_each(|cost| *cost += 0.1 * (0.5 + random.f64()));
    }
    // One series alone, for a night and for two.
    nights[50][2] += 0.3;
    nights[70][4] += 0.1;
    nights[71][4] += 0.1;
    let history = alone(&nights);
    assert!(history.machine.is_empty(), "{:?}", history.machine);
    assert!(history.series.iter().all(|course| course.segments.len() == 1), "{history:?}");
}

#[test]
fn another_speed_of_the_machine_is_one_change_and_not_one_of_each_series() {
    let mut nights = quiet(90, 3);
    nights[50..].iter_mut().flatten().for_each(|cost| *cost += 0.2);
    let history = alone(&nights);
    let [change] = history.machine[..] else { panic!("one change: {:?}", history.machine) };
    assert_eq!(change.night, 50);
    assert!(change.ratio.low < 1.2215 && change.ratio.high > 1.2213, "{change:?}");
    for course in &history.series {
        let of_machine: Vec<bool> =
            course.segments.iter().filter_map(|segment| Some(segment.change?.is_of_machine)).collect();
        assert_eq!(of_machine, [true]);
        assert!(
            (course.segments[1].cost.value / course.segments[0].cost.value - 1.22).abs() < 0.03,
            "{course:?}"
        );
    }
}

#[test]
fn known_changes_begin_anew_and_are_none() {
    let mut nights = quiet(80, 1008);
    nights[40..].iter_mut().flatten().for_each(|cost| *cost += 0.5);
    let history = folded(&nights, &[40], &|_, _| None);
    assert!(history.machine.is_empty());
    for course in &history.series {
        assert_eq!(course.segments.len(), 2);
        assert!(course.segments.iter().all(|segment| segment.change.is_none()));
    }
}

#[test]
fn a_slow_drift_is_a_drift_and_no_ladder_of_changes() {
    let mut nights = quiet(365, 5);
    for (night, costs) in nights.iter_mut().enumerate() {
        costs[6] += 0.10_f64.ln_1p() * night as f64 / 365.0;
    }
    let history = alone(&nights);
    assert_eq!(history.series[6].segments.len(), 1, "{:?}", history.series[6]);
    let drift = history.series[6].drift.expect("a year shows it");
    assert_eq!(drift.reaches_limit, Decision::Certain);
    assert!(drift.ratio_per_year.low < 1.1 && drift.ratio_per_year.high > 1.1, "{drift:?}");
    let others = history.series.iter().enumerate().filter(|(series, _)| *series != 6);
    let excluded = others
        .filter(|(_, course)| course.drift.is_some_and(|drift| drift.reaches_limit == Decision::Excluded));
    assert!(excluded.count() >= SERIES - 2, "{history:?}");
}

#[test]
fn a_series_that_looks_changed_is_measured_again_before_it_is_raised() {
    let mut nights = quiet(41, 6);
    nights[40][1] += 0.06;
    let history = alone(&nights);
    assert!(history.series[1].is_suspected && history.series[1].segments.len() == 1);
    let exactly = |value: f64| Interval { value, low: value * 0.99, high: value * 1.01 };
    let confirmed = folded(&nights, &[], &|series, _| (series == 1).then(|| exactly(1.06)));
    let change =
        confirmed.series[1].segments.last().and_then(|segment| segment.change).expect("it is raised");
    assert_eq!((change.night, change.raised, change.ratio), (40, 40, exactly(1.06)));
    let dismissed = folded(&nights, &[], &|_, _| Some(exactly(1.0)));
    assert!(dismissed.series.iter().all(|course| !course.is_suspected && course.segments.len() == 1));
}

#[test]
fn a_measurement_is_certain_only_far_from_equal() {
    let settings = HistorySettings::default();
    let of = |value: f64, reach: f64| {
        confirms(Interval { value, low: value / reach, high: value * reach }, &settings)
    };
    assert_eq!(of(1.05, 1.01), Decision::Certain);
    assert_eq!(of(0.95, 1.01), Decision::Certain);
    assert_eq!(of(1.05, 1.03), Decision::Undecided, "the interval of 95 % alone excludes 1");
    assert_eq!(of(1.00, 1.01), Decision::Excluded);
    assert_eq!(of(1.005, 1.001), Decision::Excluded, "certain, and too small");
}

proptest! {
    #[test]
    fn later_nights_move_no_change_that_was_raised(seed in 0_u64..1000, cut in 10_usize..80, step in -0.2_f64..0.2) {
        let mut nights = quiet(100, seed);
        nights[35..].iter_mut().for_each(|night| night[0] += step);
        nights[60..].iter_mut().flatten().for_each(|cost| *cost -= step);
        let raised = |history: &HistoryOfMachine, by: usize| -> Vec<(usize, usize, usize)> {
            let of_series = |(series, course): (usize, &stats::CourseOfSeries)| {
                let changes = course.segments.iter().filter_map(|segment| segment.change);
                let changes: Vec<_> = changes.filter(|one| one.raised < by).map(|one| (series, one.night, one.raised)).collect();
                changes
            };
            history.series.iter().enumerate().flat_map(of_series).collect()
        };
        prop_assert_eq!(raised(&alone(&nights[..cut]), cut), raised(&alone(&nights), cut));
    }

    #[test]
    fn any_costs_have_a_history(
        costs in proptest::collection::vec(
            proptest::array::uniform10(prop_oneof![Just(f64::NAN), -100.0_f64..100.0, Just(0.0)]),
            0..40,
        ),
        boundary in 0_usize..40,
    ) {
        let history = folded(&costs, &[boundary], &|_, _| None);
        for course in &history.series {
            for segment in &course.segments {
                prop_assert!(segment.first <= segment.last && segment.nights >= 1);
                prop_assert!(segment.cost.low <= segment.cost.high);
            }
        }
    }
}

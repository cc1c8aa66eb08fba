//! Rules that raise alarms: osdyno's, with and without a measurement that is made again, and rules of others.

use statrs::distribution::{ContinuousCDF, StudentsT};
use stats::{Decision, HistoryFold, HistorySettings, NightOfMachine};

use super::simulated::Year;

/// A rule.
pub(super) struct Rule {
    pub(super) name: &'static str,
    pub(super) alarms: fn(&Year, &HistorySettings) -> RaisedAlarms,
    /// For each series, whether it drifts.
    pub(super) drifts: Option<fn(&Year, &HistorySettings) -> Vec<Decision>>,
}

/// The alarms of a history.
#[derive(Default)]
pub(super) struct RaisedAlarms {
    pub(super) raised: Vec<RaisedAlarm>,
    pub(super) measured_again: u64,
}

/// An alarm.
pub(super) struct RaisedAlarm {
    /// RaisedAlarms about the whole machine have none.
    pub(super) series: usize,
    /// The night that it names.
    pub(super) night: usize,
    /// The night after which it came.
    pub(super) raised: usize,
}

/// osdyno's rule first.
pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "osdyno, measured again",
        alarms: |year, settings| folded(year, settings, true),
        drifts: Some(drifts),
    },
    Rule {
        name: "osdyno, nights alone",
        alarms: |year, settings| folded(year, settings, false),
        drifts: None,
    },
    Rule { name: "Otava (E-divisive, p < 0.001)", alarms: |year, _| each(year, divisive), drifts: None },
    Rule { name: "5 % from the night before", alarms: |year, _| each(year, threshold), drifts: None },
    Rule { name: "t-test of 30 nights, p < 0.01", alarms: |year, _| each(year, t_test), drifts: None },
];

fn folded(year: &Year, settings: &HistorySettings, again: bool) -> RaisedAlarms {
    let mut alarms = RaisedAlarms::default();
    let mut fold = HistoryFold::new(year.log_costs.len(), *settings);
    for night in 0..year.log_costs[0].len() {
        let log_costs: Vec<Option<f64>> = year.log_costs.iter().map(|costs| Some(costs[night])).collect();
        let is_boundary = year.boundaries.contains(&night);
        let before = fold.of_machine().len();
        let mut measured = 0;
        fold.add(&NightOfMachine { day: night as f64, log_costs: &log_costs, is_boundary }, &mut |series| {
            measured += u64::from(again);
            again.then(|| year.measured_again(series, night))
        });
        alarms.measured_again += measured;
        let raised = (0..year.log_costs.len()).filter_map(|series| Some((series, fold.raised(series)?)));
        let raised = raised.filter(|(_, change)| !change.is_of_machine);
        alarms.raised.extend(raised.map(|(series, change)| RaisedAlarm {
            series,
            night: change.night,
            raised: night,
        }));
        let of_machine = fold.of_machine()[before..].iter();
        alarms.raised.extend(of_machine.map(|change| RaisedAlarm {
            series: usize::MAX,
            night: change.night,
            raised: night,
        }));
    }
    alarms
}

fn drifts(year: &Year, settings: &HistorySettings) -> Vec<Decision> {
    let mut fold = HistoryFold::new(year.log_costs.len(), *settings);
    for night in 0..year.log_costs[0].len() {
        let log_costs: Vec<Option<f64>> = year.log_costs.iter().map(|costs| Some(costs[night])).collect();
        let of_night = NightOfMachine { day: night as f64, log_costs: &log_costs, is_boundary: false };
        fold.add(&of_night, &mut |_| None);
    }
    let decision = |course: &stats::CourseOfSeries| {
        course.drift.map_or(Decision::Undecided, |drift| drift.reaches_limit)
    };
    fold.answer().series.iter().map(decision).collect()
}

/// A rule of others, applied to each series by itself, and anew behind a known change.
fn each(year: &Year, rule: fn(&[f64]) -> Option<usize>) -> RaisedAlarms {
    let mut alarms = RaisedAlarms::default();
    for (series, costs) in year.log_costs.iter().enumerate() {
        let mut last: Option<usize> = None;
        for night in 0..costs.len() {
            let first =
                year.boundaries.iter().copied().filter(|boundary| *boundary <= night).max().unwrap_or(0);
            let Some(named) = rule(&costs[first..=night]).map(|place| first + place) else { continue };
            // The same change again is no further alarm.
            let is_known = last.is_some_and(|last| named.abs_diff(last) <= SAME);
            if !is_known {
                alarms.raised.push(RaisedAlarm { series, night: named, raised: night });
            }
            last = Some(named);
        }
    }
    alarms
}

/// Two alarms that name nights so near to each other are about one change.
const SAME: usize = 5;

/// Another cost than in the night before.
fn threshold(costs: &[f64]) -> Option<usize> {
    let [.., before, newest] = costs else { return None };
    ((newest - before).abs() > 0.05_f64.ln_1p()).then_some(costs.len() - 1)
}

/// Nights of a window, as CERN's and many builds' dashboards compare them.
const WINDOW: usize = 30;

/// The newest window against the one before it.
fn t_test(costs: &[f64]) -> Option<usize> {
    let after = costs.len().checked_sub(WINDOW)?;
    let before = after.checked_sub(WINDOW)?;
    (p_value(&costs[before..after], &costs[after..]) < 0.01).then_some(after)
}

/// Otava's window, its p and the least nights on a side.
const OTAVA_WINDOW: usize = 50;
const OTAVA_P: f64 = 0.001;
const OTAVA_LEAST: usize = 2;

/// The newest change point in the newest window: the split with the largest energy distance (Matteson and
/// James 2014), if Student's t-test of its sides is significant, as in Apache Otava; then the parts.
fn divisive(costs: &[f64]) -> Option<usize> {
    let first = costs.len().saturating_sub(OTAVA_WINDOW);
    divide(&costs[first..]).map(|place| first + place)
}

fn divide(costs: &[f64]) -> Option<usize> {
    let place = largest_divergence(costs)?;
    if p_value(&costs[..place], &costs[place..]) >= OTAVA_P {
        return None;
    }
    let behind = divide(&costs[place..]).map(|further| place + further);
    Some(behind.unwrap_or(place))
}

/// The split with the largest energy distance between its sides.
fn largest_divergence(costs: &[f64]) -> Option<usize> {
    let count = costs.len();
    if count < 2 * OTAVA_LEAST {
        return None;
    }
    let apart = |a: usize, b: usize| (costs[a] - costs[b]).abs();
    let to =
        |place: usize, others: std::ops::Range<usize>| others.map(|other| apart(place, other)).sum::<f64>();
    // Sums of distances within the left side, within the right side, and between them.
    let (mut left, mut between) = (0.0, 0.0);
    let mut right: f64 = (0..count).map(|place| to(place, place + 1..count)).sum();
    let mut best: Option<(f64, usize)> = None;
    for place in 0..count - OTAVA_LEAST {
        let (to_left, to_right) = (to(place, 0..place), to(place, place + 1..count));
        left += to_left;
        right -= to_right;
        between += to_right - to_left;
        let (m, n) = ((place + 1) as f64, (count - place - 1) as f64);
        if place + 1 < OTAVA_LEAST {
            continue;
        }
        let within = left / (m * (m - 1.0) / 2.0) + right / (n * (n - 1.0) / 2.0);
        let divergence = m * n / (m + n) * (2.0 * between / (m * n) - within);
        if best.is_none_or(|(most, _)| divergence > most) {
            best = Some((divergence, place + 1));
        }
    }
    best.map(|(_, place)| place)
}

/// Student's t-test of two samples with equal variance.
fn p_value(one: &[f64], other: &[f64]) -> f64 {
    let mean = |all: &[f64]| all.iter().sum::<f64>() / all.len() as f64;
    let squares = |all: &[f64]| all.iter().map(|x| (x - mean(all)).powi(2)).sum::<f64>();
    let freedom = (one.len() + other.len()) as f64 - 2.0;
    let variance = (squares(one) + squares(other)) / freedom;
    let error = (variance * ((one.len() as f64).recip() + (other.len() as f64).recip())).sqrt();
    let t = (mean(one) - mean(other)).abs() / error.max(f64::MIN_POSITIVE);
    StudentsT::new(0.0, 1.0, freedom).map_or(1.0, |student| 2.0 * student.sf(t))
}

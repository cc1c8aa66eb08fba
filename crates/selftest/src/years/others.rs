//! Other rules on the same nights. Each gets the series of one machine between known changes.

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::counts::{YearAlarm, YearOutcome};
use super::otava::Otava;
use super::year::{SERIES, Year};

/// An alarm: the first night of the new level, the night on which it was raised, and whether cost rose.
type Alarm = (usize, usize, bool);
/// A rule for the costs of one series.
pub(super) type OtherRule = fn(&[f64]) -> Vec<Alarm>;

/// A threshold of 5 %.
const THRESHOLD: f64 = 1.05;
/// Nights of a median.
const WEEK: usize = 7;
/// Nights of either window of a t-test, and its error rate.
const MONTH: usize = 30;
const ALPHA: f64 = 0.05;
/// A point that moves by so little is the same one.
const SAME: usize = 2;

/// The alarms of a rule.
pub(super) fn outcome(year: &Year, rule: OtherRule) -> YearOutcome {
    let mut outcome = YearOutcome::default();
    let machines = year.nights.iter().map(|night| night.model).max().unwrap_or(0);
    for machine in 0..=machines {
        for series in 0..SERIES {
            let mut piece: Vec<(usize, f64)> = Vec::new();
            let mut judge = |piece: &mut Vec<(usize, f64)>| {
                let costs: Vec<f64> = piece.iter().map(|night| night.1).collect();
                let alarms = rule(&costs).into_iter().map(|(from, raised, is_up)| YearAlarm {
                    machine,
                    series: Some(series),
                    from: piece[from].0,
                    raised: piece[raised].0,
                    is_up,
                });
                outcome.alarms.extend(alarms);
                piece.clear();
            };
            for night in year.nights.iter().filter(|night| night.model == machine) {
                if night.starts_epoch {
                    judge(&mut piece);
                }
                piece.extend(night.logs[series].map(|log| (night.night, log.exp())));
            }
            judge(&mut piece);
        }
    }
    outcome.alarms.sort_by_key(|alarm| alarm.raised);
    outcome
}

/// A cost 5 % above or below that of the night before.
pub(super) fn night_before(costs: &[f64]) -> Vec<Alarm> {
    (1..costs.len()).filter_map(|night| beyond(costs[night], costs[night - 1], night)).collect()
}

/// A cost 5 % above or below the median of a week.
pub(super) fn week_before(costs: &[f64]) -> Vec<Alarm> {
    let median = |night: usize| {
        let mut week = costs[night - WEEK..night].to_vec();
        week.sort_unstable_by(f64::total_cmp);
        week[WEEK / 2]
    };
    (WEEK..costs.len()).filter_map(|night| beyond(costs[night], median(night), night)).collect()
}

fn beyond(cost: f64, before: f64, night: usize) -> Option<Alarm> {
    let ratio = cost / before;
    (!(1.0 / THRESHOLD..=THRESHOLD).contains(&ratio)).then_some((night, night, ratio > 1.0))
}

/// Welch's t-test of the last 30 nights against the 30 before; an alarm lasts until it is no longer
/// significant.
pub(super) fn months(costs: &[f64]) -> Vec<Alarm> {
    let mut alarms = Vec::new();
    let mut was = false;
    for end in 2 * MONTH..=costs.len() {
        let middle = end - MONTH;
        let t = welch(&costs[middle - MONTH..middle], &costs[middle..end]);
        if t.is_some() && !was {
            alarms.extend(t.map(|is_up| (middle, end - 1, is_up)));
        }
        was = t.is_some();
    }
    alarms
}

fn welch(before: &[f64], after: &[f64]) -> Option<bool> {
    let moments = |values: &[f64]| {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        (mean, squares / (count - 1.0) / count)
    };
    let ((a, a_error), (b, b_error)) = (moments(before), moments(after));
    let freedom = (a_error + b_error).powi(2) * (MONTH as f64 - 1.0) / (a_error.powi(2) + b_error.powi(2));
    let t = (b - a) / (a_error + b_error).sqrt();
    let student = StudentsT::new(0.0, 1.0, freedom).ok()?;
    (2.0 * student.sf(t.abs()) < ALPHA).then_some(t > 0.0)
}

/// Otava, run every night: each point that was not there on any night before is an alarm.
pub(super) fn otava(costs: &[f64]) -> Vec<Alarm> {
    let (mut otava, mut known, mut alarms) = (Otava::default(), Vec::<usize>::new(), Vec::new());
    for end in 2..=costs.len() {
        for point in otava.points(&costs[..end]) {
            if known.iter().all(|other| other.abs_diff(point) > SAME) {
                let mean = |range: &[f64]| range.iter().sum::<f64>() / range.len() as f64;
                let before = mean(&costs[point.saturating_sub(MONTH)..point]);
                alarms.push((point, end - 1, mean(&costs[point..end]) > before));
                known.push(point);
            }
        }
    }
    alarms
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_step_is_an_alarm_of_every_rule_and_a_constant_of_none() {
        let wave = |place: usize| 1.0 + 0.001 * (1.7 * place as f64).sin();
        let flat: Vec<f64> = (0..100).map(wave).collect();
        let step: Vec<f64> = (0..100).map(|place| wave(place) * if place < 60 { 1.0 } else { 1.2 }).collect();
        let rules: [(OtherRule, usize); 4] = [(night_before, 1), (week_before, 3), (months, 1), (otava, 1)];
        for (rule, most) in rules {
            assert_eq!(rule(&flat), []);
            let alarms = rule(&step);
            assert!((1..=most + 1).contains(&alarms.len()), "{alarms:?}");
            assert!(alarms.iter().all(|alarm| alarm.2 && alarm.1 >= 60));
        }
    }
}

//! The rules for alarms, night by night: that of `stats::history`, with and without confirming measurements,
//! and those of others, which get the series of one machine between known changes.
//!
//! Apache Otava (commit 1ceb1537) is Hunter: E-divisive means (Matteson & James, JASA 109, 2014) in windows
//! of 50, tested by Student's t instead of permutations, weak points being merged (Fleming et al., ICPE
//! 2023). Its defaults: p-value 0.001, no least magnitude.

use std::collections::HashMap;
use std::sync::LazyLock;

use fastrand::Rng;
use statrs::distribution::{ContinuousCDF, StudentsT};
use stats::{
    CONFIRM_ALPHA, Confirmation, Confirmed, HistoryFold, HistorySettings, Interval, NightCosts, Suspicion,
    YearlyDrift, confirm,
};

use super::year::{CHANGE, RealSeries, SERIES, Year};
use crate::rivals::welch;

/// An alarm of any rule; nights are those of the year.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct YearAlarm {
    pub(super) machine: usize,
    pub(super) series: Option<usize>,
    pub(super) from: usize,
    pub(super) raised: usize,
    pub(super) is_up: bool,
}

/// The result of a rule on one year.
#[derive(Clone, Debug, Default)]
pub(super) struct YearOutcome {
    /// In the order in which they were raised.
    pub(super) alarms: Vec<YearAlarm>,
    /// Series that were measured again, and pairs of trials of that.
    pub(super) remeasured: usize,
    pub(super) pairs: usize,
    /// By series: its drift; empty for a rule that has none.
    pub(super) drifts: Vec<Option<YearlyDrift>>,
}

/// A rule for alarms.
#[derive(Clone, Copy, Debug)]
pub struct YearRule {
    /// Its name.
    pub name: &'static str,
    method: YearMethod,
}

#[derive(Clone, Copy, Debug)]
enum YearMethod {
    /// With these settings; whether suspicions are measured again.
    Nightly(HistorySettings, bool),
    Other(OtherRule),
}

impl YearRule {
    /// Name of the nightly, which measures again.
    pub const MEASURED: &str = "osdyno, measured again";
    /// Name of the nightly that cannot reach the systems.
    pub const NIGHTS: &str = "osdyno, nights alone";

    /// The nightly, which measures again.
    pub fn measured(settings: HistorySettings) -> YearRule {
        YearRule { name: YearRule::MEASURED, method: YearMethod::Nightly(settings, true) }
    }

    /// The nightly without confirming measurements.
    pub fn alone(settings: HistorySettings) -> YearRule {
        YearRule { name: YearRule::NIGHTS, method: YearMethod::Nightly(settings, false) }
    }

    pub(super) fn outcome(&self, year: &Year, rng: &mut Rng) -> YearOutcome {
        match &self.method {
            YearMethod::Nightly(settings, is_measured) => nightly(year, settings, *is_measured, rng),
            YearMethod::Other(rule) => of_other(year, *rule),
        }
    }
}

/// The rules of the published table.
pub fn rules() -> Vec<YearRule> {
    let settings = HistorySettings::default();
    let other = |name: &'static str, rule: OtherRule| YearRule { name, method: YearMethod::Other(rule) };
    vec![
        YearRule::measured(settings),
        YearRule::alone(settings),
        other("Otava", otava),
        other("5 % from the night before", night_before),
        other("5 % from the median of 7 nights", week_before),
        other("t-test of 30 nights, 5 %", months),
    ]
}

/// Pairs of base and head after which a confirming measurement looks whether it is decided.
const LOOKS: [usize; 6] = [10, 20, 40, 80, 160, 320];

/// The alarms of a history with these rates, whose suspicions are measured again or not.
fn nightly(year: &Year, settings: &HistorySettings, is_measured_again: bool, rng: &mut Rng) -> YearOutcome {
    let mut outcome = YearOutcome::default();
    let mut fold = HistoryFold::new(SERIES, *settings);
    for (place, night) in year.nights.iter().enumerate() {
        fold.night(&NightCosts {
            machine: night.model,
            day: night.night as f64,
            logs: night.logs.clone(),
            starts_epoch: night.starts_epoch,
            has_new_system: night.has_new_system,
            is_measured_again,
            confirmations: Vec::new(),
        });
        let suspected = if is_measured_again { fold.suspected().to_vec() } else { Vec::new() };
        for suspicion in suspected {
            let (confirmation, pairs) = measure(year, &suspicion, place, settings, rng);
            outcome.remeasured += 1;
            outcome.pairs += pairs;
            fold.confirm(confirmation);
        }
    }
    let night = |place: usize| year.nights[place].night;
    let alarms = fold.changes().iter().filter(|change| change.is_alarm()).map(|change| YearAlarm {
        machine: change.machine,
        series: change.series,
        from: night(change.from),
        raised: night(change.raised),
        is_up: change.ratio.value > 1.0,
    });
    outcome.alarms = alarms.collect();
    outcome.drifts = fold.answer().series.iter().map(|series| series.drift).collect();
    outcome
}

/// Base beside head in one run, interleaved: the night cancels, the noise of trials and the planted change
/// remain.
fn measure(
    year: &Year,
    suspicion: &Suspicion,
    head: usize,
    settings: &HistorySettings,
    rng: &mut Rng,
) -> (Confirmation, usize) {
    let series = suspicion.series;
    let at = |place: usize| year.change(Some(series), year.nights[place].night);
    let change = at(head) - at(suspicion.base);
    let mut pairs = Vec::new();
    let mut ratio = Interval { value: 1.0, low: 0.0, high: f64::INFINITY };
    for (look, count) in LOOKS.iter().enumerate() {
        pairs.extend(year.series[series].pairs(rng, count - pairs.len()));
        ratio = interval(&pairs, change, look);
        let is_hopeless = reach(&ratio, count) > stats::YEARLY_DRIFT;
        if confirm(suspicion, ratio, settings) != Confirmed::Open || is_hopeless {
            break;
        }
    }
    (Confirmation { series, ratio }, pairs.len())
}

/// Share of the pairs that are cut at either end, as in `osdyno compare` (Tukey & McLaughlin, Sankhyā A 25,
/// 1963).
const TRIM: f64 = 0.10;
/// 95 % of a normal distribution lie above minus this.
const POWER: f64 = 1.645;

/// Critical values of Student's t at each look, all looks together having the error rate of a confirming
/// measurement (Bonferroni).
static CRITICAL: LazyLock<[f64; LOOKS.len()]> = LazyLock::new(|| {
    LOOKS.map(|pairs| {
        let student = StudentsT::new(0.0, 1.0, kept(pairs) as f64 - 1.0);
        let chance = 1.0 - CONFIRM_ALPHA / LOOKS.len() as f64 / 2.0;
        student.map_or(f64::INFINITY, |student| student.inverse_cdf(chance))
    })
});

/// Whether the last look finds a change of 5 % in a series in 95 of 100 measurements, by the noise of its
/// trials.
pub(super) fn decides(series: &RealSeries) -> bool {
    let pairs = series.pairs(&mut Rng::with_seed(1), LOOKS[LOOKS.len() - 1]);
    let ratio = interval(&pairs, 0.0, LOOKS.len() - 1);
    let reach = (ratio.high / ratio.value).ln();
    reach * (1.0 + POWER / CRITICAL[LOOKS.len() - 1]) < CHANGE - HistorySettings::default().confirmed
}

/// How far the interval would reach (logarithm) after the last look.
fn reach(ratio: &Interval, pairs: &usize) -> f64 {
    let last = LOOKS[LOOKS.len() - 1];
    let look = LOOKS.iter().position(|look| look == pairs).unwrap_or(0);
    let narrower = (*pairs as f64 / last as f64).sqrt() * CRITICAL[LOOKS.len() - 1] / CRITICAL[look];
    (ratio.high / ratio.value).ln() * narrower
}

/// So many of so many pairs are not cut.
fn kept(pairs: usize) -> usize {
    pairs - 2 * (pairs as f64 * TRIM) as usize
}

/// The trimmed mean with the winsorised variance.
fn interval(pairs: &[f64], change: f64, look: usize) -> Interval {
    let mut sorted = pairs.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let cut = (sorted.len() - kept(sorted.len())) / 2;
    let kept = &sorted[cut..sorted.len() - cut];
    let count = kept.len() as f64;
    let value = kept.iter().sum::<f64>() / count + change;
    let clamped = || pairs.iter().map(|pair| pair.clamp(kept[0], kept[kept.len() - 1]));
    let middle = clamped().sum::<f64>() / pairs.len() as f64;
    let squares: f64 = clamped().map(|pair| (pair - middle).powi(2)).sum();
    let reach = CRITICAL[look] * (squares / (count * (count - 1.0))).sqrt();
    Interval { value: value.exp(), low: (value - reach).exp(), high: (value + reach).exp() }
}

/// An alarm: the first night of the new level, the night on which it was raised, and whether cost rose.
type Alarm = (usize, usize, bool);
/// A rule for the costs of one series.
type OtherRule = fn(&[f64]) -> Vec<Alarm>;

/// A threshold of 5 %.
const THRESHOLD: f64 = 1.05;
/// Nights of a median.
const WEEK: usize = 7;
/// Nights of either window of a t-test.
const MONTH: usize = 30;
/// A point that moves by so little is the same one.
const SAME: usize = 2;

/// The alarms of a rule.
fn of_other(year: &Year, rule: OtherRule) -> YearOutcome {
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
fn night_before(costs: &[f64]) -> Vec<Alarm> {
    (1..costs.len()).filter_map(|night| beyond(costs[night], costs[night - 1], night)).collect()
}

/// A cost 5 % above or below the median of a week.
fn week_before(costs: &[f64]) -> Vec<Alarm> {
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
fn months(costs: &[f64]) -> Vec<Alarm> {
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

/// Otava, run every night: each point that was not there on any night before is an alarm.
fn otava(costs: &[f64]) -> Vec<Alarm> {
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

const WINDOW: usize = 50;
const P_VALUE: f64 = 0.001;
/// Candidates pass with ten times the p-value, and are tested again beside each other.
const FIRST_PASS: f64 = 10.0 * P_VALUE;

/// Change points of a series that grows. Windows that are full do not change, and are kept.
#[derive(Default)]
struct Otava {
    full: HashMap<usize, Vec<usize>>,
}

impl Otava {
    /// The first values of the segments that it sees so far, without the first segment.
    fn points(&mut self, values: &[f64]) -> Vec<usize> {
        let (mut start, mut weak) = (0, Vec::new());
        while start < values.len() {
            let end = values.len().min(start + WINDOW);
            let found = match self.full.get(&start) {
                Some(found) => found.clone(),
                None => divide(&values[start..end]),
            };
            if end == start + WINDOW {
                self.full.insert(start, found.clone());
            }
            let points: Vec<usize> = found.iter().map(|point| start + point).collect();
            start = points.last().copied().unwrap_or(0).max(start + WINDOW / 2);
            weak.extend(points);
        }
        weak.sort_unstable();
        weak.dedup();
        merge(values, weak)
    }
}

/// The p-value of a point between its neighbours.
fn p_value(values: &[f64], points: &[usize], place: usize) -> f64 {
    let from = place.checked_sub(1).map_or(0, |before| points[before]);
    let to = points.get(place + 1).copied().unwrap_or(values.len());
    t_test(&values[from..points[place]], &values[points[place]..to])
}

fn merge(values: &[f64], mut points: Vec<usize>) -> Vec<usize> {
    loop {
        let p_values = (0..points.len()).map(|place| (place, p_value(values, &points, place)));
        match p_values.max_by(|a, b| a.1.total_cmp(&b.1)) {
            Some((weakest, p_value)) if p_value.is_nan() || p_value >= P_VALUE => points.remove(weakest),
            _ => return points,
        };
    }
}

/// Splits one window as long as the most likely split is significant.
fn divide(values: &[f64]) -> Vec<usize> {
    let mut points: Vec<usize> = Vec::new();
    loop {
        let edges: Vec<usize> =
            std::iter::once(0).chain(points.iter().copied()).chain([values.len()]).collect();
        let candidates = edges.windows(2).filter_map(|edge| {
            let (point, likelihood) = split(&values[edge[0]..edge[1]])?;
            Some((edge[0], edge[0] + point, edge[1], likelihood))
        });
        let Some((from, point, to, _)) = candidates.max_by(|a, b| a.3.total_cmp(&b.3)) else { return points };
        if t_test(&values[from..point], &values[point..to]) > FIRST_PASS {
            return points;
        }
        points.push(point);
        points.sort_unstable();
    }
}

/// The split τ with the largest divergence between what is before it and what is from it on, up to any κ.
fn split(values: &[f64]) -> Option<(usize, f64)> {
    let count = values.len();
    if count < 2 {
        return None;
    }
    // sums[k][i]: distances of the first i values from value k.
    let sums: Vec<Vec<f64>> = values
        .iter()
        .map(|value| {
            let mut sum = 0.0;
            let distances = values.iter().map(|other| {
                sum += (value - other).abs();
                sum
            });
            std::iter::once(0.0).chain(distances.collect::<Vec<f64>>()).collect()
        })
        .collect();
    let (mut best, mut left) = (None, 0.0);
    for tau in 1..count {
        left += sums[tau - 1][tau - 1];
        let (mut cross, mut right) = (0.0, 0.0);
        for kappa in tau + 1..=count {
            let row = &sums[kappa - 1];
            cross += row[tau];
            right += row[kappa - 1] - row[tau];
            let (n, m) = (tau as f64, (kappa - tau) as f64);
            let within = |pairs: f64, own: f64, other: f64| {
                if own > 1.0 { 2.0 * other / (m + n) / (own - 1.0) * pairs } else { 0.0 }
            };
            let likelihood = 2.0 / (m + n) * cross - within(left, n, m) - within(right, m, n);
            if best.is_none_or(|(_, most)| likelihood > most) {
                best = Some((tau, likelihood));
            }
        }
    }
    best
}

/// Student's t with deviations of the population, as there.
fn t_test(left: &[f64], right: &[f64]) -> f64 {
    let moments = |values: &[f64]| {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        (count, mean, values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count)
    };
    let ((n, a, a_square), (m, b, b_square)) = (moments(left), moments(right));
    if n + m <= 2.0 {
        return 1.0;
    }
    let pooled = ((n - 1.0) * a_square + (m - 1.0) * b_square) / (n + m - 2.0);
    if pooled == 0.0 {
        return if a == b { 1.0 } else { 0.0 };
    }
    let t = (a - b).abs() / (pooled * (1.0 / n + 1.0 / m)).sqrt();
    StudentsT::new(0.0, 1.0, n + m - 2.0).map_or(1.0, |student| 2.0 * student.sf(t))
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

    fn steps() -> Vec<f64> {
        let wave = |place: usize| 0.01 * (1.7 * place as f64).sin();
        (0..120).map(|place| if place < 40 { 1.0 } else { 1.2 } + wave(place)).collect()
    }

    #[test]
    fn a_plain_step_is_found_where_it_is() {
        assert_eq!(Otava::default().points(&steps()), [40]);
        assert_eq!(Otava::default().points(&[1.0; 120]), [0; 0]);
    }

    /// By hand: {0, 0} and {1, 1}: 2/4 × 4 between, nothing within.
    #[test]
    fn the_divergence_is_that_of_the_definition() {
        assert_eq!(split(&[0.0, 0.0, 1.0, 1.0]), Some((2, 2.0)));
    }

    #[test]
    fn full_windows_that_are_kept_change_nothing() {
        let (values, mut kept) = (steps(), Otava::default());
        for count in 1..=values.len() {
            assert_eq!(kept.points(&values[..count]), Otava::default().points(&values[..count]), "{count}");
        }
    }
}

//! The alarms of `stats::history`, night by night.

use std::sync::LazyLock;

use fastrand::Rng;
use statrs::distribution::{ContinuousCDF, StudentsT};
use stats::{
    CONFIRM_ALPHA, Confirmation, Confirmed, HistoryFold, HistorySettings, Interval, NightCosts, Suspicion,
    confirm,
};

use super::counts::{YearAlarm, YearOutcome};
use super::nights::RealSeries;
use super::year::{CHANGE, SERIES, Year};

/// Pairs of base and head after which a confirming measurement looks whether it is decided.
const LOOKS: [usize; 6] = [10, 20, 40, 80, 160, 320];

/// The alarms of a history with these rates, whose suspicions are measured again or not.
pub(super) fn outcome(
    year: &Year,
    settings: &HistorySettings,
    is_measured_again: bool,
    rng: &mut Rng,
) -> YearOutcome {
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

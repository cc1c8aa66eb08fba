//! Trials that are not independent: those that follow each other, and those of one boot.
//!
//! A machine drifts for minutes (temperature, other guests, page cache), so consecutive trials are
//! correlated. Contrasts inside a trial are not affected. Levels are, and a comparison that treats them as
//! independent finds differences between a system and itself.
//!
//! A boot decides where the kernel and its tables lie in memory, which of them share a cache set, and the
//! phases of its timers, for all of its trials alike. Trials that count as independent find differences
//! between a kernel and itself. So where a system has trials of several boots, each boot is one observation:
//! the centre of its trials, block by block (cluster sampling; Cochran, Sampling Techniques, 1977, chapter 9;
//! for executions of a program: Kalibera & Jones, ISMM 2013).
//!
//! Few boots limit what can be certain, whatever their trials look like. If two kernels are equal, each way
//! to share out the boots is equally likely, and a claim cannot be surer than the most extreme of these
//! (randomisation test; Fisher, The Design of Experiments, 1935, §21): 10 % with three boots of each, 2.9 %
//! with four, 0.8 % with five. A model with two variances would estimate one of them from five values.

use crate::block::{Rows, column};
use crate::centre::{Centre, influences, mean, squares};

/// Batches of a run: few, so that each is longer than most drifts.
const BATCHES: usize = 5;
/// The least trials of a batch.
const BATCH: usize = 4;
/// Correlation beyond which a run holds no more than one independent trial in forty.
const MOST: f64 = 0.95;
/// Standard deviations beyond which a resemblance counts: one independent pair of runs in six pays for
/// drift that it does not have, so that little drift under much noise is not taken for a difference.
const GATE: f64 = 1.0;

/// The factor by which drift raises the squared error of the centre of `levels`, which follow each other in
/// time. At least 1; the larger of two estimates, because one shows fast and the other slow drift.
pub(crate) fn inflation(levels: &[f64]) -> f64 {
    let influences = influences(levels);
    serial(&influences).max(batched(&influences)).max(1.0)
}

/// The same factor for the log ratios of pairs, which follow each other in time; 1 unless neighbours resemble
/// each other. Drift that lasts longer than a pair has cancelled already; the rest is rare, and a factor
/// estimated without drift costs a fifth of the precision.
pub(crate) fn inflation_of_pairs(ratios: &[f64]) -> f64 {
    let (products, squares) = lagged(&influences(ratios));
    if resembles(products, squares, ratios.len()) { inflation(ratios) } else { 1.0 }
}

/// Variance of the difference of two runs that comes from drift too slow to average out inside a run;
/// 0 where neighbouring trials of the two do not resemble each other.
///
/// A random walk moves twice as much from run to run as from one half of a run to the other.
pub(crate) fn wander(runs: &[Vec<f64>; 2]) -> f64 {
    let influences = runs.each_ref().map(|levels| influences(levels));
    let (products, squares) = influences
        .iter()
        .map(|influences| lagged(influences))
        .fold((0.0, 0.0), |sum, run| (sum.0 + run.0, sum.1 + run.1));
    if !resembles(products, squares, runs[0].len() + runs[1].len()) {
        return 0.0;
    }
    let halves = influences.each_ref().map(|influences| {
        let (first, second) = influences.split_at(influences.len() / 2);
        (mean(second) - mean(first)).powi(2)
    });
    halves[0] + halves[1]
}

/// Whether neighbours resemble each other more than chance makes them: the correlation of independent trials
/// has a standard deviation of 1/√trials.
fn resembles(products: f64, squares: f64, trials: usize) -> bool {
    products > GATE * squares / (trials as f64).sqrt()
}

/// (1 + ρ) / (1 − ρ) of a first-order autoregression (Bayley & Hammersley, JRSS Suppl. 8, 1946), with
/// ρ corrected for its bias towards 0 (Marriott & Pope, Biometrika 41, 1954).
fn serial(influences: &[f64]) -> f64 {
    let (products, squares) = lagged(influences);
    if squares == 0.0 {
        return 1.0;
    }
    let found = products / squares;
    let correlation = (found + (1.0 + 3.0 * found) / influences.len() as f64).min(MOST);
    (1.0 + correlation) / (1.0 - correlation)
}

/// Sum of products of neighbours, and sum of squares.
fn lagged(influences: &[f64]) -> (f64, f64) {
    let products = influences.windows(2).map(|pair| pair[0] * pair[1]).sum();
    (products, influences.iter().map(|influence| influence * influence).sum())
}

/// Variance of batch means against that of independent trials (Schmeiser, Operations Research 30, 1982).
fn batched(influences: &[f64]) -> f64 {
    if influences.len() < BATCHES * BATCH {
        return 1.0;
    }
    let edge = |batch: usize| batch * influences.len() / BATCHES;
    let means: Vec<f64> = (0..BATCHES).map(|batch| mean(&influences[edge(batch)..edge(batch + 1)])).collect();
    let (batches, trials) = (variance(&means), variance(influences));
    if trials == 0.0 { 1.0 } else { batches * (influences.len() / BATCHES) as f64 / trials }
}

fn variance(values: &[f64]) -> f64 {
    squares(values) / (values.len() as f64 - 1.0)
}

/// Trials that have become one row for each boot.
pub(crate) struct ByBoot {
    /// A row for each boot, in their order.
    pub(crate) rows: Rows,
    /// The place of each among all boots.
    pub(crate) places: Vec<usize>,
}

/// One row for each boot in place of one for each trial; `None` where there are not several boots. `boots`
/// has that of each row; 0 is a boot that is not known.
pub(crate) fn by_boot(rows: &Rows, boots: &[u32]) -> Option<ByBoot> {
    let distinct = distinct(boots);
    if distinct.len() < 2 {
        return None;
    }
    let of_boot = |boot: &u32| {
        let own: Rows =
            rows.iter().zip(boots).filter(|(_, of)| *of == boot).map(|(row, _)| row.clone()).collect();
        let centre = |block: usize| Centre::new(&column(&own, block)).map_or(f64::NAN, |centre| centre.value);
        (0..own[0].len()).map(centre).collect()
    };
    Some(ByBoot {
        rows: distinct.iter().map(of_boot).collect(),
        places: distinct.iter().map(|boot| boot.saturating_sub(1) as usize).collect(),
    })
}

/// The numbers of the boots, rising.
pub(crate) fn distinct(boots: &[u32]) -> Vec<u32> {
    let mut distinct = boots.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    distinct
}

/// The boots of pairs. Two pairs that share a boot on one side are not independent, so the later of the two
/// numbers names the boot of a pair: the systems of a run boot together, unless one has crashed.
pub(crate) fn of_pairs([first, second]: [&[u32]; 2]) -> Vec<u32> {
    first.iter().zip(second).map(|(first, second)| *first.max(second)).collect()
}

/// The smallest chance that so many boots of two systems can show: two of all ways to share them out. A
/// system with one boot has nothing to share out, and only the direction of each boot of the other is random.
pub(crate) fn least_chance(first: usize, second: usize) -> f64 {
    if first.min(second) < 2 {
        return 2.0 / 2.0_f64.powi(first.max(second).min(1_000) as i32);
    }
    let ways = (1..=first).map(|boot| (second + boot) as f64 / boot as f64);
    2.0 / ways.product::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_trials_of_a_boot_become_one_row() {
        let rows = vec![vec![1.0, 10.0], vec![3.0, f64::NAN], vec![5.0, 50.0]];
        let ByBoot { rows: by_boot, places } = by_boot(&rows, &[1, 1, 2]).expect("two boots");
        assert_eq!((by_boot, places), (vec![vec![2.0, 10.0], vec![5.0, 50.0]], vec![0, 1]));
        assert!(super::by_boot(&rows, &[1, 1, 1]).is_none() && super::by_boot(&rows, &[0, 0, 0]).is_none());
    }

    #[test]
    fn few_boots_cannot_be_sure() {
        let chances = [3, 4, 5].map(|boots| (least_chance(boots, boots) * 1000.0).round());
        assert_eq!(chances, [100.0, 29.0, 8.0]);
        assert_eq!(least_chance(1, 6), 2.0 / 64.0);
        assert_eq!(of_pairs([&[1, 2, 2], &[0, 0, 3]]), [1, 2, 3]);
    }
}

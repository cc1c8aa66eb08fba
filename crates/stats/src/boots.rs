//! Boots as the units of a comparison.
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
//! with four, 0.8 % with five.

use crate::block::{Rows, column};
use crate::centre::Centre;

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

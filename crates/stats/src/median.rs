//! Medians and their intervals.

use crate::centre::Interval;
use statrs::distribution::{Binomial, DiscreteCDF};

/// The median by selection, which reorders `values`; `None` without values.
pub(crate) fn median(values: &mut [f64]) -> Option<f64> {
    let count = values.len();
    if count == 0 {
        return None;
    }
    let (below, middle, _) = values.select_nth_unstable_by(count / 2, f64::total_cmp);
    if count % 2 == 1 {
        return Some(*middle);
    }
    let neighbour = below.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Some(neighbour.midpoint(*middle))
}

/// The median of values that a clock has rounded to its tick: values that are equal are spread evenly over
/// one tick (the median of grouped data). Without equal values, or with `tick` 0, it is the median.
pub(crate) fn grouped_median(values: &mut [f64], tick: f64) -> Option<f64> {
    let middle = median(values)?;
    if tick <= 0.0 {
        return Some(middle);
    }
    let below = values.iter().filter(|value| **value < middle - tick / 2.0).count() as f64;
    let equal = values.iter().filter(|value| (**value - middle).abs() <= tick / 2.0).count() as f64;
    if equal < 2.0 {
        return Some(middle);
    }
    let share = (values.len() as f64 / 2.0 - below) / equal;
    Some((middle + (share - 0.5) * tick).max(middle / 2.0))
}

/// The median of sorted values with the exact interval between two order statistics, which assumes no
/// distribution (David & Nagaraja, Order Statistics, 2003, §7.1). `None` where the values are too few:
/// below 6 for 95 %.
pub(crate) fn median_interval(sorted: &[f64], alpha: f64) -> Option<Interval> {
    let count = sorted.len();
    let rank = Binomial::new(0.5, count as u64).ok()?.inverse_cdf(alpha / 2.0) as usize;
    if rank == 0 {
        return None;
    }
    let value = sorted[(count - 1) / 2].midpoint(sorted[count / 2]);
    Some(Interval { value, low: sorted[rank - 1], high: sorted[count - rank] })
}

/// The value at which half the weight is reached, from (value, weight) pairs.
pub(crate) fn weighted_median(pairs: &mut [(f64, f64)]) -> Option<f64> {
    pairs.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let half = pairs.iter().map(|pair| pair.1).sum::<f64>() / 2.0;
    let mut weight = 0.0;
    pairs
        .iter()
        .find(|pair| {
            weight += pair.1;
            weight >= half
        })
        .map(|pair| pair.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_of_odd_and_even() {
        assert_eq!(median(&mut []), None);
        assert_eq!(median(&mut [3.0]), Some(3.0));
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&mut [4.0, 1.0, 3.0, 2.0]), Some(2.5));
    }

    /// Ranks from the table of Conover, Practical Nonparametric Statistics, 1999, A3: 95 % needs the
    /// smallest of 6, the 2nd of 10, the 6th of 20 and the 14th of 40.
    #[test]
    fn ranks_agree_with_the_table() {
        let ranks = [(5, None), (6, Some(1)), (10, Some(2)), (20, Some(6)), (40, Some(14))];
        for (count, rank) in ranks {
            let sorted: Vec<f64> = (1..=count).map(f64::from).collect();
            let low = median_interval(&sorted, 0.05).map(|interval| interval.low);
            assert_eq!(low, rank.map(f64::from), "{count} values");
        }
    }

    #[test]
    fn weight_moves_the_median() {
        assert_eq!(weighted_median(&mut [(1.0, 1.0), (2.0, 1.0), (3.0, 1.0)]), Some(2.0));
        assert_eq!(weighted_median(&mut [(3.0, 5.0), (1.0, 1.0), (2.0, 1.0)]), Some(3.0));
        assert_eq!(weighted_median(&mut []), None);
    }
}

//! The change points of Apache Otava (commit 1ceb1537), which is Hunter: E-divisive means (Matteson & James,
//! JASA 109, 2014) in windows of 50, tested by Student's t instead of permutations, weak points being merged
//! (Fleming et al., ICPE 2023). Its defaults: p-value 0.001, no least magnitude.

use std::collections::HashMap;

use statrs::distribution::{ContinuousCDF, StudentsT};

const WINDOW: usize = 50;
const P_VALUE: f64 = 0.001;
/// Candidates pass with ten times the p-value, and are tested again beside each other.
const FIRST_PASS: f64 = 10.0 * P_VALUE;

/// Change points of a series that grows. Windows that are full do not change, and are kept.
#[derive(Default)]
pub(super) struct Otava {
    full: HashMap<usize, Vec<usize>>,
}

impl Otava {
    /// The first values of the segments that it sees so far, without the first segment.
    pub(super) fn points(&mut self, values: &[f64]) -> Vec<usize> {
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

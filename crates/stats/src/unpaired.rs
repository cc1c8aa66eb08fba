//! The difference of two runs whose trials are no pairs.

use crate::centre::{Centre, influences};

/// What drift does to the difference of two runs.
#[derive(Clone, Copy)]
pub(crate) struct Drift {
    pub(crate) inflation: [f64; 2],
    pub(crate) wander: f64,
}

/// Logarithm of second over first. Inflation raises the squared error of a side; degrees of freedom after
/// Welch (Biometrika 34, 1947). They are not lowered by the inflation, which errs high already: with both,
/// forty trials of a drifting machine would count as two, and no difference could ever be shown.
pub(crate) fn difference([first, second]: &[Vec<f64>; 2], drift: Drift) -> Option<Centre> {
    let (first, second) = (Centre::new(first)?, Centre::new(second)?);
    let [a, b] = drift.inflation;
    let (a_squared, b_squared) = (first.error.powi(2) * a, second.error.powi(2) * b);
    let spread = a_squared.powi(2) / first.freedom + b_squared.powi(2) / second.freedom;
    Some(Centre {
        value: second.value - first.value,
        error: (a_squared + b_squared + drift.wander).sqrt(),
        freedom: (a_squared + b_squared).powi(2) / spread,
    })
}

/// How far each trial, of the first and then of the second, moves the difference of one block.
pub(crate) fn joint_influences(sides: &[Vec<f64>; 2]) -> Vec<f64> {
    let side = |side: &Vec<f64>| -> Vec<f64> {
        influences(side).iter().map(|influence| influence / side.len() as f64).collect()
    };
    sides.iter().flat_map(side).collect()
}

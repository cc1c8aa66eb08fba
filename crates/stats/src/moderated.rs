//! Moderates the variances of the contrasts of one comparison.

use crate::compare::Contrast;
use crate::prior::Prior;

/// Moderates the variances of contrasts of one kind, those of pairs of trials that have one; `freedom` is how
/// many degrees of freedom the trials have between them, whatever number of series they measured.
pub fn moderate<'c>(contrasts: impl Iterator<Item = &'c mut Contrast>, freedom: f64) {
    let contrasts: Vec<&mut Contrast> = contrasts.collect();
    let variances: Vec<(f64, f64)> = contrasts.iter().filter_map(|contrast| contrast.variance()).collect();
    let Some(prior) = Prior::new(&variances, freedom) else { return };
    contrasts.into_iter().for_each(|contrast| contrast.join(prior));
}

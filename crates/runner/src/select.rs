//! Which workloads a name means.

use curve::{Curve, Variant};
use wildmatch::WildMatch;

use crate::Error;

/// The workloads and variants that the patterns name, in the order of the list: `bind`, `bind/v6`, `mm*`.
/// No pattern means all.
///
/// # Errors
/// [`Error::UnknownWorkload`] for a pattern that names nothing.
pub fn select(patterns: &[String]) -> Result<Vec<(&'static Curve, Variant)>, Error> {
    let all =
        || curve::ALL.iter().flat_map(|&curve| curve.variants.iter().map(move |&variant| (curve, variant)));
    if let Some(pattern) =
        patterns.iter().find(|pattern| !all().any(|(curve, variant)| names(pattern, curve, variant)))
    {
        return Err(Error::UnknownWorkload {
            name: pattern.clone(),
            nearest: nearest(pattern),
            count: curve::ALL.len(),
        });
    }
    let chosen = |&(curve, variant): &(&'static Curve, Variant)| {
        patterns.is_empty() || patterns.iter().any(|pattern| names(pattern, curve, variant))
    };
    Ok(all().filter(chosen).collect())
}

fn names(pattern: &str, curve: &Curve, variant: Variant) -> bool {
    let pattern = WildMatch::new(pattern);
    pattern.matches(curve.name) || pattern.matches(&format!("{}/{}", curve.name, variant.name))
}

/// The name that was probably meant: within a third of its letters, as compilers suggest.
pub fn nearest(name: &str) -> Option<String> {
    let distance = |candidate: &str| strsim::damerau_levenshtein(name, candidate);
    let best = curve::ALL.iter().map(|curve| curve.name).min_by_key(|candidate| distance(candidate))?;
    (distance(best) <= best.len().max(3) / 3).then(|| best.to_owned())
}

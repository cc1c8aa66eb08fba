//! The rules of the format that JSON does not enforce: a line that breaks one is not read.
//!
//! Readers trust them. Statistics looks up values by n in a list that rises; a list that does not would make
//! verdicts of other values than those in the report.

use crate::series::{REDUCED_OF_TRIAL_MAX, total};
use crate::{Direction, Line, NRange, Profile, ProfileWindow, Series, TrialKey};

/// The largest n: the largest signed integer of 64 bits, the type of other readers.
pub const N_MAX: u64 = i64::MAX as u64;

/// Checks one line.
///
/// # Errors
/// The subject of the line, and the rule that it breaks.
pub(crate) fn check(line: &Line) -> Result<(), String> {
    let broken = match line {
        Line::Series(series) => series_rule(series).map(|rule| (of_series(series), rule)),
        Line::Profile(profile) => profile_rule(profile).map(|rule| (of_profile(profile), rule)),
        _ => None,
    };
    broken.map_or(Ok(()), |(line, rule)| Err(format!("{line}: {rule}")))
}

/// The rule that a series breaks.
fn series_rule(series: &Series) -> Option<String> {
    let Series { n_first, n_step, sizes, values, counts, .. } = series;
    if !counts.is_empty()
        && let Some(rule) = reduced_rule(series)
    {
        return Some(rule);
    }
    if sizes.is_empty() {
        return even_rule(*n_first, *n_step, values.len(), series.direction);
    }
    if sizes.len() != values.len() {
        let (sizes, values) = (sizes.len(), values.len());
        return Some(format!("{sizes} sizes for {values} values; each value needs one"));
    }
    if let Some(n) = sizes.iter().find(|n| **n > N_MAX) {
        return Some(format!("it has a value at n = {n}; n must be from 0 to {N_MAX}"));
    }
    let (goes_back, must) = match series.direction {
        Direction::Up => (sizes.windows(2).find(|pair| pair[1] < pair[0]), "must not fall"),
        Direction::Down => (sizes.windows(2).find(|pair| pair[1] > pair[0]), "must not rise"),
    };
    goes_back.map(|pair| format!("its sizes go from {} to {} and {must}", pair[0], pair[1]))
}

/// The rule that a reduced series breaks: its measurements were evenly spaced, as many as the counts say.
fn reduced_rule(series: &Series) -> Option<String> {
    let Series { n_first, n_step, sizes, values, counts, .. } = series;
    if counts.len() != values.len() || sizes.len() != values.len() {
        let (counts, sizes, values) = (counts.len(), sizes.len(), values.len());
        return Some(format!("{counts} counts and {sizes} sizes for {values} values; each value needs one"));
    }
    if counts.contains(&0) {
        return Some("a value stands for 0 measurements".to_owned());
    }
    let measurements = total(counts);
    if measurements > REDUCED_OF_TRIAL_MAX {
        return Some(format!("it stands for {measurements} measurements, more than {REDUCED_OF_TRIAL_MAX}"));
    }
    even_rule(*n_first, *n_step, measurements, series.direction)
}

/// The same of sizes that are evenly spaced: they keep to their direction and to 64 bits.
fn even_rule(n_first: u64, n_step: i64, values: usize, direction: Direction) -> Option<String> {
    let is_against = match direction {
        Direction::Up => n_step < 0,
        Direction::Down => n_step > 0,
    };
    if is_against {
        return Some(format!("its n_step is {n_step}, against its direction, {direction}"));
    }
    let steps = values.saturating_sub(1) as i128;
    let last = i128::from(n_first) + i128::from(n_step) * steps;
    let outside = [i128::from(n_first), last].into_iter().find(|n| !(0..=i128::from(N_MAX)).contains(n));
    outside.map(|n| format!("it has a value at n = {n}; n must be from 0 to {N_MAX}"))
}

/// The rule that a profile breaks.
fn profile_rule(profile: &Profile) -> Option<String> {
    let windows = [&profile.low, &profile.high];
    if let Some(ProfileWindow { range: NRange { n_low, n_high }, .. }) =
        windows.into_iter().find(|window| window.range.n_low > window.range.n_high)
    {
        return Some(format!("its n_low, {n_low}, exceeds its n_high, {n_high}"));
    }
    let named = profile.frames.len();
    let place =
        profile.stacks.iter().flat_map(|stack| &stack.frames).find(|place| **place as usize >= named)?;
    Some(format!("a stack names function {place} of {named}, counted from 0"))
}

fn of_series(series: &Series) -> String {
    let Series { name, direction, .. } = series;
    let of = TrialKey {
        system: series.system.clone(),
        workload: series.workload.clone(),
        variant: series.variant.clone(),
        trial: series.trial,
    };
    of_trial(&format!("series \"{name}\" {direction}"), &of)
}

fn of_profile(profile: &Profile) -> String {
    of_trial(&format!("profile of \"{}\" {}", profile.name, profile.direction), &profile.of)
}

fn of_trial(part: &str, of: &TrialKey) -> String {
    let slash = if of.variant.is_empty() { "" } else { "/" };
    format!("{part} of trial {} of {}{slash}{} on {}", of.trial, of.workload, of.variant, of.system)
}

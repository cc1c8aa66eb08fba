//! The load beside the trials, and the hosts that load servers, in words.

use judge::Findings;
use record::HeldBackground;

use crate::words::list;

/// Where the load of the servers came from; `None` where the trials loaded them.
pub(crate) fn clients(findings: &Findings) -> Option<String> {
    let hosts = &findings.clients;
    (!hosts.is_empty()).then(|| format!("the servers were loaded from {}", list(hosts)))
}

/// The result of each load of the run, those of several systems with their names.
pub(crate) fn backgrounds(findings: &Findings) -> Vec<String> {
    let several = findings.systems.len() > 1;
    let of = |load: &judge::SystemBackground| {
        let words = background(&load.trials, "trials, which are not judged")?;
        Some(if several { format!("{} · {words}", load.system) } else { words })
    };
    findings.backgrounds.iter().filter_map(of).collect()
}

/// `background cpu:50% on processor 1: 49.9 % (49.1–50.6 per second)`, of all trials with that load; empty
/// without one. `which` describes them and the handling of those in which it was not held.
pub fn background(trials: &[HeldBackground], which: &str) -> Option<String> {
    let first = trials.first()?;
    let load = first.background.load.split('#').next().unwrap_or_default();
    let place = first.background.processor.map(|number| format!(" on processor {number}"));
    let rates: Vec<f64> = trials.iter().flat_map(|held| held.rates.iter().copied()).collect();
    let found = match (rates.iter().copied().reduce(f64::min), rates.iter().copied().reduce(f64::max)) {
        (Some(low), Some(high)) => {
            let mean = rates.iter().sum::<f64>() / rates.len() as f64;
            let (number, unit) = wanted(load);
            let words = |rate: f64| digits(number * rate / first.target);
            format!("{} {unit} ({}–{} per second)", words(mean), words(low), words(high))
        }
        _ => "no second of it is known".to_owned(),
    };
    let lost = match trials.iter().filter(|held| !held.is_held).count() {
        0 => String::new(),
        lost => format!("; not held within 5 % in {lost} of {} {which}", trials.len()),
    };
    Some(format!("background {load}{}: {found}{lost}", place.unwrap_or_default()))
}

/// The rate that a load names, with its unit: of `memory:2G@5GB/s` that is 5 and `GB/s`.
pub(crate) fn wanted(load: &str) -> (f64, &str) {
    let rate = load.rsplit([':', '@']).next().unwrap_or_default();
    let end = rate.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rate.len());
    let (number, unit) = rate.split_at(end);
    (number.parse().unwrap_or(1.0), unit)
}

fn digits(value: f64) -> String {
    match value {
        100.0.. => format!("{value:.0}"),
        10.0.. => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use record::{Background, Unit};

    use super::*;

    fn held(load: &str, target: f64, rates: &[f64]) -> HeldBackground {
        HeldBackground {
            background: Background { load: load.to_owned(), processor: Some(1) },
            unit: Unit::None,
            target,
            rates: rates.to_vec(),
            counter: String::new(),
            system_counter: String::new(),
            system_rate: None,
            holds: None,
            is_held: true,
            ended: String::new(),
        }
    }

    #[test]
    fn a_load_is_said_in_the_unit_that_its_user_wrote() {
        let trials = [held("cpu:50%#1", 0.5, &[0.491, 0.506]), held("cpu:50%#1", 0.5, &[0.5])];
        let words = "background cpu:50% on processor 1: 49.9 % (49.1–50.6 per second)";
        assert_eq!(background(&trials, "trials").unwrap(), words);
        let line = background(&[held("net:100mbit", 12.5e6, &[12.5e6])], "trials").unwrap();
        assert!(line.contains(": 100 mbit (100–100 per second)"), "{line}");
        let memory = background(&[held("memory:2G@5GB/s", 5e9, &[4.9e9])], "trials").unwrap();
        assert!(memory.contains("4.90 GB/s (4.90–4.90 per second)"), "{memory}");
        let lost = HeldBackground { is_held: false, ..held("cpu:50%", 0.5, &[]) };
        let lost = background(&[lost], "levels").unwrap();
        assert!(lost.contains("no second of it is known; not held within 5 % in 1 of 1 levels"), "{lost}");
        assert_eq!(background(&[], ""), None);
    }
}

//! A whole run in words: its systems and their facts, the names of its series, how it was planned, and the
//! loads beside its trials.

use std::collections::BTreeMap;

use judge::{Cause, Difference, Finding, Findings};
use record::{HeldBackground, System};
use stats::Class;

use super::expectation;
use crate::quantity::duration;
use crate::words::{NO_BREAK, bound, count, list, percent, some_of};

/// Of more series these are named, and the others counted.
const NAMED_MOST: usize = 3;

/// Where the planner had to shorten sweeps: `n was shortened to fit the time: bind/v4 to 15 400`.
pub fn shortened(findings: &Findings) -> Option<String> {
    let to = |finding: &Finding| {
        let stop = finding.stops.iter().find(|stop| stop.cause == Cause::Allowance)?;
        let label = finding.label.strip_suffix(&format!(" {}", finding.key.name)).unwrap_or(&finding.label);
        Some(format!("{label} to {}", count(stop.n?.0)))
    };
    let all: Vec<String> = findings.series.iter().filter_map(to).collect();
    let longer = further(findings);
    (!all.is_empty()).then(|| format!("n was shortened to fit the time: {}; {longer}.", list(&all)))
}

/// ` on 6.12` behind a title, where there are several systems.
pub(crate) fn on_system(findings: &Findings, system: &System) -> String {
    if findings.systems.len() > 1 { format!(" on {}", system.name) } else { String::new() }
}

/// How a run reaches a larger n: the largest preset gets more time.
pub(crate) fn further(findings: &Findings) -> &'static str {
    if findings.run.preset == "full" {
        "a larger --budget goes further"
    } else {
        "--preset full goes further"
    }
}

/// The count of every word, and the noise floor of the machine: `5 flat · 2 linear · 1 stopped · noise floor
/// 2 %`.
pub fn summary(findings: &Findings) -> String {
    let of_cause = |wanted: fn(&Cause) -> bool| {
        findings.series.iter().filter(|f| f.stops.iter().any(|s| wanted(&s.cause))).count()
    };
    let counts = [
        (findings.of_class(Class::Flat), "flat"),
        (findings.of_class(Class::Value), "at one level"),
        (findings.of_class(Class::SmallGrowth), "small growth"),
        (findings.of_class(Class::Sublinear), "sublinear"),
        (findings.of_class(Class::LinearLike), "linear"),
        (findings.of_class(Class::Superlinear), "superlinear"),
        (findings.of_class(Class::ApproachingLimit), "approaching a limit"),
        (findings.of_class(Class::Stepped), "stepped"),
        (findings.of_class(Class::TwoLines), "on two lines"),
        (findings.of_class(Class::Decreasing), "falling"),
        (findings.of_class(Class::Composite), "mixed"),
        (findings.of_class(Class::Ambiguous), "of unclear shape"),
        (findings.of_class(Class::Uneven), "uneven"),
        (findings.of_class(Class::Inconclusive), "inconclusive"),
        (of_cause(|c| matches!(c, Cause::Limit { .. })), "stopped"),
        (of_cause(|c| matches!(c, Cause::Unsupported { .. })), "unsupported"),
        (of_cause(|c| matches!(c, Cause::Failed { .. })), "failed"),
        (of_cause(|c| matches!(c, Cause::Crashed { .. })), "crashed"),
        (of_cause(|c| matches!(c, Cause::TimedOut)), "timed out"),
        (of_cause(|c| matches!(c, Cause::NotMeasured { .. } | Cause::NotOffered)), "not measured"),
    ];
    let mut parts: Vec<String> = counts
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, word)| format!("{} {word}", count(*n as u64)))
        .collect();
    if parts.is_empty() {
        return "nothing was measured".into();
    }
    parts.extend(noise_floor(findings));
    parts.iter().map(|part| part.replace(' ', &NO_BREAK.to_string())).collect::<Vec<_>>().join(" · ")
}

/// `noise floor 2 %`, of all systems whose floor was measured.
pub(crate) fn noise_floor(findings: &Findings) -> Option<String> {
    let floors = || findings.systems.iter().filter_map(|system| Some(system.noise_floor.as_ref()?.share));
    let (low, high) = (floors().reduce(f64::min)?, floors().reduce(f64::max)?);
    let (low, high) = (bound(low), bound(high));
    Some(if low == high { format!("noise floor {high}") } else { format!("noise floor {low} to {high}") })
}

/// A system in one line: the tool, kernel, processors, memory, and whether it is a machine of its own.
pub fn machine(tool: &str, system: &System) -> String {
    let fact = |key: &str| system.environment.get(key).cloned();
    let kernel =
        [fact("kernel.name"), fact("kernel.release")].into_iter().flatten().collect::<Vec<_>>().join(" ");
    let count = fact("cpu.count").map(|count| fact("cpu.online").unwrap_or(count));
    let processors = match (count, fact("cpu.model")) {
        (Some(count), Some(model)) => Some(format!("{count} × {model}")),
        (count, model) => model.or(count),
    };
    let memory = fact("memory.total_bytes").and_then(|bytes| bytes.parse::<f64>().ok());
    let memory = memory.map(|bytes| format!("{:.0}{NO_BREAK}GiB", bytes / f64::from(1 << 30)));
    let usable = usable_processors(&system.environment);
    let hypervisor = fact("machine.hypervisor");
    let parts = [Some(tool.to_string()), Some(kernel), processors, usable, memory, hypervisor];
    parts.into_iter().flatten().filter(|part| !part.trim().is_empty()).collect::<Vec<_>>().join(" · ")
}

/// `1 of 2 processors usable (affinity, quota 1.5)`, where fewer are usable than the machine has.
pub fn usable_processors(environment: &BTreeMap<String, String>) -> Option<String> {
    let fact = |key: &str| environment.get(key).map(String::as_str);
    let number = |key: &str| fact(key).and_then(|number| number.parse::<u64>().ok());
    let (usable, online) = (number("cpu.count")?, number("cpu.online")?);
    let all = online + number("cpu.offline").unwrap_or(0);
    let reason = |word: &str| match word {
        "quota" => format!("quota {}", fact("cgroup.cpu_max").unwrap_or_default()).trim_end().to_owned(),
        "smt" => "SMT off".to_owned(),
        other => other.to_owned(),
    };
    let reasons: Vec<String> =
        fact("cpu.bounded_by").unwrap_or_default().split_whitespace().map(reason).collect();
    let why = if reasons.is_empty() { String::new() } else { format!(" ({})", reasons.join(", ")) };
    (usable < all).then(|| format!("{usable} of {all} processors usable{why}"))
}

/// The label of a series, with its system when there are several: `bind on 7.3`.
pub fn label(findings: &Findings, finding: &Finding) -> String {
    match findings.systems.len() {
        0 | 1 => finding.label.clone(),
        _ => format!("{} on {}", finding.label, finding.key.system),
    }
}

/// The label of a variant, with its system when there are several: `race/uring on 7.3`.
pub(crate) fn variant_label(findings: &Findings, finding: &Finding) -> String {
    let label = label(findings, finding);
    label.replacen(&format!(" {}", finding.key.name), "", 1)
}

/// Series that contradict their documentation: `contradicts the documented expectation: bind (constant)`.
pub(crate) fn surprises(findings: &Findings) -> Option<String> {
    let unlike = findings.series.iter().filter(|f| findings.as_expected(f) == Some(false));
    let said = |f: &Finding| format!("{} ({})", label(findings, f), expectation(f.expect));
    let unlike: Vec<String> = unlike.map(said).collect();
    (!unlike.is_empty())
        .then(|| format!("contradicts the documented expectation: {}", some_of(&unlike, NAMED_MOST)))
}

/// How sure, in words: `95 % confidence`.
pub(crate) fn confidence(alpha: f64) -> String {
    format!("{} confidence", percent(1.0 - alpha))
}

/// How the number of trials was decided: `fixed in advance`, `interim analyses after 10, 20 and 40 trials`.
pub(crate) fn planning(findings: &Findings) -> String {
    let looks: Vec<String> = findings.run.looks.iter().map(|n| count(u64::from(*n))).collect();
    let budget = findings.run.budget_seconds.map(|s| format!(", within {}", duration(s))).unwrap_or_default();
    match looks.as_slice() {
        [] | [_] => format!("fixed in advance{budget}"),
        looks => format!(
            "interim analyses after {} trials, each with its share of the error rate{budget}",
            list(looks)
        ),
    }
}

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

/// Whether a fact is shown without being requested.
pub(crate) fn says_much(key: &str) -> bool {
    const FIRST: [&str; 16] = [
        "kernel.release",
        "kernel.name",
        "kernel.version",
        "kernel.preemption",
        "os.",
        "machine.",
        "cpu.model",
        "cpu.count",
        "cpu.mitigations",
        "cpu.governor",
        "clock.source",
        "memory.total_bytes",
        "memory.thp",
        "limit.descriptors",
        "net.ip_local_port_range",
        "scratch.file_system",
    ];
    let plain = !key.ends_with("_number") && key != "clock.sources" && !key.starts_with("memory.thp_");
    plain && FIRST.iter().any(|known| key.starts_with(known))
}

/// `Linux 6.12.107 · Xeon`, from the known facts; the name of the system without any.
pub(crate) fn system_title(system: &System) -> String {
    let fact =
        |keys: &[&str]| keys.iter().find_map(|key| system.environment.get(*key)).filter(|v| !v.is_empty());
    let kernel = match (fact(&["kernel.name", "os.name"]), fact(&["kernel.release"])) {
        (Some(name), Some(release)) => format!("{name} {release}"),
        (None, Some(release)) => release.clone(),
        (Some(name), None) => name.clone(),
        (None, None) => system.name.clone(),
    };
    match fact(&["cpu.model"]) {
        Some(model) => format!("{kernel} on {model}"),
        None => kernel,
    }
}

/// `kernel.release 6.12.107 → 7.3.4`; of three systems `6.1 / 6.12 / 7.3`.
pub(crate) fn difference(difference: &Difference) -> String {
    let values: Vec<&str> = difference.values.iter().map(|v| v.as_deref().unwrap_or("unknown")).collect();
    // An arrow between more than two would be a course of time.
    let between = if values.len() == 2 { " → " } else { " / " };
    format!("{} {}", difference.key, values.join(between))
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

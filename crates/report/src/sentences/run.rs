//! A whole run in words.

use std::collections::BTreeMap;

use crate::quantity::duration;
use crate::words::{NO_BREAK, bound, count, list, percent};
use judge::Cause;
use judge::{Finding, Findings};
use record::System;
use stats::Class;

use super::series::expectation;

/// More series than these are counted rather than named.
const NAMED_MOST: usize = 4;

/// Where the planner had to shorten sweeps: `n was shortened to what the time allows: bind/v4 to 15 400`.
pub fn shortened(findings: &Findings) -> Option<String> {
    let to = |finding: &Finding| {
        let stop = finding.stops.iter().find(|stop| stop.cause == Cause::Allowance)?;
        let label = finding.label.strip_suffix(&format!(" {}", finding.key.name)).unwrap_or(&finding.label);
        Some(format!("{label} to {}", count(stop.n?.0)))
    };
    let all: Vec<String> = findings.series.iter().filter_map(to).collect();
    let longer = further(findings);
    (!all.is_empty()).then(|| format!("n was shortened to what the time allows: {}; {longer}.", list(&all)))
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

/// Series that contradict what is documented: `contradicts the documented expectation: bind (constant)`.
pub(crate) fn surprises(findings: &Findings) -> Option<String> {
    let unlike: Vec<&Finding> =
        findings.series.iter().filter(|f| findings.as_expected(f) == Some(false)).collect();
    let said = |f: &&Finding| format!("{} ({})", label(findings, f), expectation(f.expect));
    let named = match unlike.len() {
        0 => return None,
        n if n <= NAMED_MOST => unlike.iter().map(said).collect::<Vec<_>>(),
        n => {
            let named = unlike[..NAMED_MOST - 1].iter().map(said);
            let more = format!("{} more", count((n + 1 - NAMED_MOST) as u64));
            named.chain([more]).collect()
        }
    };
    Some(format!("contradicts the documented expectation: {}", list(&named)))
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

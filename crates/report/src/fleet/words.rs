//! Hosts, their classes and their ratios in words.

use judge::{
    ClaimCounts, FactChange, Fleet, FleetHostState, FleetOutlier, FleetRatio, FleetSeries, HostLeftOutReason,
    JudgedHost, LostCause, SharedFact,
};
use record::System;
use stats::{Answer, Class};

use crate::compare::{sides, words::times_with_word};
use crate::document::Tone;
use crate::sentences;
use crate::words::{
    bound, capital, change_with_interval, count, factor_with_interval, grouped, list, percent, some_of,
    things,
};

/// Names of hosts in a sentence at the most.
const NAMED_MOST: usize = 3;
/// Facts in a sentence at the most.
const FACTS_MOST: usize = 3;

/// `n1`, `n1 and n2`, `n1, n2, n3 and 95 more`.
pub(super) fn hosts(names: &[String]) -> String {
    some_of(names, NAMED_MOST)
}

/// `8 hosts · Linux 6.12.107 on Xeon`, with the kinds of machines where they differ.
pub(crate) fn title(fleet: &Fleet, systems: &[System]) -> String {
    let mut kinds: Vec<String> =
        systems.iter().filter(|system| !system.environment.is_empty()).map(sentences::system_title).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let hosts = things(fleet.hosts.len(), "host", "hosts");
    match kinds.as_slice() {
        [] => hosts,
        [one] => format!("{hosts} · {one}"),
        [first, rest @ ..] => {
            format!("{hosts} · {first} and {} more kinds of machines", count(rest.len() as u64))
        }
    }
}

/// `Judged 97 of 100 hosts in 2 configurations: 30 series, hosts lie apart in 4`.
pub(super) fn summary(fleet: &Fleet) -> String {
    let judged =
        format!("Judged {} of {}", count(fleet.judged as u64), things(fleet.hosts.len(), "host", "hosts"));
    let compared = match fleet.runs.as_slice() {
        [old, new] => format!(", {new} against {old}"),
        _ => String::new(),
    };
    let configurations = match fleet.configurations.len() {
        0 | 1 => String::new(),
        several => format!(" in {}", things(several, "configuration", "configurations")),
    };
    let counted = if fleet.series.is_empty() { fleet.ratios.len() } else { fleet.series.len() };
    let apart = fleet.hosts.iter().filter(|host| !host.outlying.is_empty()).count();
    let apart = match apart {
        0 => "no host lies apart".to_owned(),
        1 => "1 host lies apart".to_owned(),
        some => format!("{} hosts lie apart", count(some as u64)),
    };
    format!("{judged}{configurations}{compared}: {}, {apart}", things(counted, "series", "series"))
}

/// The hosts that were lost, and those that lack something, each kind with its label.
pub(super) fn lost(fleet: &Fleet) -> Vec<(&'static str, Vec<String>)> {
    let of = |state: FleetHostState| -> Vec<String> {
        let of_state = fleet.hosts.iter().filter(|host| host.state == state);
        let reasons = grouped(of_state.map(|host| (reason(host), host.name.clone())));
        reasons.into_iter().map(|(reason, names)| format!("{} ({reason})", hosts(&names))).collect()
    };
    let kinds = [("Lost", of(FleetHostState::Lost)), ("Incomplete", of(FleetHostState::Partly))];
    kinds.into_iter().filter(|(_, items)| !items.is_empty()).collect()
}

/// Why a host lacks numbers, and of which series.
pub(super) fn reason(host: &JudgedHost) -> String {
    let kind = host.cause.map(|cause| match cause {
        LostCause::Failed => "failed",
        LostCause::Crashed => "crashed",
        LostCause::TimedOut => "timed out",
        LostCause::Unsupported => "unsupported",
        LostCause::NotMeasured => "not measured",
        LostCause::Absent => "in one of the runs only",
        LostCause::Different => "other versions, settings or backgrounds",
        LostCause::OtherEngine => "other engines",
        LostCause::NothingCommon => "no series in common",
    });
    let why = match (kind, &host.reason) {
        (Some(kind), Some(reason)) => format!("{kind}: {reason}"),
        (Some(kind), None) => kind.to_owned(),
        (None, _) => "no reason was recorded".to_owned(),
    };
    match (host.state, host.missing.as_slice()) {
        (FleetHostState::Partly, missing) if !missing.is_empty() => format!("no {}, {why}", hosts(missing)),
        _ => why,
    }
}

/// The fact that changed between two runs: `kernel.release 6.12 → 7.3 on 97 hosts`.
pub(super) fn change(fleet: &Fleet, change: &FactChange) -> String {
    let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".to_owned());
    let on = match change.hosts == fleet.judged {
        true => String::new(),
        false => format!(" on {}", things(change.hosts, "host", "hosts")),
    };
    format!("{} {} → {}{on}", change.key, value(&change.old), value(&change.new))
}

/// The heading of the hosts that lie apart.
pub(super) fn apart_title(fleet: &Fleet) -> String {
    let hosts = if fleet.runs.is_empty() { "Hosts that lie apart" } else { "Hosts whose ratio differs" };
    format!("{hosts}: by more than {}, for certain", percent(fleet.margin))
}

/// The facts that only outlying hosts have, a sentence for each set of hosts.
pub(super) fn alone(fleet: &Fleet) -> Vec<String> {
    let mut sets: Vec<(Vec<String>, &[SharedFact])> = Vec::new();
    let costs = fleet.series.iter().map(|series| (&series.outliers, &series.shared));
    let ratios = fleet.ratios.iter().map(|ratio| (&ratio.outliers, &ratio.shared));
    for (outliers, shared) in costs.chain(ratios).filter(|(_, shared)| !shared.is_empty()) {
        let mut names: Vec<String> = outliers.iter().map(|one| one.host.clone()).collect();
        names.sort_unstable();
        if !sets.iter().any(|(known, _)| *known == names) {
            sets.push((names, shared));
        }
    }
    // The largest set says most.
    sets.sort_by_key(|(names, _)| std::cmp::Reverse(names.len()));
    sets.iter().map(|(names, shared)| capital(&with_facts(names, shared))).collect()
}

/// `only n3 and n7 have cpu.microcode 0x42`.
fn with_facts(names: &[String], shared: &[SharedFact]) -> String {
    let have = if names.len() == 1 { "has" } else { "have" };
    format!("only {} {have} {}", hosts(names), facts(shared))
}

/// `cpu.microcode 0x42 and 2 more facts`.
fn facts(shared: &[SharedFact]) -> String {
    let mut items: Vec<String> =
        shared.iter().take(FACTS_MOST).map(|fact| format!("{} {}", fact.key, fact.value)).collect();
    let more = shared.len().saturating_sub(FACTS_MOST);
    items.extend((more > 0).then(|| things(more, "more fact", "more facts")));
    list(&items)
}

/// The heading of the ratios.
pub(super) fn ratios_title(fleet: &Fleet) -> String {
    match (fleet.runs.as_slice(), fleet.configurations.as_slice()) {
        ([old, new], _) => format!("{new} against {old}, on each host"),
        (_, [first, second]) => format!("{second} against {first}, inside each host"),
        (_, [first, ..]) => format!("Each configuration against {first}, inside each host"),
        _ => "Ratios".to_owned(),
    }
}

/// The heading of the costs.
pub(super) fn costs_title(fleet: &Fleet) -> String {
    format!("Costs over {}", things(fleet.judged, "host", "hosts"))
}

/// The name of a ratio, with its configuration where there are several.
pub(super) fn ratio_name(fleet: &Fleet, ratio: &FleetRatio) -> String {
    let others = if fleet.runs.is_empty() { 2 } else { 1 };
    if fleet.configurations.len() > others { ratio.label() } else { ratio.series.clone() }
}

/// The answer about a mean ratio: `1.08× slower (1.05–1.11)`.
pub(crate) fn ratio(of: &FleetRatio) -> String {
    let Some(mean) = of.mean else {
        return if of.hosts.is_empty() { "no host" } else { "no mean of one host" }.into();
    };
    match of.answer {
        Answer::Faster | Answer::Slower => times_with_word(mean, of.unit),
        Answer::DifferentButSmall => format!("different but small, {}", times_with_word(mean, of.unit)),
        Answer::Equivalent => {
            let within = (mean.high - 1.0).max(1.0 / mean.low - 1.0);
            format!("equivalent within {}", bound(within))
        }
        Answer::Unresolved => format!("unresolved, {}", factor_with_interval(mean)),
    }
}

/// The tone of an answer.
pub(super) fn tone(answer: Answer) -> Tone {
    match answer {
        Answer::Faster | Answer::Equivalent => Tone::Good,
        Answer::Slower => Tone::Notable,
        Answer::DifferentButSmall => Tone::Plain,
        Answer::Unresolved => Tone::Open,
    }
}

/// One answer in a word.
pub(super) fn answer(answer: Answer, of: &FleetRatio) -> &'static str {
    let (slower, faster) = sides(of.unit);
    match answer {
        Answer::Faster => faster,
        Answer::Slower => slower,
        Answer::Equivalent => "equivalent",
        Answer::DifferentButSmall => "different but small",
        Answer::Unresolved => "unresolved",
    }
}

/// `slower on 97 of 100, unresolved on 3; 3 differ (n1, n2 and n3), all with cpu.microcode 0x42`.
pub(super) fn counts(of: &FleetRatio) -> String {
    let ClaimCounts { faster, slower, equivalent, different_but_small, unresolved } = of.counts;
    let all = [
        (faster, Answer::Faster),
        (slower, Answer::Slower),
        (equivalent, Answer::Equivalent),
        (different_but_small, Answer::DifferentButSmall),
        (unresolved, Answer::Unresolved),
    ];
    let mut all: Vec<(usize, Answer)> = all.into_iter().filter(|(hosts, _)| *hosts > 0).collect();
    all.sort_by_key(|(hosts, _)| std::cmp::Reverse(*hosts));
    let said = |(place, (hosts, one)): (usize, &(usize, Answer))| {
        let of_all = if place == 0 { format!(" of {}", count(of.hosts.len() as u64)) } else { String::new() };
        format!("{} on {}{of_all}", answer(*one, of), count(*hosts as u64))
    };
    let said: Vec<String> = all.iter().enumerate().map(said).collect();
    format!("{}{}", said.join(", "), differing(&of.outliers, &of.shared))
}

/// `; n3 differs, alone with cpu.microcode 0x42`.
fn differing(outliers: &[FleetOutlier], shared: &[SharedFact]) -> String {
    let names: Vec<String> = outliers.iter().map(|one| one.host.clone()).collect();
    let with = |all: &str| match shared.first() {
        Some(first) => format!(", {all} {} {}", first.key, first.value),
        None => String::new(),
    };
    match names.as_slice() {
        [] => String::new(),
        [one] => format!("; {one} differs{}", with("alone with")),
        several => {
            let named = hosts(several);
            format!("; {} differ ({named}){}", count(several.len() as u64), with("all with"))
        }
    }
}

/// The classes of the hosts' own verdicts: `flat within 4 % on all 8`, `flat within 4 % on 97 of 100; linear
/// on n3 and n7`.
pub(super) fn classes(of: &FleetSeries) -> String {
    let judged: usize = of.classes.iter().map(|one| one.hosts.len()).sum();
    let Some((first, rest)) = of.classes.split_first() else { return String::new() };
    let word = class(first.class);
    let within = first.bound.map(|share| format!(" within {}", bound(share))).unwrap_or_default();
    if rest.is_empty() {
        return format!("{word}{within} on all {}", count(judged as u64));
    }
    let others = rest.iter().map(|one| format!("{} on {}", class(one.class), hosts(&one.hosts)));
    let others: Vec<String> = others.collect();
    let (many, judged) = (count(first.hosts.len() as u64), count(judged as u64));
    format!("{word}{within} on {many} of {judged}; {}", others.join("; "))
}

/// A class in a word, as a predicate of hosts.
pub(super) fn class(class: Class) -> &'static str {
    match class {
        Class::Value => "one level",
        Class::Ambiguous => "grows",
        class => sentences::class_name(class),
    }
}

/// The distance of an outlying host from the others: `+10 % (+8 % to +12 %)`.
pub(super) fn distance(of: &FleetOutlier) -> String {
    change_with_interval(of.ratio)
}

/// Where a host lies apart, briefly: `fork +10 %`.
pub(super) fn distance_in(series: &str, of: &FleetOutlier) -> String {
    format!("{series} {}", crate::words::change(of.ratio.value))
}

/// The hosts without a value in a series that other hosts have, but for those that were not measured:
/// `fork on n2 (up to n = 1 000)`.
pub(super) fn left_out(fleet: &Fleet) -> Vec<String> {
    let of_series = |series: &FleetSeries| -> Vec<String> {
        let reasons = series.left_out.iter().filter_map(|one| match one.reason {
            HostLeftOutReason::NoValue => None,
            HostLeftOutReason::OneTrial => Some(format!("{} on {} (one trial)", series.label(), one.host)),
            HostLeftOutReason::Gaps => {
                Some(format!("{} on {} (values missing in between)", series.label(), one.host))
            }
            HostLeftOutReason::OtherRange => {
                let to = one.n_high.map(count).unwrap_or_default();
                Some(format!("{} on {} (only up to n = {to})", series.label(), one.host))
            }
        });
        reasons.collect()
    };
    fleet.series.iter().flat_map(of_series).collect()
}

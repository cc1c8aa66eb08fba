//! The notes beside an answer or in its place: stops, saturated levels, refusals.

use std::collections::BTreeMap;

use crate::quantity::Quantity;
use crate::sentences;
use crate::words::{count, list, some_of};
use judge::LimitedLevels;
use judge::compare::{
    AnswerNote, Comparison, Mismatch, NoAnswer, OfferedApart, RankingEntry, Refusal, Refused, Shortened,
    WithoutNumber,
};
use record::Unit;

use super::words::name;

/// The note beside the comparison of a contender with another, or in its place.
pub(super) fn between(names: [&str; 2], note: &AnswerNote) -> String {
    match note {
        AnswerNote::Shortened(shortened) => self::shortened(names, shortened),
        AnswerNote::NoAnswer(NoAnswer::WithoutNumber(some)) => {
            some.iter().map(without_number).collect::<Vec<_>>().join("; ")
        }
        AnswerNote::NoAnswer(NoAnswer::Limited(some)) => {
            let said = some.iter().map(|(contender, limited)| {
                format!("{} in {}", sentences::limited(limited), name(contender))
            });
            said.collect::<Vec<_>>().join("; ")
        }
        AnswerNote::NoAnswer(NoAnswer::OfferedApart(apart)) => offered(apart),
        AnswerNote::NoAnswer(NoAnswer::NothingCommon) => {
            format!("{} and {} have no n in common", names[0], names[1])
        }
        AnswerNote::NoAnswer(NoAnswer::OtherEngine(engines)) => {
            let [first, own] = engines.each_ref().map(runs_on);
            format!("{own}, and {first}: {AMONG_THEMSELVES}")
        }
    }
}

/// The same, for a contender by its place and its reference.
pub fn note(compared: &Comparison, other: usize, note: &AnswerNote) -> String {
    let reference = compared.references.get(other).copied().unwrap_or(0);
    between([&compared.contenders[reference].name, &compared.contenders[other].name], note)
}

/// The engine of a system that is the first on it, where others stand first on theirs.
pub(super) fn other_engine(entry: &RankingEntry) -> Option<&str> {
    match entry.note.as_ref()? {
        AnswerNote::NoAnswer(NoAnswer::OtherEngine([_, (_, engine)])) => Some(engine),
        _ => None,
    }
}

/// Why there is no ratio between systems on different engines.
const AMONG_THEMSELVES: &str = "only systems on the same engine are compared";

/// `7.3 runs on QEMU TCG`
fn runs_on((system, engine): &(String, String)) -> String {
    let on = if engine == "native" { "natively".to_owned() } else { format!("on {engine}") };
    format!("{} runs {on}", name(system))
}

/// `unsupported: this system has no mmap in other`.
fn without_number(without: &WithoutNumber) -> String {
    let words = match &without.stop {
        Some(stop) => sentences::stop(stop),
        None if without.is_planned => "no number".to_string(),
        None => "not measured".to_string(),
    };
    format!("{words} in {}", name(&without.contender))
}

/// `stopped at 2 000: EAGAIN in 7.3; compared to 1 999`.
fn shortened(names: [&str; 2], shortened: &Shortened) -> String {
    let [of_first, of_other] =
        shortened.stops.each_ref().map(|stops| stops.iter().map(sentences::stop).collect::<Vec<String>>());
    let named = |words: &[String], name: &str| -> Vec<String> {
        words.iter().map(|words| format!("{words} in {name}")).collect()
    };
    let mut said: Vec<String> = if of_first == of_other {
        of_first.iter().map(|words| format!("{words} in both")).collect()
    } else {
        [named(&of_first, names[0]), named(&of_other, names[1])].concat()
    };
    said.extend(limited(names, &shortened.limited));
    said.extend(shortened.offered.as_ref().map(offered));
    said.extend(
        shortened.measured_to.as_ref().map(|(name, n)| format!("{name} was measured to {}", count(*n))),
    );
    said.extend(shortened.compared_to.map(|n| format!("compared to {}", count(n))));
    said.join("; ")
}

/// Levels at which the load generator was saturated in one of two or in both, which are not compared.
fn limited(names: [&str; 2], limited: &[Option<LimitedLevels>; 2]) -> Option<String> {
    let said: Vec<String> = match limited {
        [Some(one), Some(two)] if one == two => vec![format!("{} in both", sentences::limited(one))],
        _ => {
            let each = limited.iter().zip(names);
            let named =
                each.filter_map(|(limited, name)| Some((sentences::limited(limited.as_ref()?), name)));
            named.map(|(words, name)| format!("{words} in {name}")).collect()
        }
    };
    (!said.is_empty()).then(|| format!("{}, not compared there", said.join("; ")))
}

/// Levels at which two were offered different loads, which are not compared.
pub(crate) fn offered(apart: &OfferedApart) -> String {
    let levels: Vec<String> = apart.levels.iter().map(|n| count(*n)).collect();
    let last =
        levels.last().filter(|_| levels.len() > 1).map(|last| format!(" at {last}")).unwrap_or_default();
    let [(_, one), (_, two)] = &apart.last;
    let is_same_rate = one.per_second == two.per_second;
    let load = |(name, load): &(String, judge::compare::OfferedLoad)| {
        let rate = Unit::PerSecond.cost(load.per_second);
        let apart = if is_same_rate {
            format!(", {} apart,", Unit::Seconds.cost(load.spacing_seconds))
        } else {
            String::new()
        };
        format!("{rate}{apart} in {}", self::name(name))
    };
    let loads = apart.last.each_ref().map(load).join(" and ");
    format!(
        "offered differently at {} ({loads}{last}), not compared there; one run with --system offers both \
         the same",
        list(&levels)
    )
}

/// `socket has different versions: version 1 in 6.12 and version 2 in 7.3`.
pub(crate) fn refused(refused: &Refused) -> String {
    let (what, each): (_, Vec<String>) = match &refused.mismatch {
        Mismatch::Versions(all) => {
            ("versions", all.iter().map(|(name, version)| format!("version {version} in {name}")).collect())
        }
        Mismatch::Settings(all) => {
            ("settings", all.iter().map(|(name, chosen)| format!("{} in {name}", settings(chosen))).collect())
        }
        Mismatch::Background(all) => {
            ("backgrounds", all.iter().map(|(name, loads)| format!("{} in {name}", levels(loads))).collect())
        }
        Mismatch::Clients(all) => {
            ("clients", all.iter().map(|(name, hosts)| format!("{} in {name}", clients(hosts))).collect())
        }
    };
    format!("{} has different {what}: {}", refused.workload, list(&each))
}

/// `cpu:25%`, or for a run with several `cpu:25% or cpu:50%`.
fn levels(levels: &[Vec<String>]) -> String {
    let level = |loads: &Vec<String>| if loads.is_empty() { "none".to_owned() } else { loads.join(",") };
    levels.iter().map(level).collect::<Vec<_>>().join(" or ")
}

fn clients(hosts: &[String]) -> String {
    if hosts.is_empty() { "the system itself".to_owned() } else { list(hosts) }
}

fn settings(chosen: &BTreeMap<String, String>) -> String {
    match chosen.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>() {
        none if none.is_empty() => "the defaults".to_owned(),
        some => some.join(" "),
    }
}

/// Why nothing could be compared, for an error.
pub fn refusal(refusal: &Refusal) -> String {
    let nothing = |why: Vec<String>| format!("nothing can be compared: {}", why.join("; "));
    match refusal {
        Refusal::Alone(name) => {
            format!("a comparison needs two systems, of one run or of several; only {name:?} was given")
        }
        Refusal::Different(all) => nothing(all.iter().map(refused).collect()),
        Refusal::NoNumber(all) => nothing(all.iter().map(no_number).collect()),
        Refusal::OtherEngines(all) => {
            let each: Vec<String> = all.iter().map(runs_on).collect();
            nothing(vec![format!("{}, and {AMONG_THEMSELVES}", list(&each))])
        }
        Refusal::NothingCommon(all) => {
            let each = all.iter().map(|(name, series)| format!("{name} has {}", self::series(series)));
            nothing(["no series in common".into()].into_iter().chain(each).collect())
        }
    }
}

/// Series that a refusal names.
const SHOWN_MOST: usize = 5;

/// `none` where there are none.
fn series(names: &[String]) -> String {
    if names.is_empty() { "none".into() } else { some_of(names, SHOWN_MOST) }
}

/// `7.3 failed: …`.
fn no_number(without: &WithoutNumber) -> String {
    let words = without.stop.as_ref().map_or("no number".into(), sentences::stop);
    format!("{} {words}", name(&without.contender))
}

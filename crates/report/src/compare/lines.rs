//! A comparison line by line: one line for a contender in a series. The terminal, the page and the picture
//! show these lines and nothing else. Beside an answer or in its place stand notes: stops, saturated levels,
//! refusals.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use judge::LimitedLevels;
use judge::compare::{
    AnswerNote, Claim, Comparison, Mismatch, NoAnswer, OfferedApart, Ranking, RankingEntry, Ratio, Refusal,
    Refused, Shortened, WithoutNumber,
};
use record::Unit;

use super::words::{self, name};
use crate::document::Tone;
use crate::quantity::Quantity;
use crate::sentences;
use crate::words::{count, list, some_of};

/// Why there is no ratio between systems on different engines.
const AMONG_THEMSELVES: &str = "only systems on the same engine are compared";
/// Series that a refusal names.
const SHOWN_MOST: usize = 5;

/// One contender in one series.
pub(super) struct Line<'a> {
    /// The series, and its place among the rankings; of a mean over all series none.
    pub(super) ranking: Option<(usize, &'a Ranking)>,
    /// Name of the series.
    pub(super) series: String,
    /// The place of the contender.
    pub(super) contender: usize,
    /// The drawing.
    pub(super) drawn: Drawn<'a>,
    /// The answer, or the value of the best, or why there is none.
    pub(super) answer: String,
    pub(super) is_reason: bool,
    pub(super) tone: Tone,
    /// The answer over all levels, where `answer` is that at the last.
    pub(super) overall: Option<String>,
    /// The possible places.
    pub(super) rank: Option<String>,
    /// The cause that shortened the comparison, or the reason why there is none; with the first line that it
    /// applies to.
    pub(super) note: Option<String>,
}

/// The drawing of a line.
#[derive(Clone, Copy)]
pub(super) enum Drawn<'a> {
    /// Nothing; it has no ratio.
    Nothing,
    /// A ratio with its margin.
    Ratio(&'a Ratio),
    /// A geometric mean.
    Mean(stats::Interval),
}

/// Every contender in every series, then the geometric means.
pub(super) fn of(compared: &Comparison) -> Vec<Line<'_>> {
    let mut said = HashSet::new();
    let mut lines = Vec::new();
    let measured = compared.rankings.iter().enumerate().filter(|(_, ranking)| ranking.is_measured());
    for (i, ranking) in measured {
        // The first of two systems has no line of its own.
        let is_shown =
            |entry: &&RankingEntry| entry.place > 0 || compared.workload.is_some() || entry.rank.is_some();
        for entry in ranking.standings.iter().filter(is_shown) {
            let (mut line, mut reason) = (line((i, ranking), entry), reason(ranking, entry));
            // Its name stands before it.
            if is_named(compared) {
                let name = format!(" in {}", words::name(&entry.name));
                reason = reason.map(|words| words.strip_suffix(&name).unwrap_or(&words).to_owned());
            }
            if let Some(engine) = other_engine(entry)
                && !said.insert((entry.place, reason.clone()))
            {
                // One explanation is enough.
                (line.answer, line.tone, reason) = (format!("reference on {engine}"), Tone::Strong, None);
            }
            if compared.workload.is_some() {
                // The stop of a variant concerns most series: it is reported with the first.
                reason = reason.filter(|reason| said.insert((entry.place, Some(reason.clone()))));
                if reason.is_none() && line.answer.is_empty() {
                    continue;
                }
            }
            line.is_reason = line.answer.is_empty();
            match line.is_reason {
                true => line.answer = reason.unwrap_or_else(|| "no answer".into()),
                false => line.note = reason,
            }
            lines.push(line);
        }
    }
    let means = compared.means.iter().enumerate().filter_map(|(i, mean)| Some((i + 1, mean.as_ref()?)));
    lines.extend(means.map(|(contender, mean)| Line {
        ranking: None,
        series: "Geometric mean".into(),
        contender,
        drawn: Drawn::Mean(mean.ratio),
        answer: words::mean_ratio(mean),
        is_reason: false,
        tone: Tone::Plain,
        overall: Some(format!("{}, each weighing the same", words::of(mean))),
        rank: None,
        note: None,
    }));
    lines
}

/// The series without a number of any contender, with the reasons: no line shows them.
pub(super) fn without_number(compared: &Comparison) -> Vec<String> {
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for ranking in compared.rankings.iter().filter(|ranking| !ranking.is_measured()) {
        let stops = ranking.standings.iter().flat_map(|entry| &entry.stops);
        let reasons: BTreeSet<String> = stops.map(sentences::stop).collect();
        let reasons = reasons.into_iter().collect::<Vec<_>>().join("; ");
        all.entry(reasons).or_default().push(ranking.label.clone());
    }
    let sentence = |(reasons, names): (String, Vec<String>)| {
        let reasons = if reasons.is_empty() { reasons } else { format!(" ({reasons})") };
        format!("without a number: {}{reasons}", list(&names))
    };
    all.into_iter().map(sentence).collect()
}

/// Whether a line needs the name of its contender: there are more than one and its reference.
pub(super) fn is_named(compared: &Comparison) -> bool {
    compared.contenders.len() > 2 || compared.workload.is_some()
}

/// The cause that shortened the comparison of a contender with the reference, or the reason why there is
/// none.
pub(super) fn note_of(ranking: &Ranking, entry: &RankingEntry) -> Option<String> {
    let is_reference = |other: &&RankingEntry| Some(other.place) == entry.reference;
    let reference = ranking.standings.iter().find(is_reference).or(ranking.standings.first());
    let names = [reference.unwrap_or(entry), entry].map(|entry| words::name(&entry.name));
    entry.note.as_ref().map(|note| between(names, note))
}

/// The same, for a contender by its place and its reference.
pub fn note(compared: &Comparison, other: usize, note: &AnswerNote) -> String {
    let reference = compared.references.get(other).copied().unwrap_or(0);
    between([&compared.contenders[reference].name, &compared.contenders[other].name], note)
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

/// A contender without notes that appear once; its answer is empty where it has none.
fn line<'a>((i, ranking): (usize, &'a Ranking), entry: &'a RankingEntry) -> Line<'a> {
    let (answer, tone) = match (&entry.last, &entry.overall) {
        (Some(last), _) if last.at_least && matches!(last.claim_overall(), Claim::Unresolved { .. }) => {
            (at_least(ranking, entry).unwrap_or_default(), Tone::Open)
        }
        (Some(last), _) => {
            let n = last.comparison.n_high;
            let at = if ranking.n == Some(n) { String::new() } else { format!(" at {}", count(n)) };
            (words::answer_overall(last, ranking.unit, &at), words::tone(last.claim_overall()))
        }
        (None, Some(overall)) => (words::answer(overall, ranking.unit), words::tone(overall.claim())),
        _ if is_reference(ranking, entry) => (of_reference(ranking, entry), Tone::Strong),
        _ => (at_least(ranking, entry).unwrap_or_default(), Tone::Open),
    };
    let overall = entry.overall.as_ref().filter(|_| entry.last.is_some()).map(|overall| {
        let is_fewer = overall.levels < ranking.most_levels();
        let over = if is_fewer { format!(" over {}", count(overall.levels as u64)) } else { String::new() };
        words::answer_overall(overall, ranking.unit, &over)
    });
    let rank = entry.rank.filter(|_| ranking.n.is_none() || ranking.has_difference());
    Line {
        ranking: Some((i, ranking)),
        series: ranking.label.clone(),
        contender: entry.place,
        drawn: entry.ratio().map_or(Drawn::Nothing, Drawn::Ratio),
        answer,
        is_reason: false,
        tone,
        overall,
        rank: rank.map(|rank| words::place_of(rank, ranking.standings.len())),
        note: None,
    }
}

/// The crossing of a variant with the best over n, and the cause that shortened the comparison or the reason
/// why there is none.
fn reason(ranking: &Ranking, entry: &RankingEntry) -> Option<String> {
    let crosses =
        entry.overall.as_ref().filter(|overall| entry.last.is_some() && overall.claim() == Claim::DependsOnN);
    let crosses = crosses.map(|overall| {
        let crossings = words::crossings(&overall.comparison.crossings, ranking.unit);
        format!("over {}: {crossings}", ranking.grows)
    });
    let all: Vec<String> = crosses.into_iter().chain(note_of(ranking, entry)).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// Whether the others are compared with it.
fn is_reference(ranking: &Ranking, entry: &RankingEntry) -> bool {
    entry.note.is_none() && ranking.standings.first().is_some_and(|first| first.place == entry.place)
}

/// The value of the best: `108 000 /s`; the first of several systems is only the reference.
fn of_reference(ranking: &Ranking, entry: &RankingEntry) -> String {
    let value = ranking.n.and_then(|n| entry.at(n)).map(|value| ranking.unit.cost(value));
    value.or_else(|| at_least(ranking, entry)).unwrap_or_else(|| "reference".into())
}

/// The lower bound of a value, where the load generator was the limit: `≥ 27 000 /s`.
fn at_least(ranking: &Ranking, entry: &RankingEntry) -> Option<String> {
    let value = entry.at_least(ranking.n?)?;
    Some(format!("≥ {}", ranking.unit.cost(value)))
}

/// The note beside the comparison of a contender with another, or in its place.
fn between(names: [&str; 2], note: &AnswerNote) -> String {
    match note {
        AnswerNote::Shortened(shortened) => self::shortened(names, shortened),
        AnswerNote::NoAnswer(NoAnswer::WithoutNumber(some)) => {
            some.iter().map(missing).collect::<Vec<_>>().join("; ")
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

/// The engine of a system that is the first on it, where others stand first on theirs.
fn other_engine(entry: &RankingEntry) -> Option<&str> {
    match entry.note.as_ref()? {
        AnswerNote::NoAnswer(NoAnswer::OtherEngine([_, (_, engine)])) => Some(engine),
        _ => None,
    }
}

/// `7.3 runs on QEMU TCG`
fn runs_on((system, engine): &(String, String)) -> String {
    let on = if engine == "native" { "natively".to_owned() } else { format!("on {engine}") };
    format!("{} runs {on}", name(system))
}

/// `unsupported: this system has no mmap in other`.
fn missing(without: &WithoutNumber) -> String {
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

/// `none` where there are none.
fn series(names: &[String]) -> String {
    if names.is_empty() { "none".into() } else { some_of(names, SHOWN_MOST) }
}

/// `7.3 failed: …`.
fn no_number(without: &WithoutNumber) -> String {
    let words = without.stop.as_ref().map_or("no number".into(), sentences::stop);
    format!("{} {words}", name(&without.contender))
}

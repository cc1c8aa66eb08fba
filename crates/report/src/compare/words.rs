//! Answers in words: one grammar for systems and for variants.

use record::{Side, Unit};
use stats::{Design, Interval};

use crate::document::Tone;
use crate::place;
use crate::quantity::Quantity;
use crate::sentences;
use crate::shell;
use crate::words::{
    NO_BREAK, about, bound, count, factor, factor_with_interval, list, percent, place_with_interval,
    ratio_with_interval, rounded, things,
};
use judge::Findings;
use judge::compare::{
    Claim, Comparison, Contender, Mean, MeanClaim, More, Part, Ranking, RankingEntry, Ratio, Reference,
};

/// Contenders of a sentence beside the first at the most.
const OTHERS_MOST: usize = 3;

/// The words for a larger cost and a smaller one: `slower` and `faster`, for memory `more` and `less`.
pub(crate) fn sides(unit: Unit) -> (&'static str, &'static str) {
    if unit == Unit::Bytes { ("more", "less") } else { ("slower", "faster") }
}

/// The answer in words: `1.18× slower (1.15–1.21)`, `faster below 4 300 (3 900–4 700), slower above`.
pub(crate) fn answer(ratio: &Ratio, unit: Unit) -> String {
    of_claim(ratio.claim(), ratio, unit, "")
}

/// The answer for all n taken together, and at or over which: `1.18× slower (1.15–1.21) at 500`.
pub(super) fn answer_overall(ratio: &Ratio, unit: Unit, at: &str) -> String {
    of_claim(ratio.claim_overall(), ratio, unit, at)
}

fn of_claim(claim: Claim, ratio: &Ratio, unit: Unit, at: &str) -> String {
    let of_all = ratio.comparison.ratio;
    let words = match claim {
        Claim::DependsOnN => crossings(&ratio.comparison.crossings, unit),
        Claim::InPart { is_slower, part, most } => {
            let (slower, faster) = sides(unit);
            let word = if is_slower { slower } else { faster };
            let part = match part {
                Part::To(n) => format!("up to {}", count(n)),
                Part::From(n) => format!("from {}", count(n)),
                Part::Between(low, high) => format!("from {} to {}", count(low), count(high)),
            };
            format!("{word} {part}, up to {}", times(if is_slower { most } else { most.reciprocal() }, ""))
        }
        Claim::Faster | Claim::Slower if ratio.at_least => at_least(of_all, unit),
        Claim::Faster | Claim::Slower => times_with_word(of_all, unit),
        Claim::Equivalent { within, is_noise_floor: true } => {
            format!("equivalent within the noise floor, {}", bound(within))
        }
        Claim::Equivalent { within, .. } => format!("equivalent within {}", bound(within)),
        Claim::DifferentButSmall => format!("different but small, {}", times_with_word(of_all, unit)),
        Claim::Unresolved { more } => {
            let more = more.map(|more| format!(", {}", more_words(more)));
            // A missing interval is the reason why it is unresolved.
            let ratio = factor_with_interval(of_all).replace(" (no interval)", "");
            return format!("unresolved, {ratio}{at}{}", more.unwrap_or_default());
        }
    };
    words + at
}

/// `4 more trials`, or `1 more boot`.
pub(crate) fn more_words(more: More) -> String {
    match more {
        More::Trials(trials) => things(trials, "more trial", "more trials"),
        More::Boots(boots) => things(boots, "more boot", "more boots"),
    }
}

/// `1.18× slower (1.15–1.21)`; a faster one by its saving of time.
pub(crate) fn times_with_word(ratio: Interval, unit: Unit) -> String {
    let (slower, faster) = sides(unit);
    if ratio.value >= 1.0 { times(ratio, slower) } else { times(ratio.reciprocal(), faster) }
}

/// `at least 7.90× slower`: the better of the two may be better still.
fn at_least(ratio: Interval, unit: Unit) -> String {
    let (slower, faster) = sides(unit);
    if ratio.value >= 1.0 { bounded(ratio, slower) } else { bounded(ratio.reciprocal(), faster) }
}

/// The least that a ratio can be, with a word behind it.
fn bounded(ratio: Interval, word: &str) -> String {
    let least = Interval { value: ratio.low, ..ratio };
    let words = ratio_with_interval(least);
    let value = words.split(' ').next().unwrap_or_default();
    format!("at least {value}× {word}").trim_end().to_owned()
}

/// A ratio with a word behind the number: `1.18× slower (1.15–1.21)`.
fn times(ratio: Interval, word: &str) -> String {
    let words = ratio_with_interval(ratio);
    let (value, interval) = words.split_once(' ').unwrap_or((&words, ""));
    let parts = [&format!("{value}×"), word, interval];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Where one becomes faster than the other: `faster below 4 310 (2 000–4 900), slower above`.
pub(super) fn crossings(crossings: &[stats::Crossing], unit: Unit) -> String {
    let (slower, faster) = sides(unit);
    let word = |is_faster: bool| if is_faster { faster } else { slower };
    match crossings {
        [one] => format!(
            "{} below {}, {} above",
            word(one.faster_below),
            place_with_interval(Interval { value: rounded(one.n, 3), low: one.n_low, high: one.n_high }),
            word(!one.faster_below)
        ),
        [one, other] => format!(
            "{} from {} to {}, {} elsewhere",
            word(other.faster_below),
            about(one.n),
            about(other.n),
            word(one.faster_below)
        ),
        several => format!("{faster} or {slower} by n, {} crossings", count(several.len() as u64)),
    }
}

/// The tone of an answer.
pub(crate) fn tone(claim: Claim) -> Tone {
    match claim {
        Claim::Faster | Claim::Equivalent { .. } | Claim::InPart { is_slower: false, .. } => Tone::Good,
        Claim::DependsOnN | Claim::Slower | Claim::InPart { .. } => Tone::Notable,
        Claim::DifferentButSmall => Tone::Plain,
        Claim::Unresolved { .. } => Tone::Open,
    }
}

/// The name of a variant that has none.
pub(crate) fn name(variant: &str) -> &str {
    if variant.is_empty() { "plain" } else { variant }
}

/// The quantity of a series: `throughput`; of a curve `cost of select`.
fn what(ranking: &Ranking) -> String {
    // The only time that a server reports of itself.
    if (ranking.side, ranking.unit) == (Side::Server, Unit::Seconds) {
        return "processor time".to_owned();
    }
    if ranking.levels { ranking.name.clone() } else { format!("{} of {}", ranking.unit.noun(), ranking.name) }
}

/// The better side of a unit: less or more.
pub(super) fn better(unit: Unit) -> &'static str {
    if unit.more_is_better() { "more is better" } else { "less is better" }
}

/// The best, and those that are worse for certain, the furthest first: `inetd needs 23.0× the processor time
/// of epoll (22.1–24.0) at 1 000 connections, and 20.1× (19.2–21.1) in the mean of 5 levels; fork needs
/// 15.0× (14.4–15.7)`. `None` where no difference is certain.
pub(super) fn sentence(ranking: &Ranking) -> Option<String> {
    let best = ranking.best()?;
    let mut behind = ranking.behind().map(|(other, last)| (Comparand { ranking, best, other }, last));
    let (furthest, last) = behind.next()?;
    let mean = furthest.other.overall.as_ref().map(|mean| {
        let levels = things(mean.levels, "level", "levels");
        format!(", and {} in the mean of {levels}", furthest.times(mean, ""))
    });
    let at = place::at_level(last.comparison.n_high, &ranking.grows).map(|at| format!(" {at}"));
    let first = [Some(furthest.words(last)), at, mean].into_iter().flatten().collect::<String>();
    let others: Vec<(Comparand<'_>, &Ratio)> = behind.collect();
    let shown = others.iter().take(OTHERS_MOST).map(|(other, last)| other.beside(last));
    let more = others.len().saturating_sub(OTHERS_MOST);
    let more = (more > 0).then(|| format!("{} nearer", things(more, "other is", "others are")));
    let said: Vec<String> = [first].into_iter().chain(shown).chain(more).collect();
    Some(said.join("; "))
}

/// One that is worse than the best of a series.
struct Comparand<'a> {
    ranking: &'a Ranking,
    best: &'a RankingEntry,
    other: &'a RankingEntry,
}

impl Comparand<'_> {
    /// How many times as much the larger value is; at least so many times where the best may be better.
    fn times(&self, ratio: &Ratio, of: &str) -> String {
        let values = ratio.of_values(self.ranking.unit);
        let values = if values.value >= 1.0 { values } else { values.reciprocal() };
        if ratio.at_least { bounded(values, of) } else { times(values, of) }
    }

    /// The larger value first: `inetd needs 23.0× the processor time of epoll (22.1–24.0)`, `epoll has at
    /// least 7.90× the throughput of inetd`.
    fn words(&self, ratio: &Ratio) -> String {
        let (best, other) = (name(&self.best.name), name(&self.other.name));
        let is_more = ratio.of_values(self.ranking.unit).value >= 1.0;
        let (larger, smaller) = if is_more { (other, best) } else { (best, other) };
        let of = format!("the {} of {smaller}", what(self.ranking));
        format!("{larger} {} {}", self.verb(), self.times(ratio, &of))
    }

    /// The same, beside a sentence that has named the best and the series.
    fn beside(&self, ratio: &Ratio) -> String {
        let name = name(&self.other.name);
        let at = ratio.comparison.n_high;
        let at = if Some(at) == self.ranking.n { String::new() } else { format!(" at {}", count(at)) };
        // The larger value first: the best at the last level may not be the best at an earlier one.
        match ratio.of_values(self.ranking.unit).value >= 1.0 {
            true => format!("{name} {} {}{at}", self.verb(), self.times(ratio, "")),
            false => format!("{}{at}", self.times(ratio, &format!("that of {name}"))),
        }
    }

    /// A quantity that is measured at the server is a need.
    fn verb(&self) -> &'static str {
        if self.ranking.side == Side::Server && !self.ranking.unit.more_is_better() { "needs" } else { "has" }
    }
}

/// The findings about variants: those about the series that a run waits for, then those about the series that
/// only explain them.
pub(crate) fn findings(compared: &Comparison) -> Vec<String> {
    let ranked = compared.rankings.iter().filter(|ranking| ranking.n.is_some());
    let (companions, own): (Vec<&Ranking>, Vec<&Ranking>) = ranked.partition(|ranking| ranking.is_companion);
    let groups = [own, companions].into_iter().filter(|group| !group.is_empty());
    let groups: Vec<Vec<&Ranking>> = groups.collect();
    groups.iter().flat_map(|group| findings_of(group, groups.len() == 1)).collect()
}

/// A sentence for each series in which two differ for certain; for the others, or for all there are, that
/// none do: `no difference is certain; one may be after 4 more trials`.
fn findings_of(ranked: &[&Ranking], are_all: bool) -> Vec<String> {
    let (sure, open): (Vec<&Ranking>, Vec<&Ranking>) =
        ranked.iter().partition(|ranking| ranking.behind().next().is_some());
    let mut findings: Vec<String> = sure.into_iter().filter_map(sentence).collect();
    let more = open.iter().filter_map(|ranking| ranking.more()).min();
    let more = more.map(|more| format!("; one may be after {}", more_words(more)));
    let names: Vec<String> = open.iter().map(|ranking| ranking.name.clone()).collect();
    let of = if findings.is_empty() && are_all { String::new() } else { format!("{}: ", list(&names)) };
    findings.extend(
        (!open.is_empty())
            .then(|| format!("{of}no difference from the best is certain{}", more.unwrap_or_default())),
    );
    findings
}

/// `1st` or `1st–2nd`, with `of 2` where not all contenders took part.
pub(crate) fn place_of(rank: stats::Rank, contenders: usize) -> String {
    let stats::Rank { best, worst, of } = rank;
    let place = if best == worst { ordinal(best) } else { format!("{}–{}", ordinal(best), ordinal(worst)) };
    if of == contenders { place } else { format!("{place} of {of}") }
}

fn ordinal(n: usize) -> String {
    let ending = match (n % 10, n % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{n}{ending}")
}

/// ` on 6.12` for variants that are compared on one of several systems.
pub(crate) fn on_system(findings: &Findings, compared: &Comparison) -> String {
    let first = compared.contenders.first();
    first.map_or_else(String::new, |contender| sentences::on_system(findings, &contender.system))
}

/// `7.3 against 6.12`, of systems on several engines those of each; of variants `race: each variant against
/// the best`.
pub(crate) fn title(compared: &Comparison) -> String {
    if let Some(workload) = &compared.workload {
        return format!("{workload}: each variant against the best");
    }
    let against = |(place, first): (usize, &Contender)| {
        let is_other = |&(other, _): &(usize, &Contender)| {
            other != place && compared.references.get(other) == Some(&place)
        };
        let others = compared.contenders.iter().enumerate().filter(is_other);
        let others: Vec<String> = others.map(|(_, contender)| contender.name.clone()).collect();
        (!others.is_empty()).then(|| format!("{} against {}", list(&others), first.name))
    };
    let all: Vec<String> = compared.contenders.iter().enumerate().filter_map(against).collect();
    all.join("; ")
}

/// The name of the reference: `6.12`, or the first of each engine.
pub(crate) fn reference(compared: &Comparison) -> &str {
    match compared.references.iter().all(|&reference| reference == 0) {
        true => compared.contenders.first().map_or("", |first| first.name.as_str()),
        false => "the first on the same engine",
    }
}

/// The differences in words: `kernel.release 6.12.107 → 7.3.4, …`
pub(super) fn differs(compared: &Comparison) -> String {
    match compared.differences.as_slice() {
        [] => "no recorded fact of the systems".into(),
        some => some.iter().map(sentences::difference).collect::<Vec<_>>().join(", "),
    }
}

/// How much was judged together: `judged 41 of 44 series; false discoveries held at 5 %`, of variants
/// `60 ratios of 30 pairs judged together; …`.
pub(super) fn judged(compared: &Comparison) -> String {
    let held = format!("false discoveries held at {}", percent(compared.alpha));
    if compared.reference == Reference::Best {
        let (ratios, pairs) = (compared.ratios, compared.pairs);
        let (ratios, pairs) = (things(ratios, "ratio", "ratios"), things(pairs, "pair", "pairs"));
        return format!("{ratios} of {pairs} judged together; {held}");
    }
    let (given, of) = compared.judged();
    let what = if compared.contenders.len() > 2 { "pairs of series" } else { "series" };
    format!("judged {} of {} {what}; {held}", count(given as u64), count(of as u64))
}

/// How trials were compared: `paired: each trial against the one measured beside it`.
pub(super) fn design(compared: &Comparison) -> &'static str {
    let ratios = || compared.rankings.iter().flat_map(Ranking::others).filter_map(RankingEntry::ratio);
    let pairs = ratios().filter(|ratio| ratio.comparison.design == Design::Paired).count();
    match (compared.reference, pairs) {
        _ if compared.is_of_other_programs() => "unpaired: files of other programs have no pairs of trials",
        (Reference::First, 0) => "unpaired: the systems were measured one after the other",
        (Reference::Best, 0) => "unpaired",
        (Reference::First, some) if some == ratios().count() => {
            "paired: each trial against the one measured beside it"
        }
        (Reference::Best, some) if some == ratios().count() => "paired by rounds",
        (Reference::First, _) => "partly paired: systems of one run trial against trial, others not",
        (Reference::Best, _) => "some of them paired by rounds",
    }
}

/// `noise floor of this machine 2.1 %, measured 2026-11-21`
pub(super) fn noise_floor(compared: &Comparison) -> String {
    let said = |floor: &record::NoiseFloor| {
        let day = floor.measured_at.get(..10).unwrap_or(&floor.measured_at);
        format!("{}, measured {day}", bound(floor.share))
    };
    let floors: Vec<Option<String>> =
        compared.contenders.iter().map(|s| s.system.noise_floor.as_ref().map(said)).collect();
    match floors.as_slice() {
        _ if compared.is_of_other_programs() => "noise floor of their machines unknown".into(),
        all if all.iter().all(Option::is_none) => "noise floor not measured: osdyno run --aa".into(),
        [Some(one), others @ ..] if others.iter().all(|other| other.as_ref() == Some(one)) => {
            format!("noise floor of this machine {one}")
        }
        some => {
            let each = compared.contenders.iter().zip(some).map(|(subject, floor)| match floor {
                Some(floor) => format!("{} {floor}", subject.name),
                None => format!("{} not measured", subject.name),
            });
            format!("noise floor: {}", list(&each.collect::<Vec<_>>()))
        }
    }
}

/// `geometric mean of 6 series, each weighing the same: 1.02× slower (1.00–1.04)`; of several systems each by
/// its name.
pub(super) fn means(compared: &Comparison) -> Vec<String> {
    let several = compared.contenders.len() > 2;
    let others = compared.contenders.iter().skip(1).zip(&compared.means);
    let said = |(subject, mean): (&Contender, &Option<Mean>)| {
        let mean = mean.as_ref()?;
        let whose = if several { format!("{}: ", subject.name) } else { String::new() };
        Some(format!("{whose}geometric mean of {}, each weighing the same: {}", of(mean), mean_ratio(mean)))
    };
    others.filter_map(said).collect()
}

/// `6 series`
pub(super) fn of(mean: &Mean) -> String {
    things(mean.of, "series", "series")
}

/// The ratio of a mean, as that of a series; without a word where nothing is claimed.
pub(super) fn mean_ratio(mean: &Mean) -> String {
    match mean.claim() {
        MeanClaim::Estimate => format!("{}, no claim without paired trials", factor(mean.ratio.value)),
        MeanClaim::Nothing => factor_with_interval(mean.ratio),
        MeanClaim::Faster | MeanClaim::Slower => times_with_word(mean.ratio, Unit::Seconds),
    }
}

/// Where runs that were made one after the other leave most answers open: the command that measures their
/// systems side by side. Drift between two runs cannot be distinguished from a difference.
pub(crate) fn interleaved(compared: &Comparison) -> Option<String> {
    let ratios =
        compared.rankings.iter().flat_map(Ranking::others).filter_map(|entry| entry.overall.as_ref());
    let apart = ratios.filter(|ratio| ratio.comparison.design == Design::Independent);
    let (open, of) = apart.fold((0, 0), |(open, of), ratio| {
        (open + usize::from(matches!(ratio.claim(), Claim::Unresolved { .. })), of + 1)
    });
    if compared.reference != Reference::First || 2 * open <= of {
        return None;
    }
    Some(format!(
        "{} of {} open: the measurements were made one after the other, and a drift between them looks like \
         a difference. {}",
        count(open as u64),
        things(of, "ratio is", "ratios are"),
        side_by_side(compared)?
    ))
}

/// Options that make a system, which are recorded in place of its command.
const OPTIONS: [&str; 5] = ["--set", "--background", "--fs", "--files", "--kernel"];

/// The command that measures these side by side, where commands make the systems.
fn side_by_side(compared: &Comparison) -> Option<String> {
    if compared.is_of_other_programs() {
        return Some("osdyno run command --vs OLD -- NEW measures two commands side by side".into());
    }
    let mut words = compared.contenders.iter().flat_map(|contender| &contender.system.prefix);
    if words.any(|word| OPTIONS.contains(&word.as_str())) {
        return None;
    }
    let systems = compared.contenders.iter().enumerate().map(|(place, contender)| {
        let prefix = contender.system.prefix.join(" ");
        let other = if place == 0 { "" } else { "COMMAND" };
        shell::quoted(&format!("{}={}", contender.name, if prefix.is_empty() { other } else { &prefix }))
    });
    let systems: String = systems.map(|system| format!(" --system {system}")).collect();
    let run = shell::without_systems(&compared.contenders.first()?.run);
    Some(format!("One run measures them side by side: {run}{systems} (COMMAND starts each trial)"))
}

/// The count of every answer: `1 slower · 3 equivalent`.
pub(crate) fn summary(compared: &Comparison) -> String {
    const WORDS: [&str; 8] = [
        "depending on n",
        "slower",
        "faster",
        "more",
        "less",
        "equivalent",
        "different but small",
        "unresolved",
    ];
    let said = |claim: Claim, unit: Unit| match claim {
        Claim::DependsOnN => "depending on n",
        Claim::Slower | Claim::InPart { is_slower: true, .. } => sides(unit).0,
        Claim::Faster | Claim::InPart { .. } => sides(unit).1,
        Claim::Equivalent { .. } => "equivalent",
        Claim::DifferentButSmall => "different but small",
        Claim::Unresolved { .. } => "unresolved",
    };
    let entries = compared.rankings.iter().flat_map(|row| row.others().map(|entry| (row.unit, entry)));
    let all = entries.filter_map(|(unit, entry)| Some(said(entry.overall.as_ref()?.claim(), unit)));
    let all: Vec<&str> = all.collect();
    let counts = WORDS.map(|word| (all.iter().filter(|said| **said == word).count(), word));
    let (given, of) = compared.judged();
    let counts = counts.into_iter().chain([(of - given, "without a result")]).filter(|(n, _)| *n > 0);
    let said =
        counts.map(|(n, word)| format!("{} {word}", count(n as u64)).replace(' ', &NO_BREAK.to_string()));
    said.collect::<Vec<String>>().join(" · ")
}

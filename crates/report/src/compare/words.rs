//! The five answers in words.

use std::collections::BTreeMap;

use record::Unit;
use stats::{Answer, Comparison, Design, Interval};

use crate::ratios::{inverted, sides};
use crate::sentences;
use crate::text::Tone;
use crate::words::{
    NO_BREAK, about, bound, count, factor, factor_with_interval, list, percent, place_with_interval, rounded,
    things,
};
use judge::Limited;
use judge::compare::{
    AnswerNote, Comparison as Compared, Contender, Mean, Mismatch, NoAnswer, Ranking, RankingEntry, Refusal,
    Refused, Shortened, WithoutNumber,
};

/// Ratios of two ranges of n that are further apart than this are not said as one.
const FAR: f64 = 1.2;

/// The answer in words: `1.18× slower (1.15–1.21)`, `faster below 4 300 (3 900–4 700), slower above`.
pub(crate) fn answer(comparison: &Comparison, unit: Unit) -> String {
    if let Some(words) = crossing(comparison, unit).or_else(|| part(comparison, unit)) {
        return words;
    }
    match comparison.answer {
        Answer::Faster | Answer::Slower => times(comparison.ratio, unit),
        Answer::Equivalent if comparison.floor > reach(comparison.ratio) => {
            format!("equivalent within the noise floor, {}", bound(comparison.floor))
        }
        Answer::Equivalent => format!("equivalent within {}", bound(reach(comparison.ratio))),
        Answer::DifferentButSmall => format!("different but small, {}", times(comparison.ratio, unit)),
        Answer::Unresolved => {
            let most = comparison.trials.0.max(comparison.trials.1);
            let more = comparison.trials_needed.map(|needed| (needed as usize).saturating_sub(most));
            match more {
                Some(more) if more > 0 => {
                    format!(
                        "unresolved {}, {}",
                        span(comparison.ratio),
                        things(more, "more trial", "more trials")
                    )
                }
                _ => format!("unresolved {}", span(comparison.ratio)),
            }
        }
    }
}

/// `1.18× slower (1.15–1.21)`; the faster of two is said by how much less time it takes.
fn times(ratio: Interval, unit: Unit) -> String {
    let (slower, faster) = sides(unit);
    let (ratio, word) = if ratio.value >= 1.0 { (ratio, slower) } else { (inverted(ratio), faster) };
    let words = factor_with_interval(ratio);
    match words.trim_start_matches('×').split_once(' ') {
        Some((value, interval)) => format!("{value}× {word} {interval}"),
        None => format!("{words} {word}"),
    }
}

/// The interval alone: `(0.98–1.07)`.
fn span(ratio: Interval) -> String {
    let words = factor_with_interval(ratio);
    words.split_once(' ').map_or(String::new(), |(_, interval)| interval.to_string())
}

/// A difference at some n only, with none that matters elsewhere: `faster from
/// 14 300, up to 1 170× (1 150–1 200)`. One ratio for all n would hide that.
fn part(comparison: &Comparison, unit: Unit) -> Option<String> {
    let margin = comparison.margin;
    let slower = match comparison.answer {
        Answer::Slower => true,
        Answer::Faster => false,
        _ => return None,
    };
    let distance = |r: &Interval| if slower { r.value } else { 1.0 / r.value };
    let certain = |r: &Interval| if slower { r.low > 1.0 + margin } else { r.high < 1.0 / (1.0 + margin) };
    let blocks = &comparison.blocks;
    let most = blocks.iter().max_by(|a, b| distance(&a.2).total_cmp(&distance(&b.2)))?;
    let least = blocks.iter().min_by(|a, b| distance(&a.2).total_cmp(&distance(&b.2)))?;
    let apart = if slower { most.2.low > least.2.high } else { most.2.high < least.2.low };
    if certain(&least.2) || !apart || distance(&most.2) < FAR * distance(&least.2) {
        return None;
    }
    let first = blocks.iter().position(|b| certain(&b.2))?;
    let last = blocks.iter().rposition(|b| certain(&b.2))?;
    if blocks[first..=last].iter().any(|b| !certain(&b.2)) {
        return None;
    }
    let range = match (first, last + 1 == blocks.len()) {
        (0, _) => format!("up to {}", count(blocks[last].1)),
        (_, true) => format!("from {}", count(blocks[first].0)),
        _ => format!("from {} to {}", count(blocks[first].0), count(blocks[last].1)),
    };
    let word = if slower { sides(unit).0 } else { sides(unit).1 };
    let most = times(most.2, unit);
    Some(format!("{word} {range}, up to {}", most.replace(&format!(" {word}"), "")))
}

/// The share that a difference is certainly within.
fn reach(ratio: Interval) -> f64 {
    (ratio.high - 1.0).max(1.0 / ratio.low - 1.0).max(0.0)
}

/// Where one is faster for certain below some n and the other above, each by more than the margin somewhere.
fn crossing(comparison: &Comparison, unit: Unit) -> Option<String> {
    if !depends(comparison) {
        return None;
    }
    let (slower, faster) = sides(unit);
    let word = |is_faster: bool| if is_faster { faster } else { slower };
    match comparison.crossings.as_slice() {
        [one] => Some(format!(
            "{} below {}, {} above",
            word(one.faster_below),
            place_with_interval(Interval { value: rounded(one.n, 3), low: one.n_low, high: one.n_high }),
            word(!one.faster_below)
        )),
        [one, other] => Some(format!(
            "{} from {} to {}, {} elsewhere",
            word(other.faster_below),
            about(one.n),
            about(other.n),
            word(one.faster_below)
        )),
        [] => None,
        several => Some(format!("{faster} or {slower} by n, {} crossings", count(several.len() as u64))),
    }
}

/// Which of two is faster depends on n.
fn depends(comparison: &Comparison) -> bool {
    let margin = comparison.margin;
    let faster = comparison.blocks.iter().any(|(_, _, ratio)| ratio.high < 1.0 / (1.0 + margin));
    let slower = comparison.blocks.iter().any(|(_, _, ratio)| ratio.low > 1.0 + margin);
    faster && slower && !comparison.crossings.is_empty()
}

/// The tone of an answer.
pub(crate) fn tone(comparison: &Comparison) -> Tone {
    match comparison.answer {
        _ if depends(comparison) => Tone::Notable,
        Answer::Faster | Answer::Equivalent => Tone::Good,
        Answer::Slower => Tone::Notable,
        Answer::DifferentButSmall => Tone::Plain,
        Answer::Unresolved => Tone::Open,
    }
}

/// `7.3 against 6.12`
pub(crate) fn who(compared: &Compared) -> String {
    let names: Vec<String> = compared.contenders.iter().map(|s| s.name.clone()).collect();
    match names.as_slice() {
        [first, others @ ..] => format!("{} against {first}", list(others)),
        [] => String::new(),
    }
}

/// What differs, in words: `kernel.release 6.12.107 → 7.3.4, …`
pub(crate) fn differs(compared: &Compared) -> String {
    match compared.differences.as_slice() {
        [] => "nothing that was recorded of the systems".into(),
        some => some.iter().map(crate::environment::difference).collect::<Vec<_>>().join(", "),
    }
}

/// `judged 41 of 44 series; false discoveries held at 5 %`
pub(crate) fn judged(compared: &Compared) -> String {
    let (given, of) = compared.judged();
    let what = if compared.contenders.len() > 2 { "pairs of series" } else { "series" };
    format!(
        "judged {} of {} {what}; false discoveries held at {}",
        count(given as u64),
        count(of as u64),
        percent(compared.alpha)
    )
}

/// `paired, trial by trial` or how else trials were set against each other.
pub(crate) fn design(compared: &Compared) -> String {
    let answers = || compared.rankings.iter().flat_map(Ranking::others).filter_map(RankingEntry::answer);
    let (all, pairs) = (answers().count(), answers().filter(|a| a.design == Design::Paired).count());
    match pairs {
        0 => "unpaired: the systems were measured one after the other".into(),
        _ if pairs == all => "paired: each trial against the one measured beside it".into(),
        _ => "partly paired: systems of one run trial against trial, others not".into(),
    }
}

/// `noise floor of this machine 2.1 %, measured 2026-11-21`
pub(crate) fn noise_floor(compared: &Compared) -> String {
    let said = |floor: &record::NoiseFloor| {
        let day = floor.measured_at.get(..10).unwrap_or(&floor.measured_at);
        format!("{}, measured {day}", bound(floor.share))
    };
    let floors: Vec<Option<String>> =
        compared.contenders.iter().map(|s| s.system.noise_floor.as_ref().map(said)).collect();
    match floors.as_slice() {
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
pub(crate) fn means(compared: &Compared) -> Vec<String> {
    let several = compared.contenders.len() > 2;
    let others = compared.contenders.iter().skip(1).zip(&compared.means);
    let said = |(subject, mean): (&Contender, &Option<Mean>)| {
        let mean = mean.as_ref()?;
        let whose = if several { format!("{}: ", subject.name) } else { String::new() };
        Some(format!(
            "{whose}geometric mean of {}, each weighing the same: {}",
            of(mean),
            mean_ratio(compared, mean)
        ))
    };
    others.filter_map(said).collect()
}

/// `6 series`
pub(crate) fn of(mean: &Mean) -> String {
    things(mean.of, "series", "series")
}

/// The ratio of a mean, as that of a series; where it may be 1, or within the noise floor, without a word. Of
/// trials that are no pairs it is an estimate and no claim.
pub(crate) fn mean_ratio(compared: &Compared, mean: &Mean) -> String {
    let floors = compared.contenders.iter().filter_map(|s| Some(s.system.noise_floor.as_ref()?.share));
    let sure = 1.0 + floors.fold(0.0, f64::max);
    let Interval { low, high, .. } = mean.ratio;
    if !high.is_finite() {
        return format!("{}, no claim without paired trials", factor(mean.ratio.value));
    }
    if low > sure || high < 1.0 / sure {
        times(mean.ratio, Unit::Seconds)
    } else {
        factor_with_interval(mean.ratio)
    }
}

/// The count of every answer: `1 slower · 3 equivalent`.
pub(crate) fn summary(compared: &Compared) -> String {
    let (memory, time): (Vec<&Ranking>, Vec<&Ranking>) =
        compared.rankings.iter().partition(|row| row.unit == Unit::Bytes);
    fn given<'a>(rows: &'a [&Ranking]) -> impl Iterator<Item = &'a Comparison> {
        rows.iter().flat_map(|row| row.others()).filter_map(RankingEntry::answer)
    }
    let all = || given(&time).chain(given(&memory));
    let of =
        |rows: &[&Ranking], wanted: Answer| given(rows).filter(|a| !depends(a) && a.answer == wanted).count();
    let both = |wanted| of(&time, wanted) + of(&memory, wanted);
    let counts = [
        (all().filter(|a| depends(a)).count(), "depending on n"),
        (of(&time, Answer::Slower), "slower"),
        (of(&time, Answer::Faster), "faster"),
        (of(&memory, Answer::Slower), "more"),
        (of(&memory, Answer::Faster), "less"),
        (both(Answer::Equivalent), "equivalent"),
        (both(Answer::DifferentButSmall), "different but small"),
        (both(Answer::Unresolved), "unresolved"),
    ];
    let none = compared.judged();
    let counts = counts.into_iter().chain([(none.1 - none.0, "without a result")]);
    let said: Vec<String> = counts
        .filter(|(n, _)| *n > 0)
        .map(|(n, word)| format!("{}{NO_BREAK}{}", count(n as u64), word.replace(' ', "\u{a0}")))
        .collect();
    said.join(" · ")
}

/// What stands beside an answer, of the second and the following against the first.
pub fn note(compared: &Compared, other: usize, note: &AnswerNote) -> String {
    let names = [&compared.contenders[0].name, &compared.contenders[other].name];
    match note {
        AnswerNote::Shortened(shortened) => self::shortened(names, shortened),
        AnswerNote::NoAnswer(NoAnswer::WithoutNumber(some)) => {
            some.iter().map(without_number).collect::<Vec<_>>().join("; ")
        }
        AnswerNote::NoAnswer(NoAnswer::Limited) => "load generator saturated".into(),
        AnswerNote::NoAnswer(NoAnswer::NothingCommon) => {
            format!("{} and {} have no n in common", names[0], names[1])
        }
    }
}

/// `unsupported: this system has no mmap in other`.
fn without_number(without: &WithoutNumber) -> String {
    let words = match &without.stop {
        Some(stop) => sentences::stop(stop),
        None if without.is_planned => "no number".to_string(),
        None => "not measured".to_string(),
    };
    format!("{words} in {}", without.subject)
}

/// `stopped at 2 000: EAGAIN in 7.3; compared to 1 999`.
fn shortened(names: [&String; 2], shortened: &Shortened) -> String {
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
    said.extend(
        shortened.measured_to.as_ref().map(|(name, n)| format!("{name} was measured to {}", count(*n))),
    );
    said.extend(shortened.compared_to.map(|n| format!("compared to {}", count(n))));
    said.join("; ")
}

/// Levels at which the load generator was saturated in one of two or in both, which are not compared.
fn limited(names: [&String; 2], limited: &[Option<Limited>; 2]) -> Option<String> {
    let places = limited.each_ref().map(|limited| limited.as_ref().map(sentences::places));
    let said = match &places {
        [Some(one), Some(two)] if one == two => format!("{one} in both"),
        _ => {
            let named = places
                .iter()
                .zip(names)
                .filter_map(|(places, name)| places.as_ref().map(|places| format!("{places} in {name}")));
            named.collect::<Vec<String>>().join(" and ")
        }
    };
    (!said.is_empty()).then(|| format!("load generator saturated{said}, not compared there"))
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
    };
    format!("{} has different {what}: {}", refused.workload, list(&each))
}

fn settings(chosen: &BTreeMap<String, String>) -> String {
    match chosen.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>() {
        none if none.is_empty() => "the defaults".to_owned(),
        some => some.join(" "),
    }
}

/// Why nothing could be compared at all, for an error.
pub fn refusal(refusal: &Refusal) -> String {
    let nothing = |why: Vec<String>| format!("nothing can be compared: {}", why.join("; "));
    match refusal {
        Refusal::Alone(name) => {
            format!("a comparison needs two systems, of one run or of several; only {name:?} was given")
        }
        Refusal::Different(all) => nothing(all.iter().map(refused).collect()),
        Refusal::NoNumber(all) => nothing(all.iter().map(no_number).collect()),
        Refusal::NothingCommon => nothing(vec!["the runs have no series in common".into()]),
    }
}

/// `7.3 failed: …`.
fn no_number(without: &WithoutNumber) -> String {
    let words = without.stop.as_ref().map_or("no number".into(), sentences::stop);
    format!("{} {words}", without.subject)
}

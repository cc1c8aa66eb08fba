//! The decisions of a gate in words: the last lines of a verb that a build runs.

use judge::compare::Refused;
use judge::gate::{ClaimAnswer, ClaimKind, GateAnswer, GateReason, GateRefusal, GatedSeries};
use stats::{Decision, Interval};

use crate::compare;
use crate::document::{Document, Table, Text, Tone};
use crate::words::{GAP, count, fixed, is_bounded, list, ratio_with_interval, some_of, things};

/// Series of one decision that are said at the most.
const SAID_MOST: usize = 8;
/// Names of series that an error lists at the most.
const NAMES_MOST: usize = 40;
/// A rise from here on is said as a factor.
const DOUBLE: f64 = 2.0;

/// Claims that are excluded, claims that are undecided, what failed, and the command that repeats it.
pub fn document(answer: &GateAnswer, repeat: &str) -> Document {
    let mut lines: Vec<(&str, Text)> = Vec::new();
    for claim in &answer.claims {
        let passed = of_decision(claim, Decision::Excluded).count();
        if passed == claim.series.len() {
            let words = format!("{}: excluded for {}", claim.claim, things(passed, "series", "series"));
            lines.push(("passed", Text::toned(words, Tone::Good)));
        }
        if !claim.too_short.is_empty() {
            let names: Vec<String> = claim.too_short.iter().cloned().collect();
            let words = format!("{}: too short for the clock, {}", claim.claim, list(&names));
            lines.push(("left out", Text::toned(words, Tone::Faint)));
        }
    }
    for (word, tone, decision) in
        [("undecided", Tone::Open, Decision::Undecided), ("failed", Tone::Notable, Decision::Certain)]
    {
        for claim in &answer.claims {
            let series: Vec<&GatedSeries> = of_decision(claim, decision).collect();
            for one in series.iter().take(SAID_MOST) {
                lines.push((
                    word,
                    Text::toned(format!("{}: {}", claim.claim, sentence(claim.kind, one)), tone),
                ));
            }
            let more = series.len().saturating_sub(SAID_MOST);
            if more > 0 {
                let words =
                    format!("{}: {} more, {}", claim.claim, count(more as u64), names(&series[SAID_MOST..]));
                lines.push((word, Text::toned(words, tone)));
            }
        }
    }
    lines.push(("repeat", Text::toned(repeat, Tone::Code)));
    let mut table = Table::without_headings(2);
    for (word, text) in lines {
        table.push([Text::toned(word, Tone::Strong), text]);
    }
    let mut document = Document { title: "Gate".into(), ..Document::default() };
    document.push(table);
    document
}

/// The same in one sentence.
pub fn summary(answer: &GateAnswer) -> String {
    let of = |decision| answer.with(decision).count();
    let all: usize = answer.claims.iter().map(|claim| claim.series.len()).sum();
    match answer.decision {
        Decision::Certain => {
            let (failed, open) = (of(Decision::Certain), of(Decision::Undecided));
            let open = if open > 0 { format!(", {} undecided", count(open as u64)) } else { String::new() };
            format!("{} of {} failed{open}", count(failed as u64), things(all, "series", "series"))
        }
        Decision::Undecided => {
            format!(
                "{} of {} undecided",
                count(of(Decision::Undecided) as u64),
                things(all, "series", "series")
            )
        }
        Decision::Excluded => format!("excluded for all {}", things(all, "series", "series")),
    }
}

fn of_decision(claim: &ClaimAnswer, decision: Decision) -> impl Iterator<Item = &GatedSeries> {
    claim.series.iter().filter(move |one| one.decision == decision)
}

fn names(series: &[&GatedSeries]) -> String {
    let mut names: Vec<String> = series.iter().take(SAID_MOST).map(|one| one.series.clone()).collect();
    let more = series.len().saturating_sub(SAID_MOST);
    names.extend((more > 0).then(|| format!("{} others", count(more as u64))));
    list(&names)
}

/// `fork on head is 6.1 % slower than base (4.2 to 8.1 %), 10 pairs; chance without a change 2 in 100 000`.
pub fn sentence(kind: ClaimKind, one: &GatedSeries) -> String {
    let evidence = [change(kind, one), trials(one), chance(one), reason(one), more(one)];
    evidence.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// The series, and by how much it changed.
fn change(kind: ClaimKind, one: &GatedSeries) -> Option<String> {
    let on = if one.system.is_empty() { String::new() } else { format!(" on {}", one.system) };
    let name = format!("{}{on}", one.series);
    Some(match (kind, one.ratio) {
        (ClaimKind::Limit, _) | (_, None) => name,
        (ClaimKind::Grows, Some(ratio)) => {
            let to = one.n.map(|(low, high)| format!(" from n = {} to {}", count(low), count(high)));
            format!("{name} changes ×{}{}", ratio_with_interval(ratio), to.unwrap_or_default())
        }
        (_, Some(ratio)) => {
            let than = one.baseline.as_ref().map_or(String::new(), |base| format!(" than {base}"));
            let (larger, smaller) = compare::sides(one.unit());
            let word = if ratio.value < 1.0 { smaller } else { larger };
            match by(ratio) {
                (size, Some(interval)) => format!("{name} is {size} {word}{than} ({interval})"),
                (size, None) => format!("{name} is {size} {word}{than}"),
            }
        }
    })
}

/// By how much a cost changed, and its interval: `6.1 %` and `4.2 to 8.1 %`; a doubling or more as a factor.
fn by(ratio: Interval) -> (String, Option<String>) {
    if ratio.value >= DOUBLE || ratio.value <= 1.0 / DOUBLE {
        let ratio = if ratio.value < 1.0 { ratio.reciprocal() } else { ratio };
        let words = ratio_with_interval(ratio);
        let (value, interval) = words.split_once(" (").unwrap_or((&words, ""));
        let interval = interval.trim_end_matches(')');
        return (
            format!("{value}×"),
            (is_bounded(ratio) && !interval.is_empty()).then(|| interval.to_owned()),
        );
    }
    let share = |factor: f64| 100.0 * (factor - 1.0);
    let size = share(ratio.value).abs();
    let size = format!("{}{GAP}%", fixed(size, usize::from(size < 9.95)));
    let signed = |factor: f64| {
        let share = share(factor);
        let text = fixed(share, usize::from(share.abs() < 9.95));
        if share > 0.0 { format!("+{text}") } else { text }
    };
    let is_known = is_bounded(ratio) && ratio.low > 0.0 && ratio.high < 100.0;
    (size, is_known.then(|| format!("{} to {}{GAP}%", signed(ratio.low), signed(ratio.high))))
}

fn trials(one: &GatedSeries) -> Option<String> {
    let (first, second) = one.trials?;
    Some(match (one.is_paired, one.baseline.is_some()) {
        (true, _) => things(first, "pair", "pairs"),
        (false, true) => format!("{} against {}", count(first as u64), things(second, "trial", "trials")),
        (false, false) => things(second, "trial", "trials"),
    })
}

/// How often chance alone shows as much.
fn chance(one: &GatedSeries) -> Option<String> {
    let chance = one.chance.filter(|chance| *chance < 0.5)?;
    Some(format!("p {}", probability(chance)))
}

/// `= 0.003`, or `< 0.000001`.
fn probability(chance: f64) -> String {
    const LEAST: f64 = 1e-6;
    if chance < LEAST {
        return "< 0.000001".to_owned();
    }
    let decimals = (-chance.log10().floor()).clamp(2.0, 6.0) as usize;
    format!("= {chance:.decimals$}")
}

fn reason(one: &GatedSeries) -> Option<String> {
    Some(match one.reason.as_ref()? {
        GateReason::AllAlike => {
            let by = one.common.map_or(String::new(), |common| format!(" by ×{}", fixed(common, 2)));
            format!(
                "the other series changed alike{by}, so it may be the machine; measure both in one run, with \
                 two --system"
            )
        }
        GateReason::InPart { from, to, ratio } => {
            let (size, interval) = by(*ratio);
            let interval = interval.map_or(String::new(), |interval| format!(" ({interval})"));
            format!("from n = {} to {} by up to {size}{interval}", count(*from), count(*to))
        }
        GateReason::TwoRuns => {
            "two runs of one program may differ by 15 %, and too few series show the drift of the machine; \
             measure both in one run, with two --system"
                .to_owned()
        }
        GateReason::OtherProcessor { before, now } => {
            format!("the baseline is of another processor: {before}, now {now}")
        }
        GateReason::TooShort => "its values are too short for the clock".to_owned(),
        GateReason::NoNumber { systems } => format!("no number of {}", list(systems)),
        GateReason::NotCompared => "the two cannot be compared; osdyno compare --verbose says why".to_owned(),
        GateReason::OtherWorkload { mismatch } => {
            compare::refused(&Refused { workload: one.series.clone(), mismatch: (**mismatch).clone() })
        }
        GateReason::Refused { operation, error, n, before } => {
            let at = n.map_or(String::new(), |(low, high)| match low == high {
                true => format!(" at n = {}", count(low)),
                false => format!(" at n = {} to {}", count(low), count(high)),
            });
            let before = before.map_or(String::new(), |before| format!(", before at n = {}", count(before)));
            format!("{operation} was refused{at}: {error}{before}")
        }
    })
}

fn more(one: &GatedSeries) -> Option<String> {
    let needed = one.trials_needed.filter(|_| one.decision == Decision::Undecided)? as usize;
    Some(match (one.is_paired, one.baseline.is_some()) {
        (true, _) => format!("{} may decide", things(needed, "pair", "pairs")),
        (false, true) => format!("{} of each may decide", things(needed, "trial", "trials")),
        (false, false) => format!("{} may decide", things(needed, "trial", "trials")),
    })
}

/// Why a gate cannot be applied, for an error.
pub fn refusal(refusal: &GateRefusal) -> String {
    match refusal {
        GateRefusal::NoSeries { claim, names } => {
            let names = some_of(names, NAMES_MOST);
            format!("--fail-on {claim}: no series has that name; there are {names}")
        }
        GateRefusal::NoBaseline { claim } => format!(
            "--fail-on {claim} needs a baseline: osdyno compare BASE RUN, osdyno run --baseline FILE, or in \
             one run two --system, or two commands"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn between(value: f64, low: f64, high: f64) -> Interval {
        Interval { value, low, high }
    }

    #[test]
    fn a_change_is_a_percentage_and_from_a_doubling_on_a_factor() {
        let gap = GAP;
        let (size, interval) = by(between(1.0612, 1.042, 1.081));
        assert_eq!((size, interval), (format!("6.1{gap}%"), Some(format!("+4.2 to +8.1{gap}%"))));
        let (size, interval) = by(between(0.8, 0.7, 1.1));
        assert_eq!((size, interval), (format!("20{gap}%"), Some(format!("−30 to +10{gap}%"))));
        assert_eq!(by(between(3.0, 2.5, 3.6)), ("3.0×".to_owned(), Some("2.5–3.6".to_owned())));
        assert_eq!(by(between(1.5, 0.0, f64::INFINITY)), (format!("50{gap}%"), None));
    }

    #[test]
    fn a_chance_has_as_many_digits_as_it_needs() {
        assert_eq!(probability(0.03), "= 0.03");
        assert_eq!(probability(0.000_2), "= 0.0002");
        assert_eq!(probability(1e-12), "< 0.000001");
    }
}

//! Verdicts in words: the same sentence in a terminal, in a page and in a document.

use record::Expect;
use stats::{Block, Class, Verdict, Warning};

use crate::findings::{Finding, Findings};
use crate::stops::{Cause, Stop};
use crate::text::Tone;
use crate::words::{
    NO_BREAK, about, bound, count, duration, estimate, factor, factor_with_interval, list, percent,
    signed_time, things,
};

/// A growth from here on is told by its largest jump rather than by a cost per object.
const GROSS: f64 = 10.0;

/// More series than these are counted rather than named.
const NAMED_MOST: usize = 4;

/// The verdict in the words of a table, where the growth stands in a column of its own.
pub fn verdict(verdict: &Verdict) -> String {
    match verdict.class {
        Class::Flat => format!("flat within {}", bound(verdict.bound)),
        Class::SmallGrowth => {
            format!("small growth, {} (at most {})", percent(verdict.peak), bound(verdict.bound))
        }
        Class::LinearLike if gross_jump(verdict).is_some() => "grows".into(),
        Class::Sublinear
        | Class::LinearLike
        | Class::Superlinear
        | Class::ApproachingLimit
        | Class::Stepped
        | Class::TwoLines => format!("grows{}", per_thousand_if_it_agrees(verdict)),
        Class::Decreasing => format!("falls{}", per_thousand_if_it_agrees(verdict)),
        Class::Mixed => uneven(verdict),
        Class::Inconclusive if verdict.warnings.contains(&Warning::BelowResolution) => {
            "inconclusive, too short for the clock".into()
        }
        Class::Inconclusive => {
            let most = verdict.bound.is_finite().then(|| format!(", at most {}", bound(verdict.bound)));
            let more = verdict.trials_needed.map(|n| format!("; {} trials needed", count(n.into())));
            format!("inconclusive{}{}", most.unwrap_or_default(), more.unwrap_or_default())
        }
    }
}

/// The verdict where no other column says the growth: `grows ×2.1 (1.9–2.3), +1.3 µs per 1 000`.
pub fn verdict_with_growth(v: &Verdict) -> String {
    let growth = factor_with_interval(v.growth);
    match v.class {
        Class::LinearLike if gross_jump(v).is_some() => format!("grows {growth}"),
        Class::LinearLike => format!("grows {growth}{}", per_thousand_if_it_agrees(v)),
        Class::Decreasing => format!("falls to {growth}{}", per_thousand_if_it_agrees(v)),
        _ => verdict(v),
    }
}

/// The verdict as a sentence of its own, with the range of n and what carries it.
pub fn verdict_sentence(v: &Verdict, alpha: f64) -> String {
    let sentence = format!(
        "{} from n = {} to {} ({}, {})",
        capital(&verdict_with_growth(v)),
        count(v.n_low),
        count(v.n_high),
        confidence(alpha),
        things(v.trials, "trial", "trials")
    );
    match gross_jump(v) {
        Some(jump) => format!("{sentence}; largest jump {jump}"),
        None => sentence,
    }
}

/// `uneven, +13 % at 280`: the largest change, and where it is.
fn uneven(verdict: &Verdict) -> String {
    let size = |block: &&Block| block.relative.value.ln().abs();
    match verdict.blocks.iter().max_by(|a, b| size(a).total_cmp(&size(b))) {
        Some(block) => {
            let change = block.relative.value - 1.0;
            let sign = if change < 0.0 { "−" } else { "+" };
            format!("uneven, {sign}{} at {}", percent(change.abs()), about(middle(block)))
        }
        None => "uneven".into(),
    }
}

/// `, +1.3 µs per 1 000`; nothing where the line through a bent curve goes another way than its ends do.
fn per_thousand_if_it_agrees(verdict: &Verdict) -> String {
    let agrees = (verdict.growth.value - 1.0) * verdict.marginal_cost.value > 0.0;
    if agrees { format!(", {}", per_thousand(verdict)) } else { String::new() }
}

/// `+1.3 µs per 1 000`: what a thousand more live objects cost.
pub fn per_thousand(verdict: &Verdict) -> String {
    format!("{} per {}", signed_time(verdict.marginal_cost.value * 1000.0, 2), count(1000))
}

/// The largest jump within three neighbouring ranges of n, when it is most of a gross growth:
/// `from 0.9 µs at 14 000 to 1.1 ms at 16 000`. Three, because a cliff may lie inside the middle one.
pub fn gross_jump(verdict: &Verdict) -> Option<String> {
    if verdict.growth.value.is_nan() || verdict.growth.value < GROSS {
        return None;
    }
    let step = |blocks: &[Block]| (blocks[2].cost.value / blocks[0].cost.value).ln();
    let three = verdict.blocks.windows(3).max_by(|a, b| step(a).total_cmp(&step(b)))?;
    if step(three) < verdict.growth.value.ln() / 2.0 {
        return None;
    }
    let [before, _, after] = three else { return None };
    Some(format!(
        "from {} at {} to {} at {}",
        estimate(before.cost),
        about(middle(before)),
        estimate(after.cost),
        about(middle(after))
    ))
}

/// The n in the middle of a block.
pub(crate) fn middle(block: &Block) -> f64 {
    (block.n_low as f64 + block.n_high as f64) / 2.0
}

/// How trials stopped short: `stopped at 1 024: EMFILE`. What to do about it is [`advice`].
pub fn stop(stop: &Stop) -> String {
    let at = match stop.n {
        Some((low, high)) if low == high => format!(" at {}", count(low)),
        Some((low, high)) => format!(" at {} to {}", count(low), count(high)),
        None => String::new(),
    };
    let words = match &stop.cause {
        Cause::Limit { error, .. } => format!("stopped{at}: {error}"),
        Cause::Allowance => return format!("shortened{} to fit the time", at.replacen(" at", " to", 1)),
        Cause::Unsupported { reason } => format!("unsupported: {reason}"),
        Cause::Failed { reason } => format!("failed: {reason}"),
        Cause::Crashed { reason } => format!("crashed{}: {reason}", at.replacen(" at", " at n =", 1)),
        Cause::TimedOut => format!("timed out{at}"),
        Cause::NotMeasured { out_of_time: true } => "not measured: the time was used up".into(),
        Cause::NotMeasured { out_of_time: false } => "not measured".into(),
    };
    if stop.trials == stop.of { words } else { format!("{words} ({} of {} trials)", stop.trials, stop.of) }
}

/// Where the planner had to shorten sweeps: `n was shortened to what the time allows: bind/v4 to 15 400`.
pub fn shortened(findings: &Findings) -> Option<String> {
    let to = |finding: &Finding| {
        let stop = finding.stops.iter().find(|stop| stop.cause == Cause::Allowance)?;
        let label = finding.label.strip_suffix(&format!(" {}", finding.key.name)).unwrap_or(&finding.label);
        Some(format!("{label} to {}", count(stop.n?.0)))
    };
    let all: Vec<String> = findings.series.iter().filter_map(to).collect();
    let longer = "--preset full goes further";
    (!all.is_empty()).then(|| format!("n was shortened to what the time allows: {}; {longer}.", list(&all)))
}

/// What a limit means and how to raise it.
pub fn advice(stop: &Stop) -> Option<&str> {
    match &stop.cause {
        Cause::Limit { advice, .. } if !advice.is_empty() => Some(advice),
        _ => None,
    }
}

/// What a reader should know of the numbers, each a sentence.
pub fn warnings(verdict: &Verdict) -> Vec<String> {
    verdict.warnings.iter().map(warning).collect()
}

fn warning(warning: &Warning) -> String {
    match warning {
        Warning::FewTrials { trials } => {
            format!("Only {}; ten are wanted.", things(*trials, "trial", "trials"))
        }
        Warning::NarrowRange => "n spans less than two decades; slow growth would not show.".into(),
        Warning::BelowResolution => {
            "The cost is below ten ticks of the clock: too short for this clock to judge.".into()
        }
        Warning::LeftOut { values } => {
            format!("{} not finite and positive, left out.", things(*values, "value was", "values were"))
        }
        Warning::UnequalRange { trials_left_out: 0 } => {
            "Trials ended at different n; the common range was judged.".into()
        }
        Warning::UnequalRange { trials_left_out } => format!(
            "Trials ended at different n; the common range was judged, without {} that ended too early.",
            things(*trials_left_out, "trial", "trials")
        ),
    }
}

/// The tone of a finding.
pub fn tone(finding: &Finding) -> Tone {
    match finding.verdict.as_ref().map(|v| v.class) {
        Some(Class::Flat | Class::SmallGrowth) => Tone::Good,
        Some(Class::Inconclusive) | None => Tone::Open,
        Some(_) => Tone::Notable,
    }
}

/// The growth a page predicts, in a word.
pub fn expectation(expect: Expect) -> &'static str {
    match expect {
        Expect::Constant => "constant",
        Expect::Logarithmic => "logarithmic",
        Expect::Linear => "linear",
    }
}

/// The count of every word: `5 flat · 2 growing · 1 stopped`.
pub fn summary(findings: &Findings) -> String {
    let of_cause = |wanted: fn(&Cause) -> bool| {
        findings.series.iter().filter(|f| f.stops.iter().any(|s| wanted(&s.cause))).count()
    };
    let counts = [
        (findings.of_class(Class::Flat), "flat"),
        (findings.of_class(Class::SmallGrowth), "small growth"),
        (findings.of_class(Class::Sublinear), "sublinear"),
        (findings.of_class(Class::LinearLike), "linear"),
        (findings.of_class(Class::Superlinear), "superlinear"),
        (findings.of_class(Class::ApproachingLimit), "approaching a limit"),
        (findings.of_class(Class::Stepped), "stepped"),
        (findings.of_class(Class::TwoLines), "on two lines"),
        (findings.of_class(Class::Decreasing), "falling"),
        (findings.of_class(Class::Mixed), "mixed"),
        (findings.of_class(Class::Inconclusive), "inconclusive"),
        (of_cause(|c| matches!(c, Cause::Limit { .. })), "stopped"),
        (of_cause(|c| matches!(c, Cause::Unsupported { .. })), "unsupported"),
        (of_cause(|c| matches!(c, Cause::Failed { .. })), "failed"),
        (of_cause(|c| matches!(c, Cause::Crashed { .. })), "crashed"),
        (of_cause(|c| matches!(c, Cause::TimedOut)), "timed out"),
        (of_cause(|c| matches!(c, Cause::NotMeasured { .. })), "not measured"),
    ];
    let parts: Vec<String> = counts
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, word)| format!("{}{NO_BREAK}{}", count(*n as u64), word.replace(' ', "\u{a0}")))
        .collect();
    if parts.is_empty() { "nothing was measured".into() } else { parts.join(" · ") }
}

/// Series whose verdict is another than their page predicts: `unlike its page: bind (constant expected)`.
pub fn surprises(findings: &Findings) -> Option<String> {
    let unlike: Vec<&Finding> = findings.series.iter().filter(|f| f.as_expected() == Some(false)).collect();
    let said = |f: &&Finding| format!("{} ({} expected)", f.label, expectation(f.expect));
    match unlike.len() {
        0 => None,
        1 => Some(format!("unlike its page: {}", said(&unlike[0]))),
        n if n <= NAMED_MOST => {
            Some(format!("unlike their pages: {}", list(&unlike.iter().map(said).collect::<Vec<_>>())))
        }
        n => {
            let named = unlike[..NAMED_MOST - 1].iter().map(said);
            let more = format!("{} more", count((n + 1 - NAMED_MOST) as u64));
            Some(format!("unlike their pages: {}", list(&named.chain([more]).collect::<Vec<_>>())))
        }
    }
}

/// How sure, in words: `95 % confidence`.
pub fn confidence(alpha: f64) -> String {
    format!("{} confidence", percent(1.0 - alpha))
}

/// How the trials were planned: `fixed number of trials`, `looked after 10, 20 and 40 trials`.
pub fn planning(findings: &Findings) -> String {
    let looks: Vec<String> = findings.run.looks.iter().map(|n| count(u64::from(*n))).collect();
    let budget = findings.run.budget_seconds.map(|s| format!(", within {}", duration(s))).unwrap_or_default();
    match looks.as_slice() {
        [] | [_] => format!("the number of trials was fixed beforehand{budget}"),
        looks => format!(
            "the planner looked after {} trials and each look has its share of the error rate{budget}",
            list(looks)
        ),
    }
}

/// A factor in words for growth, without an interval.
pub fn growth_short(verdict: &Verdict) -> String {
    factor(verdict.growth.value)
}

/// The same words as a sentence: a capital letter before, a full stop behind.
pub fn sentence(words: &str) -> String {
    let words = words.trim();
    let stop = if words.is_empty() || words.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{}{stop}", capital(words))
}

/// The same words with a capital letter.
pub fn capital(words: &str) -> String {
    let mut chars = words.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crash_says_where() {
        let crashed = |n| {
            let cause = Cause::Crashed { reason: "killed by SIGKILL".into() };
            stop(&Stop { cause, n, trials: 3, of: 3 })
        };
        assert_eq!(crashed(Some((5, 20))), "crashed at n = 5 to 20: killed by SIGKILL");
        assert_eq!(crashed(Some((5, 5))), "crashed at n = 5: killed by SIGKILL");
        assert_eq!(crashed(None), "crashed: killed by SIGKILL");
    }
}

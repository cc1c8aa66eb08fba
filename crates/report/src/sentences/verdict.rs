//! One verdict in words. It does not depend on a run, so any caller can print it.

use judge::verdict::{
    Alternation, Detour, Trend, detour, has_shape, has_slope, is_line, is_passed, known_bound,
    known_exponent, known_local_exponents, slope_each, trend,
};
use record::Unit;
use stats::{
    Asymptote, Bend, Block, Class, FittedLine, Interval, Lines, LocalExponent, Segment, Step, Turn, Verdict,
    Warning,
};

use crate::place::{between, range, span};
use crate::quantity::Quantity;
use crate::words::{
    about, bound, capital, change, count, estimated_factor, factor, factor_with_interval, list, percent,
    place_with_interval, things,
};

/// More steps than these are counted rather than named.
const STEPS_NAMED: usize = 3;
/// More shapes than these are not named in a verdict.
const CANDIDATES_NAMED: usize = 2;

/// The verdict in the words of a table, where the growth stands in a column of its own.
pub fn verdict(v: &Verdict, unit: Unit) -> String {
    words(v, unit, None)
}

/// The verdict where no other column has the growth: `linear, ×2.1 (1.9–2.3), +1.3 µs per 1 000`.
pub(crate) fn verdict_with_growth(v: &Verdict, unit: Unit) -> String {
    words(v, unit, Some(&factor_with_interval(v.growth)))
}

/// The verdict as a sentence of its own, with the range of n and what carries it.
pub(crate) fn verdict_sentence(v: &Verdict, unit: Unit, alpha: f64) -> String {
    let (words, rest) = verdict_and_rest(v, unit, alpha);
    words + &rest
}

/// The words of that sentence, and the part behind them.
pub(crate) fn verdict_and_rest(v: &Verdict, unit: Unit, alpha: f64) -> (String, String) {
    let judged = if v.class == Class::Flat || v.n_low == v.n_high { "" } else { ", judged" };
    let range = format!("{judged} {}", span(v.n_low, v.n_high));
    let carries = format!("{range} ({}, {})", super::confidence(alpha), things(v.trials, "trial", "trials"));
    let jump = gross_jump(v, unit).map(|jump| format!("; largest jump {jump}"));
    (capital(&verdict_with_growth(v, unit)), carries + &jump.unwrap_or_default())
}

/// The verdict in a word or two, for a cell of a matrix: `flat 3 %`, `linear ×2.1`, `stepped ×6.1`.
pub(crate) fn in_short(v: &Verdict, unit: Unit) -> String {
    let word = match v.class {
        Class::Value => return unit.estimate_with_interval(v.cost_low),
        Class::Flat => return format!("flat {}", bound(v.bound)),
        Class::Inconclusive => return format!("inconclusive{}", so_far(v, unit)),
        Class::Stepped => match v.steps.as_slice() {
            [one, ..] if let Some(detour) = detour(&v.steps) => {
                return format!("{} {}", name_of_detour(detour), change(one.ratio.value));
            }
            _ => "stepped",
        },
        Class::TwoLines => {
            let distance = v.lines.as_ref().map(|lines| format!(", {} apart", factor(lines.distance)));
            return format!("two lines{}", distance.unwrap_or_default());
        }
        Class::Ambiguous => grows_or_falls(v),
        class => name(class),
    };
    format!("{word} {}", estimated_factor(v.growth))
}

/// The verdict in a word, where other columns have the cost and the growth.
pub(crate) fn in_a_word(v: &Verdict, unit: Unit) -> String {
    match v.class {
        Class::Flat => in_short(v, unit),
        Class::Stepped if detour(&v.steps).is_some() => in_short(v, unit),
        Class::Ambiguous => grows_or_falls(v).into(),
        class => name(class).into(),
    }
}

fn words(v: &Verdict, unit: Unit, growth: Option<&str>) -> String {
    // `, ×2.1 (1.9–2.3)` and ` ×2.1 (1.9–2.3)`, where no column has it.
    let after = growth.map(|growth| format!(", {growth}")).unwrap_or_default();
    let beside = growth.map(|growth| format!(" {growth}")).unwrap_or_default();
    match v.class {
        Class::Value => unit.estimate_with_interval(v.cost_low),
        Class::Flat => format!("flat within {}", bound(v.bound)),
        Class::SmallGrowth => format!("small growth{after} (at most {})", bound(v.bound)),
        Class::LinearLike if gross_jump(v, unit).is_some() => format!("grows{beside}"),
        Class::LinearLike => match v.bend {
            Some(Bend { n, before: 0.0, .. }) => format!("linear from {} on{after}", place_with_interval(n)),
            Some(bend) => {
                format!("linear with a bend at {}{after}{}", place_with_interval(bend.n), slopes(bend, unit))
            }
            None if is_line(v) => format!("linear{after}{}", slope(v, unit)),
            None => format!("nearly linear{after}{}", like_a_power(v)),
        },
        Class::Sublinear | Class::Superlinear => format!("{}{after}{}", name(v.class), like_a_power(v)),
        Class::ApproachingLimit => match v.limit {
            Some(limit) if is_passed(limit, v) => {
                format!("rises as to a limit until {}{after}", place_with_interval(limit.n))
            }
            Some(limit) => {
                let at = place_with_interval(limit.n);
                format!("approaches a limit at {at}{}{after}", extrapolated(limit, v))
            }
            None => format!("approaches a limit{after}"),
        },
        Class::Stepped => stepped(&v.steps),
        Class::TwoLines => v.lines.as_ref().map_or("two lines".into(), two_lines),
        Class::Decreasing => growth.map_or_else(|| "falls".into(), |growth| format!("falls to {growth}")),
        Class::Composite => format!("mixed: {}", in_stretches(&v.segments, &v.steps)),
        Class::Ambiguous => {
            // One of the words already allows a fall.
            match (candidates(v), v.classes.contains(&Class::Decreasing)) {
                (Some(candidates), true) => format!("{candidates}, or another shape{after}"),
                (Some(candidates), false) => {
                    format!("{}{beside}, {candidates}, or another shape", grows_or_falls(v))
                }
                (None, _) => format!("{}{beside}, shape undecided{}", grows_or_falls(v), locally(v)),
            }
        }
        Class::Uneven => match v.turn {
            Some(turn) => format!("uneven: {}", turned(turn)),
            None => format!("uneven{after}: no shape fits{}", furthest(v, unit)),
        },
        Class::Inconclusive if v.warnings.contains(&Warning::BelowResolution) => {
            "inconclusive, too short for the clock".into()
        }
        Class::Inconclusive => {
            format!("inconclusive{}{}", so_far(v, unit), needed(v))
        }
    }
}

/// `, like n^1.50 (1.45–1.55)`, where one power describes the cost and adds to its class.
fn like_a_power(v: &Verdict) -> String {
    known_exponent(v).map_or_else(String::new, |Interval { value, low, high }| {
        format!(", like n^{value:.2} ({low:.2}–{high:.2})")
    })
}

/// `: like n^0.1 at 120, n^1.9 at 8 900`: how steep a cost without a shape is near either end.
fn locally(v: &Verdict) -> String {
    let Some([near, far]) = known_local_exponents(v) else { return String::new() };
    // Without the sign of a zero.
    let rounded = |value: f64| (value * 10.0).round() / 10.0 + 0.0;
    let of = |local: LocalExponent| format!("n^{:.1} at {}", rounded(local.exponent.value), about(local.n));
    format!(": like {}, {}", of(near), of(far))
}

/// `, +1.0 µs per 1 000 before it, +3.0 µs after it`.
fn slopes(bend: Bend, unit: Unit) -> String {
    let slope = |seconds: f64| unit.signed(seconds * 1000.0, 2);
    format!(", {} per {} before it, {} after it", slope(bend.before), count(1000), slope(bend.after))
}

/// The direction of a cost, in a word.
fn grows_or_falls(v: &Verdict) -> &'static str {
    match trend(v) {
        Trend::Falls => "falls",
        Trend::Grows => "grows",
        Trend::Changes => "changes",
    }
}

/// `, extrapolated`: behind an n beyond the measured range.
pub(crate) fn extrapolated(limit: Asymptote, v: &Verdict) -> &'static str {
    if is_passed(limit, v) { "" } else { ", extrapolated" }
}

/// The verdict where another column has the cost: for one n, which has only a cost, how well it is known.
pub(crate) fn verdict_beside_cost(v: &Verdict, unit: Unit) -> String {
    match v.class {
        Class::Value => "known within 5\u{202f}%".into(),
        Class::Inconclusive if v.n_low == v.n_high && !v.warnings.contains(&Warning::BelowResolution) => {
            format!("not known within 5\u{202f}%{}", needed(v))
        }
        _ => verdict(v, unit),
    }
}

/// The bounds of an uncertain verdict: for one n the cost with its interval, else the bound of the change.
fn so_far(v: &Verdict, unit: Unit) -> String {
    match v.n_low == v.n_high {
        true => format!(", {}", unit.estimate_with_interval(v.cost_low)),
        false => at_most(v),
    }
}

/// `; 30 trials needed`, where that is known.
fn needed(v: &Verdict) -> String {
    v.trials_needed.map(|n| format!("; {} trials needed", count(n.into()))).unwrap_or_default()
}

/// `, at most 14 %`: the bound, where there are trials enough to know how they differ.
fn at_most(v: &Verdict) -> String {
    known_bound(v).map(|known| format!(", at most {}", bound(known))).unwrap_or_default()
}

/// A class by itself.
pub(crate) fn name(class: Class) -> &'static str {
    match class {
        Class::Value => "value",
        Class::Flat => "flat",
        Class::SmallGrowth => "small growth",
        Class::Sublinear => "sublinear",
        Class::LinearLike => "linear",
        Class::Superlinear => "superlinear",
        Class::ApproachingLimit => "approaches a limit",
        Class::Stepped => "stepped",
        Class::TwoLines => "two lines",
        Class::Composite => "mixed",
        Class::Ambiguous => "of unclear shape",
        Class::Uneven => "uneven",
        Class::Decreasing => "falls",
        Class::Inconclusive => "inconclusive",
    }
}

/// The words that remain possible, if they are few; `of_choice` lists the rest.
pub(super) fn candidates(v: &Verdict) -> Option<String> {
    several(v).filter(|_| v.classes.len() <= CANDIDATES_NAMED)
}

/// The words that remain possible, when they are several: `sublinear or linear`.
pub(crate) fn several(v: &Verdict) -> Option<String> {
    let name = |class: &Class| match class {
        Class::ApproachingLimit => "approaching a limit".to_string(),
        Class::Decreasing => "falling".into(),
        class => name(*class).into(),
    };
    let names: Vec<String> = v.classes.iter().filter(|class| **class != Class::Uneven).map(name).collect();
    (names.len() > 1).then(|| list(&names).replace(" and ", " or "))
}

/// `stepped at 4 096 (3 900–4 300), +510 %`; a second step that reverses the first makes a dent or a hump.
fn stepped(steps: &[Step]) -> String {
    match steps {
        [] => "stepped".into(),
        [one] => format!("stepped {}, {}", place(one), change(one.ratio.value)),
        [one, two] if let Some(detour) = detour(steps) => {
            let detour = name_of_detour(detour);
            format!("{detour} from {} to {}, {}", count(one.n), count(two.n), change(one.ratio.value))
        }
        some if some.len() <= STEPS_NAMED => format!("stepped at {}", list(&named(some))),
        many => {
            let size = |step: &&Step| step.ratio.value.ln().abs();
            let largest = many.iter().max_by(|a, b| size(a).total_cmp(&size(b)));
            let most =
                largest.map(|step| format!(", most at {}, {}", count(step.n), change(step.ratio.value)));
            format!("stepped {} times{}", many.len(), most.unwrap_or_default())
        }
    }
}

/// `1 024 (+30 %)`, one for each.
fn named(steps: &[Step]) -> Vec<String> {
    steps.iter().map(|step| format!("{} ({})", count(step.n), change(step.ratio.value))).collect()
}

/// Where a step is: `at 1 025`, or `between 100 and 1 000`.
pub(crate) fn place(step: &Step) -> String {
    let n = n_of_step(step);
    let at = || format!("at {}", place_with_interval(n));
    between(n).map_or_else(at, |ends| format!("between {ends}"))
}

/// The place of a step, with its interval.
pub(crate) fn n_of_step(step: &Step) -> Interval {
    Interval { value: step.n as f64, low: step.n_low as f64, high: step.n_high as f64 }
}

fn name_of_detour(detour: Detour) -> &'static str {
    match detour {
        Detour::Dent => "dent",
        Detour::Hump => "hump",
    }
}

/// `approaches a limit, then stepped at 14 116, ×2 000, then flat`: the stretches in their order.
fn in_stretches(segments: &[Segment], steps: &[Step]) -> String {
    let steps_words = |steps: &[Step]| match steps {
        [one] => format!("stepped {}, {}", place(one), change(one.ratio.value)),
        some => stepped(some),
    };
    if steps.len() >= STEPS_NAMED {
        let mut between: Vec<String> = Vec::new();
        for segment in segments.iter().filter(|segment| has_shape(segment)) {
            let name = name(segment.class).to_string();
            if !between.contains(&name) {
                between.push(name);
            }
        }
        let between =
            if between.is_empty() { String::new() } else { format!(", {} between", list(&between)) };
        return format!("{}{between}", steps_words(steps));
    }
    let mut parts: Vec<String> = Vec::new();
    for (i, segment) in segments.iter().enumerate() {
        // A flat stretch after the last step is not mentioned.
        if has_shape(segment) || i == 0 && segment.class == Class::Flat {
            parts.push(name(segment.class).into());
        }
        parts.extend(steps.get(i).map(|step| steps_words(std::slice::from_ref(step))));
    }
    parts.join(", then ")
}

/// `two lines (two kinds of call): 62 % flat and 38 % linear, alternating call by call`.
fn two_lines(lines: &Lines) -> String {
    let line = |line: &FittedLine| format!("{} {}", percent(line.share), name(line.class));
    let changes = alternation(lines.persistence, "line");
    format!("two lines (two kinds of call): {} and {}, {changes}", line(&lines.lower), line(&lines.upper))
}

/// How measurements choose between two of something.
pub(crate) fn alternation(persistence: f64, what: &str) -> String {
    match judge::verdict::alternation(persistence) {
        Alternation::KeptByTrial => format!("each trial keeps to its {what}"),
        Alternation::ForAWhile => format!("on each {what} for a while"),
        Alternation::CallByCall => "alternating call by call".into(),
    }
}

/// `rises ×3.1 (2.9–3.3) until 900, then falls ×0.5 (0.4–0.6)`.
fn turned(Turn { n, before, after }: Turn) -> String {
    let (first, then) = if before.value > 1.0 { ("rises", "falls") } else { ("falls", "rises") };
    let (before, after) = (factor_with_interval(before), factor_with_interval(after));
    format!("{first} {before} until {}, then {then} {after}", about(n))
}

/// `, ×1.13 at 250–310`: where a series is furthest from its smallest n, where that is not its end; of a rate
/// where it is highest, `, highest 118 000 /s at 500`.
fn furthest(v: &Verdict, unit: Unit) -> String {
    let at = |block: &Block| range(block.n_low, block.n_high);
    match judge::verdict::furthest(v, unit) {
        Some(block) if unit.more_is_better() => {
            format!(", highest {} at {}", unit.estimate(block.cost), at(block))
        }
        Some(block) => format!(", {} at {}", estimated_factor(block.relative), at(block)),
        None => String::new(),
    }
}

/// `, +1.3 µs per 1 000`; empty where the line through a bent curve has another direction than its ends.
pub(crate) fn slope(v: &Verdict, unit: Unit) -> String {
    match slope_each(v, unit).filter(|_| has_slope(v)) {
        Some(each) => {
            let per = if each == 1 { "for each".into() } else { format!("per {}", count(each)) };
            format!(", {} {per}", unit.signed(v.marginal_cost.value * each as f64, 2))
        }
        None => String::new(),
    }
}

/// The largest jump, where it is most of a gross growth: `0.9 µs → 1.1 ms between 14 000 and 16 000`.
pub(crate) fn gross_jump(verdict: &Verdict, unit: Unit) -> Option<String> {
    let [before, after] = judge::verdict::gross_jump(verdict)?;
    let (low, high) = unit.estimates(before.cost, after.cost);
    Some(format!("{low} → {high} between {} and {}", count(before.n_high), count(after.n_low)))
}

/// The n in the middle of a block.
pub(crate) fn middle(block: &Block) -> f64 {
    (block.n_low as f64 + block.n_high as f64) / 2.0
}

/// The remarks about the numbers, each a sentence.
pub fn warnings(verdict: &Verdict) -> Vec<String> {
    verdict.warnings.iter().map(warning).collect()
}

fn warning(warning: &Warning) -> String {
    match warning {
        Warning::FewTrials { trials } => {
            format!("Only {}; ten are recommended.", things(*trials, "trial", "trials"))
        }
        Warning::NarrowRange => "n spans less than two decades; slow growth would not show.".into(),
        Warning::BelowResolution => {
            "The cost is below ten ticks of the clock, too short to be judged.".into()
        }
        Warning::LeftOut { values } => {
            format!("{} not finite and positive, left out.", things(*values, "value was", "values were"))
        }
        Warning::TrialsApart { trials } => {
            format!("{} differently from the others.", things(*trials, "trial behaves", "trials behave"))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::GAP;

    fn around(value: f64, reach: f64) -> Interval {
        Interval { value, low: value - reach, high: value + reach }
    }

    /// A limit at an n beyond which there are measurements was none.
    #[test]
    fn a_limit_is_claimed_only_beyond_what_was_measured() {
        let sweep = [1.0; 4];
        let sweeps: Vec<stats::Sweep<'_>> = (0..4).map(|_| stats::Sweep::even(1, 1, &sweep)).collect();
        let judged = stats::judge(&sweeps, &stats::JudgeSettings::default());
        let Some(mut v) = judged else { panic!("four values make a verdict") };
        (v.class, v.n_high) = (Class::ApproachingLimit, 13_980);
        v.limit = Some(Asymptote { n: around(13_949.0, 15.0) });
        assert_eq!(said(&verdict(&v, Unit::Seconds)), "rises as to a limit until 13 949 (13 934–13 964)");
        v.n_high = 13_900;
        assert_eq!(
            said(&verdict(&v, Unit::Seconds)),
            "approaches a limit at 13 949 (13 934–13 964), extrapolated"
        );
        (v.peak, v.growth, v.class) = (-0.2, around(1.04, 0.1), Class::Ambiguous);
        assert_eq!(grows_or_falls(&v), "changes");
    }

    fn step(n: u64, ratio: f64) -> Step {
        Step { n, n_low: n, n_high: n, ratio: around(ratio, 0.01), agreement: 1.0 }
    }

    fn stretch(class: Class) -> Segment {
        Segment { n_low: 1, n_high: 2, class, growth: around(1.0, 0.1) }
    }

    fn said(words: &str) -> String {
        words.replace(GAP, " ")
    }

    #[test]
    fn steps_are_a_dent_a_hump_or_as_many_as_there_are() {
        let words = |steps: &[Step]| said(&stepped(steps));
        assert_eq!(words(&[step(4_096, 6.1)]), "stepped at 4 096, +510 %");
        assert_eq!(words(&[step(14_116, 2_000.0)]), "stepped at 14 116, ×2 000");
        assert_eq!(words(&[step(3_000, 0.7), step(5_000, 1.4)]), "dent from 3 000 to 5 000, −30 %");
        assert_eq!(words(&[step(3_000, 1.4), step(5_000, 0.7)]), "hump from 3 000 to 5 000, +40 %");
        assert_eq!(
            words(&[step(1_024, 1.3), step(4_096, 6.1)]),
            "stepped at 1 024 (+30 %) and 4 096 (+510 %)"
        );
        let many: Vec<Step> = (1..=5).map(|i| step(1_000 * i, 1.0 + i as f64 / 10.0)).collect();
        assert_eq!(words(&many), "stepped 5 times, most at 5 000, +50 %");
    }

    #[test]
    fn stretches_are_said_in_their_order() {
        use Class::{ApproachingLimit, Flat, LinearLike};
        let cliff = [step(14_116, 2_000.0)];
        let words = |classes: &[Class], steps: &[Step]| {
            said(&in_stretches(&classes.iter().map(|class| stretch(*class)).collect::<Vec<_>>(), steps))
        };
        let search = words(&[ApproachingLimit, Flat], &cliff);
        assert_eq!(search, "approaches a limit, then stepped at 14 116, ×2 000");
        assert_eq!(words(&[Flat, LinearLike], &cliff), "flat, then stepped at 14 116, ×2 000, then linear");
        let three = [step(100, 1.2), step(200, 1.2), step(300, 1.2)];
        let often = words(&[Flat, LinearLike, LinearLike, Flat], &three);
        assert_eq!(often, "stepped at 100 (+20 %), 200 (+20 %) and 300 (+20 %), linear between");
    }

    #[test]
    fn persistence_has_three_words() {
        assert_eq!(alternation(0.5, "line"), "alternating call by call");
        assert_eq!(alternation(0.8, "line"), "on each line for a while");
        assert_eq!(alternation(1.0, "mode"), "each trial keeps to its mode");
    }
}

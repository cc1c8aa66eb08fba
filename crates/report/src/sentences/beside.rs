//! What is found in a series beside its word, each a sentence: places with what lies near them, lines, modes,
//! spikes, the way down, drift. A hint says that something is near and never that it is the cause.

use record::System;
use stats::{
    Class, Drift, Hysteresis, Interval, Line, Lines, Modes, Period, Repeated, Spikes, Step, Verdict,
};

use super::verdict::{alternation, name, place, several};
use crate::findings::{Finding, Findings};
use crate::hints;
use crate::words::{
    Unit, bound, change_with_interval, count, factor, factor_with_interval, list, percent,
    place_with_interval, things, time,
};

/// Spikes that take this share of the time are worth a line of the table.
const TIME_NOTABLE: f64 = 0.2;
/// More places of repeated spikes are counted.
const PLACES_NAMED: usize = 3;

/// A sentence beside a verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beside {
    /// The sentence, with a small letter and without a full stop.
    pub text: String,
    /// Whether it belongs below the table too: it says what neither the word nor its place does.
    pub notable: bool,
}

/// All that was found in a series beside its word, in the order of a reader's questions.
pub fn beside(findings: &Findings, finding: &Finding) -> Vec<Beside> {
    let Some(v) = &finding.verdict else { return Vec::new() };
    let near = |n: Interval| match findings.system(finding) {
        Some(system) => hints(n, &finding.grows, system),
        None => String::new(),
    };
    let mut all = Vec::new();
    all.extend(v.steps.iter().map(|step| of_step(step, v, &near)));
    all.extend(v.limit.map(|limit| {
        let near = near(limit.n);
        let text = format!("the cost has no bound at n = {}{near}", place_with_interval(limit.n));
        Beside { text, notable: !near.is_empty() }
    }));
    all.extend(v.knee.map(|knee| {
        let near = near(knee);
        let text = format!("constant up to n = {}, rising from there{near}", place_with_interval(knee));
        Beside { text, notable: !near.is_empty() }
    }));
    all.extend(stretches(v));
    all.extend(v.lines.as_ref().map(|lines| of_lines(lines, v, finding.unit)));
    all.extend(of_modes(v, finding.unit));
    all.extend(of_spikes(&v.spikes, &near));
    all.extend(v.hysteresis.map(of_hysteresis));
    all.extend(v.drift.map(of_drift));
    all.extend(of_choice(v));
    all
}

/// `, near half of the port range (14 116)`; nothing where nothing is near.
fn hints(n: Interval, grows: &str, system: &System) -> String {
    let near = hints::near((n.value, n.low, n.high), grows, system);
    if near.is_empty() { String::new() } else { format!(", {}", list(&near)) }
}

fn of_step(step: &Step, v: &Verdict, near: &impl Fn(Interval) -> String) -> Beside {
    let at = Interval { value: step.n as f64, low: step.n_low as f64, high: step.n_high as f64 };
    let near = near(at);
    let text = format!(
        "step at n = {}: {}, the same way in {} of the trials{near}",
        place(step),
        change_with_interval(step.ratio),
        percent(step.agreement)
    );
    // The word of a stepped series says the place already.
    let told = matches!(v.class, Class::Stepped | Class::Mixed);
    Beside { text, notable: !told || !near.is_empty() }
}

/// How the cost goes between the steps.
fn stretches(v: &Verdict) -> Option<Beside> {
    let said = v.segments.iter().map(|s| {
        let range = format!("{} to {}", count(s.n_low), count(s.n_high));
        format!("{} from {range}, {}", name(s.class), factor_with_interval(s.growth))
    });
    let text = said.collect::<Vec<_>>().join("; ");
    (v.segments.len() > 1).then(|| Beside { text: format!("between the steps: {text}"), notable: false })
}

fn of_lines(lines: &Lines, v: &Verdict, unit: Unit) -> Beside {
    let text = format!(
        "two lines, {} apart at the largest n, {}: {}; {}",
        factor(lines.distance),
        alternation(lines.persistence, "line"),
        of_line(&lines.lower, unit),
        of_line(&lines.upper, unit)
    );
    Beside { text, notable: v.class != Class::TwoLines }
}

/// `62 % of the points flat within 3 %, 1.2 µs to 1.2 µs`.
fn of_line(line: &Line, unit: Unit) -> String {
    let shape = match line.class {
        Class::Flat => format!("flat within {}", bound(line.bound)),
        Class::LinearLike => {
            format!("linear, {} per {}", unit.signed_interval(line.marginal_cost, 1000.0), count(1000))
        }
        class => name(class).to_string(),
    };
    let (low, high) = unit.estimates(line.cost_low, line.cost_high);
    format!("{} of the points {shape}, from {low} to {high}", percent(line.share))
}

/// The modes, by the range where they are clearest.
fn of_modes(v: &Verdict, unit: Unit) -> Option<Beside> {
    let clearest = v.modes.iter().max_by(|a, b| a.separation.total_cmp(&b.separation))?;
    let Modes { n_low, n_high, lower, upper, upper_share, persistence, .. } = *clearest;
    let others = match v.modes.len() - 1 {
        0 => String::new(),
        n => format!("; so in {}", things(n, "more range of n", "more ranges of n")),
    };
    let text = format!(
        "two modes from n = {} to {}: {} and {} ({} of the points), {}{others}",
        count(n_low),
        count(n_high),
        unit.cost(lower),
        unit.cost(upper),
        percent(upper_share),
        alternation(persistence, "mode")
    );
    Some(Beside { text, notable: v.lines.is_none() })
}

fn of_spikes(spikes: &Spikes, near: &impl Fn(Interval) -> String) -> Option<Beside> {
    if spikes.count == 0 || spikes.of == 0 {
        return None;
    }
    let mut parts = vec![format!(
        "spikes: {} of the calls, with {} of the time, the worst {}",
        percent(spikes.count as f64 / spikes.of as f64),
        percent(spikes.time_share),
        factor(spikes.worst)
    )];
    if !spikes.repeated.is_empty() {
        parts.push(repeated(&spikes.repeated, near));
    }
    parts.extend(spikes.period.map(|period| match period {
        Period::Sizes(n) => format!("one every {} n", count(n.round().max(1.0) as u64)),
        Period::Seconds(seconds) => format!("one every {}", time(seconds)),
    }));
    let notable = !spikes.repeated.is_empty() || spikes.time_share >= TIME_NOTABLE;
    Some(Beside { text: parts.join("; "), notable })
}

/// `trial after trial at n = 8 192 (38 trials, ×12) and 4 096 (30 trials, ×9)`.
fn repeated(places: &[Repeated], near: &impl Fn(Interval) -> String) -> String {
    let said = |place: &Repeated| {
        let n = place.n as f64;
        let near = near(Interval { value: n, low: n, high: n });
        let trials = things(place.trials, "trial", "trials");
        format!("{} ({trials}, {}{near})", count(place.n), factor(place.ratio))
    };
    let mut named: Vec<String> = places.iter().take(PLACES_NAMED).map(said).collect();
    if places.len() > PLACES_NAMED {
        named.push(format!("{} more", count((places.len() - PLACES_NAMED) as u64)));
    }
    format!("trial after trial at n = {}", list(&named))
}

fn of_hysteresis(hysteresis: Hysteresis) -> Beside {
    let Hysteresis { ratio, n_low, n_high } = hysteresis;
    let text = format!(
        "the way down costs {} against the way up, most from n = {} to {}",
        change_with_interval(ratio),
        count(n_low),
        count(n_high)
    );
    Beside { text, notable: true }
}

fn of_drift(drift: Drift) -> Beside {
    let text = format!(
        "drift: at the same n a trial ends {} against its beginning",
        change_with_interval(drift.ratio)
    );
    Beside { text, notable: true }
}

/// What else is possible, and how clear the choice was.
fn of_choice(v: &Verdict) -> Option<Beside> {
    let several = several(v).filter(|_| v.class != Class::Inconclusive);
    let possible = several.map(|classes| format!("not excluded: {classes}"));
    let chosen =
        (v.share < 1.0).then(|| format!("{} of the resampled runs choose this shape", percent(v.share)));
    let text = [possible, chosen].into_iter().flatten().collect::<Vec<_>>().join("; ");
    (!text.is_empty()).then_some(Beside { text, notable: false })
}

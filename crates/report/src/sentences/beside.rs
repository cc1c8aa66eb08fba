//! Findings beside the verdict, each a sentence: places with their landmarks, lines, modes, spikes. A hint
//! says that something is near, never that it is the cause.

use judge::hints::{Landmark, Mark};
use judge::verdict::is_passed;
use judge::{Finding, Findings};
use record::{System, Unit};
use stats::{Bend, Class, FittedLine, Interval, Lines, Modes, Period, Repeated, Spikes, Step, Verdict};

use super::verdict::{alternation, candidates, n_of_step, name, place, several};
use super::what_of;
use crate::place::span;
use crate::quantity::Quantity;
use crate::words::{
    bound, change, change_with_interval, count, factor, factor_with_interval, list, percent,
    place_with_interval, things,
};

/// Spikes that take this share of the time get a line of the table.
const TIME_NOTABLE: f64 = 0.05;
/// More places of repeated spikes are counted.
const PLACES_NAMED: usize = 3;

/// A sentence beside a verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beside {
    /// The sentence, with a small letter and without a full stop.
    pub text: String,
    /// The part for below a table, beyond the word and its place.
    pub short: Option<String>,
}

/// All findings of a series beside its word, in the order of a reader's questions.
pub fn beside(findings: &Findings, finding: &Finding) -> Vec<Beside> {
    let Some(v) = &finding.verdict else { return Vec::new() };
    let near = |n: Interval| match findings.system(finding) {
        Some(system) => hints(v, n, &finding.grows, system),
        None => String::new(),
    };
    let mut all = Vec::new();
    all.extend(v.steps.iter().map(|step| of_step(step, v, &near)));
    all.extend(v.limit.map(|limit| {
        let near = near(limit.n);
        let (what, at) = (what_of(finding), place_with_interval(limit.n));
        let (text, place) = match is_passed(limit, v) {
            true => (format!("the {what} rises as to a limit until n = {at}{near}"), "the end of the rise"),
            false => (format!("the {what} is unbounded at n = {at}, extrapolated{near}"), "the limit"),
        };
        Beside { text, short: is_near(place, limit.n.value, &near) }
    }));
    all.extend(v.bend.map(|Bend { n, before, after }| {
        let (near, at) = (near(n), place_with_interval(n));
        let text = match before == 0.0 {
            true => format!("constant up to n = {at}, rising from there{near}"),
            false => format!("at n = {at} the slope becomes {} as steep{near}", factor(after / before)),
        };
        Beside { text, short: is_near("the bend", n.value, &near) }
    }));
    all.extend(stretches(v));
    all.extend(v.lines.as_ref().map(|lines| of_lines(lines, v, finding.unit)));
    // The one value of a level is neither a slow call nor one of two kinds.
    if !finding.levels {
        all.extend(of_modes(v, finding.unit));
        all.extend(of_spikes(&v.spikes, finding.unit, &near));
    }
    all.extend(of_choice(v));
    all
}

/// `, near half of net.ipv4.ip_local_port_range (14 116)`; empty without a landmark.
fn hints(v: &Verdict, n: Interval, grows: &str, system: &System) -> String {
    let near = judge::hints::landmarks_near(v, n, grows, system);
    let near: Vec<String> = near.iter().map(|near| format!("near {}", landmark(near))).collect();
    if near.is_empty() { String::new() } else { format!(", {}", list(&near)) }
}

/// `half of net.ipv4.ip_local_port_range (14 116)`.
pub(crate) fn landmark(near: &Landmark) -> String {
    let at = count(near.at.round() as u64);
    match near.mark {
        Mark::HalfOfPorts => format!("half of net.ipv4.ip_local_port_range ({at})"),
        Mark::Ports => format!("the size of net.ipv4.ip_local_port_range ({at})"),
        Mark::Fact(key) => format!("{} ({at})", fact(key)),
        Mark::PowerOfTwo { power, doubles_table: false } => format!("2^{power} ({at})"),
        Mark::PowerOfTwo { power, doubles_table: true } => {
            format!("2^{power} ({at}), where Linux doubles the descriptor table")
        }
    }
}

/// A fact in words; one that has none by its key.
fn fact(key: &'static str) -> &'static str {
    match key {
        "limit.descriptors.soft" => "the soft limit of descriptors",
        "limit.descriptors.hard" => "the hard limit of descriptors",
        "limit.processes.soft" => "the soft limit of processes",
        "limit.processes.hard" => "the hard limit of processes",
        "cgroup.pids_max" => "the control group's limit of processes",
        "kernel.max_threads" => "kernel.threads-max",
        "memory.page_bytes" => "one page",
        "memory.huge_page_bytes" => "one huge page",
        "cpu.cache.l1d_bytes" => "the size of the L1 cache",
        "cpu.cache.l2_bytes" => "the size of the L2 cache",
        "cpu.cache.l3_bytes" => "the size of the L3 cache",
        "memory.total_bytes" => "the size of the machine's memory",
        other => other,
    }
}

/// `the step at 14 116: near half of net.ipv4.ip_local_port_range (14 116)`; empty without a landmark.
fn is_near(what: &str, n: f64, near: &str) -> Option<String> {
    let near = near.strip_prefix(", ")?;
    Some(format!("{what} at {}: {near}", count(n.round() as u64)))
}

fn of_step(step: &Step, v: &Verdict, near: &impl Fn(Interval) -> String) -> Beside {
    let at = n_of_step(step);
    let near = near(at);
    let text = format!(
        "step {}: {}, in the same direction in {} of the trials{near}",
        place(step),
        change_with_interval(step.ratio),
        percent(step.agreement)
    );
    // The word of a stepped series has the place already.
    let told = matches!(v.class, Class::Stepped | Class::Composite);
    let short = if told {
        is_near("the step", at.value, &near)
    } else {
        Some(format!("step {}, {}{near}", place(step), change(step.ratio.value)))
    };
    Beside { text, short }
}

/// How the cost goes between the steps.
fn stretches(v: &Verdict) -> Option<Beside> {
    let said = v.segments.iter().map(|s| {
        format!("{} {}, {}", name(s.class), span(s.n_low, s.n_high), factor_with_interval(s.growth))
    });
    let text = said.collect::<Vec<_>>().join("; ");
    (v.segments.len() > 1).then(|| Beside { text: format!("between the steps: {text}"), short: None })
}

fn of_lines(lines: &Lines, v: &Verdict, unit: Unit) -> Beside {
    let text = format!(
        "two lines, {} apart at the largest n, {}: {}; {}",
        factor(lines.distance),
        alternation(lines.persistence, "line"),
        of_line(&lines.lower, unit),
        of_line(&lines.upper, unit)
    );
    let short = (v.class != Class::TwoLines).then(|| text.clone());
    Beside { text, short }
}

/// `62 % of the points flat within 3 %, 1.2 µs to 1.2 µs`.
fn of_line(line: &FittedLine, unit: Unit) -> String {
    let shape = match line.class {
        Class::Flat => format!("flat within {}", bound(line.bound)),
        Class::LinearLike => {
            format!("linear, {} for each", unit.signed_interval(line.marginal_cost, 1.0))
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
        "two modes {}: {} and {} ({} of the points), {}{others}",
        span(n_low, n_high),
        unit.cost(lower),
        unit.cost(upper),
        percent(upper_share),
        alternation(persistence, "mode")
    );
    let short = v.lines.is_none().then(|| text.clone());
    Some(Beside { text, short })
}

fn of_spikes(spikes: &Spikes, unit: Unit, near: &impl Fn(Interval) -> String) -> Option<Beside> {
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
        // Without a unit a bare number would be taken for an n.
        Period::Seconds(sum) if unit == Unit::None => {
            format!("one whenever the values have added up to {}", unit.with_digits(sum, 2))
        }
        Period::Seconds(seconds) => format!("one every {}", unit.with_digits(seconds, 2)),
    }));
    let text = parts.join("; ");
    let short = if spikes.time_share >= TIME_NOTABLE {
        Some(text.clone())
    } else {
        // Every machine has a few random spikes; only returning ones are the system's own.
        (parts.len() > 1).then(|| format!("spikes {}", parts[1..].join("; ")))
    };
    Some(Beside { text, short })
}

/// `trial after trial at n = 8 192 (38 trials, ×12) and 4 096 (30 trials, ×9)`.
fn repeated(places: &[Repeated], near: &impl Fn(Interval) -> String) -> String {
    let said = |(i, place): (usize, &Repeated)| {
        let n = place.n as f64;
        let near = if i == 0 { near(Interval { value: n, low: n, high: n }) } else { String::new() };
        let trials = things(place.trials, "trial", "trials");
        format!("{} ({trials}, {}{near})", count(place.n), factor(place.ratio))
    };
    let mut named: Vec<String> = places.iter().take(PLACES_NAMED).enumerate().map(said).collect();
    if places.len() > PLACES_NAMED {
        named.push(format!("{} more", count((places.len() - PLACES_NAMED) as u64)));
    }
    format!("trial after trial at n = {}", list(&named))
}

/// The other possible shapes, and how clear the choice was.
fn of_choice(v: &Verdict) -> Option<Beside> {
    // The words of a composite verdict are its parts; an ambiguous verdict may have named them.
    let is_said = match v.class {
        Class::Composite | Class::Inconclusive => true,
        Class::Ambiguous => candidates(v).is_some(),
        _ => false,
    };
    let several = several(v).filter(|_| !is_said);
    let possible = several.map(|classes| format!("not excluded: {classes}"));
    let chosen =
        (v.share < 1.0).then(|| format!("{} of the resampled runs choose this shape", percent(v.share)));
    let text = [possible, chosen].into_iter().flatten().collect::<Vec<_>>().join("; ");
    (!text.is_empty()).then_some(Beside { text, short: None })
}

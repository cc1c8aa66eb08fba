//! The functions that take the extra time of a cost that grows: those in which a thread is found where an
//! operation is expensive, less those where it is cheap.
//!
//! - this file explains the growth of each series, with the processor time of `flow`;
//! - `document` is the answer in words and tables, with its flame graph;
//! - [`pprof`] writes the stacks for another tool.

mod document;
mod flow;
pub mod pprof;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use judge::{Finding, Findings, GrowthWindows, can_be_sampled};
use record::{NRange, Outcome, Profile, ProfileWindow, Recording, SeriesKey};
use serde::Serialize;
use stats::{Interval, TrialPart, mean_of_trials, part_of_whole};

pub use flow::CallTree;
use flow::{Flow, path};

/// A function holds a growth if half of it is there.
const MOST: f64 = 0.5;
/// Smaller shares, and those that may be zero, have no row.
const SHARE_LEAST: f64 = 0.01;
/// Waiting below this share of the growth is not reported.
const WAITING_LEAST: f64 = 0.1;
/// An increase counts from this ratio on.
const MORE: f64 = 1.1;

/// The answer of `osdyno blame`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BlameAnswer {
    /// Version of this answer.
    pub schema: u32,
    /// In the order of the findings.
    pub series: Vec<SeriesBlame>,
    /// Labels of series that grow and were not sampled.
    #[serde(rename = "not_sampled")]
    pub unexplained: Vec<String>,
    /// The reasons.
    pub reasons: Vec<String>,
    /// Series that were judged and can be sampled: those of curves and the phases of jobs.
    pub judged: usize,
    /// Smallest change that matters, a share.
    pub margin: f64,
}

/// The growth of one series, and the functions in which it is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SeriesBlame {
    /// The series.
    #[serde(flatten)]
    pub key: SeriesKey,
    /// Its name for a reader.
    pub label: String,
    /// The objects that n counts.
    #[serde(skip)]
    pub grows: String,
    /// First n behind the step between both sides.
    ///
    /// `null` where there is none.
    pub step: Option<u64>,
    /// Where it is cheap.
    pub low: SideCost,
    /// Where it is expensive.
    pub high: SideCost,
    /// Additional processor time of an operation.
    ///
    /// `null` with fewer than three trials.
    #[serde(rename = "growth_seconds")]
    pub growth: Option<Interval>,
    /// Whether the samples show the growth too.
    ///
    /// Otherwise they say nothing about it.
    pub is_seen: bool,
    /// Additional time not on a processor, relative to the growth.
    ///
    /// The operation waits, or others have the processor.
    #[serde(rename = "waiting_share")]
    pub waiting: Option<Interval>,
    /// Its weight.
    #[serde(rename = "waiting")]
    pub waiting_weight: WaitingWeight,
    /// How many trials.
    pub trials: usize,
    /// Samples that found no room.
    ///
    /// In the trial with the most.
    pub lost: u64,
    /// Why functions have no names.
    ///
    /// Functions of the kernel; empty where they have.
    pub nameless: String,
    /// Where the processor time of the growth goes.
    pub place: GrowthPlace,
    /// Innermost function that holds most of the growth with its callees.
    ///
    /// `null` for none.
    pub holder: Option<FunctionShare>,
    /// Largest share by itself first.
    pub functions: Vec<FunctionShare>,
    /// For an operation.
    pub counters: Vec<CounterGrowth>,
    /// Why counters are missing.
    ///
    /// Empty where the machine has all.
    pub uncounted: String,
    /// Why children and other threads were not sampled.
    ///
    /// Empty where they were.
    pub unsampled: String,
    /// Objects that were certainly more numerous.
    ///
    /// An operation may walk through them.
    pub in_use: Vec<CounterGrowth>,
    /// Which function calls which.
    #[serde(skip)]
    pub tree: CallTree,
    /// All stacks as names, the outermost first, with their samples on both sides.
    #[serde(skip)]
    pub stacks: Vec<(Vec<String>, [u64; 2])>,
}

/// The cost of an operation on one side.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SideCost {
    /// The n.
    #[serde(flatten)]
    pub range: NRange,
    /// Time of one operation, with waiting.
    ///
    /// With the sampler too.
    #[serde(rename = "elapsed_seconds")]
    pub seconds: f64,
    /// Processor time of one operation, by the number of samples.
    pub processor_seconds: f64,
    /// Operations in all trials.
    pub operations: u64,
    /// Samples in all trials.
    pub samples: u64,
}

/// Where the processor time of a growth goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum GrowthPlace {
    /// One function holds half of it by itself.
    Function,
    /// One function holds half of it together with those that it calls.
    Callees,
    /// No function holds half of it.
    Spread,
    /// The samples do not show the growth.
    NotSeen,
}

/// How much the time matters that an operation is not on a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WaitingWeight {
    /// It may be nothing, or little.
    Negligible,
    /// It is certainly more than a tenth of the growth.
    Notable,
    /// It is a larger part of the growth than any function.
    Leading,
}

/// A function, and its part of a growth.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FunctionShare {
    /// Its name, else the module in brackets.
    #[serde(rename = "function")]
    pub name: String,
    /// `kernel`, a module of the kernel in brackets, or a file.
    pub module: String,
    /// Share of the growth by itself.
    #[serde(rename = "own_share")]
    pub own: Interval,
    /// The same with its callees.
    #[serde(rename = "whole_share")]
    pub whole: Interval,
    /// Processor time of one operation, where it is cheap and expensive.
    pub own_seconds: [f64; 2],
    /// The same with its callees.
    pub whole_seconds: [f64; 2],
    /// Whether its share by itself is at least a percent, and certain.
    pub is_notable: bool,
}

/// The count of a counter for an operation, or the number of objects in use.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CounterGrowth {
    /// Its name; of a counter as in perf-list(1).
    pub name: String,
    /// Mean over trials where it is cheap, and expensive.
    pub low: Interval,
    /// See `low`.
    pub high: Interval,
}

impl BlameAnswer {
    /// Explains the growths that a run found, by its samples.
    pub fn new(recording: &Recording, findings: &Findings) -> BlameAnswer {
        let mut profiles: BTreeMap<SeriesKey, Vec<&Profile>> = BTreeMap::new();
        for profile in &recording.profiles {
            profiles.entry(key(profile)).or_default().push(profile);
        }
        let mut blame = BlameAnswer {
            schema: 1,
            series: Vec::new(),
            unexplained: Vec::new(),
            reasons: Vec::new(),
            judged: findings.series.iter().filter(|finding| can_be_sampled(recording, &finding.key)).count(),
            margin: findings.margin,
        };
        for finding in &findings.series {
            let growing = GrowthWindows::from_finding(finding);
            match profiles.get(&finding.key) {
                Some(profiles) => {
                    let step = growing.and_then(|windows| windows.step);
                    blame.series.push(SeriesBlame::of(finding, step, profiles));
                }
                None if growing.is_some() && can_be_sampled(recording, &finding.key) => {
                    blame.unexplained.push(finding.label.clone());
                }
                None => {}
            }
        }
        for trial in &recording.sampled_trials {
            let reason = match &trial.outcome {
                Outcome::Unsupported { reason } | Outcome::Failed { reason } => reason.clone(),
                Outcome::Crashed { reason, .. } => format!("a trial crashed: {reason}"),
                Outcome::TimedOut { .. } => "a trial did not end in time".to_owned(),
                Outcome::Complete | Outcome::Limit { .. } | Outcome::Allowance { .. } => continue,
            };
            if !blame.reasons.contains(&reason) {
                blame.reasons.push(reason);
            }
        }
        blame
    }

    /// Whether all that grows was sampled.
    pub fn is_complete(&self) -> bool {
        self.unexplained.is_empty() && self.reasons.is_empty()
    }
}

impl FunctionShare {
    /// The name, and the file of a function that is not the kernel's.
    pub fn full_name(&self) -> String {
        let file = self.module.rsplit('/').next().unwrap_or_default();
        match self.module.as_str() {
            "kernel" => self.name.clone(),
            _ if self.name.starts_with('[') => self.name.clone(),
            _ => format!("{} ({})", self.name, file.trim_matches(['[', ']'])),
        }
    }
}

impl SeriesBlame {
    /// Of the samples of all trials.
    fn of(finding: &Finding, step: Option<u64>, profiles: &[&Profile]) -> SeriesBlame {
        // A value that is missing on one side shows no growth.
        let profiles: Vec<&Profile> = profiles.iter().copied().filter(|one| is_whole(one)).collect();
        let flow = Flow::of(&profiles);
        let growths: Vec<f64> = flow.trials.iter().map(|trial| trial.growth()).collect();
        let growth = mean_of_trials(&growths);
        let is_seen = growth.is_some_and(|growth| growth.low > 0.0);
        let functions = if is_seen { functions(&flow) } else { Vec::new() };
        let (place, holder) = if is_seen { holder(&flow, &functions) } else { (GrowthPlace::NotSeen, None) };
        let holder = holder.cloned();
        let waiting = waiting(&profiles);
        SeriesBlame {
            key: finding.key.clone(),
            label: whose(finding),
            grows: finding.grows.clone(),
            step,
            low: side(&profiles, |one| &one.low),
            high: side(&profiles, |one| &one.high),
            growth,
            is_seen,
            waiting,
            waiting_weight: waiting_weight(waiting, place, holder.as_ref().or(functions.first())),
            trials: profiles.len(),
            lost: profiles.iter().map(|one| one.lost).max().unwrap_or(0),
            nameless: profiles.first().map(|one| one.nameless.clone()).unwrap_or_default(),
            place,
            holder,
            functions,
            counters: counters(&profiles),
            uncounted: profiles.first().map(|one| one.uncounted.clone()).unwrap_or_default(),
            unsampled: profiles.first().map(|one| one.unsampled.clone()).unwrap_or_default(),
            in_use: in_use(&profiles),
            tree: flow.tree,
            stacks: stacks(&profiles),
        }
    }
}

fn key(profile: &Profile) -> SeriesKey {
    SeriesKey {
        system: profile.of.system.clone(),
        workload: profile.of.workload.clone(),
        variant: profile.of.variant.clone(),
        name: profile.name.clone(),
        direction: profile.direction,
    }
}

/// Throughput does not grow; the time of the workers for an operation does.
fn whose(finding: &Finding) -> String {
    match finding.label.strip_suffix(&format!(" {}", finding.key.name)) {
        Some(rest) if finding.scaling.is_some() => format!("an operation of {rest}"),
        _ => finding.label.clone(),
    }
}

fn is_whole(profile: &Profile) -> bool {
    let has =
        |window: &ProfileWindow| window.operations > 0 && window.seconds.is_finite() && window.seconds >= 0.0;
    let period = profile.period_seconds;
    has(&profile.low) && has(&profile.high) && period.is_finite() && period > 0.0
}

fn side(profiles: &[&Profile], window: fn(&Profile) -> &ProfileWindow) -> SideCost {
    let windows = || profiles.iter().map(|one| window(one));
    let operations: u64 = windows().map(|one| one.operations).sum();
    let seconds: f64 = windows().map(|one| one.seconds).sum();
    let sampled: f64 = profiles.iter().map(|one| one.period_seconds * window(one).samples as f64).sum();
    let each = operations.max(1) as f64;
    SideCost {
        range: windows().next().map_or(NRange { n_low: 0, n_high: 0 }, |one| one.range),
        seconds: seconds / each,
        processor_seconds: sampled / each,
        operations,
        samples: windows().map(|one| one.samples).sum(),
    }
}

fn waiting(profiles: &[&Profile]) -> Option<Interval> {
    let trials: Vec<TrialPart> = profiles
        .iter()
        .map(|one| {
            let [low, high] = [&one.low, &one.high].map(|window| {
                let each = window.operations as f64;
                let sampled = one.period_seconds * window.samples as f64;
                let counting = (one.period_seconds / each).powi(2) * window.samples as f64;
                (window.seconds / each, sampled / each, counting)
            });
            let whole = high.0 - low.0;
            TrialPart { part: whole - (high.1 - low.1), whole, counting: low.2 + high.2 }
        })
        .collect();
    part_of_whole(&trials)
}

/// Waiting leads where no function has a larger part of the elapsed time.
fn waiting_weight(
    waiting: Option<Interval>,
    place: GrowthPlace,
    largest: Option<&FunctionShare>,
) -> WaitingWeight {
    let Some(waiting) = waiting.filter(|waiting| waiting.low > WAITING_LEAST) else {
        return WaitingWeight::Negligible;
    };
    let share = |one: &FunctionShare| match place {
        GrowthPlace::Function => one.own.value,
        _ => one.whole.value,
    };
    match waiting.value > largest.map_or(0.0, share) * (1.0 - waiting.value) {
        true => WaitingWeight::Leading,
        false => WaitingWeight::Notable,
    }
}

/// Every function with its shares.
fn functions(flow: &Flow) -> Vec<FunctionShare> {
    let share = |function: (String, String)| {
        let parts = |is_own: bool| -> Vec<TrialPart> {
            flow.trials.iter().map(|trial| trial.part(&function, is_own)).collect()
        };
        let (own, whole) = (part_of_whole(&parts(true))?, part_of_whole(&parts(false))?);
        let [own_seconds, whole_seconds] = [true, false].map(|is_own| flow.seconds(&function, is_own));
        let is_certain = own.low > 0.0 || own.high < 0.0;
        let is_notable = is_certain && own.value.abs() >= SHARE_LEAST;
        let (name, module) = function;
        Some(FunctionShare { name, module, own, whole, own_seconds, whole_seconds, is_notable })
    };
    let mut functions: Vec<FunctionShare> = flow.functions().into_iter().filter_map(share).collect();
    functions.sort_by(|one, other| other.own.value.total_cmp(&one.own.value));
    functions
}

/// The function that holds the growth, and in which way.
fn holder<'a>(flow: &Flow, functions: &'a [FunctionShare]) -> (GrowthPlace, Option<&'a FunctionShare>) {
    if let Some(first) = functions.first().filter(|one| one.own.value >= MOST) {
        return (GrowthPlace::Function, Some(first));
    }
    let narrowest = flow.tree.narrowest(MOST * flow.tree.growth());
    let holder = narrowest.and_then(|holder| {
        functions.iter().find(|one| one.name == holder.name && one.module == holder.module)
    });
    (if holder.is_some() { GrowthPlace::Callees } else { GrowthPlace::Spread }, holder)
}

fn counters(profiles: &[&Profile]) -> Vec<CounterGrowth> {
    both_sides(profiles, |window| {
        window.counts.iter().map(|count| (count.name.as_str(), count.per_operation)).collect()
    })
}

/// Objects that were certainly more numerous: only these may take the time.
fn in_use(profiles: &[&Profile]) -> Vec<CounterGrowth> {
    let mut all = both_sides(profiles, |window| {
        window.in_use.iter().map(|one| (one.name.as_str(), one.mean)).collect()
    });
    all.retain(|one| one.high.low > one.low.high && one.high.value > MORE * one.low.value);
    all
}

/// Means over trials, of each name that is known on both sides.
fn both_sides(profiles: &[&Profile], of: fn(&ProfileWindow) -> Vec<(&str, f64)>) -> Vec<CounterGrowth> {
    let mut seen = BTreeSet::new();
    let names = profiles.iter().flat_map(|one| of(&one.high)).map(|(name, _)| name);
    let names: Vec<&str> = names.filter(|&name| seen.insert(name)).collect();
    let mean = |name: &str, window: fn(&Profile) -> &ProfileWindow| {
        let all = profiles.iter().flat_map(|one| of(window(one))).filter(|(other, _)| *other == name);
        mean_of_trials(&all.map(|(_, value)| value).collect::<Vec<_>>())
    };
    let growth = |name: &str| {
        let (low, high) = (mean(name, |one| &one.low)?, mean(name, |one| &one.high)?);
        Some(CounterGrowth { name: name.to_owned(), low, high })
    };
    names.into_iter().filter_map(growth).collect()
}

fn stacks(profiles: &[&Profile]) -> Vec<(Vec<String>, [u64; 2])> {
    let mut stacks: BTreeMap<Vec<String>, [u64; 2]> = BTreeMap::new();
    for profile in profiles {
        for stack in &profile.stacks {
            let names = path(profile, stack).into_iter().map(|(name, _)| name).collect();
            let samples = stacks.entry(names).or_default();
            samples.iter_mut().zip(stack.samples).for_each(|(sum, samples)| *sum += samples);
        }
    }
    stacks.into_iter().collect()
}

impl BlameAnswer {
    /// Writes the stacks of all series folded, one a line: the label of the series and its functions, the
    /// outermost first, joined by semicolons; then the samples at low and at high n. difffolded.pl prints
    /// them in this form, and flamegraph.pl reads it as a difference.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_folded(&self, out: &mut dyn Write) -> io::Result<()> {
        for series in &self.series {
            for (names, [low, high]) in &series.stacks {
                let names = [&series.label].into_iter().chain(names).map(|name| word(name));
                writeln!(out, "{} {low} {high}", names.collect::<Vec<_>>().join(";"))?;
            }
        }
        Ok(())
    }
}

/// A name without the characters that separate names.
fn word(name: &str) -> String {
    name.chars().map(|c| if c == ';' || c.is_whitespace() || c.is_control() { '_' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::word;

    #[test]
    fn a_name_is_one_word() {
        assert_eq!(word("operator new(unsigned long); x\n"), "operator_new(unsigned_long)__x_");
    }
}

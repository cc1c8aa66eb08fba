//! One series: its growth, and the functions in which it is.

use std::collections::{BTreeMap, BTreeSet};

use judge::Finding;
use record::{NRange, Profile, ProfileWindow, SeriesKey};
use stats::{Interval, TrialPart, mean_of_trials, part_of_whole};

use super::flow::Flow;
use super::function::{FunctionShare, path};
use super::tree::CallTree;

/// A function holds a growth if half of it is there.
const MOST: f64 = 0.5;
/// There is more of something from here on.
const MORE: f64 = 1.1;

/// What is known of the growth of one series.
#[derive(Clone, Debug, PartialEq)]
pub struct SeriesBlame {
    /// Which series it is.
    pub key: SeriesKey,
    /// Its name for a reader.
    pub label: String,
    /// What n counts.
    pub grows: String,
    /// The first n behind the step between both sides, where there is one.
    pub step: Option<u64>,
    /// Where it is cheap, and where it is expensive.
    pub sides: [SideCost; 2],
    /// How much more processor time an operation takes; `None` of fewer than three trials.
    pub growth: Option<Interval>,
    /// How much more time passes in an operation while it is not on a processor, as a share of all that it
    /// takes more: it waits, or others have the processor.
    pub waiting: Option<Interval>,
    /// Trials that were sampled.
    pub trials: usize,
    /// Samples that found no room.
    pub lost: u64,
    /// Why functions of the kernel have no names; empty where they have.
    pub nameless: String,
    /// The functions, the one with the largest share by itself first.
    pub functions: Vec<FunctionShare>,
    /// The place in `functions` of the innermost one that holds most of the growth, with what it calls.
    pub holder: Option<usize>,
    /// What counters counted for an operation.
    pub counters: Vec<CounterGrowth>,
    /// Which counters the machine lacks, and why; empty where it has all.
    pub uncounted: String,
    /// Why children and other threads were not sampled; empty where they were.
    pub unsampled: String,
    /// What there was more of: things that the operation may walk through.
    pub in_use: Vec<CounterGrowth>,
    /// Which function calls which.
    pub tree: CallTree,
    /// All stacks as names, the outermost first, with their samples on both sides.
    pub stacks: Vec<(Vec<String>, [u64; 2])>,
}

/// What an operation costs on one side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SideCost {
    /// The n.
    pub range: NRange,
    /// What one operation takes, waiting and the sampler included.
    pub seconds: f64,
    /// Processor time of one operation, by the number of samples.
    pub processor_seconds: f64,
    /// Operations in all trials.
    pub operations: u64,
    /// Samples in all trials.
    pub samples: u64,
}

/// What a counter counted for an operation, or how much there was of something.
#[derive(Clone, Debug, PartialEq)]
pub struct CounterGrowth {
    /// Its name: of a counter as perf-list(1) has it.
    pub name: String,
    /// Where the operation is cheap, and where it is expensive: means over trials.
    pub sides: [Interval; 2],
}

impl SeriesBlame {
    /// Of the samples of all trials.
    pub(super) fn of(finding: &Finding, step: Option<u64>, profiles: &[&Profile]) -> SeriesBlame {
        // What was not measured on both sides says nothing of a growth.
        let profiles: Vec<&Profile> = profiles.iter().copied().filter(|one| is_whole(one)).collect();
        let flow = Flow::of(&profiles);
        let growths: Vec<f64> = flow.trials.iter().map(|trial| trial.growth()).collect();
        let growth = mean_of_trials(&growths);
        let (functions, holder) = functions(&flow, growth);
        SeriesBlame {
            key: finding.key.clone(),
            label: finding.label.clone(),
            grows: finding.grows.clone(),
            step,
            sides: [side(&profiles, |one| &one.low), side(&profiles, |one| &one.high)],
            growth,
            waiting: waiting(&profiles),
            trials: profiles.len(),
            lost: profiles.iter().map(|one| one.lost).max().unwrap_or(0),
            nameless: profiles.first().map(|one| one.nameless.clone()).unwrap_or_default(),
            functions,
            holder,
            counters: counters(&profiles),
            uncounted: profiles.first().map(|one| one.uncounted.clone()).unwrap_or_default(),
            unsampled: profiles.first().map(|one| one.unsampled.clone()).unwrap_or_default(),
            in_use: in_use(&profiles),
            tree: flow.tree,
            stacks: stacks(&profiles),
        }
    }

    /// Whether the samples show the growth too, and so say anything of it.
    pub fn is_seen(&self) -> bool {
        self.growth.is_some_and(|growth| growth.low > 0.0)
    }

    /// The innermost function that holds most of the growth, with what it calls.
    pub fn holder(&self) -> Option<&FunctionShare> {
        self.functions.get(self.holder?)
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

/// Every function with its shares, and the place of the one that holds the growth.
fn functions(flow: &Flow, growth: Option<Interval>) -> (Vec<FunctionShare>, Option<usize>) {
    if growth.is_none_or(|growth| growth.low <= 0.0) {
        return (Vec::new(), None);
    }
    let mut functions: Vec<FunctionShare> = flow
        .functions()
        .into_iter()
        .filter_map(|(name, module)| {
            let parts = |is_own: bool| -> Vec<TrialPart> {
                flow.trials.iter().map(|trial| trial.part(&(name.clone(), module.clone()), is_own)).collect()
            };
            let (own, whole) = (part_of_whole(&parts(true))?, part_of_whole(&parts(false))?);
            let seconds = |is_own| flow.seconds(&(name.clone(), module.clone()), is_own);
            let (own_seconds, whole_seconds) = (seconds(true), seconds(false));
            Some(FunctionShare { name, module, own, whole, own_seconds, whole_seconds })
        })
        .collect();
    functions.sort_by(|one, other| other.own.value.total_cmp(&one.own.value));
    let whole = flow.tree.growth();
    let alone = functions.first().filter(|one| one.own.value >= MOST).map(|_| 0);
    let holder = alone.or_else(|| {
        let holder = flow.tree.narrowest(MOST * whole)?;
        functions.iter().position(|one| one.name == holder.name && one.module == holder.module)
    });
    (functions, holder)
}

fn counters(profiles: &[&Profile]) -> Vec<CounterGrowth> {
    both_sides(profiles, |window| {
        window.counts.iter().map(|count| (count.name.as_str(), count.per_operation)).collect()
    })
}

/// What there was certainly more of: it may be what takes the time, and what there was as much of cannot.
fn in_use(profiles: &[&Profile]) -> Vec<CounterGrowth> {
    let mut all = both_sides(profiles, |window| {
        window.in_use.iter().map(|one| (one.name.as_str(), one.mean)).collect()
    });
    all.retain(|one| one.sides[1].low > one.sides[0].high && one.sides[1].value > MORE * one.sides[0].value);
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
        let sides = [mean(name, |one| &one.low)?, mean(name, |one| &one.high)?];
        Some(CounterGrowth { name: name.to_owned(), sides })
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

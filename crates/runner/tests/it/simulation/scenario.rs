//! The events of one simulated run, all decided by the seed.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use runner::{Boots, FleetOptions, Item, RunOptions, RunPlan, Target, Trials};
use workload::{Expect, Operation, Sizes, Variant, Workload};

/// n of every trial: enough for the judge to make a verdict.
pub(crate) const N: u64 = 24;

/// The numbers of trials after which verdicts are judged.
pub(crate) const LOOKS: &[u32] = &[10, 20, 40];

const GROW: &[Operation] = &[Operation::up("grow", Expect::Constant, "one more")];

const fn curve(name: &'static str) -> Workload {
    Workload { name, operations: GROW, ..Workload::CURVE }
}

const RIVALS: &[Variant] = &[Variant { name: "first", summary: "" }, Variant { name: "second", summary: "" }];

static WORKLOADS: [Workload; 4] = [
    curve("one"),
    curve("two"),
    Workload { variants: RIVALS, ..curve("ways") },
    Workload { variants: RIVALS, rivals: true, ..curve("race") },
];

/// A load that is held at [`LEVELS`]. Random runs have none: how levels are left out is a run of its own.
pub(crate) static LOAD: Workload = LOAD_OF_RIVALS;

const LOAD_OF_RIVALS: Workload = Workload {
    name: "load",
    operations: GROW,
    variants: RIVALS,
    rivals: true,
    sizes: Sizes::Levels(levels),
    top: Some(N),
    ..Workload::LOAD
};

/// How many rivals there are on a slow system.
pub(crate) const RIVALS_OF_SLOW: usize = 6;

const fn rival(name: &'static str) -> Variant {
    Variant { name, summary: "" }
}

/// The same load with more rivals.
static MANY: Workload = Workload {
    variants: &[rival("a"), rival("b"), rival("c"), rival("d"), rival("e"), rival("f")],
    ..LOAD_OF_RIVALS
};

/// The levels of a load.
pub(crate) const LEVELS: [u64; 4] = [1, 5, 10, N];

fn levels(top: u64) -> Vec<u64> {
    LEVELS.into_iter().filter(|level| *level <= top).collect()
}

/// One run.
#[derive(Debug)]
pub(crate) struct Scenario {
    pub(crate) plan: RunPlan,
    pub(crate) systems: Vec<SimulatedSystem>,
    /// From the first description of a system on.
    pub(crate) interrupted_at: Option<Duration>,
    /// An interrupt that meets a trial lets it finish.
    pub(crate) interrupt_waits: bool,
    pub(crate) capacity_bytes: Option<usize>,
    pub(crate) fails_to_sync: bool,
    pub(crate) date: SystemTime,
    /// All costs are constant and nothing goes wrong.
    pub(crate) is_steady: bool,
}

/// A system and its items, in the order of the plan.
#[derive(Debug)]
pub(crate) struct SimulatedSystem {
    /// It cannot be reached.
    pub(crate) is_absent: bool,
    pub(crate) items: Vec<Behaviour>,
}

/// The course of an item's trials on one system.
#[derive(Debug)]
pub(crate) struct Behaviour {
    pub(crate) cost_seconds: f64,
    /// The first trial takes so many times as long: nothing is in a cache.
    pub(crate) cold: f64,
    /// Standard deviation of the logarithm of a trial's cost.
    pub(crate) jitter: f64,
    pub(crate) fate: Fate,
    /// Cost at the largest n over that at the smallest, of what is measured.
    pub(crate) growth: f64,
    /// Standard deviations of the logarithms of the measurements: from trial to trial, and within one.
    pub(crate) noise: (f64, f64),
}

/// How trials end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fate {
    Healthy,
    Unsupported,
    Fails,
    /// Nothing can be started there.
    CannotStart,
    /// This share of the trials crashes.
    Crashes(f64),
    /// This share of the trials never ends.
    Hangs(f64),
    MeetsLimit,
    /// The time allowed ends at half the n.
    IsCut,
    /// A load whose first trial has no time for the levels in between.
    LeavesOut,
    /// A load whose first trial is killed at its last level.
    TooSlow,
    /// A load whose levels take their share of n, and which ends with its time.
    Slow,
}

impl Behaviour {
    /// Every trial costs the same, and measures nearly the same at every n.
    fn quiet(cost_seconds: f64, fate: Fate) -> Behaviour {
        Behaviour { cost_seconds, cold: 1.0, jitter: 0.0, fate, growth: 1.0, noise: (0.01, 0.01) }
    }
}

impl Scenario {
    pub(crate) fn from_seed(seed: u64) -> Scenario {
        let random = &mut fastrand::Rng::with_seed(seed);
        let is_steady = random.f64() < 0.1;
        let mut plan = plan(seed, random, is_steady);
        let systems: Vec<SimulatedSystem> =
            plan.targets.iter().map(|_| system(random, plan.items.len(), is_steady)).collect();
        let cost = |behaviour: &Behaviour| Duration::from_secs_f64(behaviour.cost_seconds);
        let longest = systems.iter().flat_map(|system| &system.items).map(cost).max().unwrap_or_default();
        plan.timeout = longest * 4;
        let end = plan.budget.unwrap_or(Duration::from_secs(100));
        Scenario {
            interrupted_at: some(random, 0.2, is_steady).then(|| end.mul_f64(random.f64() * 1.1)),
            interrupt_waits: random.bool(),
            capacity_bytes: some(random, 0.1, is_steady)
                .then(|| log_uniform(random, 500.0, 300_000.0) as usize),
            fails_to_sync: some(random, 0.02, is_steady),
            date: date(random),
            plan,
            systems,
            is_steady,
        }
    }

    /// A run of the load alone, on two systems, whose rivals on the first of them have these fates.
    pub(crate) fn of_load(fates: [Fate; 2]) -> Scenario {
        let targets = (0..2).map(target).collect();
        let options =
            RunOptions { seed: Some(7), trials: Some(4), targets, unpinned: true, ..RunOptions::default() };
        let mut plan = RunPlan::make(&options).expect("a plan");
        plan.budget = None;
        let item = |variant: &Variant| Item { workload: &LOAD, variant: *variant, settings: BTreeMap::new() };
        plan.items = RIVALS.iter().map(item).collect();
        let system = |fates: [Fate; 2]| SimulatedSystem {
            is_absent: false,
            items: fates.map(|fate| Behaviour::quiet(0.1, fate)).into(),
        };
        Scenario::undisturbed(plan, vec![system(fates), system([Fate::Healthy; 2])])
    }

    /// A run that nothing from outside disturbs.
    fn undisturbed(plan: RunPlan, systems: Vec<SimulatedSystem>) -> Scenario {
        Scenario {
            interrupted_at: None,
            interrupt_waits: false,
            capacity_bytes: None,
            fails_to_sync: false,
            date: SystemTime::UNIX_EPOCH,
            plan,
            systems,
            is_steady: false,
        }
    }

    /// A run of two curves and the load with a budget, on one system, where a whole trial of each rival takes
    /// so many seconds.
    pub(crate) fn of_slow_system(budget: Duration, seed: u64, rivals: [f64; RIVALS_OF_SLOW]) -> Scenario {
        let mut scenario = Scenario::of_load([Fate::Healthy; 2]);
        scenario.plan.seed = seed;
        scenario.plan.trials = Trials::Looks(LOOKS);
        scenario.plan.budget = Some(budget);
        scenario.plan.targets.truncate(1);
        scenario.systems.truncate(1);
        let item = |workload, variant| Item { workload, variant, settings: BTreeMap::new() };
        let curves = WORKLOADS[..2].iter().map(|workload| item(workload, workload.variants[0]));
        scenario.plan.items = curves.chain(MANY.variants.iter().map(|rival| item(&MANY, *rival))).collect();
        let curves = [0.5; 2].map(|seconds| Behaviour::quiet(seconds, Fate::Healthy));
        let loads = rivals.map(|seconds| Behaviour::quiet(seconds, Fate::Slow));
        scenario.systems[0].items = curves.into_iter().chain(loads).collect();
        scenario
    }

    /// A run over so many hosts, each with two configurations, with a fixed number of trials. The second half of
    /// the hosts has these fates, one after the other, unless the fleet is to be healthy.
    pub(crate) fn of_fleet(seed: u64, hosts: usize, is_healthy: bool) -> Scenario {
        let random = &mut fastrand::Rng::with_seed(seed);
        let fleet = FleetOptions {
            hosts: fleet::hosts(&format!("n[1-{hosts}]=to {{}}")).expect("hosts"),
            at_once: Some(1),
            groups: Vec::new(),
        };
        let configurations = ["plain", "tuned"].map(|name| Target::of_command(name.to_owned(), Vec::new()));
        let options = RunOptions {
            seed: Some(seed),
            n: Some(N),
            trials: Some(random.u32(2..5)),
            targets: configurations.to_vec(),
            unpinned: true,
            fleet,
            ..RunOptions::default()
        };
        let mut plan = RunPlan::make(&options).expect("a plan");
        plan.items = items(random);
        plan.budget = None;
        plan.timeout = Duration::from_secs(30);
        let fates =
            [Fate::CannotStart, Fate::Crashes(1.0), Fate::Hangs(1.0), Fate::Crashes(0.3), Fate::Fails];
        let (mut systems, count) = (Vec::new(), plan.items.len());
        for host in 0..hosts {
            let (is_absent, fate) = (random.bool(), fates[random.usize(..fates.len())]);
            let is_ill = host >= hosts / 2 && !is_healthy;
            // The same costs whatever becomes of the others.
            let own = &mut fastrand::Rng::with_seed(seed ^ (host as u64 + 1));
            for _ in 0..2 {
                let fate = if is_ill { fate } else { Fate::Healthy };
                let behaviour = |_| Behaviour {
                    jitter: 0.1,
                    noise: (0.02, 0.05),
                    ..Behaviour::quiet(log_uniform(own, 0.01, 1.0), fate)
                };
                let items = (0..count).map(behaviour).collect();
                systems.push(SimulatedSystem { is_absent: is_ill && is_absent, items });
            }
        }
        Scenario::undisturbed(plan, systems)
    }

    /// The place in the plan of a workload's variant.
    pub(crate) fn item(&self, workload: &str, variant: &str) -> usize {
        let is_it = |item: &Item| item.workload.name == workload && item.variant.name == variant;
        self.plan
            .items
            .iter()
            .position(is_it)
            .unwrap_or_else(|| panic!("nobody planned {workload}/{variant}"))
    }
}

/// A system behind a command.
fn target(number: usize) -> Target {
    let prefix = vec![format!("to{number}")];
    Target::of_command(format!("system{number}"), prefix)
}

fn plan(seed: u64, random: &mut fastrand::Rng, is_steady: bool) -> RunPlan {
    let aa = some(random, 0.05, is_steady);
    let count = [1, 1, 1, 2, 2, 3][random.usize(..6)];
    let targets = if aa { Vec::new() } else { (0..count).map(target).collect() };
    let options =
        RunOptions { seed: Some(seed), n: Some(N), targets, aa, unpinned: true, ..RunOptions::default() };
    let mut plan = RunPlan::make(&options).expect("a plan");
    plan.items = items(random);
    plan.boots = match seed % 5 {
        _ if is_steady => Boots::Over(1),
        0 => Boots::Of(2),
        boots => Boots::Over(boots as u32),
    };
    let is_fixed = is_steady || random.f64() < 0.3;
    if is_fixed {
        plan.trials = Trials::Fixed(random.u32(1..=12).max(plan.least));
        plan.budget = some(random, 0.5, is_steady).then(|| budget(random));
    } else {
        plan.trials = Trials::Looks(LOOKS);
        plan.budget = Some(budget(random));
    }
    plan
}

fn budget(random: &mut fastrand::Rng) -> Duration {
    Duration::from_secs_f64(log_uniform(random, 0.05, 300.0))
}

/// From one item to all.
fn items(random: &mut fastrand::Rng) -> Vec<Item> {
    let all = WORKLOADS
        .iter()
        .flat_map(|workload| workload.variants.iter().map(move |variant| (workload, *variant)));
    let mut all: Vec<(&Workload, Variant)> = all.collect();
    random.shuffle(&mut all);
    all.truncate(random.usize(1..=all.len()));
    // In the order of the list, as a plan has them.
    all.sort_by_key(|(workload, variant)| (workload.name, variant.name));
    all.into_iter().map(|(workload, variant)| Item { workload, variant, settings: BTreeMap::new() }).collect()
}

fn system(random: &mut fastrand::Rng, items: usize, is_steady: bool) -> SimulatedSystem {
    SimulatedSystem {
        is_absent: some(random, 0.03, is_steady),
        items: (0..items).map(|_| behaviour(random, is_steady)).collect(),
    }
}

fn behaviour(random: &mut fastrand::Rng, is_steady: bool) -> Behaviour {
    let fates = [
        Fate::Unsupported,
        Fate::Fails,
        Fate::CannotStart,
        Fate::Crashes(0.2),
        Fate::Crashes(1.0),
        Fate::Hangs(0.2),
        Fate::Hangs(1.0),
        Fate::MeetsLimit,
        Fate::IsCut,
    ];
    let fate = fates[random.usize(..fates.len())];
    let is_cold = some(random, 0.3, is_steady);
    Behaviour {
        cost_seconds: log_uniform(random, 0.001, 3.0),
        cold: if is_cold { log_uniform(random, 1.0, 30.0) } else { 1.0 },
        jitter: if is_steady { 0.0 } else { random.f64() * 0.5 },
        fate: if some(random, 0.2, is_steady) { fate } else { Fate::Healthy },
        growth: if some(random, 0.2, is_steady) { log_uniform(random, 1.05, 10.0) } else { 1.0 },
        noise: (log_uniform(random, 0.002, 0.1), log_uniform(random, 0.01, 0.3)),
    }
}

/// A fault with this probability, and never in a steady run.
fn some(random: &mut fastrand::Rng, probability: f64, is_steady: bool) -> bool {
    random.f64() < probability && !is_steady
}

fn log_uniform(random: &mut fastrand::Rng, low: f64, high: f64) -> f64 {
    low * (high / low).powf(random.f64())
}

/// Any date that a clock can be set to.
fn date(random: &mut fastrand::Rng) -> SystemTime {
    let distance = Duration::from_secs(random.u64(..400_000_000_000));
    if random.bool() { SystemTime::UNIX_EPOCH + distance } else { SystemTime::UNIX_EPOCH - distance }
}

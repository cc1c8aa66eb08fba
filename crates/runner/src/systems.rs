//! The systems of a run: the report of each about itself, and the plan that follows from it: how far n goes
//! there and on which processors.

use std::sync::atomic::{AtomicBool, Ordering};

use record::{Background, Outcome, System};
use workload::{Ceiling, Extent, Sizes, Workload, is_near, most_by_processors, most_workers};

use crate::hosts::Turn;
use crate::plan::{Item, RunPlan};
use crate::preset::Reach;
use crate::{Error, Executor, Target, noise_floor};

/// A system of the run, ready to be measured.
pub(crate) struct MeasuredSystem<E> {
    /// Executes its trials.
    pub(crate) executor: E,
    /// The outcome of every trial, where nothing can be measured there; `None` if it can.
    pub(crate) unavailable: Option<Outcome>,
    /// Its plan.
    pub(crate) plan: SystemPlan,
}

/// The plan for one system. That of a system which did not describe itself is empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SystemPlan {
    /// The processor of its trials; `None` leaves it to the system.
    pub(crate) cpu: Option<u32>,
    /// The processor of servers beside its trials; `None` leaves it to the system, or there are no servers.
    pub(crate) server_cpu: Option<u32>,
    /// The processors that are left for more of them.
    pub(crate) spare_cpus: Vec<u32>,
    /// The processor of loads beside its trials; `None` leaves it to the system, or there are none.
    background_cpu: Option<u32>,
    /// How far n goes, for each item of the run.
    extents: Vec<Extent>,
}

/// n in a run to the limits, for workloads without a limit.
const UNLIMITED: u64 = 20_000;

/// Makes every system describe itself, and plans for each from its report. Hosts do so at once.
///
/// # Errors
/// The first error, if no system can be measured.
pub(crate) fn describe<E: Executor>(
    plan: &RunPlan,
    executors: Vec<E>,
    interrupt: &AtomicBool,
) -> Result<(Vec<System>, Vec<MeasuredSystem<E>>), Error> {
    let mut executors = executors.into_iter().enumerate();
    let hosts = plan.hosts();
    let of_hosts = hosts.iter().map(|host| executors.by_ref().take(host.systems).collect()).collect();
    let describe_one = |(place, mut executor): (usize, E)| {
        let described = executor.describe().and_then(|system| {
            // One host of many says nothing about the others.
            if plan.is_of_fleet() {
                try_background(plan, place, &mut executor, &system)?;
            }
            Ok(system)
        });
        (executor, described)
    };
    let describe_all = |executors: Vec<(usize, E)>, _turn: Turn| -> Vec<(E, Result<System, Error>)> {
        executors.into_iter().map(describe_one).collect()
    };
    let described = plan.turns.on_each(of_hosts, &describe_all);
    let (mut executors, mut described): (Vec<E>, Vec<Result<System, Error>>) =
        described.into_iter().flatten().unzip();
    // An interrupt is not an error.
    if described.iter().all(Result::is_err)
        && !interrupt.load(Ordering::Relaxed)
        && let Some(Err(error)) = described.drain(..).next()
    {
        return Err(error);
    }
    for (place, executor) in executors.iter_mut().enumerate().filter(|_| !plan.is_of_fleet()) {
        if let Ok(system) = &described[place] {
            // A load that is too much for the system is a mistake of the command line.
            try_background(plan, place, executor, system)?;
        }
    }
    let systems: Vec<Option<&System>> = described.iter().map(|system| system.as_ref().ok()).collect();
    let plans = plan_all(plan, &systems);
    let outcomes: Vec<Option<Outcome>> =
        described.iter().map(|system| system.as_ref().err().map(outcome_of)).collect();
    let recorded = described.into_iter().zip(&plan.targets).zip(&plans).map(|((system, target), own)| {
        let system = system.map_or_else(|error| unknown(target, &error), |system| planned(system, plan, own));
        System { fleet: target.fleet.clone(), ..system }
    });
    let recorded = recorded.collect();
    let measured = executors.into_iter().zip(outcomes).zip(plans);
    let measured =
        measured.map(|((executor, unavailable), plan)| MeasuredSystem { executor, unavailable, plan });
    Ok((recorded, measured.collect()))
}

/// Checks that the loads beside the trials of a system can be held there.
fn try_background<E: Executor>(
    plan: &RunPlan,
    place: usize,
    executor: &mut E,
    system: &System,
) -> Result<(), Error> {
    let own = plan_all(plan, &[Some(system)]).remove(0);
    executor.try_background(&own.background(&plan.targets[place]))
}

/// The outcome of every trial on a system that did not describe itself.
fn outcome_of(error: &Error) -> Outcome {
    match error {
        Error::Unsupported { reason, .. } => Outcome::Unsupported { reason: reason.clone() },
        Error::Command { reason, .. } | Error::Describe { reason, .. } => {
            Outcome::Failed { reason: reason.clone() }
        }
        other => Outcome::Failed { reason: other.to_string() },
    }
}

/// The system with its plan and its noise floor.
fn planned(mut system: System, plan: &RunPlan, own: &SystemPlan) -> System {
    // A run that measures the floor must not copy an older one.
    match noise_floor::known(&system) {
        Ok(floor) => system.noise_floor = floor.filter(|_| !plan.aa),
        Err(warning) => system.warnings.push(warning),
    }
    if let Some(processors) = &mut system.processors {
        (processors.trial, processors.server) = (own.cpu, own.server_cpu);
    }
    system.warnings.extend(own.remarks(plan));
    system
}

/// A system that did not describe itself.
fn unknown(target: &Target, error: &Error) -> System {
    System {
        name: target.name.clone(),
        prefix: target.written.clone(),
        warnings: vec![sentence(&error.to_string())],
        ..System::default()
    }
}

/// An error's text as a sentence.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).chain(['.']).collect()
}

/// The plans of these systems, in their order; `None` is one that did not describe itself.
///
/// Each system goes as far as its own limits allow. A comparison covers the common range of two systems, so a
/// system that goes less far than another one stops at a level of the other.
pub(crate) fn plan_all(plan: &RunPlan, systems: &[Option<&System>]) -> Vec<SystemPlan> {
    let of = |system: &Option<&System>| system.map(|system| SystemPlan::new(plan, system));
    let mut plans: Vec<SystemPlan> = systems.iter().map(|system| of(system).unwrap_or_default()).collect();
    for (index, item) in plan.items.iter().enumerate() {
        let extents = plans.iter_mut().filter_map(|plan| plan.extents.get_mut(index));
        align(item.workload.sizes, &mut extents.collect::<Vec<_>>());
    }
    plans
}

/// The largest n of the item on any of these systems.
pub(crate) fn top<'a>(plans: impl Iterator<Item = &'a SystemPlan>, item: usize) -> u64 {
    plans.filter_map(|plan| plan.extents.get(item)).map(|extent| extent.n).max().unwrap_or(0)
}

impl SystemPlan {
    /// The plan of this system by itself.
    fn new(plan: &RunPlan, system: &System) -> SystemPlan {
        let usable = system.processors.as_ref().map_or(&[][..], |processors| &processors.usable);
        let cpu = |place: usize| usable.get(place).copied().filter(|_| !plan.unpinned);
        let (own, server_cpu) = (cpu(0), cpu(1).filter(|_| plan.starts_servers()));
        let background_cpu = background::processor(usable).filter(|_| !plan.unpinned);
        let has_background = plan.targets.iter().any(|target| !target.background.is_empty());
        let taken = [own, server_cpu, background_cpu.filter(|_| has_background)];
        let is_spare = |cpu: &u32| !plan.unpinned && !taken.contains(&Some(*cpu));
        SystemPlan {
            cpu: own,
            server_cpu,
            spare_cpus: usable.iter().copied().filter(is_spare).collect(),
            background_cpu,
            extents: plan.items.iter().map(|item| extent(plan, item, system)).collect(),
        }
    }

    /// The loads beside the trials of the system, and their processor.
    pub(crate) fn background(&self, target: &Target) -> Vec<Background> {
        let chosen = |load: &str| background::FixedLoad::parse(load).ok()?.processor();
        let of = |load: &String| Background {
            load: load.clone(),
            processor: chosen(load).or(self.background_cpu),
        };
        target.background.iter().map(of).collect()
    }

    /// How far n goes in this item, if it goes to `n` at most.
    pub(crate) fn n(&self, item: usize, n: u64) -> u64 {
        self.extents.get(item).map_or(n, |extent| extent.n.min(n))
    }

    /// How far n goes, for each item of the run.
    pub(crate) fn into_extents(self) -> Vec<Extent> {
        self.extents
    }

    /// How many processes make objects of this item beside the trial.
    pub(crate) fn helpers(&self, item: usize) -> u32 {
        self.extents.get(item).map_or(0, |extent| extent.helpers)
    }

    /// Why the item cannot be measured with a single n; `None` if it can.
    pub(crate) fn unavailable_reason(&self, item: usize) -> Option<String> {
        let extent = self.extents.get(item).filter(|extent| extent.n == 0)?;
        extent.ceiling.as_ref().map(Ceiling::reason)
    }

    /// Remarks about the plan, each a whole sentence: every limit with all the workloads that it shortens.
    pub(crate) fn remarks(&self, plan: &RunPlan) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.cpu.is_none() && !plan.unpinned && !self.extents.is_empty() {
            let reason = "because a process cannot be bound to a processor here";
            remarks.push(format!("Trials are not pinned, {reason}."));
        }
        // A workload that does not fit at all is reported as a result; and where another system ends earlier,
        // that one has the reason.
        let short = |extent: &&Extent| extent.n > 0 && extent.stopped_by().is_some();
        let shortened =
            |extent: &Extent| extent.ceiling.as_ref().map(|by| (extent.n, extent.wanted, by.reason()));
        let mut reported = Vec::new();
        for limit in self.extents.iter().filter(short).filter_map(shortened) {
            if reported.contains(&limit) {
                continue;
            }
            let of_limit = |(extent, _): &(&Extent, _)| shortened(extent).as_ref() == Some(&limit);
            let items = self.extents.iter().zip(&plan.items).filter(of_limit);
            let mut workloads: Vec<&str> = items.map(|(_, item)| item.workload.name).collect();
            workloads.dedup();
            let (n, wanted, reason) = &limit;
            let workloads = workloads.join(", ");
            remarks
                .push(format!("The largest n of {workloads} is {n} instead of {wanted}, because {reason}."));
            reported.push(limit);
        }
        remarks
    }
}

/// How far n goes in this item on this system.
fn extent(plan: &RunPlan, item: &Item, system: &System) -> Extent {
    let workload = item.workload;
    let needs = workload.needs_of(item.variant.name);
    let ceiling = Ceiling::tightest(&needs, &workload.fixed_needs_of(item.variant.name), system);
    let mut wanted = wanted(plan, workload, ceiling.as_ref());
    // The number of processors is the top of such a workload, not a shortage.
    let most = most_by_processors(&needs, system)
        .or_else(|| most_workers(workload, system, matches!(plan.reach, Reach::Limit)));
    if let (None, Some(most)) = (plan.n, most) {
        wanted = wanted.min(most);
    }
    Extent::within(ceiling, wanted, workload, system)
}

/// How far n is to go in this workload, if the ceiling does not prevent that.
fn wanted(plan: &RunPlan, workload: &Workload, ceiling: Option<&Ceiling>) -> u64 {
    let of_preset = match plan.reach {
        Reach::To(n) => n,
        Reach::Classic => workload.classic_n,
        // With helpers, the limits of one process do not count.
        Reach::Limit => match ceiling.map_or(UNLIMITED, |ceiling| ceiling.n) {
            // Nothing fits; the limit is reported beside the n that would be reached without it.
            0 => UNLIMITED,
            n if workload.helpers => n.max(UNLIMITED),
            n => n,
        },
    };
    plan.n.unwrap_or_else(|| workload.top.map_or(of_preset, |top| of_preset.min(top)))
}

/// Gives systems that can be compared the same n, or at least levels in common.
fn align(sizes: Sizes, extents: &mut [&mut Extent]) {
    let top = extents.iter().map(|extent| extent.n).max().unwrap_or(0);
    let nearest = extents.iter().map(|extent| extent.n).filter(|&n| is_near(n, top)).min().unwrap_or(0);
    // With equally many helpers the same n are measured.
    let helpers = extents.iter().map(|extent| extent.helpers).max().unwrap_or(0);
    for extent in extents {
        extent.helpers = helpers;
        extent.n = match sizes.levels(nearest) {
            _ if is_near(extent.n, top) => nearest,
            None => extent.n,
            Some(levels) => levels.into_iter().rfind(|level| *level <= extent.n).unwrap_or(extent.n),
        };
    }
}

#[cfg(test)]
mod tests {
    use record::{Processors, ResourceLimit, resource};
    use workload::levels;

    use super::*;
    use crate::RunOptions;

    fn plan(workloads: &[&str], preset: &str, n: Option<u64>) -> RunPlan {
        let workloads = workloads.iter().map(|&name| name.to_owned()).collect();
        let options = RunOptions { workloads, preset: Some(preset.to_owned()), n, ..RunOptions::default() };
        RunPlan::make(&options).expect("a plan")
    }

    /// A system on which a process may have so many descriptors.
    fn system(descriptors: u64) -> System {
        let limit = ResourceLimit {
            name: "RLIMIT_NOFILE".to_owned(),
            value: descriptors + 32,
            usable: descriptors,
            advice: "raise it".to_owned(),
        };
        System {
            name: "one".to_owned(),
            limits: [(resource::DESCRIPTORS.to_owned(), vec![limit])].into(),
            processors: Some(Processors {
                online: 4,
                usable: vec![3, 1],
                trial: None,
                server: None,
                borders: Vec::new(),
            }),
            ..System::default()
        }
    }

    #[test]
    fn a_workload_has_a_top_of_its_own_unless_the_user_wants_more() {
        let workload = Workload { top: Some(1000), ..Workload::LOAD };
        let wanted = |preset, n, workload| wanted(&plan(&["noop"], preset, n), workload, None);
        assert_eq!(wanted("standard", None, &workload), 1000);
        assert_eq!(wanted("full", None, &workload), 1000);
        assert_eq!(wanted("standard", Some(3000), &workload), 3000);
        assert_eq!(wanted("quick", None, &Workload { top: Some(100_000), ..workload }), 5000);
    }

    #[test]
    fn limits_and_processors_are_those_of_each_system() {
        let plan = plan(&["noop", "ready/epoll", "accept/epoll"], "standard", None);
        let (wide, narrow) = (system(100_000), system(150));
        let plans = plan_all(&plan, &[Some(&wide), None, Some(&narrow)]);
        let reached = |place: usize| [0, 1, 2].map(|item| plans[place].n(item, 20_000));
        assert_eq!(reached(0), [20_000; 3]);
        assert_eq!(reached(1), [20_000; 3], "nothing is known of it");
        assert_eq!(reached(2), [20_000, 150, 150]);
        assert_eq!((top(plans.iter(), 1), plans[2].n(1, 90)), (20_000, 90));
        assert_eq!((plans[2].cpu, plans[2].server_cpu, plans[1].cpu), (Some(3), Some(1), None));
        assert!(plans[0].remarks(&plan).is_empty() && plans[1].remarks(&plan).is_empty());
        let expected = "The largest n of accept, ready is 150 instead of 20000, because RLIMIT_NOFILE is \
                        182; raise it.";
        assert_eq!(plans[2].remarks(&plan), [expected]);
    }

    #[test]
    fn helpers_hold_what_one_process_cannot() {
        let of = |workload, n, descriptors| {
            let plan = plan(&[workload], "standard", n);
            let extent = plan_all(&plan, &[Some(&system(descriptors))]).remove(0).extents.remove(0);
            (extent.n, extent.helpers, extent.ceiling.map(|ceiling| ceiling.n))
        };
        assert_eq!(of("socket/v4", None, 30_000), (20_000, 0, Some(30_000)));
        assert_eq!(of("socket/v4", None, 19_000), (19_000, 0, Some(19_000)), "near enough");
        assert_eq!(of("socket/v4", None, 10_002), (20_000, 1, None), "two are the helper's");
        assert_eq!(of("socket/v4", None, 10_001), (19_998, 2, None), "the same for each process");
        assert_eq!(of("connect/v4", None, 20_000), (19_998, 2, None), "two descriptors for each");
        assert_eq!(of("socket/v4", Some(1_000_000), 19_984), (999_957, 50, None));
        assert_eq!(of("socket/v4", Some(1_000_000), 300), (11_136, 63, Some(300)), "the most of them");
        assert_eq!(of("ready/epoll", None, 150), (150, 0, Some(150)), "one set is in one process");
    }

    #[test]
    fn systems_are_measured_at_the_same_n() {
        let plan = plan(&["socket/v4"], "standard", None);
        let (wide, narrow) = (system(50_000), system(7_000));
        let plans = plan_all(&plan, &[Some(&wide), Some(&narrow)]);
        for plan in &plans {
            assert_eq!((plan.n(0, 90_000), plan.helpers(0)), (19_998, 2));
        }
        let ready = self::plan(&["ready/epoll"], "standard", None);
        let plans = plan_all(&ready, &[Some(&wide), Some(&system(19_000))]);
        assert_eq!(plans[0].n(0, 90_000), 19_000, "as far as the other");
        let remarks: Vec<usize> = plans.iter().map(|plan| plan.remarks(&ready).len()).collect();
        assert_eq!(remarks, [0, 1], "only the other has a limit");
    }

    #[test]
    fn a_limit_that_leaves_nothing_is_the_reason() {
        let plan = plan(&["noop", "socket/v4"], "full", None);
        let plans = plan_all(&plan, &[Some(&system(0))]);
        assert_eq!(plans[0].unavailable_reason(0), None);
        assert_eq!(plans[0].unavailable_reason(1).as_deref(), Some("RLIMIT_NOFILE is 32; raise it"));
        assert!(plans[0].remarks(&plan).is_empty());
    }

    #[test]
    fn systems_that_are_alike_go_equally_far_and_others_have_levels_in_common() {
        let aligned = |sizes, tops: &[u64]| {
            let mut extents: Vec<Extent> =
                tops.iter().map(|&n| Extent { n, wanted: 20_000, ceiling: None, helpers: 0 }).collect();
            align(sizes, &mut extents.iter_mut().collect::<Vec<_>>());
            extents.iter().map(|extent| extent.n).collect::<Vec<_>>()
        };
        let levels = Sizes::Levels(levels::one_two_five);
        assert_eq!(aligned(Sizes::Every, &[1000, 995, 130]), [995, 995, 130]);
        assert_eq!(aligned(levels, &[1000, 995, 130, 0]), [995, 995, 100, 0]);
        assert_eq!(aligned(levels, &[130]), [130], "a system alone goes to its limit");
        assert_eq!(aligned(levels, &[0, 0]), [0, 0]);
    }
}

//! One run in progress: selects the next trial, and takes the result of each.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use judge::Judgements;
use record::{EndStatus, Line, OfferedLevel, Outcome, Purpose, Recording, SentLine, TrialParameters};

use crate::hosts::Turn;
use crate::lines::{RunFile, failed, not_begun, unsupported};
use crate::plan::{Item, RunPlan};
use crate::preset::Trials;
use crate::progress::{Progress, offered};
use crate::run::{Executor, RunClock, RunEvent, TimeLeft};
use crate::schedule::BootSchedule;
use crate::systems::MeasuredSystem;
use crate::timeouts::{FirstTrials, Timeouts};
use crate::{Error, schedule, settings, systems};

/// The clock, the interrupt and the file that all loops of a run share.
pub(crate) type LoopOutside<'a> = (&'a dyn RunClock, &'a AtomicBool, &'a RunFile);

/// One run in progress.
pub(crate) struct RunLoop<'a, E> {
    pub(crate) plan: &'a RunPlan,
    systems: Vec<MeasuredSystem<E>>,
    pub(crate) clock: &'a dyn RunClock,
    interrupt: &'a AtomicBool,
    file: &'a RunFile,
    /// By the clock, when measuring began.
    begun: Duration,
    pub(crate) random: fastrand::Rng,
    pub(crate) progress: Vec<Progress>,
    boots: BootSchedule,
    pub(crate) recording: Recording,
    pub(crate) judgements: Judgements,
    /// By workload the load that its rivals are offered, once their first trials have found it.
    offered: BTreeMap<&'static str, Vec<OfferedLevel>>,
    /// Trials in a row that crashed or hung on a host of a fleet.
    troubles: u32,
    /// Why the host is lost, if it is.
    lost: Option<String>,
    /// Its turn among the hosts of its lane, and how long it waited for that.
    turn: Turn,
    waited: Duration,
}

/// The result of a loop, or of all loops of a fleet.
pub(crate) struct Measured {
    pub(crate) status: EndStatus,
    pub(crate) recording: Recording,
    pub(crate) judgements: Judgements,
    /// Why the rest of a host's trials are lost; `None` where they are not.
    pub(crate) lost: Option<String>,
}

/// A host that cannot be reached is tried for so long: a partition may heal.
const OUTAGE_MOST: Duration = Duration::from_secs(30);
/// And again after this time.
const RETRY_AFTER: Duration = Duration::from_secs(2);
/// Why hosts cannot load the server of a workload that has one client process.
const ONE_CLIENT: &str = "its clients are in one process, which cannot be on the hosts of --clients";
/// A host on which so many trials in a row crash or hang is lost: each may take minutes.
const HOST_TROUBLES_MAX: u32 = 4;

impl<'a, E: Executor> RunLoop<'a, E> {
    /// A run that begins now, with the record as far as it is written.
    pub(crate) fn new(
        plan: &'a RunPlan,
        systems: Vec<MeasuredSystem<E>>,
        (clock, interrupt, file): LoopOutside<'a>,
        recording: Recording,
    ) -> Self {
        RunLoop {
            plan,
            progress: progress(plan, &systems),
            boots: BootSchedule::new(plan.boots, plan.items.len()),
            lost: lost(&systems),
            systems,
            clock,
            interrupt,
            file,
            begun: Duration::ZERO,
            random: fastrand::Rng::with_seed(plan.seed),
            recording,
            judgements: Judgements::default(),
            offered: BTreeMap::new(),
            troubles: 0,
            turn: Turn::default(),
            waited: Duration::ZERO,
        }
    }

    /// The host that it measures; empty without a fleet.
    pub(crate) fn host(&self) -> &str {
        let place = self.plan.targets.first().and_then(|target| target.fleet.as_ref());
        place.map_or("", |place| &place.host)
    }

    /// Measures. It has its turn, and passes it on after each trial.
    pub(crate) fn run(mut self, turn: Turn, on_event: &mut dyn FnMut(RunEvent<'_>)) -> Measured {
        (self.turn, self.begun) = (turn, self.clock.now());
        let status = match self.plan.blame.as_ref().and_then(|blame| blame.run.as_ref()) {
            Some(_) => EndStatus::Complete,
            None => self.measure(on_event),
        };
        let status = self.sample(status, on_event);
        Measured { status, recording: self.recording, judgements: self.judgements, lost: self.lost }
    }

    /// Runs all trials and says how it ended.
    fn measure(&mut self, on_event: &mut dyn FnMut(RunEvent<'_>)) -> EndStatus {
        let all: Vec<usize> = (0..self.plan.items.len()).collect();
        match self.plan.trials {
            Trials::Fixed(trials) => self.bring_to(&all, &vec![trials; all.len()], on_event),
            Trials::Looks(looks) => {
                // The first trial of each shows its cost. Those of curves are short on any system, so the
                // rest of the budget is known before it is divided among loads.
                let (loads, curves): (Vec<usize>, Vec<usize>) =
                    all.iter().partition(|&&index| self.plan.items[index].has_levels());
                for items in [curves, loads] {
                    self.bring_to(&items, &vec![1; all.len()], on_event);
                }
                self.adapt(looks, on_event);
            }
        }
        if self.is_unwritten() {
            EndStatus::Failed
        } else if self.interrupt.load(Ordering::Relaxed) {
            EndStatus::Interrupted
        } else if self.remaining().is_zero() || self.is_any_starved() {
            EndStatus::Budget
        } else {
            EndStatus::Complete
        }
    }

    /// Whether an item lacks some of its least trials, because the time ran out.
    fn is_any_starved(&self) -> bool {
        let Trials::Looks(looks) = self.plan.trials else { return false };
        let first = looks.first().copied().unwrap_or(0);
        let is_starved = |(item, progress): (&Item, &Progress)| {
            let least = schedule::least(item.workload, self.plan.least).min(first);
            !progress.is_hopeless() && progress.done < least
        };
        self.plan.items.iter().zip(&self.progress).any(is_starved)
    }

    /// Runs blocks of the items until each has its target, in random order.
    pub(crate) fn bring_to(
        &mut self,
        items: &[usize],
        targets: &[u32],
        on_event: &mut dyn FnMut(RunEvent<'_>),
    ) {
        let counts: Vec<(usize, u32)> = items
            .iter()
            .map(|&index| (index, targets[index].saturating_sub(self.progress[index].done)))
            .collect();
        let mut queue = schedule::interleave(&counts, &mut self.random);
        queue.reverse();
        while let Some(index) = queue.pop() {
            if self.is_stopped() {
                return;
            }
            let progress = &self.progress[index];
            let remaining = self.remaining();
            let is_too_expensive = remaining.is_zero() || remaining.as_secs_f64() < progress.cost();
            if progress.is_hopeless() || (is_too_expensive && progress.done >= self.plan.least) {
                continue;
            }
            let left = self.left_seconds(queue.iter().chain([&index]));
            self.block(index, targets[index], left, on_event);
        }
    }

    /// How long the blocks of these items will take: no longer than the budget lasts, except for the least
    /// trials of every item.
    fn left_seconds<'q>(&self, queue: impl Iterator<Item = &'q usize>) -> f64 {
        let (mut planned, mut owed) = (0.0, 0.0);
        let mut done: Vec<u32> = self.progress.iter().map(|progress| progress.done).collect();
        for &index in queue.filter(|&&index| !self.progress[index].is_hopeless()) {
            let cost = self.progress[index].cost();
            planned += cost;
            owed += if done[index] < self.plan.least { cost } else { 0.0 };
            done[index] += 1;
        }
        f64::min(planned, self.remaining().as_secs_f64().max(owed))
    }

    /// One trial of the item on every system, back to back: equal numbers are a pair.
    fn block(&mut self, index: usize, of: u32, left_seconds: f64, on_event: &mut dyn FnMut(RunEvent<'_>)) {
        let plan = self.plan;
        let progress = &mut self.progress[index];
        let number = progress.done + 1;
        let order = progress.blocks.next(&mut self.random);
        let is_measured = progress.done > 0;
        // The least trials of a noise floor come from as many boots, however early the budget ends.
        let spread_over = if number <= plan.least { plan.least } else { of };
        if self.boots.is_due(index, spread_over) {
            self.systems.iter_mut().for_each(|system| system.executor.reboot());
        }
        // The same random choices on every system, so that a pair differs in nothing else.
        let seed = self.random.u64(..);
        let worked = self.worked();
        for system in order {
            if self.progress[index].systems[system].hopeless {
                continue;
            }
            let spent = self.worked().saturating_sub(worked).as_secs_f64();
            let left_seconds = (left_seconds - spent).max(0.0);
            on_event(RunEvent::Trial {
                item: &plan.items[index],
                system: &plan.targets[system].name,
                trial: number,
                of,
                done: self.share_done(left_seconds),
                left: is_measured.then(|| TimeLeft::new(plan, self.remaining(), left_seconds)),
            });
            self.trial(index, system, number, seed, on_event);
            if self.is_stopped() {
                return;
            }
        }
        let cost = self.worked().saturating_sub(worked);
        let progress = &mut self.progress[index];
        progress.cost_seconds.push(cost.as_secs_f64());
        progress.done = number;
        progress.align();
        self.pass_turn();
    }

    /// Lets the other hosts of the lane do a trial each. That is not time of this host.
    pub(crate) fn pass_turn(&mut self) {
        let begun = self.clock.now();
        self.turn.pass();
        self.waited += self.clock.now().saturating_sub(begun);
    }

    fn trial(
        &mut self,
        index: usize,
        system: usize,
        number: u32,
        seed: u64,
        on_event: &mut dyn FnMut(RunEvent<'_>),
    ) {
        let plan = self.plan;
        let (item, target) = (&plan.items[index], &plan.targets[system]);
        let order = self.order(index, system, number, seed);
        let started_seconds = self.elapsed().as_secs_f64();
        let mut lines = match self.attempt_again(index, system, &order) {
            Ok(Some(lines)) => lines,
            Ok(None) => return,
            Err(error) => vec![failed(&order, error.to_string())],
        };
        self.give_up_host(&lines);
        let held = held_levels(&lines);
        let progress = &mut self.progress[index];
        let mut reach = None;
        for trial in lines.iter_mut().filter_map(SentLine::trial_mut) {
            trial.started_seconds = started_seconds;
            reach = progress.systems[system].learn(trial, &held).or(reach);
            if let Some(levels) = item.workload.sizes.levels(order.n)
                && order.allowance_seconds.is_some()
            {
                progress.learn_levels(&trial.outcome, &held, &levels);
            }
            // An error of a whole system is reported at the beginning.
            if is_trouble(&trial.outcome) && self.systems[system].unavailable.is_none() {
                let (system, outcome) = (&target.name, &trial.outcome);
                on_event(RunEvent::Trouble { item, system, trial: number, outcome });
            }
        }
        if let Some(reach) = reach {
            self.progress[index].shorten(system, reach, item.has_levels());
        }
        self.keep(lines);
    }

    /// The parameters of a trial.
    fn order(&mut self, index: usize, system: usize, number: u32, seed: u64) -> TrialParameters {
        let plan = self.plan;
        let offered = self.offered(&plan.items[index], number);
        let (item, target, own) = (&plan.items[index], &plan.targets[system], &self.systems[system].plan);
        let progress = &self.progress[index];
        let n = own.n(index, progress.systems[system].n);
        let fitted = progress.systems[system].fitted;
        let first = plan.budget.map(|_| (self.remaining(), FirstTrials::new(plan, &self.recording, number)));
        let timeouts = Timeouts::new(plan, item, (n, progress.top), fitted, first);
        TrialParameters {
            system: target.name.clone(),
            workload: item.workload.name.to_owned(),
            version: item.workload.version,
            variant: item.variant.name.to_owned(),
            trial: number,
            // The executor fills in the boot.
            boot: 0,
            n,
            cpu: own.cpu.filter(|_| !item.workload.all_processors),
            seed,
            allowance_seconds: timeouts.allowance.map(|allowed| allowed.as_secs_f64()),
            share_seconds: timeouts.share.map(|share| share.as_secs_f64()),
            window_seconds: timeouts.window.map(|window| window.as_secs_f64()),
            server_cpu: own.server_cpu.filter(|_| item.is_load()),
            spare_cpus: if item.is_load() { own.spare_cpus.clone() } else { Vec::new() },
            server: plan.server.clone().filter(|_| item.is_load()),
            clients: if item.can_have_clients() { plan.clients.clone() } else { Vec::new() },
            settings: settings::on_system(item.workload, &item.settings, &target.settings),
            background: own.background(target),
            helpers: own.helpers(index),
            profile: None,
            references: plan.references && !item.workload.references().is_empty(),
            offered,
            levels: progress.levels.clone(),
            timeout_seconds: timeouts.timeout.as_secs_f64(),
            // The executor fills in the folder of files.
            scratch: String::new(),
        }
    }

    /// The load of a trial at equal offered load. Rounds have every item once, so that after the first trials
    /// of one all have had theirs.
    fn offered(&mut self, item: &Item, number: u32) -> Vec<OfferedLevel> {
        if number == 1 || !item.workload.equal_offered_load {
            return Vec::new();
        }
        let of_workload = self.offered.entry(item.workload.name);
        of_workload.or_insert_with(|| offered(&self.recording.generators, item.workload.name)).clone()
    }

    /// Runs the trial, or returns why there is none; `None` when it was interrupted.
    pub(crate) fn attempt(
        &mut self,
        item: usize,
        system: usize,
        order: &TrialParameters,
    ) -> Result<Option<Vec<SentLine>>, Error> {
        let system = &mut self.systems[system];
        if let Some(outcome) = &system.unavailable {
            return Ok(Some(vec![not_begun(order, outcome.clone())]));
        }
        if let Some(reason) = system.plan.unavailable_reason(item) {
            return Ok(Some(vec![unsupported(order, &reason)]));
        }
        let planned = &self.plan.items[item];
        if planned.is_load() && !planned.can_have_clients() && !self.plan.clients.is_empty() {
            return Ok(Some(vec![unsupported(order, ONE_CLIENT)]));
        }
        system.executor.trial(planned.workload, order.clone())
    }

    /// The same; a host of a fleet that cannot be reached is tried again for a while, and then lost.
    fn attempt_again(
        &mut self,
        item: usize,
        system: usize,
        order: &TrialParameters,
    ) -> Result<Option<Vec<SentLine>>, Error> {
        let begun = self.clock.now();
        loop {
            let error = match self.attempt(item, system, order) {
                Err(error) if !self.host().is_empty() => error,
                attempted => return attempted,
            };
            if self.is_stopped() {
                return Ok(None);
            }
            if self.clock.now().saturating_sub(begun) >= OUTAGE_MOST {
                self.lose_host(error.to_string());
                return Err(error);
            }
            self.clock.wait(RETRY_AFTER, self.interrupt);
            self.pass_turn();
        }
    }

    /// Loses a host on which one trial after the other crashes or hangs: it must not hold up the others.
    fn give_up_host(&mut self, lines: &[SentLine]) {
        let trials = lines.iter().filter_map(|line| match line.line() {
            Line::Trial(trial) => Some(&trial.outcome),
            _ => None,
        });
        for outcome in trials {
            match outcome {
                Outcome::Crashed { .. } | Outcome::TimedOut { .. } => self.troubles += 1,
                _ => self.troubles = 0,
            }
            if self.troubles >= HOST_TROUBLES_MAX && !self.host().is_empty() {
                let last = match outcome {
                    Outcome::Crashed { reason, .. } => reason.clone(),
                    _ => "it timed out".to_owned(),
                };
                self.lose_host(format!("{HOST_TROUBLES_MAX} trials in a row failed there, the last: {last}"));
            }
        }
    }

    /// No more trials on this host.
    fn lose_host(&mut self, reason: String) {
        for system in self.systems.iter_mut().filter(|system| system.unavailable.is_none()) {
            system.unavailable = Some(Outcome::Failed { reason: format!("the host was lost: {reason}") });
        }
        self.lost.get_or_insert(reason);
    }

    /// Writes the lines down.
    pub(crate) fn keep(&mut self, lines: Vec<SentLine>) {
        self.file.append(&lines);
        self.recording.extend(lines.into_iter().map(Line::from));
    }

    /// Whether lines could not be written down.
    pub(crate) fn is_unwritten(&self) -> bool {
        self.file.is_lost()
    }

    /// Time since measuring began.
    pub(crate) fn elapsed(&self) -> Duration {
        self.clock.now().saturating_sub(self.begun)
    }

    /// Time that it had its turn.
    fn worked(&self) -> Duration {
        self.elapsed().saturating_sub(self.waited)
    }

    /// Time that is left of the budget.
    pub(crate) fn remaining(&self) -> Duration {
        self.plan.budget.map_or(Duration::MAX, |budget| budget.saturating_sub(self.worked()))
    }

    /// Nothing more is to be measured, whatever time is left.
    pub(crate) fn is_stopped(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed) || self.is_unwritten()
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_stopped() || self.remaining().is_zero()
    }

    /// Share of the run that is done: of its trials where their number is fixed, else of its time.
    fn share_done(&self, left_seconds: f64) -> f64 {
        let elapsed = self.worked().as_secs_f64();
        let (part, whole) = match self.plan.trials {
            Trials::Fixed(trials) => {
                let done: u32 = self.progress.iter().map(|progress| progress.done).sum();
                // Items that were given up are done.
                let due = |progress: &Progress| if progress.is_hopeless() { progress.done } else { trials };
                (f64::from(done), f64::from(self.progress.iter().map(due).sum::<u32>()))
            }
            Trials::Looks(_) => {
                let budget = self.plan.budget.map_or(0.0, |budget| budget.as_secs_f64());
                (elapsed, budget.max(elapsed + left_seconds))
            }
        };
        if whole > 0.0 { (part / whole).min(1.0) } else { 0.0 }
    }
}

/// Why nothing can be measured on any of these systems.
fn lost<E>(systems: &[MeasuredSystem<E>]) -> Option<String> {
    let reason = |system: &MeasuredSystem<E>| match system.unavailable.as_ref()? {
        Outcome::Failed { reason } | Outcome::Unsupported { reason } => Some(reason.clone()),
        other => Some(format!("{other:?}")),
    };
    let reasons: Option<Vec<String>> = systems.iter().map(reason).collect();
    reasons?.into_iter().next()
}

fn is_trouble(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Failed { .. } | Outcome::Crashed { .. } | Outcome::TimedOut { .. })
}

/// The levels at which the load of a trial was held.
fn held_levels(lines: &[SentLine]) -> Vec<u64> {
    let levels = lines.iter().flat_map(|line| match line.line() {
        Line::Series(series) => series.sizes.clone(),
        Line::Generator(level) if level.purpose == Purpose::Level => vec![level.n],
        _ => Vec::new(),
    });
    levels.collect::<BTreeSet<u64>>().into_iter().collect()
}

/// The progress of every item, at its beginning.
fn progress<E>(plan: &RunPlan, systems: &[MeasuredSystem<E>]) -> Vec<Progress> {
    let plans = || systems.iter().map(|system| &system.plan);
    let tops = (0..plan.items.len()).map(|item| systems::top(plans(), item));
    let of_item = |(item, top): (&Item, u64)| Progress {
        levels: item.workload.sizes.chosen().to_vec(),
        ..Progress::new(top, systems.len())
    };
    plan.items.iter().zip(tops).map(of_item).collect()
}

//! Measures a plan and writes the record as it goes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use record::{End, Line, Order, Outcome, Recording, System, Writer};

use crate::launch::Launcher;
use crate::lines::{failed, head, unsupported, workloads};
use crate::plan::{Item, RunPlan};
use crate::preset::Trials;
use crate::progress::Progress;
use crate::schedule::{self, Step};
use crate::scratch::Scratch;
use crate::system_plan;
use crate::systems::{MeasuredSystem, describe};
use crate::timeouts::Timeouts;
use crate::{Error, noise_floor};

/// What a run reports while it goes on.
#[derive(Debug)]
pub enum RunEvent<'a> {
    /// The systems are known and measuring begins.
    Begun {
        /// The systems, also those that cannot be measured.
        systems: &'a [System],
    },
    /// A trial begins.
    Trial {
        /// What is measured.
        item: &'a Item,
        /// Name of the system.
        system: &'a str,
        /// Number of the trial.
        trial: u32,
        /// How many the item gets, as planned by now.
        of: u32,
        /// Share of the whole run that is done.
        done: f64,
        /// How long all trials that are planned by now will take, if that is known.
        left: Option<Duration>,
    },
    /// A trial did not go well.
    Trouble {
        /// What was measured.
        item: &'a Item,
        /// Name of the system.
        system: &'a str,
        /// Number of the trial.
        trial: u32,
        /// How it ended.
        outcome: &'a Outcome,
    },
}

/// A run that is over.
#[derive(Debug)]
pub struct Ran {
    /// All of it, as the record has it.
    pub recording: Recording,
    /// What kept the record from being written to its end; what was measured is above all the same.
    pub unwritten: Option<Error>,
    /// The user wanted it to stop.
    pub interrupted: bool,
    /// Where the noise floor is kept that an A/A run found; `None` where it found none.
    pub floor_kept: Option<Result<PathBuf, Error>>,
}

/// Measures the plan. Every finished trial is in the record at `path` before the next begins. `interrupt`
/// ends the run at once and in good order.
///
/// # Errors
/// [`Error`] when nothing can be measured at all; whatever happens to a single trial is in the record.
pub fn run(
    plan: &RunPlan,
    path: &Path,
    command: Vec<String>,
    interrupt: &AtomicBool,
    on_event: &mut dyn FnMut(RunEvent<'_>),
) -> Result<Ran, Error> {
    let scratch = Scratch::make(&plan.scratch)?;
    // Where the user names no folder, a system that shares none with this machine has one of its own.
    let parent = (plan.scratch != std::env::temp_dir()).then_some(plan.scratch.as_path());
    let launch = |target| Launcher::new(target, &scratch.programs, scratch.path(), parent, interrupt);
    let (mut systems, measured) = describe(plan, plan.targets.iter().map(launch).collect(), interrupt)?;
    let head = head(plan, command, &systems);
    for system in &mut systems {
        system.warnings.extend(scratch.programs.remark());
    }
    let mut lines: Vec<Line> = systems.iter().cloned().map(Line::System).collect();
    lines.extend(workloads(&plan.items).map(Line::Workload));
    let writer = Writer::create(path, head.clone(), &lines)?;
    on_event(RunEvent::Begun { systems: &systems });

    lines.insert(0, Line::Run(head));
    let mut session = Session {
        plan,
        scratch: &scratch,
        progress: progress(plan, &measured),
        systems: measured,
        interrupt,
        begun: Instant::now(),
        random: fastrand::Rng::with_seed(plan.seed),
        writer: Some(writer),
        unwritten: None,
        lines,
    };
    let status = session.measure(on_event);
    let elapsed_seconds = session.begun.elapsed().as_secs_f64();
    session.finish(path, End { status: status.to_owned(), elapsed_seconds })
}

/// The progress of every item, at its beginning.
fn progress(plan: &RunPlan, systems: &[MeasuredSystem<'_>]) -> Vec<Progress> {
    let plans = || systems.iter().map(|system| &system.plan);
    let tops = (0..plan.items.len()).map(|item| system_plan::top(plans(), item));
    tops.map(|top| Progress::new(top, systems.len())).collect()
}

/// One run at work.
struct Session<'a> {
    plan: &'a RunPlan,
    scratch: &'a Scratch,
    systems: Vec<MeasuredSystem<'a>>,
    interrupt: &'a AtomicBool,
    begun: Instant,
    random: fastrand::Rng,
    progress: Vec<Progress>,
    writer: Option<Writer>,
    unwritten: Option<Error>,
    lines: Vec<Line>,
}

impl Session<'_> {
    /// Runs all trials and says how it ended.
    fn measure(&mut self, on_event: &mut dyn FnMut(RunEvent<'_>)) -> &'static str {
        let all: Vec<usize> = (0..self.plan.items.len()).collect();
        match self.plan.trials {
            Trials::Fixed(trials) => self.bring_to(&all, &vec![trials; all.len()], on_event),
            Trials::Looks(looks) => {
                // The first trial of each finds out what it costs.
                self.bring_to(&all, &vec![1; all.len()], on_event);
                self.adapt(looks, on_event);
            }
        }
        if self.unwritten.is_some() {
            "failed"
        } else if self.interrupt.load(Ordering::Relaxed) {
            "interrupted"
        } else if self.remaining().is_zero() {
            "budget"
        } else {
            "complete"
        }
    }

    /// Gives every item the trials of the first look, then more to those that are undecided.
    fn adapt(&mut self, looks: &[u32], on_event: &mut dyn FnMut(RunEvent<'_>)) {
        let Some(&first) = looks.first() else { return };
        let all: Vec<usize> =
            (0..self.progress.len()).filter(|&index| !self.progress[index].is_hopeless()).collect();
        let costs: Vec<f64> = all.iter().map(|&index| self.progress[index].cost()).collect();
        let done: Vec<u32> = all.iter().map(|&index| self.progress[index].done).collect();
        let shares = schedule::share(&costs, &done, first, self.plan.least, self.remaining());
        let mut targets: Vec<u32> = self.progress.iter().map(|progress| progress.done).collect();
        all.iter().zip(shares).for_each(|(&index, share)| targets[index] = share);
        self.bring_to(&all, &targets, on_event);

        let mut looked_at = all;
        let mut open: Vec<usize> = Vec::new();
        while !self.is_over() {
            open.extend(self.undecided(&looked_at));
            open.sort_unstable();
            open.dedup();
            let steps = open.iter().filter_map(|&index| self.step(index, looks)).collect();
            let steps = schedule::next(steps, self.remaining());
            if steps.is_empty() {
                return;
            }
            looked_at = steps.iter().map(|step| step.item).collect();
            open.retain(|index| !looked_at.contains(index));
            steps.iter().for_each(|step| targets[step.item] = self.progress[step.item].done + step.trials);
            self.bring_to(&looked_at, &targets, on_event);
        }
    }

    /// What the item needs to come from one look to the next; nothing where it was cut short of one.
    fn step(&self, item: usize, looks: &[u32]) -> Option<Step> {
        let progress = &self.progress[item];
        let place = looks.iter().position(|&look| look == progress.done)?;
        let trials = looks.get(place + 1)? - progress.done;
        Some(Step { item, trials, cost_seconds: progress.cost() * f64::from(trials) })
    }

    /// Runs blocks of the items until each has its target, in random order.
    fn bring_to(&mut self, items: &[usize], targets: &[u32], on_event: &mut dyn FnMut(RunEvent<'_>)) {
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
            let left: f64 = queue.iter().chain([&index]).map(|&index| self.progress[index].cost()).sum();
            self.block(index, targets[index], left, on_event);
        }
    }

    /// One trial of the item on every system, back to back: equal numbers are a pair.
    fn block(&mut self, index: usize, of: u32, left_seconds: f64, on_event: &mut dyn FnMut(RunEvent<'_>)) {
        let plan = self.plan;
        let progress = &mut self.progress[index];
        let number = progress.done + 1;
        let order = progress.blocks.next(&mut self.random);
        let is_measured = progress.done > 0;
        // The same random choices on every system, so that a pair differs in nothing else.
        let seed = self.random.u64(..);
        let begun = Instant::now();
        for system in order {
            if self.progress[index].systems[system].hopeless {
                continue;
            }
            on_event(RunEvent::Trial {
                item: &plan.items[index],
                system: &plan.targets[system].name,
                trial: number,
                of,
                done: self.share_done(left_seconds),
                left: is_measured.then(|| Duration::from_secs_f64(left_seconds)),
            });
            self.trial(index, system, number, seed, on_event);
            if self.is_stopped() {
                return;
            }
        }
        let progress = &mut self.progress[index];
        progress.cost_seconds.push(begun.elapsed().as_secs_f64());
        progress.done = number;
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
        let (item, target, own) = (&plan.items[index], &plan.targets[system], &self.systems[system].plan);
        let progress = &self.progress[index];
        let n = own.n(index, progress.n);
        let timeouts = Timeouts::of(plan, item, (n, progress.top), progress.systems[system].fitted);
        let order = Order {
            system: target.name.clone(),
            workload: item.workload.name.to_owned(),
            version: item.workload.version,
            variant: item.variant.name.to_owned(),
            trial: number,
            n,
            cpu: own.cpu,
            seed,
            allowance_seconds: timeouts.allowance.map(|allowed| allowed.as_secs_f64()),
            window_seconds: timeouts.window.map(|window| window.as_secs_f64()),
            server_cpu: own.server_cpu.filter(|_| item.is_load()),
            server: plan.server.clone().filter(|_| item.is_load()),
            settings: item.settings.clone(),
            timeout_seconds: timeouts.timeout.as_secs_f64(),
            scratch: self.scratch.path().to_string_lossy().into_owned(),
        };
        let started_seconds = self.begun.elapsed().as_secs_f64();
        let mut lines = match self.attempt(index, system, &order) {
            Ok(Some(lines)) => lines,
            Ok(None) => return,
            Err(error) => vec![failed(&order, error.to_string())],
        };
        let learned = &mut self.progress[index].systems[system];
        let mut reach = None;
        for line in &mut lines {
            if let Line::Trial(trial) = line {
                trial.started_seconds = started_seconds;
                reach = learned.learn(trial).or(reach);
                // What keeps a whole system from being measured is reported at the beginning.
                if is_trouble(&trial.outcome) && self.systems[system].unavailable_reason.is_none() {
                    let (system, outcome) = (&target.name, &trial.outcome);
                    on_event(RunEvent::Trouble { item, system, trial: number, outcome });
                }
            }
        }
        let n = &mut self.progress[index].n;
        *n = reach.map_or(*n, |reach| reach.min(*n));
        self.keep(lines);
    }

    /// Runs the trial, or says why there is none; `None` when it was interrupted.
    fn attempt(&mut self, item: usize, system: usize, order: &Order) -> Result<Option<Vec<Line>>, Error> {
        let system = &mut self.systems[system];
        if let Some(reason) = &system.unavailable_reason {
            return Ok(Some(vec![failed(order, reason.clone())]));
        }
        if let Some(reason) = system.plan.unavailable_reason(item) {
            return Ok(Some(vec![unsupported(order, reason)]));
        }
        match self.scratch.programs.of(self.plan.items[item].workload) {
            Ok(program) => system.launcher.trial(program, order.clone()),
            Err(reason) => Ok(Some(vec![unsupported(order, reason)])),
        }
    }

    /// Writes the lines down; a disk that is full ends the run but loses nothing that was written.
    fn keep(&mut self, lines: Vec<Line>) {
        if let Some(writer) = &mut self.writer
            && let Err(error) = writer.append(&lines)
        {
            self.unwritten = Some(error.into());
            self.writer = None;
        }
        self.lines.extend(lines);
    }

    /// The items of which more trials may decide more, after these were measured.
    fn undecided(&self, measured: &[usize]) -> Vec<usize> {
        let workloads: BTreeSet<&str> =
            measured.iter().map(|&index| self.plan.items[index].workload.name).collect();
        workloads.into_iter().flat_map(|workload| self.undecided_of(workload, measured)).collect()
    }

    /// The same of one workload.
    fn undecided_of(&self, workload: &str, measured: &[usize]) -> Vec<usize> {
        let is_of = |&index: &usize| self.plan.items[index].workload.name == workload;
        let mut changed = Vec::new();
        for &index in measured.iter().filter(|index| is_of(index)) {
            let variant = self.plan.items[index].variant.name;
            let systems = self.plan.targets.iter().zip(&self.progress[index].systems);
            let open = systems.filter(|(_, system)| !system.hopeless);
            changed.extend(open.map(|(target, _)| judge::MeasuredVariant { system: &target.name, variant }));
        }
        let lines = self.lines.iter().filter(|line| line.workload().is_none_or(|name| name == workload));
        let Some(recording) = Recording::new(lines.cloned()) else { return Vec::new() };
        let variants = judge::undecided(&recording, &changed, !self.plan.aa);
        let is_open = |&index: &usize| {
            variants.contains(self.plan.items[index].variant.name) && !self.progress[index].is_hopeless()
        };
        (0..self.plan.items.len()).filter(is_of).filter(is_open).collect()
    }

    /// Time that is left of the budget.
    fn remaining(&self) -> Duration {
        self.plan.budget.map_or(Duration::MAX, |budget| budget.saturating_sub(self.begun.elapsed()))
    }

    /// Nothing more is to be measured, whatever time is left.
    fn is_stopped(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed) || self.unwritten.is_some()
    }

    fn is_over(&self) -> bool {
        self.is_stopped() || self.remaining().is_zero()
    }

    /// Share of the run that is done: of its trials where their number is fixed, else of its time.
    fn share_done(&self, left_seconds: f64) -> f64 {
        let elapsed = self.begun.elapsed().as_secs_f64();
        let (part, whole) = match self.plan.trials {
            Trials::Fixed(trials) => {
                let done: u32 = self.progress.iter().map(|progress| progress.done).sum();
                (f64::from(done), f64::from(trials) * self.progress.len() as f64)
            }
            Trials::Looks(_) => {
                let budget = self.plan.budget.map_or(0.0, |budget| budget.as_secs_f64());
                (elapsed, budget.max(elapsed + left_seconds))
            }
        };
        if whole > 0.0 { (part / whole).min(1.0) } else { 0.0 }
    }

    fn finish(mut self, path: &Path, end: End) -> Result<Ran, Error> {
        let interrupted = end.status == "interrupted";
        let reason = "its first line is missing".to_owned();
        let recording = Recording::new(std::mem::take(&mut self.lines));
        let mut recording =
            recording.ok_or_else(|| Error::Describe { name: self.plan.targets[0].name.clone(), reason })?;
        let mut floor_kept = None;
        if self.plan.aa
            && let Some(floor) = judge::noise_floor::measured(&recording)
        {
            self.keep(vec![Line::NoiseFloor(floor.clone())]);
            if !interrupted {
                let system = &recording.systems[0];
                floor_kept = Some(noise_floor::keep(&floor, system, self.plan.seed, path));
            }
            let floor = Some(floor);
            recording.systems.iter_mut().for_each(|system| system.noise_floor.clone_from(&floor));
        }
        recording.end = Some(end.clone());
        if let Some(writer) = self.writer.take()
            && let Err(error) = writer.finish(end)
        {
            self.unwritten = Some(error.into());
        }
        Ok(Ran { recording, unwritten: self.unwritten, interrupted, floor_kept })
    }
}

fn is_trouble(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Failed { .. } | Outcome::Crashed { .. } | Outcome::TimedOut { .. })
}

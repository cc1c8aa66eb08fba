//! Measures a plan and writes the record as it goes.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use curve::{Curve, Direction, Expect};
use record::{End, Line, Order, Outcome, Recording, Run, Series, SeriesKind, System, Tool, Workload, Writer};

use crate::plan::{Item, Plan};
use crate::preset::Trials;
use crate::schedule::{self, Step};
use crate::scratch::Scratch;
use crate::{BUILD, Error, launch};

/// What a run tells while it goes on.
#[derive(Debug)]
pub enum Event<'a> {
    /// The system is known and measuring begins.
    Begun {
        /// The system.
        system: &'a System,
    },
    /// A trial begins.
    Trial {
        /// What is measured.
        item: &'a Item,
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
}

/// Measures the plan. Every finished trial is in the record at `path` before the next begins. `interrupt`
/// ends the run at once and in good order.
///
/// # Errors
/// [`Error`] when nothing can be measured at all; whatever happens to a single trial is in the record.
pub fn run(
    plan: &Plan,
    path: &Path,
    command: Vec<String>,
    interrupt: &AtomicBool,
    tell: &mut dyn FnMut(Event<'_>),
) -> Result<Ran, Error> {
    let scratch = Scratch::make(&plan.scratch)?;
    let program =
        scratch.programs.linked(curve::Linkage::Dynamic).map_err(|reason| Error::NoProgram { reason })?;
    let mut system = launch::describe(program, scratch.path())?;
    "local".clone_into(&mut system.name);
    let head = head(plan, command);
    let mut lines = vec![Line::System(system.clone())];
    lines.extend(workloads(&plan.items).map(Line::Workload));
    let writer = Writer::create(path, head.clone(), &lines)?;
    tell(Event::Begun { system: &system });

    lines.insert(0, Line::Run(head));
    let mut session = Session {
        plan,
        scratch: &scratch,
        system: system.name,
        interrupt,
        begun: Instant::now(),
        random: fastrand::Rng::with_seed(plan.seed),
        progress: plan.items.iter().map(|item| Progress::new(item.n)).collect(),
        writer: Some(writer),
        unwritten: None,
        lines,
    };
    let status = session.measure(tell);
    let elapsed_seconds = session.begun.elapsed().as_secs_f64();
    session.finish(End { status: status.to_owned(), elapsed_seconds })
}

/// One run at work.
struct Session<'a> {
    plan: &'a Plan,
    scratch: &'a Scratch,
    system: String,
    interrupt: &'a AtomicBool,
    begun: Instant,
    random: fastrand::Rng,
    progress: Vec<Progress>,
    writer: Option<Writer>,
    unwritten: Option<Error>,
    lines: Vec<Line>,
}

/// How far one item is.
#[derive(Debug)]
struct Progress {
    n: u64,
    done: u32,
    cost_seconds: Vec<f64>,
    /// A trial has shown how far n goes in the time allowed; all others go as far.
    fitted: bool,
    /// Trials that crashed or hung, one after the other.
    troubles: u32,
    /// More trials would tell nothing new: the item cannot be measured here.
    hopeless: bool,
    series: Vec<Series>,
    tick_seconds: f64,
}

impl Progress {
    fn new(n: u64) -> Progress {
        Progress {
            n,
            done: 0,
            cost_seconds: Vec::new(),
            fitted: false,
            troubles: 0,
            hopeless: false,
            series: Vec::new(),
            tick_seconds: 0.0,
        }
    }

    /// Median time of a trial so far.
    fn cost(&self) -> f64 {
        let mut costs = self.cost_seconds.clone();
        costs.sort_by(f64::total_cmp);
        costs.get(costs.len() / 2).copied().unwrap_or(0.0)
    }
}

/// A series whose growth is known less precisely than this, high over low, deserves more trials.
const GROWTH_SPREAD: f64 = 1.2;

/// Trials in a row that crash or hang before an item is given up: the first may be bad luck.
const TROUBLES_MAX: u32 = 3;

impl Session<'_> {
    /// Runs all trials and says how it ended.
    fn measure(&mut self, tell: &mut dyn FnMut(Event<'_>)) -> &'static str {
        let all: Vec<usize> = (0..self.plan.items.len()).collect();
        match self.plan.trials {
            Trials::Fixed(trials) => self.bring_to(&all, &vec![trials; all.len()], tell),
            Trials::Looks(looks) => {
                // The first trial of each finds out what it costs.
                self.bring_to(&all, &vec![1; all.len()], tell);
                self.adapt(looks, tell);
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
    fn adapt(&mut self, looks: &[u32], tell: &mut dyn FnMut(Event<'_>)) {
        let Some(&first) = looks.first() else { return };
        let all: Vec<usize> =
            (0..self.progress.len()).filter(|&index| !self.progress[index].hopeless).collect();
        let costs: Vec<f64> = all.iter().map(|&index| self.progress[index].cost()).collect();
        let done: Vec<u32> = all.iter().map(|&index| self.progress[index].done).collect();
        let shares = schedule::share(&costs, &done, first, self.remaining());
        let mut targets: Vec<u32> = self.progress.iter().map(|progress| progress.done).collect();
        all.iter().zip(shares).for_each(|(&index, share)| targets[index] = share);
        self.bring_to(&all, &targets, tell);

        let mut looked_at = all;
        let mut open: Vec<usize> = Vec::new();
        while !self.is_over() {
            let is_open = |&index: &usize| self.is_undecided(index, looks.len() as u32);
            open.extend(looked_at.into_iter().filter(is_open));
            let steps = open.iter().filter_map(|&index| self.step(index, looks)).collect();
            let steps = schedule::next(steps, self.remaining());
            if steps.is_empty() {
                return;
            }
            looked_at = steps.iter().map(|step| step.item).collect();
            open.retain(|index| !looked_at.contains(index));
            steps.iter().for_each(|step| targets[step.item] = self.progress[step.item].done + step.trials);
            self.bring_to(&looked_at, &targets, tell);
        }
    }

    /// What the item needs to come from one look to the next; nothing where it was cut short of one.
    fn step(&self, item: usize, looks: &[u32]) -> Option<Step> {
        let progress = &self.progress[item];
        let place = looks.iter().position(|&look| look == progress.done)?;
        let trials = looks.get(place + 1)? - progress.done;
        Some(Step { item, trials, cost_seconds: progress.cost() * f64::from(trials) })
    }

    /// Runs trials of the items until each has its target, in random order.
    fn bring_to(&mut self, items: &[usize], targets: &[u32], tell: &mut dyn FnMut(Event<'_>)) {
        let counts: Vec<(usize, u32)> = items
            .iter()
            .map(|&index| (index, targets[index].saturating_sub(self.progress[index].done)))
            .collect();
        let mut queue = schedule::interleave(&counts, &mut self.random);
        queue.reverse();
        while let Some(index) = queue.pop() {
            if self.is_over() {
                return;
            }
            let progress = &self.progress[index];
            let too_dear = self.remaining().as_secs_f64() < progress.cost();
            if progress.hopeless || too_dear {
                continue;
            }
            let left: f64 = queue.iter().chain([&index]).map(|&index| self.progress[index].cost()).sum();
            let measured = progress.done > 0;
            tell(Event::Trial {
                item: &self.plan.items[index],
                trial: progress.done + 1,
                of: targets[index],
                done: self.share_done(left),
                left: measured.then(|| Duration::from_secs_f64(left)),
            });
            self.trial(index, tell);
        }
    }

    fn trial(&mut self, index: usize, tell: &mut dyn FnMut(Event<'_>)) {
        let item = &self.plan.items[index];
        let progress = &self.progress[index];
        let fitted = progress.fitted;
        let order = Order {
            system: self.system.clone(),
            workload: item.curve.name.to_owned(),
            version: item.curve.version,
            variant: item.variant.name.to_owned(),
            trial: progress.done + 1,
            n: progress.n,
            cpu: self.plan.cpu,
            seed: self.random.u64(..),
            allowance_seconds: self.plan.allowance.filter(|_| !fitted).map(|allowed| allowed.as_secs_f64()),
            timeout_seconds: self.plan.timeout.as_secs_f64(),
            scratch: self.scratch.path().to_string_lossy().into_owned(),
        };
        let started_seconds = self.begun.elapsed().as_secs_f64();
        let program = match &item.obstacle {
            Some(obstacle) => Err(obstacle.as_str()),
            None => self.scratch.programs.linked(item.curve.linkage),
        };
        let lines = match program {
            Ok(program) => launch::trial(program, &order, self.interrupt),
            Err(reason) => Ok(Some(vec![unsupported(&order, reason)])),
        };
        let mut lines = match lines {
            Ok(Some(lines)) => lines,
            Ok(None) => return,
            Err(error) => {
                self.progress[index].hopeless = true;
                vec![failed(&order, &error)]
            }
        };
        for line in &mut lines {
            if let Line::Trial(trial) = line {
                trial.started_seconds = started_seconds;
                self.progress[index].learn(trial);
                if is_trouble(&trial.outcome) {
                    tell(Event::Trouble { item, trial: order.trial, outcome: &trial.outcome });
                }
            }
        }
        let elapsed = self.begun.elapsed().as_secs_f64() - started_seconds;
        let progress = &mut self.progress[index];
        progress.cost_seconds.push(elapsed);
        progress.done += 1;
        progress.series.extend(lines.iter().filter_map(|line| match line {
            Line::Series(series) => Some(series.clone()),
            _ => None,
        }));
        self.keep(lines);
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

    /// Whether more trials could make a verdict of this item definite, or its growth precise.
    fn is_undecided(&self, index: usize, looks: u32) -> bool {
        let progress = &self.progress[index];
        if progress.hopeless {
            return false;
        }
        let curve = self.plan.items[index].curve;
        curve.timed().any(|operation| {
            let series: Vec<&Series> =
                progress.series.iter().filter(|series| series.name == operation.name).collect();
            let batch = series.first().map_or(1, |series| series.batch);
            let settings = stats::Settings {
                margin: 0.10,
                alpha: 0.05,
                looks,
                tick_seconds: progress.tick_seconds / f64::from(batch),
                seed: self.plan.seed,
            };
            let sweeps: Vec<stats::Sweep<'_>> = series.into_iter().map(sweep).collect();
            stats::judge(&sweeps, &settings).is_some_and(|verdict| {
                let vague = verdict.growth.high > verdict.growth.low * GROWTH_SPREAD;
                vague || (verdict.class == stats::Class::Inconclusive && verdict.trials_needed.is_some())
            })
        })
    }

    /// Time that is left of the budget.
    fn remaining(&self) -> Duration {
        self.plan.budget.map_or(Duration::MAX, |budget| budget.saturating_sub(self.begun.elapsed()))
    }

    fn is_over(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed) || self.unwritten.is_some() || self.remaining().is_zero()
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

    fn finish(mut self, end: End) -> Result<Ran, Error> {
        let interrupted = end.status == "interrupted";
        self.lines.push(Line::End(end.clone()));
        if let Some(writer) = self.writer.take()
            && let Err(error) = writer.finish(end)
        {
            self.unwritten = Some(error.into());
        }
        let reason = "its first line is missing".to_owned();
        let recording = Recording::new(self.lines).ok_or(Error::Describe { reason })?;
        Ok(Ran { recording, unwritten: self.unwritten, interrupted })
    }
}

impl Progress {
    /// Takes from a trial what the next ones need.
    fn learn(&mut self, trial: &record::Trial) {
        if let Some(clock) = &trial.clock {
            self.tick_seconds = clock.tick_seconds;
        }
        match trial.outcome {
            // All trials of an item go equally far, so that they can be laid over each other.
            Outcome::Allowance { n } => {
                self.n = n.max(1);
                (self.fitted, self.troubles) = (true, 0);
            }
            Outcome::Unsupported { .. } | Outcome::Failed { .. } => self.hopeless = true,
            Outcome::Crashed { .. } | Outcome::TimedOut { .. } => {
                self.troubles += 1;
                self.hopeless = self.troubles >= TROUBLES_MAX;
            }
            Outcome::Complete | Outcome::Limit { .. } => (self.fitted, self.troubles) = (true, 0),
        }
    }
}

fn is_trouble(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Failed { .. } | Outcome::Crashed { .. } | Outcome::TimedOut { .. })
}

fn sweep(series: &Series) -> stats::Sweep<'_> {
    stats::Sweep::even(series.n_first, series.n_step, &series.values)
}

fn unsupported(order: &Order, reason: &str) -> Line {
    trial_line(order, Outcome::Unsupported { reason: reason.to_owned() })
}

fn failed(order: &Order, error: &Error) -> Line {
    trial_line(order, Outcome::Failed { reason: error.to_string() })
}

fn trial_line(order: &Order, outcome: Outcome) -> Line {
    Line::Trial(record::Trial {
        order: order.clone(),
        started_seconds: 0.0,
        elapsed_seconds: 0.0,
        clock: None,
        outcome,
        checks: Vec::new(),
        activity: std::collections::BTreeMap::new(),
        warnings: Vec::new(),
    })
}

fn head(plan: &Plan, command: Vec<String>) -> Run {
    Run {
        schema: record::SCHEMA,
        tool: Tool {
            name: "osdyno".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            build: BUILD.to_owned(),
        },
        started_at: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        command,
        preset: plan.preset.to_owned(),
        seed: plan.seed,
        budget_seconds: plan.budget.map(|budget| budget.as_secs_f64()),
        looks: match plan.trials {
            Trials::Looks(looks) => looks.to_vec(),
            Trials::Fixed(_) => Vec::new(),
        },
        pinned: plan.cpu.is_some(),
        paired: false,
    }
}

/// The definitions of all workloads of these items, each with its variants.
fn workloads(items: &[Item]) -> impl Iterator<Item = Workload> + '_ {
    let first = |&(place, item): &(usize, &Item)| {
        items[..place].iter().all(|other| other.curve.name != item.curve.name)
    };
    items.iter().enumerate().filter(first).map(|(_, item)| {
        let variants =
            items.iter().filter(|other| other.curve.name == item.curve.name).map(|item| item.variant);
        workload(item.curve, variants)
    })
}

fn workload(curve: &Curve, variants: impl Iterator<Item = curve::Variant>) -> Workload {
    let variant = |variant: curve::Variant| record::Variant {
        name: variant.name.to_owned(),
        summary: variant.summary.to_owned(),
    };
    let series = curve.operations.iter().map(|operation| SeriesKind {
        name: operation.name.to_owned(),
        direction: match operation.direction {
            Direction::Up => record::Direction::Up,
            Direction::Down => record::Direction::Down,
        },
        expect: match operation.expect {
            Expect::Constant => record::Expect::Constant,
            Expect::Logarithmic => record::Expect::Logarithmic,
            Expect::Linear => record::Expect::Linear,
        },
        summary: operation.summary.to_owned(),
        sum_of: operation.sum_of.iter().map(|&name| name.to_owned()).collect(),
        unit: "s".to_owned(),
        both_ways: false,
    });
    Workload {
        name: curve.name.to_owned(),
        version: curve.version,
        summary: curve.summary(),
        page: curve.page(),
        grows: curve.grows.to_owned(),
        variants: variants.map(variant).collect(),
        series: series.collect(),
    }
}

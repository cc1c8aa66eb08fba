//! The outside of a simulated run: a clock that moves when a trial takes time, systems, a disk, and a user
//! that interrupts.

use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, SystemTime};

use record::{Line, SentLine, System, TrialParameters, Writer};
use runner::{Error, Executor, Outside, Ran, RunClock, RunEvent, TimeLeft};
use workload::Workload;

use super::disk::{Disk, OpenFile};
use super::scenario::Scenario;
use super::trials::SimulatedTrial;

/// The time of a reading of the clock.
const LOOK: Duration = Duration::from_nanos(100);

/// The time to describe a system.
const DESCRIPTION: Duration = Duration::from_millis(10);

/// A run that reads the clock so often does not end.
const LOOKS_MAX: u64 = 100_000;

/// A planted fault, to prove that it would be found. The program has none of it: the outside lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fault {
    None,
    SlowClock,
    ReportedTwice,
    Lost,
    ForgetfulDisk,
    BlamedItem,
    OtherSeed,
    /// A host sends its lines in the name of the first system.
    OfAnother,
}

/// A value that the run and its outside share: hosts may be measured in threads of their own.
#[derive(Default)]
pub(crate) struct Shared<T>(RwLock<T>);

impl<T> Shared<T> {
    pub(crate) fn borrow(&self) -> RwLockReadGuard<'_, T> {
        self.0.read().expect("no thread panicked")
    }

    pub(crate) fn borrow_mut(&self) -> RwLockWriteGuard<'_, T> {
        self.0.write().expect("no thread panicked")
    }
}

impl<T: Copy> Shared<T> {
    fn get(&self) -> T {
        *self.borrow()
    }

    fn set(&self, value: T) {
        *self.borrow_mut() = value;
    }
}

impl<T> From<T> for Shared<T> {
    fn from(value: T) -> Shared<T> {
        Shared(RwLock::new(value))
    }
}

/// The outside of one run.
pub(crate) struct World {
    pub(crate) scenario: Scenario,
    fault: Fault,
    /// The time that has passed in truth.
    now: Shared<Duration>,
    /// By how much the clock is wrong.
    leap: Shared<Duration>,
    looks: Shared<u64>,
    interrupt: AtomicBool,
    pub(crate) disk: Arc<Shared<Disk>>,
    /// The trials that were begun, in this order.
    pub(crate) trials: Shared<Vec<Executed>>,
}

/// A trial that was begun.
pub(crate) struct Executed {
    pub(crate) order: TrialParameters,
    pub(crate) begun: Duration,
    pub(crate) ended: Duration,
    pub(crate) end: Ended,
}

/// How a trial ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Ended {
    Reported,
    Interrupted,
    NotStarted,
}

/// The status before a trial.
#[derive(Debug)]
pub(crate) struct Status {
    pub(crate) at: Duration,
    pub(crate) item: usize,
    pub(crate) system: String,
    pub(crate) trial: u32,
    pub(crate) of: u32,
    pub(crate) done: f64,
    pub(crate) left: Option<Duration>,
}

/// A run that is over, with all that happened outside.
pub(crate) struct Simulation {
    pub(crate) world: World,
    /// When measuring began.
    pub(crate) begun: Duration,
    pub(crate) shown: Vec<Status>,
    /// The hosts of a fleet as they ended, and why the rest of their trials are lost.
    pub(crate) ended: Vec<(String, Option<String>)>,
    pub(crate) ran: Result<Ran, Error>,
}

impl Simulation {
    pub(crate) fn new(scenario: Scenario, fault: Fault) -> Simulation {
        let world = World::new(scenario, fault);
        let (mut begun, mut shown, mut hosts) = (Duration::ZERO, Vec::new(), Vec::new());
        let file = || Box::new(OpenFile(Arc::clone(&world.disk)));
        let place = |place| Place { world: &world, place, boots: 1 };
        let outside = Outside {
            executors: (0..world.scenario.systems.len()).map(place).collect(),
            clock: &world,
            create: &|head, lines| Writer::to(file(), Path::new("simulated"), head, lines),
            interrupt: &world.interrupt,
        };
        let ran = runner::run_with(&world.scenario.plan, Vec::new(), outside, &mut |event| match event {
            RunEvent::Begun { .. } => begun = world.now.get(),
            RunEvent::Trial { item, system, trial, of, done, left } => {
                let item = world.scenario.item(item.workload.name, item.variant.name);
                let at = world.now.get();
                shown.push(Status {
                    at,
                    item,
                    system: system.to_owned(),
                    trial,
                    of,
                    done,
                    left: left.map(TimeLeft::time),
                });
            }
            RunEvent::HostEnded { host, lost, .. } => hosts.push((host.to_owned(), lost.map(str::to_owned))),
            RunEvent::Decided { .. } | RunEvent::Looked { .. } | RunEvent::Trouble { .. } => {}
        });
        Simulation { world, begun, shown, ended: hosts, ran }
    }

    /// When the last trial ended.
    pub(crate) fn ended(&self) -> Duration {
        self.world.trials.borrow().last().map_or(self.begun, |trial| trial.ended)
    }
}

impl World {
    fn new(scenario: Scenario, fault: Fault) -> World {
        let disk = Disk {
            capacity: scenario.capacity_bytes,
            fails_to_sync: scenario.fails_to_sync,
            is_forgetful: fault == Fault::ForgetfulDisk,
            ..Disk::default()
        };
        World {
            scenario,
            fault,
            now: Shared::default(),
            leap: Shared::default(),
            looks: Shared::default(),
            interrupt: AtomicBool::new(false),
            disk: Arc::new(Shared::from(disk)),
            trials: Shared::default(),
        }
    }

    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed)
    }

    /// Lets time pass, until an interrupt if one comes; whether one came.
    fn pass(&self, time: Duration) -> bool {
        let end = self.now.get() + time;
        match self.scenario.interrupted_at.filter(|&at| at <= end && !self.is_interrupted()) {
            Some(at) => {
                self.now.set(at.max(self.now.get()));
                self.interrupt.store(true, Ordering::Relaxed);
                true
            }
            None => {
                self.now.set(end);
                false
            }
        }
    }
}

impl RunClock for World {
    fn now(&self) -> Duration {
        self.looks.set(self.looks.get() + 1);
        assert!(self.looks.get() < LOOKS_MAX, "the run does not end");
        self.pass(LOOK);
        let shown = self.now.get() + self.leap.get();
        if self.fault == Fault::SlowClock { shown / 2 } else { shown }
    }

    fn wait(&self, time: Duration, _: &AtomicBool) {
        self.pass(time);
    }

    fn date(&self) -> SystemTime {
        self.scenario.date
    }
}

/// A system as the run reaches it.
struct Place<'a> {
    world: &'a World,
    place: usize,
    /// Boots so far.
    boots: u32,
}

impl Place<'_> {
    fn unusable(&self) -> Error {
        let name = self.world.scenario.plan.targets[self.place].name.clone();
        Error::Describe { name, reason: "nobody replies".to_owned() }
    }

    /// The lines of a trial that arrive at the run.
    fn reported(&self, mut lines: Vec<Line>, order: &TrialParameters) -> Vec<Line> {
        // A fleet has few trials, for it has many hosts.
        let is_faulty = order.trial == if self.world.scenario.plan.is_of_fleet() { 2 } else { 7 };
        match self.world.fault {
            Fault::ReportedTwice if is_faulty => lines.extend(lines.clone()),
            Fault::Lost if is_faulty => lines.clear(),
            Fault::OfAnother if self.place == 3 => lines.iter_mut().for_each(|line| match line {
                Line::Trial(trial) => trial.order.system = self.world.scenario.plan.targets[0].name.clone(),
                Line::Series(series) => series.system = self.world.scenario.plan.targets[0].name.clone(),
                _ => {}
            }),
            Fault::OtherSeed if self.place == 1 => {
                let trials = lines.iter_mut().filter_map(|line| match line {
                    Line::Trial(trial) => Some(trial),
                    _ => None,
                });
                trials.for_each(|trial| trial.order.seed ^= 1);
            }
            _ => {}
        }
        lines
    }
}

impl Executor for Place<'_> {
    fn describe(&mut self) -> Result<System, Error> {
        if self.world.pass(DESCRIPTION) || self.world.scenario.systems[self.place].is_absent {
            return Err(self.unusable());
        }
        // A fact that no machine has, so that it has no noise floor.
        let environment = [("cpu.model".to_owned(), "simulated".to_owned())].into();
        Ok(System {
            name: self.world.scenario.plan.targets[self.place].name.clone(),
            environment,
            ..System::default()
        })
    }

    fn reboot(&mut self) {
        self.boots += 1;
    }

    fn trial(
        &mut self,
        workload: &Workload,
        mut order: TrialParameters,
    ) -> Result<Option<Vec<SentLine>>, Error> {
        order.boot = self.boots;
        let world = self.world;
        let item = world.scenario.item(workload.name, &order.variant);
        let simulated = SimulatedTrial::new(&world.scenario.systems[self.place].items[item], &order);
        let begun = world.now.get();
        let is_interrupted = world.pass(simulated.takes) && !world.scenario.interrupt_waits;
        if world.fault == Fault::BlamedItem && item == 0 {
            world.leap.set(world.leap.get() + Duration::from_secs(20));
        }
        let end = match (&simulated.lines, is_interrupted) {
            (_, true) => Ended::Interrupted,
            (None, false) => Ended::NotStarted,
            (Some(_), false) => Ended::Reported,
        };
        let ended = world.now.get();
        world.trials.borrow_mut().push(Executed { order: order.clone(), begun, ended, end });
        match simulated.lines {
            _ if is_interrupted => Ok(None),
            None => Err(self.unusable()),
            Some(lines) => Ok(Some(self.reported(lines, &order).into_iter().map(SentLine::from).collect())),
        }
    }
}

impl fmt::Display for Executed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TrialParameters { system, workload, variant, trial, n, .. } = &self.order;
        let (begun, took) = (self.begun.as_secs_f64(), (self.ended - self.begun).as_secs_f64());
        write!(
            formatter,
            "{begun:>10.4} s  {took:>8.4} s  {system} {workload}/{variant} {trial} to n = {n}: {:?}",
            self.end
        )
    }
}

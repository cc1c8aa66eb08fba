//! The promises of every run. Each is checked by the events outside of the run, in true time, and reports its
//! name first when it is broken.

use std::time::Duration;

use record::{EndStatus, Outcome, Trial};
use runner::{Boots, Ran, Trials};

use super::judged;
use super::scenario::LOOKS;
use super::world::{Ended, Executed, Simulation, Status};
use super::written;

/// The most time that readings of the clock take in a run.
const SLACK: Duration = Duration::from_millis(1);

/// Crashes or time-outs in a row, after which an item is given up.
const TROUBLES: usize = 3;

pub(crate) fn check(simulation: &Simulation) -> Result<(), String> {
    let ran = match &simulation.ran {
        Ok(ran) => ran,
        Err(error) => return named("a run begins", cannot_begin(simulation, &error.to_string())),
    };
    let items = items(simulation, ran);
    named("budget", budget_is_kept(simulation, &items))?;
    named("recorded once", written::check(simulation, ran))?;
    named("judged once", judged::check(ran))?;
    named("pair", trials_are_pairs(simulation, ran, &items))?;
    named("boots", boots_are_alike(simulation, &items))?;
    named("starved", none_is_starved(simulation, ran, &items))?;
    named("end", end_is_right(simulation, ran, &items))?;
    named("status line", status_is_right(simulation, ran, &items))
}

fn named(name: &str, checked: Result<(), String>) -> Result<(), String> {
    checked.map_err(|text| format!("{name}: {text}"))
}

fn ensure(held: bool, text: impl FnOnce() -> String) -> Result<(), String> {
    if held { Ok(()) } else { Err(text()) }
}

/// No boot has more trials of an item than its share of them.
fn boots_are_alike(simulation: &Simulation, items: &[Measured<'_>]) -> Result<(), String> {
    let plan = &simulation.world.scenario.plan;
    let Trials::Fixed(trials) = plan.trials else { return Ok(()) };
    let share = match plan.boots {
        Boots::Over(boots) => trials.div_ceil(boots),
        Boots::Of(trials) => trials,
    } as usize;
    for trials in items.iter().flat_map(|item| &item.systems) {
        let of_boot = trials.chunk_by(|one, next| one.order.boot == next.order.boot);
        let most = of_boot.map(<[&Trial]>::len).max().unwrap_or(0);
        ensure(most <= share, || format!("{most} trials of one boot, planned {:?}", plan.boots))?;
    }
    Ok(())
}

/// One trial on every system, back to back.
struct Block {
    number: u32,
    /// Since measuring began.
    begun: Duration,
    took: Duration,
}

/// An item as it was measured.
struct Measured<'a> {
    blocks: Vec<Block>,
    /// Its record on each system.
    systems: Vec<Vec<&'a Trial>>,
}

impl Measured<'_> {
    /// Nothing more can be learned of it on any system.
    fn is_given_up(&self) -> bool {
        self.systems.iter().all(|trials| is_given_up(trials))
    }

    fn is_given_up_somewhere(&self) -> bool {
        self.systems.iter().any(|trials| is_given_up(trials))
    }

    /// Blocks that are over.
    fn done(&self) -> u32 {
        self.systems.iter().map(|trials| trials.len() as u32).max().unwrap_or(0)
    }

    fn most_expensive(&self) -> Duration {
        self.blocks.iter().map(|block| block.took).max().unwrap_or_default()
    }

    fn cheapest(&self) -> Duration {
        self.blocks.iter().map(|block| block.took).min().unwrap_or_default()
    }
}

fn is_given_up(trials: &[&Trial]) -> bool {
    let is_final =
        |trial: &&Trial| matches!(trial.outcome, Outcome::Failed { .. } | Outcome::Unsupported { .. });
    let is_trouble =
        |trial: &&&Trial| matches!(trial.outcome, Outcome::Crashed { .. } | Outcome::TimedOut { .. });
    trials.last().is_some_and(is_final) || trials.iter().rev().take_while(is_trouble).count() >= TROUBLES
}

fn items<'a>(simulation: &Simulation, ran: &'a Ran) -> Vec<Measured<'a>> {
    let plan = &simulation.world.scenario.plan;
    let of = |item: &runner::Item| {
        let names =
            |workload: &str, variant: &str| item.workload.name == workload && item.variant.name == variant;
        let recorded = |system: &str| {
            let is_its = |trial: &&Trial| {
                trial.order.system == system && names(&trial.order.workload, &trial.order.variant)
            };
            ran.recording.trials.iter().filter(is_its).collect()
        };
        let executed = simulation.world.trials.borrow();
        let executed = executed.iter().filter(|trial| names(&trial.order.workload, &trial.order.variant));
        Measured {
            blocks: blocks(executed, simulation.begun),
            systems: plan.targets.iter().map(|target| recorded(&target.name)).collect(),
        }
    };
    plan.items.iter().map(of).collect()
}

fn blocks<'a>(executed: impl Iterator<Item = &'a Executed>, begun: Duration) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for trial in executed {
        match blocks.last_mut().filter(|block| block.number == trial.order.trial) {
            Some(block) => block.took = trial.ended - begun - block.begun,
            None => blocks.push(Block {
                number: trial.order.trial,
                begun: trial.begun - begun,
                took: trial.ended - trial.begun,
            }),
        }
    }
    blocks
}

/// A run that cannot begin reports why: no system can be measured, or nothing can be written.
fn cannot_begin(simulation: &Simulation, error: &str) -> Result<(), String> {
    let scenario = &simulation.world.scenario;
    let is_unmeasurable = scenario.systems.iter().all(|system| system.is_absent);
    let is_full = scenario.capacity_bytes.is_some();
    ensure(is_unmeasurable || is_full || simulation.world.is_interrupted(), || error.to_owned())
}

/// A block begins only where it is likely to end within the budget: none begins that would not, even if it
/// were as cheap as the cheapest of its kind. The least trials of every item are exempt.
fn budget_is_kept(simulation: &Simulation, items: &[Measured<'_>]) -> Result<(), String> {
    let plan = &simulation.world.scenario.plan;
    let Some(budget) = plan.budget else { return Ok(()) };
    for item in items {
        for (place, block) in item.blocks.iter().enumerate().filter(|(_, block)| block.number > plan.least) {
            let cheapest = item.blocks[..place].iter().map(|block| block.took).min().unwrap_or_default();
            ensure(block.begun + cheapest <= budget + SLACK, || {
                format!("after {:?} of {budget:?} a block begins that takes {cheapest:?}", block.begun)
            })?;
        }
    }
    Ok(())
}

/// Trials of an item count from 1 on every system, without a gap; those with equal numbers had the same random
/// choices; and a system has fewer only where it was given up, or where the run was stopped within a block.
fn trials_are_pairs(simulation: &Simulation, ran: &Ran, items: &[Measured<'_>]) -> Result<(), String> {
    for item in items {
        for trials in &item.systems {
            let numbers: Vec<u32> = trials.iter().map(|trial| trial.order.trial).collect();
            ensure(numbers.iter().copied().eq(1..=numbers.len() as u32), || format!("numbers {numbers:?}"))?;
            for (one, other) in item.systems[0].iter().zip(trials) {
                ensure(one.order.seed == other.order.seed, || format!("seeds of trial {}", one.order.trial))?;
            }
            let missing = item.done() as usize - trials.len();
            let is_cut = missing == 1 && is_stopped(simulation, ran);
            ensure(missing == 0 || is_cut || is_given_up(trials), || format!("{missing} have no partner"))?;
        }
    }
    Ok(())
}

fn is_stopped(simulation: &Simulation, ran: &Ran) -> bool {
    simulation.world.is_interrupted() || ran.unwritten.is_some()
}

/// Every item gets what it is due if there is time for it, and none is left behind one that costs more.
fn none_is_starved(simulation: &Simulation, ran: &Ran, items: &[Measured<'_>]) -> Result<(), String> {
    if is_stopped(simulation, ran) {
        return Ok(());
    }
    let plan = &simulation.world.scenario.plan;
    let elapsed = simulation.ended() - simulation.begun;
    let left = plan.budget.map_or(Duration::MAX, |budget| budget.saturating_sub(elapsed));
    let due = match plan.trials {
        Trials::Fixed(trials) => trials,
        Trials::Looks(looks) => looks[0],
    };
    for (place, item) in items.iter().enumerate().filter(|(_, item)| !item.is_given_up()) {
        ensure(item.done() >= plan.least.min(due), || format!("item {place} has {} trials", item.done()))?;
        let missing = due.saturating_sub(item.done());
        ensure(missing == 0 || item.most_expensive() * missing + SLACK >= left, || {
            format!(
                "item {place} lacks {missing} trials of {:?} at most, and {left:?} are left",
                item.most_expensive()
            )
        })?;
    }
    let comparable = || items.iter().enumerate().filter(|(_, item)| !item.is_given_up_somewhere());
    for (cheap, one) in comparable() {
        for (expensive, other) in comparable().filter(|(_, other)| one.most_expensive() < other.cheapest()) {
            ensure(one.done() + 1 >= other.done().min(due), || {
                let (one, other) = (one.done(), other.done());
                format!("item {cheap} has {one} trials, and item {expensive}, which costs more, has {other}")
            })?;
        }
    }
    Ok(())
}

fn end_is_right(simulation: &Simulation, ran: &Ran, items: &[Measured<'_>]) -> Result<(), String> {
    let end = ran.recording.end.as_ref().ok_or("the recording has none")?;
    let has_failed = ran.unwritten.is_some();
    let was_cut = simulation.world.trials.borrow().iter().any(|trial| trial.end == Ended::Interrupted);
    let plan = &simulation.world.scenario.plan;
    let budget = plan.budget.map_or(f64::INFINITY, |budget| budget.as_secs_f64());
    // Three trials of each, and four of rivals, which are to be compared.
    let least = |item: &runner::Item| plan.least.max(3 + u32::from(item.workload.rivals));
    let is_starved = |(item, of): (&Measured<'_>, &runner::Item)| {
        matches!(plan.trials, Trials::Looks(_)) && !item.is_given_up() && item.done() < least(of)
    };
    let starved = items.iter().zip(&plan.items).any(is_starved);
    let is_right = match &end.status {
        EndStatus::Failed => has_failed,
        EndStatus::Interrupted => simulation.world.is_interrupted() && ran.interrupted,
        EndStatus::Budget => (starved || end.elapsed_seconds >= budget) && !was_cut,
        EndStatus::Complete => !starved && !was_cut && end.elapsed_seconds <= budget + SLACK.as_secs_f64(),
        _ => false,
    };
    ensure(is_right, || {
        format!("{end:?}, cut: {was_cut}, starved: {starved}, unwritten: {:?}", ran.unwritten)
    })
}

/// The status before each trial.
fn status_is_right(simulation: &Simulation, ran: &Ran, items: &[Measured<'_>]) -> Result<(), String> {
    let plan = &simulation.world.scenario.plan;
    let most = match plan.trials {
        Trials::Fixed(trials) => trials,
        Trials::Looks(_) => LOOKS[LOOKS.len() - 1],
    };
    let mut done = 0.0;
    for status in &simulation.shown {
        let is_numbered = 1 <= status.trial && status.trial <= status.of && status.of <= most;
        ensure(is_numbered, || format!("{status:?}, at most {most}"))?;
        ensure((0.0..=1.0).contains(&status.done), || format!("{status:?}"))?;
        if plan.least == 0 {
            ensure(status.done >= done, || format!("{done} was done before {status:?}"))?;
            done = status.done;
        }
        time_left_fits(simulation, status)?;
    }
    if simulation.world.scenario.is_steady {
        steady_status_is_exact(simulation, items)?;
    }
    let executed = simulation.world.trials.borrow();
    for (trial, status) in executed.iter().filter_map(|trial| Some((trial, shown(simulation, trial)?))) {
        ensure(status.at <= trial.begun, || format!("{status:?} is shown after {trial}"))?;
    }
    ensure(is_stopped(simulation, ran) || last_is_nearly_done(simulation, items), || {
        format!("at the end there is {:?}", simulation.shown.last())
    })
}

/// The status before this trial.
fn shown<'a>(simulation: &'a Simulation, trial: &Executed) -> Option<&'a Status> {
    let item = simulation.world.scenario.item(&trial.order.workload, &trial.order.variant);
    let is_its = |status: &&Status| {
        status.item == item && status.trial == trial.order.trial && status.system == trial.order.system
    };
    simulation.shown.iter().find(is_its)
}

/// No status shows more time than the budget.
fn time_left_fits(simulation: &Simulation, status: &Status) -> Result<(), String> {
    let plan = &simulation.world.scenario.plan;
    let (Some(left), Some(budget), 0) = (status.left, plan.budget, plan.least) else { return Ok(()) };
    let elapsed = status.at - simulation.begun;
    // The remaining time and the share that is done predict the same end of a run with looks.
    if let Trials::Looks(_) = plan.trials {
        let done = (elapsed + left).mul_f64(status.done);
        ensure(done.abs_diff(elapsed) <= SLACK, || {
            format!("{elapsed:?} are over, which {status:?} calls {done:?}")
        })?;
    }
    ensure(elapsed + left <= budget.max(elapsed) + SLACK, || {
        format!("{left:?} are left, {elapsed:?} of {budget:?} are over")
    })
}

/// Where every trial costs the same and nothing goes wrong, the time that is left is known once every item has been
/// measured, and so is the share that is done.
fn steady_status_is_exact(simulation: &Simulation, items: &[Measured<'_>]) -> Result<(), String> {
    let end = simulation.ended();
    let first_of_block = |place: &usize| match place.checked_sub(1).map(|before| &simulation.shown[before]) {
        Some(before) => {
            let status = &simulation.shown[*place];
            (before.item, before.trial) != (status.item, status.trial)
        }
        None => true,
    };
    let all: u32 = items.iter().map(Measured::done).sum();
    let firsts = (0..simulation.shown.len()).filter(first_of_block);
    for (before, status) in firsts.map(|place| &simulation.shown[place]).enumerate() {
        let share = before as f64 / f64::from(all);
        ensure((status.done - share).abs() < 1e-9, || format!("{share} is done in {status:?}"))?;
        let Some(left) = status.left.filter(|_| status.trial > 1) else { continue };
        ensure((status.at + left).abs_diff(end) <= SLACK, || {
            format!("{:?} are left in {status:?}", end - status.at)
        })?;
    }
    Ok(())
}

/// Before its last block a run with a fixed number of trials is done but for this block, whatever was given up.
fn last_is_nearly_done(simulation: &Simulation, items: &[Measured<'_>]) -> bool {
    let plan = &simulation.world.scenario.plan;
    let (Trials::Fixed(_), None, Some(last)) = (plan.trials, plan.budget, simulation.shown.last()) else {
        return true;
    };
    let all: u32 = items.iter().map(Measured::done).sum();
    items[last.item].is_given_up_somewhere() || last.done >= 1.0 - 1.0 / f64::from(all) - 1e-9
}

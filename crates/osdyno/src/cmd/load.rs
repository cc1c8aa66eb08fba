//! `osdyno load`: loads a server in a closed loop or at a fixed rate, and reports throughput and latency.

mod answer;
mod args;
mod baseline;
mod document;
pub(super) mod generators;
mod latency;
mod output;
mod target;

use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use background::{BackgroundLevel, HeldLoads};
use judge::gate::{ClaimKind, GateClaim};
use net::load::search::{self, Found, Goal};
use net::load::{Level, Load};
use record::HeldBackground;

use self::answer::{
    FoundRate, JudgedLevel, LevelComparison, LevelLimit, LoadAnswer, is_limited_by_generator,
};
pub(crate) use self::args::Args;
use self::baseline::Baseline;
use self::generators::{Generators, LoadHosts};
use self::output::{Outputs, Screen};
use super::Done;
use super::limits::{LimitAnswer, LimitedFigure, MeasuredFigure};
use crate::console::{Console, Failure, INCOMPLETE, INTERRUPTED};

/// The measurements.
#[derive(Default)]
struct Measured {
    levels: Vec<Level>,
    found: Option<Found>,
    /// The reported stage of the search, among all that were offered.
    stage: Option<usize>,
}

pub(crate) fn load(args: &Args, console: &Console) -> Done {
    let target = args::target(args)?;
    let settings = args::settings(args, &target)?;
    let goal = args.find_rate.as_deref().map(Goal::parse).transpose()?;
    let baseline = args.baseline.as_deref().map(Baseline::read).transpose()?;
    let background = loads_of(args.background.as_ref());
    baseline.as_ref().map_or(Ok(()), |baseline| baseline.check(&settings, &background))?;
    refuse_other_claims(args)?;
    let loads = args::loads(args);
    settings.check()?;
    loads.iter().try_for_each(|load| load.check(&settings))?;
    let outputs = Outputs::new(args)?;
    let hosts = LoadHosts::of(args)?;
    match &hosts {
        Some(hosts) => hosts.check(args, &settings, &loads)?,
        None => generators::check_resources(&settings, &loads, args.workers)?,
    }
    sys::signal::watch().map_err(|error| Failure::Refused(format!("cannot handle signals: {error}")))?;

    let screen = Screen::new(console);
    let mut held = Held::start(args.background.as_ref())?;
    let started = Generators::start(&settings, args.workers, hosts.as_ref(), screen.is_watched());
    let mut generators = match started {
        Err(_) if sys::signal::stop_ordered() => return Ok(ExitCode::from(INTERRUPTED)),
        started => started?,
    };
    let mut offer = |load: &Load| {
        held.begin();
        let level = generators.offer(load, &screen)?;
        held.end();
        Ok(level)
    };
    let measured = match goal {
        Some(goal) => match find(goal, &loads[0], &mut offer) {
            Err(_) if sys::signal::stop_ordered() => return Ok(ExitCode::from(INTERRUPTED)),
            measured => measured?,
        },
        None => measure(&loads, &mut offer)?,
    };
    drop(generators);
    screen.clear();

    let judged = |level: &Level| JudgedLevel::new(level.clone(), &settings);
    let levels: Vec<JudgedLevel> = measured.levels.iter().map(judged).collect();
    let compared = baseline.as_ref().map(|baseline| baseline.compare(&levels));
    let answer = LoadAnswer {
        targets: args.targets.clone(),
        resolved: target.resolved,
        background,
        held_background: held.stop(),
        found: measured.found.as_ref().map(|found| FoundRate::new(found, &settings)),
        limits: limits(args, &levels, compared.as_deref().unwrap_or_default()),
        compared,
        levels,
        baseline: baseline.as_ref().map(|baseline| baseline.path().to_owned()),
        stage: measured.stage,
        command: output::command(),
        settings,
    };
    let written = outputs.write(&answer);
    outputs.print(&answer, console)?;
    written?;
    outputs.print_limits(&answer, console)?;
    match sys::signal::stop_ordered() {
        true => Ok(exit_code(&answer)),
        false => Ok(super::limits::exit_code(&answer.limits, exit_code(&answer))),
    }
}

/// A load has no series whose cost grows with n, and no limits of the system.
fn refuse_other_claims(args: &Args) -> Result<(), Failure> {
    let claims = || args.fail_on.iter().flat_map(|gate| &gate.claims);
    let is_known = |claim: &&GateClaim| {
        matches!(claim.kind, ClaimKind::Slower | ClaimKind::Changed) && claim.series.is_none()
    };
    match claims().find(|claim| !is_known(claim)) {
        Some(claim) => {
            Err(Failure::Usage(format!("--fail-on {claim}: of a load there are slower and changed")))
        }
        None => Ok(()),
    }
}

/// The decisions on the limits and claims, level by level.
fn limits(args: &Args, levels: &[JudgedLevel], compared: &[LevelComparison]) -> Vec<LimitAnswer> {
    let mut answers = Vec::new();
    for judged in levels {
        let (level, at) = (&judged.level, place(&judged.level.load));
        for limit in args.max.iter().flat_map(|limits| &limits.0) {
            let measured = figure_of(limit.figure, level);
            // A generator that is late makes latency worse and the rate lower, never better.
            answers.push(limit.decide(&at, measured, answer::doubt(level)));
        }
    }
    for (claim, level) in args
        .fail_on
        .iter()
        .flat_map(|gate| &gate.claims)
        .flat_map(|claim| compared.iter().map(move |level| (claim, level)))
    {
        let at = place(&level.load);
        if let Some(refused) = &level.refused {
            answers.push(LimitAnswer::unknown(claim, at.clone(), refused.clone()));
        }
        for ratio in &level.ratios {
            let cost = ratio.of_cost();
            answers.push(LimitAnswer::of_ratio(claim, format!("{at}, {}", ratio.figure), cost));
        }
    }
    answers
}

/// `50 connections`, or `5000 per second`.
fn place(load: &Load) -> String {
    match load.rate {
        Some(rate) => format!("{rate} per second"),
        None => ::report::words::things(load.connections, "connection", "connections"),
    }
}

fn figure_of(figure: LimitedFigure, level: &Level) -> Option<MeasuredFigure> {
    match figure {
        LimitedFigure::Percentile(percent) => {
            let known = level.latency.percentile(percent);
            let interval = known.and_then(|known| {
                Some(MeasuredFigure { value: known.seconds?, low: known.low?, high: known.high? })
            });
            let answered = level.latency.count > 0;
            interval
                .or_else(|| answered.then(|| MeasuredFigure::exact(level.latency.quantile(percent / 100.0))))
        }
        LimitedFigure::Errors => MeasuredFigure::share(level.requests.failed, level.requests.started),
        LimitedFigure::Rate => {
            let value = level.completed_per_second;
            let (low, high) = level.completed_per_second_interval.unwrap_or((value, value));
            Some(MeasuredFigure { value, low, high })
        }
        LimitedFigure::Ratio => None,
    }
}

/// Offers one load after the other.
fn measure(
    loads: &[Load],
    offer: &mut dyn FnMut(&Load) -> Result<Level, net::Error>,
) -> Result<Measured, Failure> {
    let mut measured = Measured::default();
    for load in loads {
        measured.levels.push(offer(load)?);
        if sys::signal::stop_ordered() {
            break;
        }
    }
    Ok(measured)
}

/// Looks for the highest rate.
fn find(
    goal: Goal,
    load: &Load,
    offer: &mut dyn FnMut(&Load) -> Result<Level, net::Error>,
) -> Result<Measured, Failure> {
    // The mark of the reported stage.
    let mut offered = Vec::new();
    let found = search::highest(goal, load, is_limited_by_generator, |load| {
        offered.push(load.number);
        let level = offer(load)?;
        match level.void() {
            [] => Ok(level),
            [reason, ..] => Err(net::Error::Void(reason.clone())),
        }
    })?;
    let level = found.confirmation.clone();
    let stage = offered.iter().position(|&number| number == level.load.number);
    Ok(Measured { levels: vec![level], found: Some(found), stage })
}

/// The loads of `--background` in their canonical form.
fn loads_of(background: Option<&BackgroundLevel>) -> Vec<String> {
    background.into_iter().flat_map(|level| &level.loads).map(ToString::to_string).collect()
}

fn exit_code(answer: &LoadAnswer) -> ExitCode {
    let failed = answer.levels.iter().filter(|level| level.verdict.limit.is_failure()).count();
    let is_void = answer.levels.iter().any(|level| level.verdict.limit == LevelLimit::Void);
    let is_confirmed = answer.found.as_ref().is_none_or(|found| found.confirmed);
    if sys::signal::stop_ordered() {
        ExitCode::from(INTERRUPTED)
    } else if failed == answer.levels.len() {
        ExitCode::FAILURE
    } else if failed > 0 || is_void || !is_confirmed || !answer.is_background_held() {
        ExitCode::from(INCOMPLETE)
    } else {
        ExitCode::SUCCESS
    }
}

/// The loads beside all levels, and their results at each.
#[derive(Default)]
struct Held {
    beside: Option<HeldLoads>,
    levels: Vec<Vec<HeldBackground>>,
}

impl Held {
    /// Starts the loads, and waits until they are held.
    fn start(level: Option<&BackgroundLevel>) -> Result<Held, Failure> {
        let Some(level) = level.filter(|level| !level.loads.is_empty()) else { return Ok(Held::default()) };
        let program = sys::process::own_program().map_err(|error| {
            Failure::Refused(format!("cannot find this program for --background: {error}"))
        })?;
        let folder = std::env::temp_dir().to_string_lossy().into_owned();
        let free = background::processor(&sys::cpu::preferred().unwrap_or_default());
        let loads: Vec<record::Background> = level
            .loads
            .iter()
            .map(|load| record::Background { load: load.to_string(), processor: load.processor().or(free) })
            .collect();
        let mut beside = HeldLoads::start_here(&loads, args::TIME_MAX, &program, &folder)?;
        beside.reach(&AtomicBool::new(false))?;
        Ok(Held { beside: Some(beside), levels: Vec::new() })
    }

    /// A level begins.
    fn begin(&mut self) {
        if let Some(beside) = &mut self.beside {
            beside.mark();
        }
    }

    /// The level is over.
    fn end(&mut self) {
        if let Some(beside) = &mut self.beside {
            self.levels.push(beside.report());
        }
    }

    /// Ends it; returns how each load was held at each level.
    fn stop(self) -> Vec<Vec<HeldBackground>> {
        self.levels
    }
}

//! `osdyno load`: loads a server in a closed loop or at a fixed rate, and reports throughput and latency.

mod answer;
mod args;
mod bars;
mod baseline;
mod beside;
mod csv;
mod document;
mod hint;
mod hosts;
mod joint;
mod live;
mod numbers;
mod output;
mod resolve;
mod target;

use std::process::ExitCode;

use judge::gate::{ClaimKind, GateClaim};
use net::load::coordinator::{Coordinator, WorkerPlan};
use net::load::search::{self, Found, Goal};
use net::load::{FROM_ONE_ADDRESS, Generator, Level, Load, LoadSettings, Progress};

use self::answer::{FoundRate, JudgedLevel, LevelLimit, LoadAnswer, is_limited_by_generator};
pub(crate) use self::args::Args;
use self::baseline::{Baseline, LevelComparison};
use self::beside::Held;
use self::hosts::LoadHosts;
use self::live::Screen;
use self::output::Outputs;
use super::limits::{LimitAnswer, LimitedFigure, MeasuredFigure};
use super::{Done, warn};
use crate::console::Console;
use crate::failure::{Failure, INCOMPLETE, INTERRUPTED};

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
        None => check_resources(&settings, &loads, args.workers)?,
    }
    sys::signal::watch().map_err(|error| Failure::Refused(format!("cannot handle signals: {error}")))?;

    let screen = Screen::new(console);
    let mut held = Held::start(args.background.as_ref(), args::TIME_MAX)?;
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
fn loads_of(background: Option<&background::BackgroundLevel>) -> Vec<String> {
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

/// One generator in this process, or several in others, here or on other hosts.
enum Generators {
    Here(Box<Generator>),
    Several(Coordinator),
}

impl Generators {
    fn start(
        settings: &LoadSettings,
        workers: usize,
        hosts: Option<&LoadHosts>,
        is_watched: bool,
    ) -> Result<Generators, Failure> {
        if workers == 1 && hosts.is_none() {
            let mut generator = Generator::new(settings.clone())?;
            if is_watched {
                generator.follow();
            }
            return Ok(Generators::Here(Box::new(generator)));
        }
        let program = sys::process::own_program().map_err(|error| {
            Failure::Refused(format!("cannot find this program to start workers: {error}"))
        })?;
        let mut coordinator = match hosts {
            Some(LoadHosts { all, observes }) => {
                let plan = WorkerPlan { program: &program, hosts: all, workers_each: workers, file: None };
                Coordinator::start_on(plan, settings, *observes)?
            }
            None => Coordinator::start(&program, settings, &vec![None; workers])?,
        };
        if is_watched {
            coordinator.follow()?;
        }
        Ok(Generators::Several(coordinator))
    }

    fn offer(&mut self, load: &Load, screen: &Screen) -> Result<Level, net::Error> {
        let mut watched = |progress: &Progress| {
            screen.show(load, progress);
            !sys::signal::stop_ordered()
        };
        if sys::signal::stop_ordered() {
            return Err(net::Error::Stopped);
        }
        match self {
            Generators::Here(generator) => generator.offer(load, &mut watched),
            Generators::Several(coordinator) => coordinator.offer(load, &mut watched),
        }
    }
}

/// Refuses a load that this machine cannot offer, before it begins.
fn check_resources(settings: &LoadSettings, loads: &[Load], workers: usize) -> Result<(), Failure> {
    let cores = sys::cpu::count();
    if workers == 0 || workers > cores {
        return Err(Failure::Usage(format!("-w {workers}: this machine supports 1 to {cores} workers")));
    }
    let most = loads.iter().map(|load| load.connections).max().unwrap_or(0);
    let places = |load: &Load| if load.rate.is_none() { load.connections } else { settings.connections_max };
    if loads.iter().any(|load| places(load) < workers) {
        return Err(Failure::Usage(format!(
            "{workers} workers need at least one connection each; use fewer with -w, or more connections"
        )));
    }
    // The limit is of one process.
    let _ = sys::limit::raise_soft_to_hard();
    let each = (most + settings.idle).div_ceil(workers) as u64;
    if let Ok(bound) = sys::limit::ceiling(sys::limit::Resource::Descriptors)
        && each > bound.usable
    {
        return Err(Failure::Refused(format!(
            "{each} connections in one process are more than {} allows ({}); {}, or share them with -w",
            bound.limit, bound.value, bound.advice
        )));
    }
    if settings.target.network().is_none() {
        return Ok(());
    }
    let places = settings.sources.0.len().max(1);
    if (most + settings.idle) / places > FROM_ONE_ADDRESS + 8_000 {
        warn(&format!(
            "{} connections from {places} source address(es) need more ports than there are; name more \
             with --source",
            most + settings.idle
        ));
    }
    // The side that closes first keeps the port in TIME_WAIT, for 60 s on Linux.
    let closes_first = (settings.new_connections || settings.requests_per_connection.is_some())
        && !settings.server_closes()
        && !settings.reset;
    if let (true, Ok(ports)) = (closes_first, sys::limit::ceiling(sys::limit::Resource::LocalPorts)) {
        let rate = ports.usable as f64 * places as f64 / TIME_WAIT_SECONDS;
        warn(&format!(
            "this side closes first, so its ports stay in TIME_WAIT for {TIME_WAIT_SECONDS:.0} s: more than \
             {rate:.0} new connections per second use up all ports; use --reset, or name more addresses \
             with --source"
        ));
    }
    Ok(())
}

/// tcp(7) of Linux; others differ.
const TIME_WAIT_SECONDS: f64 = 60.0;

//! `osdyno load`: loads a server in a closed loop or at a fixed rate, and reports throughput and latency.

mod args;
mod bars;
mod baseline;
mod beside;
mod credentials;
mod csv;
mod found;
mod generators;
mod hint;
mod json;
mod live;
mod numbers;
mod output;
mod page;
mod resolve;
mod resources;
mod result;
mod target;
mod text;
mod verdict;

use std::io;
use std::process::ExitCode;

use net::load::coordinator;
use net::load::search::{self, Goal};
use net::load::{Level, Load};

pub(crate) use self::args::Args;
use self::baseline::Baseline;
use self::beside::Held;
use self::generators::Generators;
pub(crate) use self::generators::WORKER;
use self::live::Screen;
use self::output::Outputs;
use self::result::{LoadResult, Measured};
use super::Done;
use crate::console::Console;
use crate::failure::{Failure, INCOMPLETE, INTERRUPTED};

pub(crate) fn load(args: &Args, console: &Console) -> Done {
    let target = args::target(args)?;
    let settings = args::settings(args, &target)?;
    let goal = args.find_rate.as_deref().map(Goal::parse).transpose()?;
    let baseline = args.baseline.as_deref().map(Baseline::read).transpose()?;
    let background = loads_of(args.background.as_ref());
    baseline.as_ref().map_or(Ok(()), |baseline| baseline.check(&settings, &background))?;
    let loads = args::loads(args);
    settings.check()?;
    loads.iter().try_for_each(|load| load.check(&settings))?;
    let outputs = Outputs::new(args)?;
    resources::check(&settings, &loads, args.workers)?;
    sys::signal::watch().map_err(|error| Failure::Refused(format!("cannot handle signals: {error}")))?;

    let screen = Screen::new(console);
    let mut held = Held::start(args.background.as_ref(), args::TIME_MAX)?;
    let mut generators = Generators::start(&settings, args.workers, screen.is_watched())?;
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
    held.stop();
    screen.clear();

    let result = LoadResult {
        targets: &args.targets,
        settings: &settings,
        resolved: target.resolved.as_ref(),
        background,
        held: &held,
        measured: &measured,
        baseline: baseline.as_ref(),
    };
    let written = outputs.write(&result);
    outputs.print(&result, console)?;
    written?;
    Ok(exit_code(&result))
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
    // By which the stage that is reported is known again.
    let mut offered = Vec::new();
    let found = search::highest(goal, load, verdict::is_limited_by_generator, |load| {
        offered.push(load.number);
        offer(load)
    })?;
    let level = found.confirmation.clone();
    let stage = offered.iter().position(|&number| number == level.load.number);
    Ok(Measured { levels: vec![level], found: Some(found), stage })
}

/// A process that helps: requests on standard input, counts on standard output.
pub(crate) fn worker() -> Done {
    sys::signal::watch().map_err(|error| Failure::Refused(format!("cannot handle signals: {error}")))?;
    coordinator::work(io::stdin(), io::stdout().lock())?;
    Ok(ExitCode::SUCCESS)
}

/// The loads of `--background` in their canonical form.
fn loads_of(background: Option<&background::BackgroundLevel>) -> Vec<String> {
    background.into_iter().flat_map(|level| &level.loads).map(ToString::to_string).collect()
}

fn exit_code(result: &LoadResult<'_>) -> ExitCode {
    let Measured { levels, found, .. } = result.measured;
    let failed = levels.iter().filter(|level| verdict::is_failed(level)).count();
    if sys::signal::stop_ordered() {
        ExitCode::from(INTERRUPTED)
    } else if failed == levels.len() {
        ExitCode::FAILURE
    } else if failed > 0 || found.as_ref().is_some_and(|found| !found.confirmed) || !result.held.is_complete()
    {
        ExitCode::from(INCOMPLETE)
    } else {
        ExitCode::SUCCESS
    }
}

//! The generators of a load: one in this process, or several in others.

use net::load::coordinator::Coordinator;
use net::load::{Generator, Level, Load, LoadSettings, Progress};

use super::live::Screen;
use crate::failure::Failure;

/// The hidden verb of a worker process.
pub(crate) const WORKER: &str = "load-worker";

/// One generator in this process, or several in others.
pub(super) enum Generators {
    Here(Box<Generator>),
    Several(Coordinator),
}

impl Generators {
    pub(super) fn start(
        settings: &LoadSettings,
        workers: usize,
        is_watched: bool,
    ) -> Result<Generators, Failure> {
        if workers == 1 {
            let mut generator = Generator::new(settings.clone())?;
            if is_watched {
                generator.follow();
            }
            return Ok(Generators::Here(Box::new(generator)));
        }
        let program = sys::process::own_program().map_err(|error| {
            Failure::Refused(format!("cannot find this program to start workers: {error}"))
        })?;
        let coordinator = Coordinator::start(&program, WORKER, settings, workers)?;
        if is_watched {
            coordinator.follow()?;
        }
        Ok(Generators::Several(coordinator))
    }

    pub(super) fn offer(&mut self, load: &Load, screen: &Screen) -> Result<Level, net::Error> {
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

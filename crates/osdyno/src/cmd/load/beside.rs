//! The load beside a load: `--background`.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use background::{BackgroundLevel, BackgroundSpec, HeldLoads};
use record::HeldBackground;
use record::units::Unreadable;

use crate::failure::Failure;

/// Parses `--background`, which has one level here: the levels of a load are its connections or rates.
pub(super) fn parse(text: &str) -> Result<BackgroundLevel, Unreadable> {
    let background = BackgroundSpec::parse(text)?;
    match background.levels() {
        [level] => Ok(level.clone()),
        _ => Err(Unreadable::new(text, "it has several levels; a load is held beside one, such as cpu:50%")),
    }
}

/// The loads beside all levels, and their results at each.
#[derive(Default)]
pub(super) struct Held {
    beside: Option<HeldLoads>,
    levels: Vec<Vec<HeldBackground>>,
}

impl Held {
    /// Starts the loads, and waits until they are held.
    pub(super) fn start(level: Option<&BackgroundLevel>, life: Duration) -> Result<Held, Failure> {
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
        let refused = |error: background::Error| Failure::Refused(error.to_string());
        let mut beside = HeldLoads::start_here(&loads, life, &program, &folder).map_err(refused)?;
        beside.reach(&AtomicBool::new(false)).map_err(refused)?;
        Ok(Held { beside: Some(beside), levels: Vec::new() })
    }

    /// A level begins.
    pub(super) fn begin(&mut self) {
        if let Some(beside) = &mut self.beside {
            beside.mark();
        }
    }

    /// The level is over.
    pub(super) fn end(&mut self) {
        if let Some(beside) = &mut self.beside {
            self.levels.push(beside.report());
        }
    }

    /// Ends it; returns how each load was held at each level.
    pub(super) fn stop(self) -> Vec<Vec<HeldBackground>> {
        self.levels
    }
}

//! The work that several processes do together, and its parts.

use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Error;
use crate::load::{Generator, Load, LoadSettings, Measured, Watched, Window};

/// Work that several processes do at the same time: they begin together, and their counts are added up.
pub trait JointWork: Sized {
    /// The role in which a program calls [`work`](super::work) for it.
    const ROLE: &str;
    /// The part of a process in all of its tasks.
    type Settings: Serialize + DeserializeOwned + Send + 'static;
    /// Its part of one task.
    type Task: Serialize + DeserializeOwned + Send + 'static;
    /// Its counts of one task.
    type Measured: Serialize + DeserializeOwned;

    /// Accepts the settings.
    ///
    /// # Errors
    /// Invalid ones.
    fn open(settings: Self::Settings) -> Result<Self, Error>;

    /// The present time of the clock by which it works.
    fn now_ns(&self) -> u64;

    /// Makes ready for a task, such as by opening connections.
    ///
    /// # Errors
    /// What makes the task impossible.
    fn prepare(&mut self, task: &Self::Task) -> Result<(), Error>;

    /// Adds latencies to the progress.
    fn follow(&mut self) {}

    /// Does a task from this moment of its clock on, which is at most some seconds ahead; without one at
    /// once. The watcher is called ten times per second.
    ///
    /// # Errors
    /// What makes the task impossible.
    fn measure_at(
        &mut self,
        task: &Self::Task,
        at_ns: Option<u64>,
        watched: &mut Watched<'_>,
    ) -> Result<Self::Measured, Error>;

    /// The time that was measured, by its clock.
    fn window(measured: &Self::Measured) -> Window;
}

/// A task of all workers together.
#[derive(Clone, Debug)]
pub struct JointTask<T> {
    /// The part of each worker; those beyond have none.
    pub parts: Vec<T>,
    /// How long they may need to make ready.
    pub preparation: Duration,
    /// How long it takes at most.
    pub duration: Duration,
    /// Whether all end at one moment. What is bounded by its amount ends at another moment in each.
    pub has_common_end: bool,
}

/// The place of a worker among all, and its files.
#[derive(Clone, Debug)]
pub struct WorkerPlace {
    /// From 0.
    pub number: usize,
    /// How many workers there are.
    pub of: usize,
    /// The file that was sent along, where it is on its host.
    pub file: Option<PathBuf>,
}

impl JointWork for Generator {
    const ROLE: &str = "load-worker";
    type Settings = LoadSettings;
    type Task = Load;
    type Measured = Measured;

    fn open(settings: LoadSettings) -> Result<Generator, Error> {
        Generator::new(settings)
    }

    fn now_ns(&self) -> u64 {
        Generator::now_ns(self)
    }

    fn prepare(&mut self, load: &Load) -> Result<(), Error> {
        self.grow_to(load.connections).map(drop)
    }

    fn follow(&mut self) {
        Generator::follow(self);
    }

    fn measure_at(
        &mut self,
        load: &Load,
        at_ns: Option<u64>,
        watched: &mut Watched<'_>,
    ) -> Result<Measured, Error> {
        Generator::measure_at(self, load, at_ns, watched)
    }

    fn window(measured: &Measured) -> Window {
        measured.window
    }
}

//! The outside of a run: executors of trials, a clock, and a place for the record.
//!
//! [`run`](crate::run()) takes the programs, the clock and the disk of this machine. Simulations of a run
//! bring their own, so every order of events can be produced, without a process and without waiting.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use record::{Background, Line, Run, SentLine, System, TrialParameters, Writer};
use workload::Workload;

use crate::Error;

/// Executes the trials of one system. Hosts of a fleet are measured at once, each in a thread.
pub trait Executor: Send {
    /// Makes the system describe itself.
    ///
    /// # Errors
    /// Why nothing can be measured there.
    fn describe(&mut self) -> Result<System, Error>;

    /// Checks that the loads beside trials can be held there.
    ///
    /// # Errors
    /// Why not, with the rate that was reached.
    fn try_background(&mut self, loads: &[Background]) -> Result<(), Error> {
        let _ = loads;
        Ok(())
    }

    /// Makes a system that the run boots boot anew before its next trial; any other goes on unchanged.
    fn reboot(&mut self);

    /// Executes one trial to its end; `None` when it was interrupted, which leaves nothing of it behind.
    ///
    /// # Errors
    /// Why no trial of that workload can be executed there.
    fn trial(&mut self, workload: &Workload, order: TrialParameters) -> Result<Option<Vec<SentLine>>, Error>;
}

/// The time as a run sees it.
pub trait RunClock: Sync {
    /// Time since a fixed moment; it never goes back.
    fn now(&self) -> Duration;

    /// Waits for so long, or until `interrupt` is set.
    fn wait(&self, time: Duration, interrupt: &AtomicBool);

    /// The date, which may be set to anything at any time.
    fn date(&self) -> SystemTime;
}

/// How often a wait looks for an interrupt.
const ATTENTION: Duration = Duration::from_millis(50);

/// The clock of this machine.
#[derive(Debug)]
pub(crate) struct MachineClock(Instant);

impl MachineClock {
    pub(crate) fn start() -> MachineClock {
        MachineClock(Instant::now())
    }
}

impl RunClock for MachineClock {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }

    fn wait(&self, time: Duration, interrupt: &AtomicBool) {
        let begun = Instant::now();
        while begun.elapsed() < time && !interrupt.load(Ordering::Relaxed) {
            std::thread::sleep(ATTENTION.min(time));
        }
    }

    fn date(&self) -> SystemTime {
        SystemTime::now()
    }
}

/// Makes a record that begins with these lines.
pub type CreateRecord<'a> = dyn Fn(Run, &[Line]) -> record::Result<Writer> + 'a;

/// The outside of a run.
pub struct Outside<'a, E> {
    /// One for each system of the plan, in their order.
    pub executors: Vec<E>,
    /// Times the run.
    pub clock: &'a dyn RunClock,
    /// Makes the record.
    pub create: &'a CreateRecord<'a>,
    /// Ends the run early.
    pub interrupt: &'a AtomicBool,
}

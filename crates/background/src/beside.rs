//! The side that uses loads: it starts their processes, queries them, and decides whether a load was held
//! during a trial.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use host::{Deadline, Interrupter, NoReply, Process};
use record::{Background, Check, HeldBackground, Unit};

use crate::role::{Reply, Request, Seconds, Task};
use crate::spec::{FixedLoad, Kind};

/// How long a load may take until it is held: memory is written, and thousands of connections are made.
const READY_TIMEOUT: Duration = Duration::from_secs(60);

/// How long a mark or a report may take: a second is finished first, on a machine that may be busy.
const REPORT_TIMEOUT: Duration = Duration::from_secs(10);

const OUT_OF_TURN: &str = "it replied out of turn";

/// How much longer a trial takes with loads beside it, at most.
pub const TIME_MOST: Duration = READY_TIMEOUT.saturating_add(REPORT_TIMEOUT).saturating_add(REPORT_TIMEOUT);

/// Why loads are not held.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A process did not start or reply.
    #[error(transparent)]
    Process(#[from] host::Error),
    /// The system does not allow it.
    #[error("background {load}: {reason}")]
    Failed {
        /// The load.
        load: String,
        /// The attempt, and its outcome.
        reason: String,
    },
    /// The system is not fast enough.
    #[error(
        "background {load}: {place} reaches {reached}; choose a lower rate, or \
             wait until nothing else is at work"
    )]
    NotReached {
        /// The load.
        load: String,
        /// The resource that is too slow.
        place: String,
        /// The rate that it reached.
        reached: String,
    },
}

impl Error {
    /// Whether the wait was ended from outside.
    #[must_use]
    pub fn is_interrupted(&self) -> bool {
        matches!(self, Error::Process(error) if error.no_reply() == Some(&NoReply::Interrupted))
    }
}

/// Loads that are held by processes beside this one. Dropped, they end.
#[derive(Debug)]
pub struct HeldLoads {
    parts: Vec<Part>,
}

#[derive(Debug)]
struct Part {
    background: Background,
    load: FixedLoad,
    process: Process,
    /// Why it is no longer held, if it is not.
    ended: Option<String>,
}

impl HeldLoads {
    /// Starts a process for each load, which lives no longer than `life`: `start` takes the name of its role,
    /// starts a process that calls [`hold`](crate::hold), and returns it with a folder for files.
    ///
    /// # Errors
    /// A process could not be started, or a load cannot be read.
    pub fn start(
        loads: &[Background],
        life: Duration,
        mut start: impl FnMut(&str) -> Result<(Process, String), host::Error>,
    ) -> Result<HeldLoads, Error> {
        let mut parts = Vec::new();
        for background in loads {
            let unreadable = |error: record::units::Unreadable| Error::Failed {
                load: background.load.clone(),
                reason: error.to_string(),
            };
            let load = FixedLoad::parse(&background.load).map_err(unreadable)?;
            let (process, folder) = start(&format!("the background {}", background.load))?;
            let process = process.with_grace(Duration::ZERO);
            process.send(&Task {
                load: background.load.clone(),
                processor: background.processor,
                folder,
                life_seconds: life.as_secs_f64(),
            })?;
            parts.push(Part { background: background.clone(), load, process, ended: None });
        }
        Ok(HeldLoads { parts })
    }

    /// The same on this machine: the program calls [`hold`](crate::hold) in the role
    /// [`ROLE`](crate::ROLE).
    ///
    /// # Errors
    /// As above.
    pub fn start_here(
        loads: &[Background],
        life: Duration,
        program: &Path,
        folder: &str,
    ) -> Result<HeldLoads, Error> {
        HeldLoads::start(loads, life, |role| {
            let process = Process::start(role, host::role(program, &[crate::ROLE]))?;
            Ok((process, folder.to_owned()))
        })
    }

    /// The numbers of the processes, in the order of the loads.
    pub fn processes(&self) -> impl Iterator<Item = u32> {
        self.parts.iter().map(|part| part.process.number())
    }

    /// With these, another thread ends the waiting for any of them.
    pub fn interrupters(&self) -> impl Iterator<Item = Interrupter> {
        self.parts.iter().map(|part| part.process.interrupter())
    }

    /// Waits until every load is held, or has given up.
    ///
    /// # Errors
    /// A load that the system does not allow.
    pub fn settle(&mut self) -> Result<(), Error> {
        let deadline = Deadline::within(READY_TIMEOUT);
        self.parts.iter_mut().try_for_each(|part| part.ready(deadline).map(drop))
    }

    /// Waits until every load is held, or `interrupt` is set.
    ///
    /// # Errors
    /// A load that the system does not allow, or does not reach.
    pub fn reach(&mut self, interrupt: &AtomicBool) -> Result<(), Error> {
        let deadline = Deadline::within(READY_TIMEOUT).or_when(interrupt);
        for part in &mut self.parts {
            let (is_held, reached) = part.ready(deadline)?;
            if !is_held {
                return Err(Error::NotReached {
                    load: part.background.load.clone(),
                    place: part.place(),
                    reached: part.load.kind.rate_in_words(reached),
                });
            }
        }
        Ok(())
    }

    /// The first second that is to be reported begins now. It returns when that second has begun: a stopped
    /// process then shows in its rates.
    pub fn mark(&mut self) {
        for part in &self.parts {
            // Where the process is gone, its report shows it.
            let _ = part.process.send(&Request::Mark);
        }
        self.parts.iter_mut().for_each(Part::await_mark);
    }

    /// The outcome of each load since the mark. It goes on.
    pub fn report(&mut self) -> Vec<HeldBackground> {
        for part in &self.parts {
            let _ = part.process.send(&Request::Report);
        }
        self.parts.iter_mut().map(Part::report).collect()
    }
}

impl Part {
    fn ready(&mut self, deadline: Deadline<'_>) -> Result<(bool, f64), Error> {
        let load = self.background.load.clone();
        match self.process.receive(deadline)? {
            Reply::Ready { is_held, reached } => Ok((is_held, reached)),
            Reply::Failed { reason } => Err(Error::Failed { load, reason }),
            Reply::Marked | Reply::Seconds(_) => Err(Error::Failed { load, reason: OUT_OF_TURN.to_owned() }),
        }
    }

    fn await_mark(&mut self) {
        self.ended = match self.process.receive(Deadline::within(REPORT_TIMEOUT)) {
            Ok(Reply::Marked) => None,
            Ok(Reply::Failed { reason }) => Some(reason),
            Ok(_) => Some(OUT_OF_TURN.to_owned()),
            Err(error) => Some(error.to_string()),
        };
    }

    fn report(&mut self) -> HeldBackground {
        let (seconds, ended) = match self.ended.take() {
            Some(reason) => (Seconds::default(), reason),
            None => self.seconds(),
        };
        let held = HeldBackground {
            background: self.background.clone(),
            unit: self.load.kind.unit(),
            target: self.load.rate,
            rates: seconds.rates,
            counter: seconds.counter,
            system_counter: seconds.system_counter,
            system_rate: seconds.system_rate,
            holds: seconds.holds,
            is_held: false,
            ended,
        };
        HeldBackground { is_held: is_held(&held), ..held }
    }

    /// Its report, or the reason why there is none.
    fn seconds(&mut self) -> (Seconds, String) {
        let nothing = |reason: String| (Seconds::default(), reason);
        match self.process.receive(Deadline::within(REPORT_TIMEOUT)) {
            Ok(Reply::Seconds(seconds)) => (seconds, String::new()),
            Ok(Reply::Failed { reason }) => nothing(reason),
            Ok(Reply::Ready { .. } | Reply::Marked) => nothing(OUT_OF_TURN.to_owned()),
            Err(error) => nothing(error.to_string()),
        }
    }

    /// The resource that would have to be faster.
    fn place(&self) -> String {
        match (self.load.kind, self.background.processor) {
            (Kind::Disk, _) => "this disk".to_owned(),
            (_, Some(processor)) => format!("processor {processor}"),
            _ => "this system".to_owned(),
        }
    }
}

impl Kind {
    fn unit(self) -> Unit {
        match self {
            Kind::Cpu => Unit::None,
            Kind::Net | Kind::Disk | Kind::Memory(_) => Unit::BytesPerSecond,
            Kind::Connections(_) | Kind::Syscalls => Unit::PerSecond,
        }
    }
}

/// A trial counts if no second differed from its rate by more than this share.
const TOLERANCE: f64 = 0.05;

/// The kernel's count for the whole system may be lower than that for one process by this share: they are not
/// read at the same moment.
const SYSTEM_SHARE: f64 = 0.15;

/// Most kernels sample the time of a processor at every tick, at least a hundred times per second. A share p
/// of N samples has the standard error √(p(1−p)/N); three of them are allowed.
const TICKS_PER_SECOND: f64 = 100.0;
const ERRORS: f64 = 3.0;

/// Whether the load was there in every second.
pub(crate) fn is_held(held: &HeldBackground) -> bool {
    let is_near = |rate: &f64| (rate / held.target - 1.0).abs() <= TOLERANCE;
    held.ended.is_empty() && !held.rates.is_empty() && held.rates.iter().all(is_near) && is_seen(held)
}

/// Whether the counter of the whole system has at least the count of its part.
fn is_seen(held: &HeldBackground) -> bool {
    let target = held.target;
    let looks = TICKS_PER_SECOND * held.rates.len() as f64;
    let error = match held.unit {
        Unit::None => ERRORS * (target * (1.0 - target).max(0.0) / looks.max(1.0)).sqrt(),
        _ => 0.0,
    };
    held.system_rate.is_none_or(|rate| rate >= target * (1.0 - SYSTEM_SHARE) - error)
}

/// The claim that the load was held.
#[must_use]
pub fn check(held: &HeldBackground) -> Check {
    let load = &held.background.load;
    let claim = match (held.is_held, held.ended.as_str()) {
        (true, _) => format!("background {load} was within 5 % in every second"),
        (false, "") if !is_seen(held) => {
            let share = held.system_rate.unwrap_or(0.0) / held.target * 100.0;
            format!("background {load} is in {}, which has {share:.0} % of it only", held.system_counter)
        }
        (false, "") => format!("background {load} was within 5 % in every second; {}", found(held)),
        (false, ended) => format!("background {load} was there to the end: {ended}"),
    };
    Check { claim, held: held.is_held }
}

/// `from 78 % to 101 % of its rate`.
fn found(held: &HeldBackground) -> String {
    let share = |rate: f64| format!("{:.0} %", rate / held.target * 100.0);
    let low = held.rates.iter().copied().reduce(f64::min);
    let high = held.rates.iter().copied().reduce(f64::max);
    match low.zip(high) {
        Some((low, high)) => format!("it was from {} to {} of its rate", share(low), share(high)),
        None => "no second of it is known".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use record::Background;

    use super::*;

    fn held(rates: &[f64], system_rate: Option<f64>) -> HeldBackground {
        HeldBackground {
            background: Background { load: "cpu:50%".to_owned(), processor: Some(1) },
            unit: Unit::None,
            target: 0.5,
            rates: rates.to_vec(),
            counter: "CLOCK_THREAD_CPUTIME_ID".to_owned(),
            system_counter: "/proc/stat busy".to_owned(),
            system_rate,
            holds: None,
            is_held: false,
            ended: String::new(),
        }
    }

    #[test]
    fn every_second_counts() {
        assert!(is_held(&held(&[0.5, 0.476, 0.524], Some(0.6))));
        assert!(!is_held(&held(&[0.5, 0.47, 0.5], None)) && !is_held(&held(&[0.5, 0.53], None)));
        assert!(!is_held(&held(&[], None)), "nothing is known of it");
        assert!(!is_held(&held(&[0.5], Some(0.2))), "the kernel has not seen it");
        let killed = HeldBackground { ended: "killed by SIGKILL".to_owned(), ..held(&[0.5], None) };
        assert!(!is_held(&killed) && check(&killed).claim.ends_with("to the end: killed by SIGKILL"));
        let check = |held: HeldBackground| check(&HeldBackground { is_held: is_held(&held), ..held });
        let claim = check(held(&[0.5, 0.4], None));
        assert_eq!(
            (claim.held, claim.claim.contains("from 80 % to 100 % of its rate")),
            (false, true),
            "{claim:?}"
        );
        assert!(check(held(&[0.5], Some(0.2))).claim.contains("/proc/stat busy, which has 40 % of it only"));
    }
}

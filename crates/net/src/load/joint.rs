//! Several processes that worked together: when each was at work, on one scale of time, and whether the level
//! of a load counts.

use serde::{Deserialize, Serialize};

use super::counts::Times;
use super::distribution::Distribution;
use super::measured::{Measured, RequestCounts, Watch};
use crate::Error;

/// The share of the measured time in which all generators must have been at work.
pub(super) const OVERLAP_MIN: f64 = 0.99;

/// Several generators that offered one load together.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct JointLoad {
    /// The generators that have measured.
    pub workers: Vec<GeneratorReport>,
    /// Generator with a hundredth of the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observer: Option<ObserverLevel>,
    /// The time in which all were at work.
    #[serde(flatten)]
    pub window: JointWindow,
}

/// The time in which several processes were at work together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JointWindow {
    /// Time from the first begin of the measuring to the last, by clocks that were compared.
    pub start_spread_seconds: f64,
    /// By how much that can be off.
    pub start_spread_error_seconds: f64,
    /// Share of the time in which certainly all were at work.
    pub overlap_share: f64,
    /// Why the measurements do not count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub void: Vec<VoidReason>,
}

/// When one of several processes was at work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkerPresence {
    /// Begin of its measuring, after that of the first.
    pub begin_seconds: f64,
    /// How long it was not at work: stopped, or without a processor.
    pub absent_seconds: f64,
    /// How far its clock is ahead of the coordinator's.
    pub clock_offset_seconds: f64,
    /// By how much that can be off.
    pub clock_error_seconds: f64,
    /// How fast its clock drifted, as a share of the time.
    pub clock_drift: f64,
}

/// The part of one of several generators in a load.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GeneratorReport {
    /// Its host, with a number where that has several.
    pub name: String,
    /// Connections open at the end.
    pub connections: usize,
    /// Duration.
    pub elapsed_seconds: f64,
    /// Requests that were meant to start; `None` in a closed loop.
    pub intended: Option<u64>,
    /// Its requests.
    #[serde(flatten)]
    pub requests: RequestCounts,
    /// Median latency.
    pub latency_seconds_p50: Option<f64>,
    /// Latency that 99 % of its responses do not exceed.
    pub latency_seconds_p99: Option<f64>,
    /// 99 % of its requests were sent at most this late.
    pub lateness_seconds_p99: Option<f64>,
    /// Generators about themselves.
    pub watch: Watch,
    /// When it was at work.
    #[serde(flatten)]
    pub presence: WorkerPresence,
}

/// The latencies of the generator with a hundredth of the load.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ObserverLevel {
    /// Its host.
    pub name: String,
    /// From the intended start in an open loop, else from sending, to the last byte.
    pub latency: Distribution,
}

/// Why a level does not count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum VoidReason {
    /// A generator died, or sent no reply for too long.
    #[error("{worker} was lost: {reason}")]
    Lost {
        /// The generator.
        worker: String,
        /// Why.
        reason: String,
    },
    /// The order to begin came after the time to begin.
    #[error("{worker} received the order to begin {:.1} ms too late", seconds * 1e3)]
    BeganLate {
        /// The generator.
        worker: String,
        /// By how much.
        seconds: f64,
    },
    /// Its clock was set, or runs at another rate than clocks do.
    #[error("the clock of {worker} was set by at least {seconds:.3} s, or runs at another rate")]
    ClockStepped {
        /// The generator.
        worker: String,
        /// By at least how much.
        seconds: f64,
    },
    /// It was stopped, or had no processor.
    #[error("{worker} was stopped, or had no processor, for {seconds:.2} s")]
    Absent {
        /// The generator.
        worker: String,
        /// For how long.
        seconds: f64,
    },
    /// The generators measured at different times.
    #[error("all were at work for {:.1} % of the time, because of {worker}", 100.0 * overlap_share.max(0.0))]
    Apart {
        /// The one that began last or ended first.
        worker: String,
        /// Share of the time in which certainly all were at work.
        overlap_share: f64,
    },
    /// The clocks are not known well enough for so short a level.
    #[error("the clock of {worker} is known to {:.1} ms only: measure longer, with -d", seconds * 1e3)]
    ClocksUncertain {
        /// The generator whose clock is known worst.
        worker: String,
        /// By how much that can be off.
        seconds: f64,
    },
}

impl VoidReason {
    /// Whether no further load can be offered together: a generator is gone.
    pub fn is_lasting(&self) -> bool {
        matches!(self, VoidReason::Lost { .. })
    }

    #[cfg(test)]
    pub(super) fn worker(&self) -> &str {
        match self {
            VoidReason::Lost { worker, .. }
            | VoidReason::BeganLate { worker, .. }
            | VoidReason::ClockStepped { worker, .. }
            | VoidReason::Absent { worker, .. }
            | VoidReason::Apart { worker, .. }
            | VoidReason::ClocksUncertain { worker, .. } => worker,
        }
    }
}

/// The measured time of one generator, by the clock of the coordinator, in nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PlacedWindow {
    pub(super) worker: String,
    pub(super) begin_ns: f64,
    pub(super) end_ns: f64,
    /// Begin and end can be off by this.
    pub(super) error_ns: f64,
    pub(super) absent_ns: f64,
}

/// The windows of all generators of a level.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Overlap {
    pub(super) spread_ns: f64,
    pub(super) spread_error_ns: f64,
    /// The share of the time in which certainly all were at work.
    pub(super) share: f64,
    /// Why that is not enough, if it is not.
    pub(super) reasons: Vec<VoidReason>,
}

impl Overlap {
    /// All errors and absences count against it: the share is a lower bound.
    pub(super) fn from_windows(windows: &[PlacedWindow]) -> Overlap {
        let by = |of: fn(&PlacedWindow) -> f64| {
            move |one: &&PlacedWindow, other: &&PlacedWindow| of(one).total_cmp(&of(other))
        };
        let (Some(first), Some(last), Some(shortest), Some(longest)) = (
            windows.iter().min_by(by(|window| window.begin_ns)),
            windows.iter().max_by(by(|window| window.begin_ns)),
            windows.iter().min_by(by(|window| window.end_ns)),
            windows.iter().max_by(by(|window| window.end_ns)),
        ) else {
            return Overlap::default();
        };
        let least = |of: fn(&PlacedWindow) -> f64| windows.iter().map(of).fold(f64::MAX, f64::min);
        let most = |of: fn(&PlacedWindow) -> f64| windows.iter().map(of).fold(f64::MIN, f64::max);
        let begin_ns = most(|window| window.begin_ns + window.error_ns);
        let end_ns = least(|window| window.end_ns - window.error_ns);
        let first_ns = least(|window| window.begin_ns - window.error_ns);
        let length_ns = (most(|window| window.end_ns + window.error_ns) - first_ns).max(1.0);
        let absent_ns: f64 = windows.iter().map(|window| window.absent_ns).sum();
        let share = (end_ns - begin_ns - absent_ns) / length_ns;
        let spread_ns = last.begin_ns - first.begin_ns;
        // The first and the last may be others than they seem.
        let spread_max_ns = begin_ns - first_ns;
        let spread_min_ns = most(|window| window.begin_ns - window.error_ns)
            - least(|window| window.begin_ns + window.error_ns);
        let spread_error_ns = match windows.len() {
            1 => 0.0,
            _ => (spread_max_ns - spread_ns).max(spread_ns - spread_min_ns.max(0.0)),
        };
        let mut overlap = Overlap { spread_ns, spread_error_ns, share, reasons: Vec::new() };
        if share >= OVERLAP_MIN {
            return overlap;
        }
        let matters = (1.0 - OVERLAP_MIN) / 2.0 * length_ns;
        for absent in windows.iter().filter(|window| window.absent_ns > matters / windows.len() as f64) {
            let seconds = absent.absent_ns / 1e9;
            overlap.reasons.push(VoidReason::Absent { worker: absent.worker.clone(), seconds });
        }
        let (late_ns, early_ns) = (spread_ns, longest.end_ns - shortest.end_ns);
        if late_ns + early_ns > matters {
            let one = if late_ns > early_ns { last } else { shortest };
            overlap.reasons.push(VoidReason::Apart { worker: one.worker.clone(), overlap_share: share });
        }
        let worst = windows.iter().max_by(by(|window| window.error_ns));
        if let (true, Some(worst)) = (overlap.reasons.is_empty(), worst) {
            let (worker, seconds) = (worst.worker.clone(), worst.error_ns / 1e9);
            overlap.reasons.push(VoidReason::ClocksUncertain { worker, seconds });
        }
        overlap
    }
}

impl GeneratorReport {
    /// That of a generator.
    ///
    /// # Errors
    /// None: the bounds of a histogram are sound.
    pub(super) fn new(
        name: String,
        measured: &Measured,
        presence: WorkerPresence,
    ) -> Result<GeneratorReport, Error> {
        let quantile =
            |times: &Times, share| (times.count() > 0).then(|| times.quantile_ns(share) as f64 / 1e9);
        let latency = measured.latency()?;
        Ok(GeneratorReport {
            name,
            connections: measured.connections,
            elapsed_seconds: measured.elapsed_seconds,
            intended: measured.intended,
            requests: measured.requests,
            latency_seconds_p50: quantile(&latency, 0.5),
            latency_seconds_p99: quantile(&latency, 0.99),
            lateness_seconds_p99: quantile(&measured.lateness, 0.99),
            watch: measured.watch.clone(),
            presence,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: f64 = 1e9;

    fn window(worker: &str, begin: f64, end: f64, error: f64, absent: f64) -> PlacedWindow {
        PlacedWindow {
            worker: worker.to_owned(),
            begin_ns: begin * SECOND,
            end_ns: end * SECOND,
            error_ns: error * SECOND,
            absent_ns: absent * SECOND,
        }
    }

    #[test]
    fn windows_that_overlap_count() {
        let windows = [window("a", 1.0, 11.0, 0.001, 0.0), window("b", 1.01, 11.02, 0.002, 0.0)];
        let overlap = Overlap::from_windows(&windows);
        assert!((overlap.spread_ns - 1e7).abs() < 1.0 && (overlap.spread_error_ns - 3e6).abs() < 1.0);
        // From 1.012 to 10.999, of the time from 0.999 to 11.022.
        assert!((overlap.share - 9.987 / 10.023).abs() < 1e-9, "{overlap:?}");
        assert_eq!(overlap.reasons, []);
    }

    #[test]
    fn a_level_that_does_not_count_names_the_worker() {
        let one = window("a", 0.0, 10.0, 0.0, 0.0);
        let reasons = |other: PlacedWindow| Overlap::from_windows(&[one.clone(), other]).reasons;
        for apart in [window("b", 0.2, 10.0, 0.0, 0.0), window("b", 0.0, 9.8, 0.0, 0.0)] {
            let reasons = reasons(apart);
            assert!(
                matches!(&reasons[..], [VoidReason::Apart { worker, .. }] if worker == "b"),
                "{reasons:?}"
            );
        }
        let absent = reasons(window("b", 0.0, 10.0, 0.0, 1.0));
        assert_eq!(absent, [VoidReason::Absent { worker: "b".to_owned(), seconds: 1.0 }]);
        let uncertain = reasons(window("b", 0.0, 10.0, 0.2, 0.0));
        assert_eq!(uncertain, [VoidReason::ClocksUncertain { worker: "b".to_owned(), seconds: 0.2 }]);
    }
}

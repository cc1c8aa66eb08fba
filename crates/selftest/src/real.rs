//! Residuals of real runs of this project, after subtracting the common part of their trials.
//!
//! `examples/residuals.rs` makes `data/residuals.i16`; `data/README.md` lists the runs. A simulated trial
//! takes a whole real trial, starts at a random place, wraps around at its end, and is reversed every second
//! time. The noise keeps its tails and its autocorrelation, but is no longer bound to an n, so a constant
//! cost stays constant.

use fastrand::Rng;

/// The series with residuals, in the order of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResidualSeries {
    /// One more socket.
    Socket,
    /// One more process.
    Fork,
    /// One more mapping.
    Mmap,
}

impl ResidualSeries {
    /// All of them.
    pub const ALL: [ResidualSeries; 3] = [ResidualSeries::Socket, ResidualSeries::Fork, ResidualSeries::Mmap];
}

/// Trials of a series.
pub const TRIALS: usize = 40;
/// Values of a trial.
pub const VALUES: usize = 1_000;
/// Logarithms are stored in this unit.
pub const UNIT: f64 = 0.001;

/// Series by series, trial by trial: little-endian `i16`.
static RESIDUALS: &[u8] = include_bytes!("../data/residuals.i16");

/// Logarithms of one trial of `count` values.
pub(crate) fn window(rng: &mut Rng, series: ResidualSeries, count: usize) -> Vec<f64> {
    let trial = (series as usize * TRIALS + rng.usize(..TRIALS)) * VALUES;
    let (start, backwards) = (rng.usize(..VALUES), rng.bool());
    (0..count)
        .map(|place| {
            let step = place % VALUES;
            let at = if backwards { start + VALUES - step } else { start + step } % VALUES;
            match RESIDUALS.as_chunks().0.get(trial + at) {
                Some(bytes) => UNIT * f64::from(i16::from_le_bytes(*bytes)),
                None => 0.0,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_series_has_all_its_trials() {
        assert_eq!(RESIDUALS.len(), 2 * ResidualSeries::ALL.len() * TRIALS * VALUES);
    }

    #[test]
    fn the_middle_of_a_trial_is_zero() {
        for series in ResidualSeries::ALL {
            let mut logs = window(&mut Rng::with_seed(1), series, VALUES);
            logs.sort_unstable_by(f64::total_cmp);
            assert!(logs[VALUES / 2].abs() < 0.005, "{series:?}: {}", logs[VALUES / 2]);
            assert!(logs[VALUES - 1] > logs[0]);
        }
    }
}

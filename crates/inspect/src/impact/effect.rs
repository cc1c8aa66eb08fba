//! The share of a cost in the time that a user waits, the gain of a faster system, and the rate from which
//! the cost matters for capacity instead: Amdahl's law (AFIPS 1967), with the path as the part that no system
//! makes faster.

use serde::Serialize;
use stats::Interval;

/// How many times faster the hypothetical system is: the question of 1996.
pub(super) const TIMES_FASTER: f64 = 2.0;

/// The part of a cost in the time that a user waits.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct UserShare {
    /// Time of the operating system.
    pub system_seconds: Interval,
    /// Time that a user waits.
    pub total_seconds: f64,
    /// Share of the operating system in that.
    pub share: Interval,
    /// Share that a system twice as fast would save at most.
    #[serde(rename = "gain_at_most")]
    pub gain: Interval,
}

impl UserShare {
    /// The effect of a cost on a path that takes so long without it.
    pub(super) fn of(cost: Interval, path_seconds: f64) -> UserShare {
        let share = over(cost, |cost| cost / (cost + path_seconds));
        UserShare {
            system_seconds: cost,
            total_seconds: cost.value + path_seconds,
            share,
            gain: over(share, |share| share * (1.0 - 1.0 / TIMES_FASTER)),
        }
    }
}

/// The effect of a cost on the number of processors.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CapacityEffect {
    /// Seconds that a processor works for one response or transfer.
    pub work_seconds: Interval,
    /// Responses per second that occupy one core.
    #[serde(rename = "per_core_per_second")]
    pub per_core: Interval,
    /// The same at which a system twice as fast saves a core.
    #[serde(rename = "saves_a_core_from_per_second")]
    pub matters_from: Interval,
    /// At the given rate.
    ///
    /// `null` without one.
    pub at_rate: Option<CoresAtRate>,
}

/// Cores that a cost occupies at a rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CoresAtRate {
    /// Responses per second.
    pub per_second: f64,
    /// Cores that work on it.
    pub cores: Interval,
    /// Cores that a system twice as fast would save.
    #[serde(rename = "cores_saved")]
    pub saved: Interval,
    /// The price of those; `null` without a price of a core.
    pub money_saved: Option<Interval>,
}

/// The rate that is offered to the servers, and the price of a core.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Demand {
    /// Responses per second.
    pub per_second: Option<f64>,
    /// The price of one core, in any currency and for any time.
    pub core_price: Option<f64>,
}

impl CapacityEffect {
    pub(super) fn of(work: Interval, demand: Demand) -> CapacityEffect {
        let saved_share = 1.0 - 1.0 / TIMES_FASTER;
        let inverse = |times: f64| {
            let Interval { value, low, high } = work;
            Interval { value: times / value, low: times / high, high: times / low }
        };
        let at_rate = |per_second: f64| {
            let cores = over(work, |seconds| seconds * per_second);
            let saved = over(cores, |cores| cores * saved_share);
            let money_saved = demand.core_price.map(|price| over(saved, |cores| cores * price));
            CoresAtRate { per_second, cores, saved, money_saved }
        };
        CapacityEffect {
            work_seconds: work,
            per_core: inverse(1.0),
            matters_from: inverse(1.0 / saved_share),
            at_rate: demand.per_second.map(at_rate),
        }
    }
}

/// A function that rises, of an estimate and of both of its ends.
fn over(of: Interval, rising: impl Fn(f64) -> f64) -> Interval {
    Interval { value: rising(of.value), low: rising(of.low), high: rising(of.high) }
}

/// The gain of going from one system to another, as a share of the time that a user waits on the first;
/// negative where the other is slower. The ends of the interval are those of the two costs at their worst, so
/// it is wider than 95 %.
pub(super) fn exchange(from: Interval, to: Interval, path_seconds: f64) -> Interval {
    let gain = |from: f64, to: f64| (from - to) / (from + path_seconds);
    Interval {
        value: gain(from.value, to.value),
        low: gain(from.low, to.high),
        high: gain(from.high, to.low),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exactly(value: f64) -> Interval {
        Interval { value, low: value, high: value }
    }

    #[test]
    fn half_of_the_share_is_the_most_that_can_be_gained() {
        let effect = UserShare::of(Interval { value: 1.0, low: 0.5, high: 2.0 }, 3.0);
        assert_eq!((effect.share.value, effect.gain.value, effect.total_seconds), (0.25, 0.125, 4.0));
        assert_eq!((effect.share.low, effect.share.high), (0.5 / 3.5, 0.4));
        assert_eq!(UserShare::of(exactly(1.0), 0.0).gain.value, 0.5);
    }

    #[test]
    fn a_core_is_saved_where_two_are_busy() {
        let demand = Demand { per_second: Some(4e6), core_price: Some(30.0) };
        let effect = CapacityEffect::of(exactly(1e-6), demand);
        let at_rate = effect.at_rate.unwrap();
        assert!((effect.per_core.value - 1e6).abs() < 1.0 && (effect.matters_from.value - 2e6).abs() < 1.0);
        assert!((at_rate.cores.value - 4.0).abs() < 1e-9 && (at_rate.saved.value - 2.0).abs() < 1e-9);
        assert!((at_rate.money_saved.unwrap().value - 60.0).abs() < 1e-9);
    }

    #[test]
    fn going_to_a_faster_system_gains_what_differs() {
        let gain = exchange(Interval { value: 2.0, low: 1.5, high: 2.5 }, exactly(1.0), 8.0);
        assert!((gain.value - 0.1).abs() < 1e-12 && gain.low < gain.value && gain.value < gain.high);
        assert!(exchange(exactly(1.0), exactly(2.0), 8.0).value < 0.0);
    }
}

//! What became of a load: whether it was held, and what that says of a trial.

use record::{Check, HeldBackground, Unit};

/// A load is held within this share of its rate before anything is measured.
pub(crate) const HELD_SHARE: f64 = 0.02;

/// A trial counts where no second was further from its rate than this share.
const TOLERANCE: f64 = 0.05;

/// What the kernel counts of the whole system may be less than what it counts of one process by this share:
/// the two are not read at the same moment.
const SYSTEM_SHARE: f64 = 0.15;

/// Most kernels count the time of a processor by looking at it at every tick, a hundred times in a second at
/// least. Of a share p a count of N looks has the standard error √(p(1−p)/N), and is allowed three of them.
const TICKS_PER_SECOND: f64 = 100.0;
const ERRORS: f64 = 3.0;

/// Whether the load was there in every second.
pub(crate) fn is_held(held: &HeldBackground) -> bool {
    let is_near = |rate: &f64| (rate / held.target - 1.0).abs() <= TOLERANCE;
    held.ended.is_empty() && !held.rates.is_empty() && held.rates.iter().all(is_near) && is_seen(held)
}

/// Whether the whole system has at least what its part has.
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

//! The reasons why trials ended early, and the limits of a load, in words.

use judge::bounds::GeneratorRemark;
use judge::generator::Evidence;
use judge::{Cause, LimitedLevels, LoadVerdict, Stop};
use record::{FailureCount, GeneratorLevel, LimitedBy, Purpose, Unit};

use crate::place::range;
use crate::quantity::Quantity;
use crate::words::{count, list, percent};

/// How trials stopped short: `stopped at 1 024: EMFILE`. [`advice`] has the remedy.
pub fn stop(stop: &Stop) -> String {
    let at = stop.n.map(|(low, high)| format!(" at {}", range(low, high))).unwrap_or_default();
    let words = match &stop.cause {
        Cause::Limit { error, .. } => format!("stopped{at}: {error}"),
        Cause::Allowance => return format!("shortened{} to fit the time", at.replacen(" at", " to", 1)),
        Cause::Unsupported { reason } => format!("unsupported: {reason}"),
        Cause::Failed { reason } => format!("failed: {reason}"),
        Cause::Crashed { reason } => format!("crashed{}: {reason}", at.replacen(" at", " at n =", 1)),
        Cause::TimedOut => format!("timed out{at}"),
        Cause::NotOffered => {
            let which = if stop.trials == 1 { "its only trial finds" } else { "its only trials find" };
            format!("not measured: {which} out the load that all are offered")
        }
        Cause::NotMeasured { out_of_time: true } => "not measured: the time was used up".into(),
        Cause::NotMeasured { out_of_time: false } => "not measured".into(),
    };
    if stop.trials == stop.of { words } else { format!("{words} ({} of {} trials)", stop.trials, stop.of) }
}

/// The meaning of a limit and how to raise it.
pub fn advice(stop: &Stop) -> Option<&str> {
    match &stop.cause {
        Cause::Limit { advice, .. } if !advice.is_empty() => Some(advice),
        _ => None,
    }
}

/// `load generator saturated at 500 and 1 000 (3 of 10 trials)`.
pub fn limited(limited: &LimitedLevels) -> String {
    by(limited.by, Purpose::Level, limited)
}

fn by(by: LimitedBy, purpose: Purpose, limited: &LimitedLevels) -> String {
    let cause = match by {
        LimitedBy::Generator => "load generator saturated",
        LimitedBy::Sink => "limited by the sink",
        LimitedBy::Others => "disturbed",
        LimitedBy::Time => "lower bound",
    };
    let place = match purpose {
        Purpose::Level => places(limited),
        Purpose::Capacity => " while it measured the capacity of the server".to_owned(),
    };
    let trials = match limited.trials == limited.of {
        true => String::new(),
        false => format!(" ({} of {} trials)", count(limited.trials as u64), count(limited.of as u64)),
    };
    cause.to_owned() + &place + &trials
}

/// ` at 500 and 1 000`; empty for all levels.
fn places(limited: &LimitedLevels) -> String {
    let levels: Vec<String> = limited.levels.iter().map(|n| count(*n)).collect();
    if levels.is_empty() { String::new() } else { format!(" at {}", list(&levels)) }
}

/// `load generator saturated at 5 (1 of 2 trials): it was busy 99 % of the time`. Where trials have different
/// values, those of one represent all.
pub(crate) fn of_generator(remark: &GeneratorRemark) -> String {
    let evidence = remark.evidence.as_ref().map(|evidence| self::evidence(remark.by, evidence));
    let evidence = match evidence {
        None => String::new(),
        Some(last) if remark.is_one_of_several => format!("; once {last}"),
        Some(all) => format!(": {all}"),
    };
    by(remark.by, remark.purpose, &remark.limited) + &evidence
}

/// `it was busy 99 % of the time`.
fn evidence(by: LimitedBy, evidence: &Evidence) -> String {
    let waited = |percent: u32| match percent {
        5.. => format!(", and {percent} % of the time others had the processor it needed"),
        _ => String::new(),
    };
    match evidence {
        Evidence::Recorded(words) => words.clone(),
        Evidence::OfPart { name, evidence } => format!("{name}: {}", self::evidence(by, evidence)),
        Evidence::Late { seconds, run_delay_percent } => {
            format!("1 % of requests were sent more than {} late", Unit::Seconds.cost(*seconds))
                + &waited(*run_delay_percent)
        }
        Evidence::Busy { busy_percent, run_delay_percent } if by == LimitedBy::Others => format!(
            "others had the processor that it needed for {run_delay_percent} % of the time, and it was busy \
             {busy_percent} %"
        ),
        Evidence::Busy { busy_percent, run_delay_percent } => {
            format!("it was busy {busy_percent} % of the time") + &waited(*run_delay_percent)
        }
    }
}

/// Why a load did not measure the server alone, as the end of a sentence; `None` without a known limit.
pub fn load_reason(level: &GeneratorLevel, verdict: &LoadVerdict) -> Option<String> {
    Some(match verdict {
        LoadVerdict::Sound => return None,
        LoadVerdict::Limited(by, measured) => evidence(*by, measured),
        LoadVerdict::NoResponse => match level.failures.first() {
            Some(FailureCount { stage, cause, count }) => format!("{count} × {cause} at {stage}"),
            None => format!("none came within {}", Unit::Seconds.cost(level.elapsed_seconds)),
        },
        LoadVerdict::Behind => behind(level),
    })
}

fn behind(level: &GeneratorLevel) -> String {
    let without = level.unanswered + level.timed_out;
    let (per_second, what) = match level.intended_per_second {
        Some(intended) => (intended, "intended requests"),
        None => (level.started_per_second, "requests that were sent"),
    };
    let share = without as f64 / (per_second * level.elapsed_seconds);
    // In a closed loop few requests may be all that some connections had.
    if level.intended_per_second.is_none() && (share < 0.01 || !share.is_finite()) {
        return format!("{without} requests on {} connections had no response", level.connections);
    }
    format!("{} of the {what} had no response", percent(share))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remark(levels: &[u64], percent: Option<u32>, is_one_of_several: bool) -> String {
        let limited = LimitedLevels { by: LimitedBy::Generator, levels: levels.to_vec(), trials: 1, of: 2 };
        let busy = |busy_percent| Evidence::Busy { busy_percent, run_delay_percent: 4 };
        let (by, purpose, evidence) = (LimitedBy::Generator, Purpose::Level, percent.map(busy));
        of_generator(&GeneratorRemark { by, purpose, limited, evidence, is_one_of_several })
    }

    #[test]
    fn evidence_says_what_was_measured() {
        let busy = Evidence::Busy { busy_percent: 50, run_delay_percent: 40 };
        let own = evidence(LimitedBy::Generator, &busy);
        assert_eq!(
            own,
            "it was busy 50 % of the time, and 40 % of the time others had the processor it needed"
        );
        let others = "others had the processor that it needed for 40 % of the time, and it was busy 50 %";
        assert_eq!(evidence(LimitedBy::Others, &busy), others);
        let late = Evidence::Late { seconds: 0.0025, run_delay_percent: 0 };
        let late = evidence(LimitedBy::Generator, &late).replace('\u{202f}', " ");
        assert_eq!(late, "1 % of requests were sent more than 2.50 ms late");
        assert_eq!(evidence(LimitedBy::Generator, &Evidence::Recorded("busy".into())), "busy");
    }

    #[test]
    fn a_generator_says_where_and_why() {
        assert_eq!(
            remark(&[5], Some(99), false),
            "load generator saturated at 5 (1 of 2 trials): it was busy 99 % of the time"
        );
        assert_eq!(
            remark(&[2, 5], Some(99), true),
            "load generator saturated at 2 and 5 (1 of 2 trials); once it was busy 99 % of the time"
        );
        assert_eq!(remark(&[], None, false), "load generator saturated (1 of 2 trials)");
        let limited = LimitedLevels { by: LimitedBy::Sink, levels: vec![500], trials: 2, of: 2 };
        assert_eq!(super::limited(&limited), "limited by the sink at 500");
    }

    #[test]
    fn a_crash_says_where() {
        let crashed = |n| {
            let cause = Cause::Crashed { reason: "killed by SIGKILL".into() };
            stop(&Stop { cause, n, trials: 3, of: 3 })
        };
        assert_eq!(crashed(Some((5, 20))), "crashed at n = 5–20: killed by SIGKILL");
        assert_eq!(crashed(Some((5, 5))), "crashed at n = 5: killed by SIGKILL");
        assert_eq!(crashed(None), "crashed: killed by SIGKILL");
    }
}

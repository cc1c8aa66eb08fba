//! What ended trials early, and what limited a load, in words.

use judge::generator::{GeneratorRemark, LimitedBy};
use judge::{Cause, Limited, Stop};

use crate::words::{count, list};

/// How trials stopped short: `stopped at 1 024: EMFILE`. What to do about it is [`advice`].
pub fn stop(stop: &Stop) -> String {
    let at = match stop.n {
        Some((low, high)) if low == high => format!(" at {}", count(low)),
        Some((low, high)) => format!(" at {} to {}", count(low), count(high)),
        None => String::new(),
    };
    let words = match &stop.cause {
        Cause::Limit { error, .. } => format!("stopped{at}: {error}"),
        Cause::Allowance => return format!("shortened{} to fit the time", at.replacen(" at", " to", 1)),
        Cause::Unsupported { reason } => format!("unsupported: {reason}"),
        Cause::Failed { reason } => format!("failed: {reason}"),
        Cause::Crashed { reason } => format!("crashed{}: {reason}", at.replacen(" at", " at n =", 1)),
        Cause::TimedOut => format!("timed out{at}"),
        Cause::NotMeasured { out_of_time: true } => "not measured: the time was used up".into(),
        Cause::NotMeasured { out_of_time: false } => "not measured".into(),
    };
    if stop.trials == stop.of { words } else { format!("{words} ({} of {} trials)", stop.trials, stop.of) }
}

/// What a limit means and how to raise it.
pub fn advice(stop: &Stop) -> Option<&str> {
    match &stop.cause {
        Cause::Limit { advice, .. } if !advice.is_empty() => Some(advice),
        _ => None,
    }
}

/// `load generator saturated at 500 and 1 000 (3 of 10 trials)`.
pub fn limited(limited: &Limited) -> String {
    by(LimitedBy::Generator, limited)
}

fn by(by: LimitedBy, limited: &Limited) -> String {
    let cause = match by {
        LimitedBy::Generator => "load generator saturated",
        LimitedBy::Others => "disturbed",
    };
    let trials = match limited.trials == limited.of {
        true => String::new(),
        false => format!(" ({} of {} trials)", count(limited.trials as u64), count(limited.of as u64)),
    };
    format!("{cause}{}{trials}", places(limited))
}

/// ` at 500 and 1 000`; nothing where all levels are meant.
pub(crate) fn places(limited: &Limited) -> String {
    let levels: Vec<String> = limited.levels.iter().map(|n| count(*n)).collect();
    if levels.is_empty() { String::new() } else { format!(" at {}", list(&levels)) }
}

/// `load generator saturated at 5 (1 of 2 trials): busy 99 %`. Where trials measured different things, those
/// of one stand for all.
pub(crate) fn of_generator(remark: &GeneratorRemark) -> String {
    let reason = match &remark.reason {
        None => String::new(),
        Some(last) if remark.is_one_of_several => format!("; once {last}"),
        Some(all) => format!(": {all}"),
    };
    by(remark.by, &remark.limited) + &reason
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remark(levels: &[u64], reason: Option<&str>, is_one_of_several: bool) -> String {
        let limited = Limited { levels: levels.to_vec(), trials: 1, of: 2 };
        let by = LimitedBy::Generator;
        of_generator(&GeneratorRemark { by, limited, reason: reason.map(str::to_owned), is_one_of_several })
    }

    #[test]
    fn a_generator_says_where_and_why() {
        assert_eq!(
            remark(&[5], Some("busy 99 %"), false),
            "load generator saturated at 5 (1 of 2 trials): busy 99 %"
        );
        assert_eq!(
            remark(&[2, 5], Some("busy 99 %"), true),
            "load generator saturated at 2 and 5 (1 of 2 trials); once busy 99 %"
        );
        assert_eq!(remark(&[], None, false), "load generator saturated (1 of 2 trials)");
    }

    #[test]
    fn a_crash_says_where() {
        let crashed = |n| {
            let cause = Cause::Crashed { reason: "killed by SIGKILL".into() };
            stop(&Stop { cause, n, trials: 3, of: 3 })
        };
        assert_eq!(crashed(Some((5, 20))), "crashed at n = 5 to 20: killed by SIGKILL");
        assert_eq!(crashed(Some((5, 5))), "crashed at n = 5: killed by SIGKILL");
        assert_eq!(crashed(None), "crashed: killed by SIGKILL");
    }
}

//! Remarks about series and runs, each a sentence; why trials ended early, and the limits of a load.

use judge::bounds::GeneratorRemark;
use judge::generator::Evidence;
use judge::{Cause, Finding, Findings, LimitedLevels, LoadVerdict, NotScaled, Note, Remark, Stop};
use record::{FailureCount, GeneratorLevel, LimitedBy, Purpose, Unit};
use stats::{ReferenceStanding, Warning};

use super::run::{label, variant_label};
use super::verdict::warnings;
use crate::place::range;
use crate::quantity::Quantity;
use crate::words::{count, grouped_once, list, percent, things};

/// More remarks of one kind are counted.
const NAMED_MOST: usize = 3;

/// The remarks about a series' numbers, each a sentence: warnings of statistics, then those of the record.
pub fn remarks(finding: &Finding) -> Vec<String> {
    let warned = finding.verdict.iter().flat_map(warnings).chain(adjustment(finding));
    warned.chain(finding.remarks.iter().map(remark)).collect()
}

/// The remarks of the record about the numbers of a series.
pub fn remark(remark: &Remark) -> String {
    match remark {
        Remark::NotCounted { reason, trials } => {
            format!("{} not counted: {reason}.", things(*trials, "trial is", "trials are"))
        }
        Remark::NotMade(reason) => format!("Not computed: {reason}."),
        Remark::NothingToJudge { are_zero: true, .. } => "0 in every trial.".to_owned(),
        Remark::NothingToJudge { values, are_zero: false } => format!(
            "None of {} is a cost, which is a number from 1e-50 to 1e50; there is nothing to judge.",
            things(*values, "value", "values")
        ),
        Remark::OfTrials { text, trials, of } if trials == of => text.clone(),
        Remark::OfTrials { text, trials, of } => format!("{text} ({trials} of {of} trials)"),
        Remark::Generator(remark) => of_generator(remark),
        Remark::NotScaled(NotScaled::Emulated) => {
            "Scaling is not judged, because an emulator executes the processors.".to_owned()
        }
        Remark::NotScaled(NotScaled::NoSpeedup) => {
            "No trial has one worker and several at levels that count.".to_owned()
        }
        Remark::NotScaled(NotScaled::OneProcessor) => {
            "Scaling is not judged, because only one processor is usable.".to_owned()
        }
        Remark::Helpers { helpers, stride } => format!(
            "One object in {stride} was made and timed by the trial, and the others by {}, because one \
             process cannot hold so many.",
            things(*helpers as usize, "helper process", "helper processes")
        ),
    }
}

/// The remarks about the whole run.
pub fn notes(findings: &Findings) -> Vec<String> {
    let several = findings.systems.len() > 1;
    let said = |note: &Note| match note {
        Note::NothingOffered { workload, series } => format!(
            "{workload} has no {}: the first trial of each variant only finds out the rate that all are \
             offered; --trials 2 measures at it, and --trials 5 compares.",
            list(series)
        ),
        Note::Reduced { judged_again: 0, .. } => {
            "The file has medians in place of points, and the verdicts of the points.".to_owned()
        }
        Note::Reduced { series, judged_again } => format!(
            "The file has medians in place of points: {judged_again} of {series} series are judged from \
             medians, without references, because it has no verdict of them with this margin."
        ),
        Note::CutOff => "The run was cut off; all trials that it finished are here.".to_string(),
        Note::OutOfTime => "The time was used up; a larger --budget would decide more.".to_string(),
        Note::EndedEarly { status } => format!("The run ended early ({}).", status.as_str()),
        Note::Readiness { system, warning } if several => format!("{system}: {warning}"),
        Note::Readiness { warning, .. } => warning.clone(),
    };
    findings.notes.iter().map(said).collect()
}

/// Every kind of remark once, with how many series it is on: a reader of a whole run needs no more.
pub(crate) fn kinds_of_remarks(findings: &Findings) -> Vec<String> {
    let alone: Vec<&Finding> =
        findings.series.iter().filter(|finding| !findings.is_ranked_elsewhere(finding)).collect();
    let all = alone.iter().filter(|finding| finding.verdict.is_some()).count();
    let on = |wanted: fn(&Warning) -> Option<usize>| {
        let numbers =
            alone.iter().filter_map(|finding| finding.verdict.as_ref()?.warnings.iter().find_map(wanted));
        let numbers: Vec<usize> = numbers.collect();
        let series = match numbers.len() {
            n if n == all && n > 1 => "all series".to_string(),
            n => things(n, "series", "series"),
        };
        let trials = numbers.iter().min().zip(numbers.iter().max()).map(|(low, high)| trials(*low, *high));
        trials.map(|trials| (series, trials))
    };
    let few = on(|w| if let Warning::FewTrials { trials } = w { Some(*trials) } else { None });
    let narrow = on(|w| matches!(w, Warning::NarrowRange).then_some(0));
    let apart = on(|w| if let Warning::TrialsApart { trials } = w { Some(*trials) } else { None });
    let unequal = on(|w| matches!(w, Warning::UnequalRange { .. }).then_some(0));
    let left_out = on(|w| matches!(w, Warning::LeftOut { .. }).then_some(0));
    let said = [
        few.map(|(of, trials)| format!("Only {trials} in {of}; ten are recommended.")),
        narrow.map(|(of, _)| format!("n spans less than two decades in {of}; slow growth would not show.")),
        apart.map(|(of, trials)| {
            let verb = if trials.ends_with("trial") { "behaves" } else { "behave" };
            format!("{trials} {verb} differently from the others in {of}.")
        }),
        unequal.map(|(of, _)| format!("In {of} trials ended at different n; the common range was judged.")),
        left_out.map(|(of, _)| format!("In {of} values that are not finite and positive were left out.")),
    ];
    said.into_iter().flatten().chain(kinds_of_record(findings)).collect()
}

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

/// The effect of references on a verdict; `None` without a possible gain.
fn adjustment(finding: &Finding) -> Option<String> {
    let adjustment = finding.verdict.as_ref()?.adjustment.as_ref()?;
    let named = |standing: ReferenceStanding| -> Vec<String> {
        let references = finding.references.iter().zip(&adjustment.controls);
        references.filter(|(_, of)| of.standing == standing).map(|(name, _)| name.clone()).collect()
    };
    let (used, refused) = (named(ReferenceStanding::Used), named(ReferenceStanding::Changes));
    if !used.is_empty() {
        let (error, hidden) = (percent(adjustment.error), percent(adjustment.hidden));
        let removed =
            format!("Noise that it shares with {}, which was timed in between, was removed", list(&used));
        return Some(format!(
            "{removed}: the standard error fell to {error}, and a change of {hidden} may be hidden."
        ));
    }
    let verb = if refused.len() == 1 { "changes" } else { "change" };
    (!refused.is_empty()).then(|| {
        let refused = list(&refused);
        format!("No noise was removed: {refused}, timed in between to show it, {verb} with n too.")
    })
}

/// `1 trial`, `1 to 5 trials`.
fn trials(low: usize, high: usize) -> String {
    let most = things(high, "trial", "trials");
    if low == high { most } else { format!("{} to {most}", count(low as u64)) }
}

/// The remarks of the record, equal ones once; for generators only their number.
fn kinds_of_record(findings: &Findings) -> Vec<String> {
    let words = |remark: &Remark| match remark {
        Remark::NotCounted { reason, .. } => format!("trials are not counted: {reason}."),
        Remark::OfTrials { text, .. } => text.clone(),
        Remark::Generator(remark) if remark.by == LimitedBy::Generator => {
            "the load generator, not the server, was the limit at some level.".into()
        }
        Remark::Generator(remark) if remark.by == LimitedBy::Sink => {
            "the sink, not the system, was the limit at some level.".into()
        }
        Remark::Generator(remark) if remark.by == LimitedBy::Others => {
            "other programs disturbed the load at some level.".into()
        }
        other => self::remark(other),
    };
    let labelled = |finding: &Finding, remark: &Remark| match remark {
        Remark::NothingToJudge { .. } => label(findings, finding),
        _ => variant_label(findings, finding),
    };
    let all = findings
        .series
        .iter()
        .flat_map(|finding| finding.remarks.iter().map(move |remark| (finding, remark)));
    let said = grouped_once(all.map(|(finding, remark)| (words(remark), labelled(finding, remark))));
    let named = |(words, labels): &(String, Vec<String>)| match labels.len() {
        n if n > NAMED_MOST => format!("{}: {words}", things(n, "variant", "variants")),
        _ => format!("{}: {words}", list(labels)),
    };
    let more = said.len().saturating_sub(NAMED_MOST);
    let more = (more > 0).then(|| format!("{}.", things(more, "more remark", "more remarks")));
    said.iter().take(NAMED_MOST).map(named).chain(more).collect()
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
fn of_generator(remark: &GeneratorRemark) -> String {
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

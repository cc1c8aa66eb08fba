//! Remarks about series and runs, each a sentence.

use judge::{Finding, Findings, NotScaled, Note, Remark};

use record::LimitedBy;
use stats::{ReferenceStanding, Warning};

use super::run::{label, variant_label};
use super::stops::of_generator;
use super::verdict::warnings;
use crate::words::{count, list, percent, things};

/// More remarks of one kind are counted.
const NAMED_MOST: usize = 3;

/// The remarks about a series' numbers, each a sentence: warnings of statistics, then those of the record.
pub fn remarks(finding: &Finding) -> Vec<String> {
    let warned = finding.verdict.iter().flat_map(warnings).chain(adjustment(finding));
    warned.chain(finding.remarks.iter().map(remark)).collect()
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

/// `1 trial`, `1 to 5 trials`.
fn trials(low: usize, high: usize) -> String {
    let most = things(high, "trial", "trials");
    if low == high { most } else { format!("{} to {most}", count(low as u64)) }
}

/// The remarks of the record, equal ones once; for generators only their number.
fn kinds_of_record(findings: &Findings) -> Vec<String> {
    let mut said: Vec<(String, Vec<String>)> = Vec::new();
    for finding in &findings.series {
        for remark in &finding.remarks {
            let words = match remark {
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
            let label = match remark {
                Remark::NothingToJudge { .. } => label(findings, finding),
                _ => variant_label(findings, finding),
            };
            match said.iter_mut().find(|(known, _)| *known == words) {
                Some((_, labels)) if labels.contains(&label) => {}
                Some((_, labels)) => labels.push(label),
                None => said.push((words, vec![label])),
            }
        }
    }
    let named = |(words, labels): &(String, Vec<String>)| match labels.len() {
        n if n > NAMED_MOST => format!("{}: {words}", things(n, "variant", "variants")),
        _ => format!("{}: {words}", list(labels)),
    };
    let more = said.len().saturating_sub(NAMED_MOST);
    let more = (more > 0).then(|| format!("{}.", things(more, "more remark", "more remarks")));
    said.iter().take(NAMED_MOST).map(named).chain(more).collect()
}

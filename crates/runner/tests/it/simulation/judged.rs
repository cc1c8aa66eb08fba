//! The promise of the judge: a series is judged once at a look, and only where trials came since the last;
//! these findings are those of the record.

use std::collections::BTreeSet;

use judge::Findings;
use record::{Recording, SeriesKey};
use runner::Ran;

pub(crate) fn check(ran: &Ran) -> Result<(), String> {
    let expected: usize =
        ran.recording.series().map(|(key, trials)| counts(&ran.recording, key, trials).len()).sum();
    if ran.judgements != expected {
        return Err(format!("{} judgements instead of {expected}", ran.judgements));
    }
    // Not every number of a verdict equals itself.
    let [live, read] =
        [&ran.findings, &Findings::from_recording(&ran.recording)].map(|findings| format!("{findings:?}"));
    if live == read { Ok(()) } else { Err("the record shows something else".to_owned()) }
}

/// The numbers of trials at which a series was judged: those of the looks since it has values, and all at the end.
fn counts(recording: &Recording, key: &SeriesKey, trials: &[record::Series]) -> BTreeSet<u32> {
    let measured = trials.iter().filter(|series| !series.values.is_empty());
    let Some(first) = measured.map(|series| series.trial).min().filter(|_| recording.kind(key).is_some())
    else {
        return BTreeSet::new();
    };
    let is_its = |trial: &&record::Trial| {
        let order = &trial.order;
        (&order.system, &order.workload, &order.variant) == (&key.system, &key.workload, &key.variant)
    };
    let all = recording.trials.iter().filter(is_its).count() as u32;
    let looks = recording.run.looks.iter().copied().filter(|look| (first..=all).contains(look));
    looks.chain([all]).collect()
}

//! The words of a history.

use history::{
    Boundary, BoundaryKind, CostChange, CostDrift, HistorySegment, LeftOutRunReason, MachineHistory,
    SeriesHistory,
};
use stats::Decision;

use crate::quantity::Quantity;
use crate::sentences;
use crate::words::{change_with_interval, list, some_of, things};

/// A time, as people write it.
pub fn when(started_at: &str) -> String {
    crate::html::page::when(started_at)
}

/// The same with seconds, which tells runs of one minute apart.
pub fn when_to_second(started_at: &str) -> String {
    match (when(started_at), started_at.get(16..19)) {
        (minute, Some(seconds)) if minute != started_at => {
            minute.replacen(" UTC", &format!("{seconds} UTC"), 1)
        }
        (other, _) => other,
    }
}

/// The first and the last day of some runs.
fn days(machine: &MachineHistory) -> String {
    let day = |time: &str| time.get(..10).unwrap_or(time).to_owned();
    match (machine.nights.first(), machine.nights.last()) {
        (Some(first), Some(last)) if day(&first.started_at) == day(&last.started_at) => {
            day(&first.started_at)
        }
        (Some(first), Some(last)) => format!("{} to {}", day(&first.started_at), day(&last.started_at)),
        _ => String::new(),
    }
}

/// The runs of a machine: `58 runs, 2026-10-03 to 2026-11-28`.
pub(super) fn runs(machine: &MachineHistory) -> String {
    format!("{}, {}", things(machine.nights.len(), "run", "runs"), days(machine))
}

/// The time of a run, by its place.
pub(super) fn time(machine: &MachineHistory, night: usize) -> String {
    machine.nights.get(night).map_or(String::new(), |night| when(&night.started_at))
}

/// The kernel of a change: `6.18.44 → 6.19.0`, or the one that stayed.
pub(super) fn kernel(machine: &MachineHistory, change: &CostChange) -> String {
    let of = |night: usize| machine.nights.get(night).map_or("", |night| night.kernel.as_str());
    match (of(change.before), of(change.night)) {
        (before, after) if before == after => after.to_owned(),
        (before, after) => format!("{before} → {after}"),
    }
}

/// The change of a cost.
pub(super) fn ratio(change: &CostChange) -> String {
    change_with_interval(change.ratio)
}

/// The series of a change.
pub(super) fn changed(change: &CostChange) -> String {
    match (change.is_shared, change.has_new_system) {
        (true, true) => format!("nearly all series: {}", change.series.len()),
        (true, false) => format!("the machine: {} of its series", change.series.len()),
        (false, _) => list(&change.series),
    }
}

/// Undecided series are named up to this number.
const UNDECIDED_MOST: usize = 4;

/// Series that look changed, and were measured again without a decision.
pub(super) fn undecided(names: &[String]) -> String {
    let of = some_of(names, UNDECIDED_MOST);
    let verb = if names.len() == 1 { "looks" } else { "look" };
    format!("{of} {verb} changed, and measuring again left it open: a longer run decides.")
}

/// A known change beside the system.
pub(super) fn boundary(machine: &MachineHistory, boundary: &Boundary) -> String {
    let kind = match boundary.kind {
        BoundaryKind::Machine => "machine",
        BoundaryKind::Microcode => "microcode",
        BoundaryKind::Compiler => "compiler of osdyno",
        BoundaryKind::Workload => "version of the workload",
        BoundaryKind::NotInSystem => {
            let ratio = boundary.ratio.map(change_with_interval).unwrap_or_default();
            let series = list(&boundary.series);
            let when = time(machine, boundary.night);
            return format!("{when}: {series} {ratio}, and base and head side by side do not differ");
        }
    };
    let of = match boundary.series.as_slice() {
        [] => String::new(),
        some => format!(" of {}", list(some)),
    };
    let from = if boundary.from.is_empty() { "unknown" } else { &boundary.from };
    format!("{}: {kind}{of} {from} → {}", time(machine, boundary.night), boundary.to)
}

/// Facts that differ between the last run before a change and the first one after it.
pub(super) fn differences(change: &CostChange) -> String {
    let important = change.differences.iter().filter(|one| sentences::says_much(&one.key));
    let words: Vec<String> = important.map(sentences::difference).collect();
    if words.is_empty() { "no recorded fact differs".to_owned() } else { words.join("; ") }
}

/// The change with which a segment begins: that of the series, or of nearly all series together.
pub(super) fn segment_change(segment: &HistorySegment) -> String {
    let change = segment.ratio.map_or(String::new(), change_with_interval);
    if segment.is_shared { format!("nearly all series {change}") } else { change }
}

/// The segments of a series in a sentence.
pub(super) fn segments(series: &SeriesHistory) -> String {
    let value = |segment: &HistorySegment| {
        let value = series.unit.estimate(segment.value);
        let runs = things(segment.nights, "run", "runs");
        match segment.ratio {
            Some(_) => format!("{value} in {runs}, {}", segment_change(segment)),
            None => format!("{value} in {runs}"),
        }
    };
    let all: Vec<String> = series.segments.iter().map(value).collect();
    if all.is_empty() { "too few runs to judge".to_owned() } else { all.join("; then ") }
}

/// A slow change of cost.
pub(super) fn drift(drift: &CostDrift) -> String {
    let change = change_with_interval(drift.ratio_per_year);
    match drift.reaches_limit {
        Decision::Certain => format!("drifts by {change} a year"),
        Decision::Excluded => format!("drifts by less than 10\u{202f}% a year: {change}"),
        Decision::Undecided => format!("drift undecided: {change} a year"),
    }
}

/// Why files do not count.
pub(super) fn left_out(reason: LeftOutRunReason) -> &'static str {
    match reason {
        LeftOutRunReason::Unreadable => "cannot be read",
        LeftOutRunReason::Damaged => "are damaged, with no system that can be read",
        LeftOutRunReason::NotEnded => "have no end: killed, or not finished yet",
        LeftOutRunReason::Copy => "are copies of other files",
    }
}

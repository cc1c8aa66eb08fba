//! The words of a history, and the message of a nightly check: short enough for a mail of 72 columns.

use history::{
    Boundary, BoundaryKind, CostChange, CostDrift, HistoryAnswer, HistorySegment, LeftOutRunReason,
    MachineHistory, SeriesHistory,
};
use serde::Serialize;
use stats::{Decision, Interval};

use crate::document::{Document, Text, Tone};
use crate::quantity::Quantity;
use crate::sentences;
use crate::words::{change_with_interval, list, some_of, things};

/// Lines of the message at the most.
const LINES_MAX: usize = 40;
/// Lines of an alarm, and of everything besides alarms.
const LINES_OF_ALARM: usize = 6;
const LINES_BESIDES: usize = 12;
/// Undecided series are named up to this number.
const UNDECIDED_MOST: usize = 4;

/// The answer of `history --check`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckAnswer {
    /// Version of this answer.
    pub schema: u32,
    /// The folder.
    pub folder: String,
    /// The machines of the newest run.
    pub machines: Vec<CheckedMachine>,
    /// The newest run.
    pub run: String,
    /// When it began.
    pub started_at: String,
    /// How long ago that was.
    pub age_seconds: f64,
    /// Whether that is longer than wanted.
    pub is_overdue: bool,
    /// Certain changes that the newest run showed.
    pub alarms: Vec<CostAlarm>,
    /// Series that look changed, measured again without a decision.
    pub undecided: Vec<String>,
    /// Changes raised earlier.
    pub changes_before: usize,
    /// The command that repeats this check.
    pub command: String,
}

/// A machine of the newest run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckedMachine {
    /// Its machine, in words.
    pub machine: String,
    /// Its kernel.
    pub kernel: String,
    /// Series that were checked.
    pub series: usize,
}

/// A certain change.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CostAlarm {
    /// Its machine, in words.
    pub machine: String,
    /// Its series.
    pub series: Vec<String>,
    /// Its workload, of the first series.
    pub workload: String,
    /// Cost after it divided by the cost before.
    pub ratio: Interval,
    /// First run with the new cost, and when that began.
    pub since: String,
    /// See `since`.
    pub since_run: String,
    /// Other changes since that run, raised earlier.
    pub raised_before: usize,
    /// Facts that differ from the run before, in words.
    pub differences: String,
    /// Function that holds most of the growth.
    ///
    /// `null` where nobody sampled.
    pub function: Option<String>,
    /// Whether nearly all series changed together.
    ///
    /// That is the machine's, unless `has_new_system`.
    pub is_shared: bool,
    /// Whether it begins with the first run of another kernel.
    pub has_new_system: bool,
    /// Whether base and head were measured side by side.
    pub is_side_by_side: bool,
}

impl CostAlarm {
    /// The alarm of a change; `functions` names functions by series.
    pub fn new(machine: &MachineHistory, change: &CostChange, functions: &[(String, String)]) -> CostAlarm {
        let first = change.series.first();
        let workload = machine.series.iter().find(|series| Some(&series.series) == first);
        let function = functions.iter().find(|(series, _)| Some(series) == first);
        let is_sibling = |other: &&CostChange| other.night == change.night && other.raised < change.raised;
        CostAlarm {
            machine: machine.machine.title(),
            series: change.series.clone(),
            workload: workload.map_or(String::new(), |series| series.workload.clone()),
            ratio: change.ratio,
            since: time(machine, change.night),
            since_run: machine.nights.get(change.night).map_or(String::new(), |night| night.run.clone()),
            raised_before: machine.changes.iter().filter(is_sibling).count(),
            differences: differences(change),
            function: function.map(|(_, function)| function.clone()),
            is_shared: change.is_shared,
            has_new_system: change.has_new_system,
            is_side_by_side: change.is_side_by_side,
        }
    }
}

impl CheckedMachine {
    fn new(machine: &MachineHistory) -> CheckedMachine {
        let is_measured = |values: &[Option<f64>]| values.last().is_some_and(Option::is_some);
        let series = machine.series.iter().filter(|series| !series.detail && is_measured(&series.values));
        CheckedMachine {
            machine: machine.machine.title(),
            kernel: machine.nights.last().map_or(String::new(), |night| night.kernel.clone()),
            series: series.count(),
        }
    }
}

impl CheckAnswer {
    /// The answer about the newest run of a history, at a time in seconds since 1970. It is overdue if it is
    /// older than `age_most`.
    pub fn new(
        answer: &HistoryAnswer,
        alarms: Vec<CostAlarm>,
        undecided: Vec<String>,
        command: String,
        (now_seconds, age_most): (f64, Option<f64>),
    ) -> CheckAnswer {
        let machine = answer.machines.first();
        let night = machine.and_then(|machine| machine.nights.last());
        let age_seconds = night.map_or(0.0, |night| (now_seconds - night.started_seconds).max(0.0));
        let changes: usize = answer.of_newest().map(|machine| machine.changes.len()).sum();
        CheckAnswer {
            schema: 1,
            folder: answer.folder.clone(),
            machines: answer.of_newest().map(CheckedMachine::new).collect(),
            run: night.map_or(String::new(), |night| night.run.clone()),
            started_at: night.map_or(String::new(), |night| night.started_at.clone()),
            age_seconds,
            is_overdue: age_most.is_some_and(|most| age_seconds > most),
            changes_before: changes.saturating_sub(alarms.len()),
            alarms,
            undecided,
            command,
        }
    }

    fn summary(&self) -> String {
        let series: usize = self.machines.iter().map(|machine| machine.series).sum();
        match (self.alarms.len(), self.undecided.len()) {
            (0, 0) if self.is_overdue => "a night is missing".to_owned(),
            (0, 0) => format!("no new change ({} compared)", things(series, "series", "series")),
            (0, some) => format!("{} may have changed", things(some, "cost", "costs")),
            (some, _) => format!("{} changed", things(some, "cost", "costs")),
        }
    }
}

/// The message: alarms first, each with its size, its first run and its cause.
pub fn check_document(answer: &CheckAnswer) -> Document {
    let mut document = Document { is_prose: true, ..Document::default() };
    document.say(Text::toned(format!("osdyno: {}", answer.summary()), Tone::Strong));
    let age = crate::quantity::duration(answer.age_seconds);
    if answer.is_overdue {
        document.say(Text::toned(format!("The newest run began {age} ago."), Tone::Notable));
    }
    let when = when(&answer.started_at);
    for one in &answer.machines {
        document.say(format!("{} on {}, {when}", one.kernel, one.machine));
    }
    let most = (LINES_MAX - LINES_BESIDES) / LINES_OF_ALARM;
    for alarm in answer.alarms.iter().take(most) {
        document.say(alarm_sentence(alarm, answer.machines.len() > 1));
    }
    if answer.alarms.len() > most {
        document.say(format!("and {} more: osdyno history {}", answer.alarms.len() - most, answer.folder));
    }
    if !answer.undecided.is_empty() {
        document.say(Text::toned(undecided(&answer.undecided), Tone::Open));
    }
    if answer.changes_before > 0 {
        let changes = things(answer.changes_before, "change", "changes");
        document.say(format!("Earlier runs showed {changes}: osdyno history {}", answer.folder));
    }
    document.say(format!("To repeat: {}", answer.command));
    document
}

fn alarm_sentence(alarm: &CostAlarm, says_machine: bool) -> Text {
    let series = match (alarm.is_shared, alarm.has_new_system) {
        (true, true) => format!("Nearly all series, {}", alarm.series.len()),
        (true, false) => format!("The machine, in {}", things(alarm.series.len(), "series", "series")),
        (false, _) => list(&alarm.series),
    };
    let tone = if alarm.ratio.value > 1.0 { Tone::Notable } else { Tone::Good };
    let how = if alarm.is_side_by_side { ", measured again side by side" } else { "" };
    let mut text = format!(" since {} (run {}){how}; {}.", alarm.since, alarm.since_run, alarm.differences);
    if alarm.raised_before > 0 {
        let changes = things(alarm.raised_before, "other change", "other changes");
        text.push_str(&format!(" Earlier nights showed {changes} since that run."));
    }
    if let Some(function) = &alarm.function {
        text.push_str(&format!(" {function} holds most of its growth."));
    }
    let ratio = change_with_interval(alarm.ratio);
    let ratio = if says_machine { format!("{ratio} on {}", alarm.machine) } else { ratio };
    Text::toned(series, Tone::Strong).and(" ").and(Text::toned(ratio, tone)).and(text)
}

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

/// The series of a change.
pub(super) fn changed(change: &CostChange) -> String {
    match (change.is_shared, change.has_new_system) {
        (true, true) => format!("nearly all series: {}", change.series.len()),
        (true, false) => format!("the machine: {} of its series", change.series.len()),
        (false, _) => list(&change.series),
    }
}

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

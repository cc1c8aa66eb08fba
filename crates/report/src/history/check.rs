//! The message of a nightly check: short enough for a mail of 72 columns.

use history::{CostChange, HistoryAnswer, MachineHistory};
use serde::Serialize;
use stats::Interval;

use super::words;
use crate::document::{Document, Text, Tone};
use crate::words::{list, things};

/// Lines of the message at the most.
const LINES_MAX: usize = 40;
/// Lines of an alarm, and of everything besides alarms.
const LINES_OF_ALARM: usize = 6;
const LINES_BESIDES: usize = 12;

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
    /// Whether that is longer than wanted: the run of a night is missing.
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
    /// The machine, in words.
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
            since: words::time(machine, change.night),
            since_run: machine.nights.get(change.night).map_or(String::new(), |night| night.run.clone()),
            raised_before: machine.changes.iter().filter(is_sibling).count(),
            differences: words::differences(change),
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
pub fn document(answer: &CheckAnswer) -> Document {
    let mut document = Document { is_prose: true, ..Document::default() };
    document.say(Text::toned(format!("osdyno: {}", answer.summary()), Tone::Strong));
    let age = crate::quantity::duration(answer.age_seconds);
    if answer.is_overdue {
        document.say(Text::toned(format!("The newest run began {age} ago."), Tone::Notable));
    }
    let when = words::when(&answer.started_at);
    for one in &answer.machines {
        document.say(format!("{} on {}, {when}", one.kernel, one.machine));
    }
    let most = (LINES_MAX - LINES_BESIDES) / LINES_OF_ALARM;
    for alarm in answer.alarms.iter().take(most) {
        document.say(sentence(alarm, answer.machines.len() > 1));
    }
    if answer.alarms.len() > most {
        document.say(format!("and {} more: osdyno history {}", answer.alarms.len() - most, answer.folder));
    }
    if !answer.undecided.is_empty() {
        document.say(Text::toned(words::undecided(&answer.undecided), Tone::Open));
    }
    if answer.changes_before > 0 {
        let changes = things(answer.changes_before, "change", "changes");
        document.say(format!("Earlier runs showed {changes}: osdyno history {}", answer.folder));
    }
    document.say(format!("To repeat: {}", answer.command));
    document
}

fn sentence(alarm: &CostAlarm, says_machine: bool) -> Text {
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
    let ratio = crate::words::change_with_interval(alarm.ratio);
    let ratio = if says_machine { format!("{ratio} on {}", alarm.machine) } else { ratio };
    Text::toned(series, Tone::Strong).and(" ").and(Text::toned(ratio, tone)).and(text)
}

//! The history of a folder, decided.

use judge::Difference;
use record::{Direction, Unit};
use serde::Serialize;
use stats::{Class, Interval};

use crate::summary::MachineKey;

/// The history of a folder of runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HistoryAnswer {
    /// Version of this answer.
    pub schema: u32,
    /// The folder.
    pub folder: String,
    /// Runs that count.
    pub runs: usize,
    /// The day from which changes are listed.
    ///
    /// `null` where all are.
    pub changes_since: Option<String>,
    /// The machines, the one with the newest run first.
    pub machines: Vec<MachineHistory>,
    /// Runs and files that do not count.
    pub left_out: Vec<LeftOutRun>,
}

impl HistoryAnswer {
    /// The machines of the newest run: one, or the hosts of a fleet.
    pub fn of_newest(&self) -> impl Iterator<Item = &MachineHistory> {
        let newest = |machine: &MachineHistory| machine.nights.last().map(|night| night.run.clone());
        let run = self.machines.first().and_then(newest);
        self.machines.iter().filter(move |machine| newest(machine) == run)
    }

    /// Leaves out changes and boundaries before a day, as `2026-11-01`.
    pub fn keep_changes_since(&mut self, day: &str) {
        self.changes_since = Some(day.to_owned());
        for machine in &mut self.machines {
            let nights = &machine.nights;
            let is_since =
                |night: usize| nights.get(night).is_some_and(|night| night.started_at.as_str() >= day);
            machine.changes.retain(|change| is_since(change.night));
            machine.boundaries.retain(|boundary| is_since(boundary.night));
        }
    }
}

/// A run or a file that does not count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOutRun {
    /// The file.
    pub file: String,
    /// Why it does not count.
    pub reason: LeftOutRunReason,
    /// The error of a file that cannot be read.
    ///
    /// Empty for other reasons.
    pub error: String,
}

/// Why a run or a file does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LeftOutRunReason {
    /// It cannot be read.
    Unreadable,
    /// It is damaged: no system and no series of it can be read.
    Damaged,
    /// It has no end: it was killed, or it is not finished yet.
    NotEnded,
    /// Another file holds the same run.
    Copy,
}

/// The runs on one machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MachineHistory {
    /// The machine.
    pub machine: MachineKey,
    /// Its runs, in the order of time.
    pub nights: Vec<Night>,
    /// Changes beside the system, in the order of time.
    ///
    /// Costs before and after are not set against each other.
    pub boundaries: Vec<Boundary>,
    /// Changes of costs that were raised, the newest first.
    pub changes: Vec<CostChange>,
    /// Series to measure side by side, the most certain first.
    ///
    /// A run without any change has some of these.
    pub suspected: Vec<SuspectedSeries>,
    /// Slow change of the speed of the machine.
    pub drift: Option<CostDrift>,
    /// The series.
    pub series: Vec<SeriesHistory>,
}

/// One run in a history.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Night {
    /// Its id.
    pub run: String,
    /// Its file.
    pub file: String,
    /// When it began.
    pub started_at: String,
    /// The same in seconds since 1970.
    pub started_seconds: f64,
    /// Release of the kernel.
    pub kernel: String,
    /// Its tags.
    pub tags: Vec<String>,
}

/// A change of something beside the system under test.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Boundary {
    /// First run behind it, as a place in `nights`.
    pub night: usize,
    /// The thing that changed.
    pub kind: BoundaryKind,
    /// Before.
    pub from: String,
    /// After.
    pub to: String,
    /// Cost after divided by cost before, of a level that moved.
    pub ratio: Option<Interval>,
    /// Series that begin anew.
    ///
    /// Empty where all do.
    pub series: Vec<String>,
}

/// The kind of a change beside the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BoundaryKind {
    /// Another machine than the one before, in the same folder.
    Machine,
    /// Microcode of the processor.
    Microcode,
    /// Compiler or target of osdyno.
    Compiler,
    /// Version of a workload.
    Workload,
    /// A level that moved though base and head, measured side by side, do not differ.
    NotInSystem,
}

/// A change of one cost, or of all costs of a machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CostChange {
    /// The series.
    ///
    /// Several where it is one change of the machine.
    pub series: Vec<String>,
    /// Whether nearly all series changed together.
    ///
    /// That is the machine's, unless `has_new_system`.
    pub is_shared: bool,
    /// Whether it begins with the first run of another kernel.
    pub has_new_system: bool,
    /// Cost after divided by cost before.
    ///
    /// The interval holds it in 95 %, and in 99.7 % where base and head were measured side by side.
    pub ratio: Interval,
    /// First run with the new cost, as a place in `nights`.
    pub night: usize,
    /// Last run before it that measured the series.
    pub before: usize,
    /// Run after which it was certain.
    pub raised: usize,
    /// Whether base and head were measured side by side.
    pub is_side_by_side: bool,
    /// Facts that differ between those two runs.
    pub differences: Vec<Difference>,
}

/// One series over the runs of a machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SeriesHistory {
    /// Name of the series.
    pub series: String,
    /// Name in addresses of pages.
    pub id: String,
    /// Name of the workload.
    pub workload: String,
    /// Name of the variant.
    pub variant: String,
    /// Its name.
    pub name: String,
    /// Whether n rises or falls.
    pub direction: Direction,
    /// Settings and loads beside it.
    pub settings: String,
    /// Version of the workload.
    pub version: u32,
    /// Unit of the values.
    pub unit: Unit,
    /// Whether it was measured only because another was.
    pub detail: bool,
    /// Class of its newest verdict.
    pub class: Option<Class>,
    /// In each run: geometric mean over the n that its runs have in common.
    ///
    /// `null` where it was not measured.
    pub values: Vec<Option<f64>>,
    /// The same without the part of the machine.
    pub steady: Vec<Option<f64>>,
    /// Parts between which its cost changed, in the order of time.
    pub segments: Vec<HistorySegment>,
    /// Slow change beside that of the machine.
    pub drift: Option<CostDrift>,
}

impl SeriesHistory {
    /// The last run before a segment that measured the series.
    pub fn measured_before(&self, segment: &HistorySegment) -> Option<usize> {
        self.values.get(..segment.first)?.iter().rposition(Option::is_some)
    }
}

/// A series that looks changed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SuspectedSeries {
    /// Name of the series.
    pub series: String,
    /// Name of the workload.
    pub workload: String,
    /// Cost of the newest runs over that before.
    pub ratio: Interval,
    /// First run that looks changed, as a place in `nights`.
    pub night: usize,
    /// A run of the old level.
    pub base: usize,
}

/// A part of a history in which a cost did not change.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HistorySegment {
    /// First run, as a place in `nights`.
    pub first: usize,
    /// Last run.
    pub last: usize,
    /// Runs in which it was measured.
    pub nights: usize,
    /// The value, with the interval of its level.
    pub value: Interval,
    /// Cost divided by that of the segment before.
    ///
    /// `null` for the first one behind a boundary.
    pub ratio: Option<Interval>,
    /// Run after which that change was raised.
    pub raised: Option<usize>,
    /// Whether nearly all series changed with it.
    pub is_shared: bool,
}

/// A slow change.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CostDrift {
    /// Cost after a year divided by cost before it.
    pub ratio_per_year: Interval,
    /// `certain` if the drift is certain and above half of 10 % a year, `excluded` if 10 % are.
    pub reaches_limit: stats::Decision,
}

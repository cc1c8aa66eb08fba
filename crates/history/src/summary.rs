//! One run as its history needs it: when it was made, on which machine, and the cost of each series.

use std::collections::BTreeMap;

use judge::Findings;
use judge::reduction::{compared_values, sweep_of_every};
use record::{Direction, End, Loss, Recording, Series, System, Unit};
use serde::{Deserialize, Serialize};
use stats::{CellCost, Class, Sweep, cell_costs};

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunSummary {
    /// Time and seed: a copy of a run file is the same run.
    pub id: String,
    /// When it began, RFC 3339.
    pub started_at: String,
    /// When it began, in seconds since 1970.
    pub started_seconds: f64,
    /// Version of osdyno.
    pub version: String,
    /// Compiler and target of osdyno.
    pub build: String,
    /// The command that made it.
    pub command: Vec<String>,
    /// How it ended; none where it was cut off, or is not finished yet.
    pub end: Option<End>,
    /// How many parts of the file could not be read.
    pub losses: usize,
    /// Trials that it has.
    pub trials: usize,
    /// Its systems.
    pub systems: Vec<SystemSummary>,
    /// Every series that was measured.
    pub series: Vec<SeriesSummary>,
}

/// A system of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SystemSummary {
    /// Its name in the run.
    pub name: String,
    /// Facts that tell one machine or kernel from another.
    pub facts: BTreeMap<String, String>,
}

/// One series of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeriesSummary {
    /// Place of its system in the run.
    pub system: usize,
    /// Name for a reader.
    pub label: String,
    /// Name of its workload.
    pub workload: String,
    /// Version of the workload.
    pub version: u32,
    /// Name of the variant; empty where there is none.
    pub variant: String,
    /// Name of the operation.
    pub name: String,
    /// Whether n rises or falls.
    pub direction: Direction,
    /// Settings of the workload and loads beside it, in words.
    pub settings: String,
    /// Unit of the values.
    pub unit: Unit,
    /// The class of its verdict; none without one.
    pub class: Option<Class>,
    /// Whether it was measured only because another operation was.
    pub detail: bool,
    /// The cells of n, rising.
    pub cells: Vec<u32>,
    /// Natural logarithms of the costs there: a rate counts as the time that one takes.
    pub log_costs: Vec<f64>,
}

/// The machine on which costs can be compared: another kernel is a change that is looked for, another
/// processor is not.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct MachineKey {
    /// Model of the processor.
    pub processor: String,
    /// How many processors.
    pub processors: String,
    /// Memory, to a GiB.
    pub memory_gib: u64,
    /// The hypervisor or emulator; empty on bare metal.
    pub virtualization: String,
    /// `local`, a host, or a system of the user's.
    pub system: String,
}

/// A change of something other than the system under test. Costs before and after are not set against each
/// other.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Surroundings {
    /// Microcode of the processor.
    pub microcode: String,
    /// Compiler and target of osdyno.
    pub compiler: String,
}

/// The system of a run that names none.
const LOCAL: &str = "local";

/// The facts that are kept, by their keys or the beginnings of these.
const FACTS: [&str; 20] = [
    "cpu.vendor",
    "cpu.model",
    "cpu.stepping",
    "cpu.count",
    "cpu.microcode",
    "cpu.governor",
    "cpu.mitigations",
    "cpu.smt",
    "memory.total_bytes",
    "memory.thp",
    "machine.",
    "kernel.name",
    "kernel.release",
    "kernel.version",
    "kernel.arch",
    "kernel.command_line",
    "kernel.compiler",
    "os.distribution",
    "clock.source",
    "scratch.",
];

impl RunSummary {
    /// The summary of a run that was read, with the losses of its file.
    pub fn new(recording: &Recording, losses: &[Loss]) -> RunSummary {
        let run = &recording.run;
        let findings = Findings::from_recording(recording);
        let series = findings.series.iter().filter(|finding| finding.measurements > 0);
        RunSummary {
            id: run_id(&run.started_at, run.seed),
            started_at: run.started_at.clone(),
            started_seconds: seconds(&run.started_at).unwrap_or(0.0),
            version: run.tool.version.clone(),
            build: run.tool.build.clone(),
            command: run.command.clone(),
            end: recording.end.clone(),
            losses: losses.len(),
            trials: recording.trials.len(),
            systems: recording.systems.iter().map(SystemSummary::new).collect(),
            series: series.filter_map(|finding| SeriesSummary::new(recording, finding)).collect(),
        }
    }

    /// Whether it counts: one that is not finished yet would change its costs later.
    pub fn counts(&self) -> bool {
        self.end.is_some() && !self.systems.is_empty()
    }

    /// Its machines, in the order of its systems.
    pub fn machines(&self) -> Vec<MachineKey> {
        self.systems.iter().map(SystemSummary::machine).collect()
    }
}

/// Time and seed of a run, as a name for files and addresses.
pub(crate) fn run_id(started_at: &str, seed: u64) -> String {
    let time: String = started_at.chars().filter(char::is_ascii_alphanumeric).take(24).collect();
    format!("{time}-{seed:016x}")
}

/// Seconds since 1970 of a time in RFC 3339.
pub(crate) fn seconds(time: &str) -> Option<f64> {
    let time = humantime::parse_rfc3339_weak(time).ok()?;
    Some(time.duration_since(std::time::SystemTime::UNIX_EPOCH).ok()?.as_secs_f64())
}

impl SystemSummary {
    fn new(system: &System) -> SystemSummary {
        let is_kept = |key: &str| FACTS.iter().any(|fact| key.starts_with(fact));
        let facts = system.environment.iter().filter(|(key, _)| is_kept(key));
        SystemSummary {
            name: system.name.clone(),
            facts: facts.map(|(key, value)| (key.clone(), value.clone())).collect(),
        }
    }

    /// A fact; empty where it is not known.
    pub fn fact(&self, key: &str) -> &str {
        self.facts.get(key).map_or("", String::as_str)
    }

    /// Its machine.
    pub fn machine(&self) -> MachineKey {
        let bytes: u64 = self.fact("memory.total_bytes").parse().unwrap_or(0);
        let model = self.fact("cpu.model");
        let stepping = [self.fact("cpu.model_number"), self.fact("cpu.stepping")].join(".");
        let stepping = if stepping == "." { String::new() } else { format!(" ({stepping})") };
        let engine = self.fact("machine.engine");
        let virtualization = match (self.fact("machine.hypervisor"), engine) {
            ("" | "none", "" | "native") => "",
            (hypervisor, "" | "native") => hypervisor,
            (_, engine) => engine,
        };
        MachineKey {
            processor: format!("{model}{stepping}"),
            processors: self.fact("cpu.count").to_owned(),
            // Kernels differ in the part that they keep for themselves.
            memory_gib: (bytes as f64 / f64::from(1 << 30)).round() as u64,
            virtualization: virtualization.to_owned(),
            system: self.name.clone(),
        }
    }

    /// Its kernel: name and release.
    pub fn kernel(&self) -> String {
        [self.fact("kernel.name"), self.fact("kernel.release")].join(" ").trim().to_owned()
    }
}

impl MachineKey {
    /// The machine in words, as the head of a report has it.
    pub fn title(&self) -> String {
        let mut parts = vec![match self.processors.as_str() {
            "" => self.processor.clone(),
            count => format!("{count} × {}", self.processor),
        }];
        parts.extend((self.memory_gib > 0).then(|| format!("{} GiB", self.memory_gib)));
        parts.extend((!self.virtualization.is_empty()).then(|| self.virtualization.clone()));
        parts.extend((self.system != LOCAL).then(|| self.system.clone()));
        parts.join(" · ")
    }
}

impl Surroundings {
    pub(crate) fn new(run: &RunSummary, system: &SystemSummary) -> Surroundings {
        Surroundings { microcode: system.fact("cpu.microcode").to_owned(), compiler: run.build.clone() }
    }
}

impl SeriesSummary {
    fn new(recording: &Recording, finding: &judge::Finding) -> Option<SeriesSummary> {
        let key = &finding.key;
        let trials = recording.trials_of(key);
        let costs = trials.iter().map(|series| costs(recording, finding, series)).collect::<Vec<_>>();
        let sweeps: Vec<Sweep<'_>> =
            trials.iter().zip(&costs).map(|(series, costs)| sweep_of_every(series, costs)).collect();
        let cells = cell_costs(&sweeps, finding.levels, finding.tick_seconds);
        let system = recording.systems.iter().position(|system| system.name == key.system)?;
        (!cells.is_empty()).then(|| SeriesSummary {
            system,
            label: finding.label.clone(),
            workload: key.workload.clone(),
            version: recording.workload(&key.workload).map_or(0, |workload| workload.version),
            variant: key.variant.clone(),
            name: key.name.clone(),
            direction: key.direction,
            settings: settings(recording, &key.system, &key.workload),
            unit: finding.unit,
            class: finding.verdict.as_ref().map(|verdict| verdict.class),
            detail: finding.detail,
            cells: cells.iter().map(|cost| cost.cell).collect(),
            log_costs: cells.iter().map(|cost| rounded(cost.log_cost)).collect(),
        })
    }

    /// The costs by cell.
    pub(crate) fn costs(&self) -> impl Iterator<Item = CellCost> + '_ {
        self.cells.iter().zip(&self.log_costs).map(|(&cell, &log_cost)| CellCost { cell, log_cost })
    }
}

/// The values of a trial as costs; those that a load generator limited are none of the system.
fn costs(recording: &Recording, finding: &judge::Finding, series: &Series) -> Vec<f64> {
    let is_rate = finding.unit.more_is_better();
    let limited = finding.limited.as_ref();
    let cost = |(n, value): (u64, f64)| match () {
        () if limited.is_some_and(|limited| limited.at(n)) => f64::NAN,
        () if is_rate => value.recip(),
        () => value,
    };
    let values = compared_values(recording, series);
    let sweep = sweep_of_every(series, &values);
    sweep.sizes().zip(sweep.values.iter().copied()).map(cost).collect()
}

/// The settings of a workload on a system, and the loads beside its trials.
fn settings(recording: &Recording, system: &str, workload: &str) -> String {
    let settings = recording.settings(system, workload).into_iter().flatten();
    let settings = settings.map(|(name, value)| format!("{name}={value}"));
    let loads = recording.backgrounds(workload).into_iter().flatten().map(|load| format!("beside {load}"));
    settings.chain(loads).collect::<Vec<_>>().join(" ")
}

/// A logarithm to a hundred-thousandth: an index of 10,000 runs holds millions of them.
fn rounded(log_cost: f64) -> f64 {
    (log_cost * 1e5).round() / 1e5
}

//! The machine of a run, and the known changes beside it that are no alarm.

use serde::{Deserialize, Serialize};

use crate::summary::{RunSummary, SystemSummary};

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

impl SystemSummary {
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

/// The system of a run that names none.
const LOCAL: &str = "local";

impl Surroundings {
    pub(crate) fn new(run: &RunSummary, system: &SystemSummary) -> Surroundings {
        Surroundings { microcode: system.fact("cpu.microcode").to_owned(), compiler: run.build.clone() }
    }
}

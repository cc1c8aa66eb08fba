//! What a curve declares of itself.

use crate::{Stop, Trial, levels};

/// A workload: what something costs, or how much of it there is in a second, while n objects live. Either an
/// operation is timed at every n while objects pile up, and again while they are taken away; or a load is
/// measured for a while at each of some levels of n. [`Curve::KERNEL`] and [`Curve::SERVERS`] have what most
/// of a kind share.
#[derive(Debug)]
pub struct Curve {
    /// Name on the command line.
    pub name: &'static str,
    /// Rises when the meaning of a measurement changes; different versions refuse to compare.
    pub version: u32,
    /// The text of its own file; its leading `//!` lines are the page.
    pub source: &'static str,
    /// What n counts: "bound sockets".
    pub grows: &'static str,
    /// The n at which something is measured.
    pub sizes: Sizes,
    /// With which others it is run.
    pub group: Group,
    /// The ways to run it; at least one.
    pub variants: &'static [Variant],
    /// The variants are rivals: shown on one figure, and ranked against each other.
    pub rivals: bool,
    /// What every trial of it measures.
    pub operations: &'static [Operation],
    /// What one more n takes. Nothing of what several processes share out among themselves.
    pub needs: Needs,
    /// n goes no further than this unless the user says how far; the presets' reach is for what costs
    /// microseconds.
    pub top: Option<u64>,
    /// How the executable that runs it must be linked.
    pub linkage: Linkage,
    /// n in the experiments of 2003.
    pub classic_n: u64,
    /// The experiment, or why this system cannot have it.
    pub run: Result<Experiment, &'static str>,
}

/// The n at which a curve is measured.
#[derive(Clone, Copy, Debug)]
pub enum Sizes {
    /// 0, 1, 2 and so on: the cost of each next one.
    Every,
    /// At some n only, each held for a while. The function gives them for the largest: rising, none of them
    /// 0 or above it, one at least where that is not 0.
    Levels(fn(u64) -> Vec<u64>),
}

impl Sizes {
    /// How many n there are up to `top`.
    pub fn count(self, top: u64) -> usize {
        match self {
            Sizes::Every => top as usize,
            Sizes::Levels(levels) => levels(top).len(),
        }
    }

    /// Each n up to `top`, rising.
    pub fn list(self, top: u64) -> Vec<u64> {
        match self {
            Sizes::Every => (0..top).collect(),
            Sizes::Levels(levels) => levels(top),
        }
    }
}

/// Workloads that are run together; its name stands for all of them on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// What the kernel's own services cost. This is what is run where nothing is named.
    Kernel,
    /// What servers do as connections pile up.
    Servers,
}

impl Group {
    /// All of them, in the order of lists.
    pub const ALL: [Group; 2] = [Group::Kernel, Group::Servers];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Group::Kernel => "kernel",
            Group::Servers => "servers",
        }
    }
}

/// An experiment: it drives the trial up and down.
pub type Experiment = fn(&mut Trial<'_>) -> Result<(), Stop>;

/// One way to run a curve.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    /// Name behind the slash; empty when there is only one way.
    pub name: &'static str,
    /// One sentence.
    pub summary: &'static str,
}

impl Variant {
    /// For a curve with only one way to run it.
    pub const ONLY: &'static [Variant] = &[Variant { name: "", summary: "" }];
}

/// The smallest unit that is measured.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// Its name, unique in the curve.
    pub name: &'static str,
    /// Unit of its values.
    pub unit: Unit,
    /// Whether its values come from the workload itself, one for each level; others are timed by the trial.
    pub told: bool,
    /// Whether n rises or falls while it is measured.
    pub direction: Direction,
    /// The growth that the page predicts.
    pub expect: Expect,
    /// What exactly is between the two clock readings, or what exactly was counted.
    pub summary: &'static str,
    /// The operations of which this one is the sum; empty when it is measured itself.
    pub sum_of: &'static [&'static str],
}

/// What a value is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A duration: less is better.
    Seconds,
    /// A rate: more is better.
    PerSecond,
    /// A size: less is better.
    Bytes,
}

impl Unit {
    /// Its symbol, as in the record.
    pub const fn symbol(self) -> &'static str {
        match self {
            Unit::Seconds => "s",
            Unit::PerSecond => "1/s",
            Unit::Bytes => "B",
        }
    }
}

/// Which way n goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Objects pile up.
    Up,
    /// Objects are taken away.
    Down,
}

/// The growth that a page predicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// O(1).
    Constant,
    /// O(log n).
    Logarithmic,
    /// O(n).
    Linear,
}

/// What one more n takes from the system; the planner stops n before it runs out.
#[derive(Clone, Copy, Debug, Default)]
pub struct Needs {
    /// Open descriptors.
    pub descriptors: u64,
    /// Processes.
    pub processes: u64,
    /// Threads.
    pub threads: u64,
    /// Memory mappings.
    pub mappings: u64,
    /// Ports.
    pub ports: u64,
    /// Memory of kernel and process together, roughly.
    pub memory_bytes: u64,
}

impl Needs {
    /// Nothing but time.
    pub const NOTHING: Needs =
        Needs { descriptors: 0, processes: 0, threads: 0, mappings: 0, ports: 0, memory_bytes: 0 };
}

/// How an executable is linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Linkage {
    /// Against shared libraries, as systems ship their programs.
    Dynamic,
    /// Everything in one file.
    Static,
}

impl Curve {
    /// What most curves of the kernel share, for `..Curve::KERNEL`: every n, no rivals, one way to run it.
    pub const KERNEL: Curve = Curve {
        name: "",
        version: 1,
        source: "",
        grows: "",
        sizes: Sizes::Every,
        group: Group::Kernel,
        variants: Variant::ONLY,
        rivals: false,
        operations: &[],
        needs: Needs::NOTHING,
        top: None,
        linkage: Linkage::Dynamic,
        classic_n: 10_000,
        run: Err("nobody has written it yet"),
    };

    /// What most workloads of servers share, for `..Curve::SERVERS`: levels of n, which counts connections.
    pub const SERVERS: Curve = Curve {
        grows: "connections",
        sizes: Sizes::Levels(levels::one_two_five),
        group: Group::Servers,
        ..Curve::KERNEL
    };

    /// The page: question, method and expected answer, in Markdown.
    pub fn page(&self) -> String {
        let lines = self.source.lines().map_while(|line| line.strip_prefix("//!"));
        lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n")
    }

    /// The page's first sentence.
    pub fn summary(&self) -> String {
        let page = self.page();
        let first = page.split("\n\n").next().unwrap_or_default().replace('\n', " ");
        first.trim_end_matches('.').to_owned()
    }

    /// The operation of that name.
    pub fn operation(&self, name: &str) -> Option<&'static Operation> {
        self.operations.iter().find(|operation| operation.name == name)
    }

    /// The operations that are measured, timed or told, rather than summed, in the order of their columns.
    pub fn measured(&self) -> impl Iterator<Item = &'static Operation> + use<> {
        self.operations.iter().filter(|operation| operation.sum_of.is_empty())
    }
}

impl Operation {
    /// An operation timed while n rises.
    pub const fn up(name: &'static str, expect: Expect, summary: &'static str) -> Operation {
        let (unit, direction) = (Unit::Seconds, Direction::Up);
        Operation { name, unit, told: false, direction, expect, summary, sum_of: &[] }
    }

    /// A value that the workload computes itself at each level: a rate, a percentile in seconds, bytes for
    /// each connection. See [`Trial::at_levels`].
    pub const fn told(name: &'static str, unit: Unit, expect: Expect, summary: &'static str) -> Operation {
        Operation { name, unit, told: true, direction: Direction::Up, expect, summary, sum_of: &[] }
    }

    /// An operation timed while n falls.
    pub const fn down(name: &'static str, expect: Expect, summary: &'static str) -> Operation {
        let (unit, direction) = (Unit::Seconds, Direction::Down);
        Operation { name, unit, told: false, direction, expect, summary, sum_of: &[] }
    }

    /// The sum of operations that are timed one after the other.
    pub const fn sum(
        name: &'static str,
        of: &'static [&'static str],
        expect: Expect,
        summary: &'static str,
    ) -> Operation {
        let (unit, direction) = (Unit::Seconds, Direction::Up);
        Operation { name, unit, told: false, direction, expect, summary, sum_of: of }
    }
}

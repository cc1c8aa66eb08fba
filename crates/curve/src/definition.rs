//! What a curve declares of itself.

use crate::{Stop, Trial};

/// A workload that times an operation at every n while objects pile up, and again while they are taken
/// away.
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
    /// The ways to run it; at least one.
    pub variants: &'static [Variant],
    /// What every trial of it measures.
    pub operations: &'static [Operation],
    /// What one more n takes.
    pub needs: Needs,
    /// How the executable that runs it must be linked.
    pub linkage: Linkage,
    /// n in the experiments of 2003.
    pub classic_n: u64,
    /// The experiment, or why this system cannot have it.
    pub run: Result<Experiment, &'static str>,
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

/// The smallest timed unit.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// Its name, unique in the curve.
    pub name: &'static str,
    /// Whether n rises or falls while it is timed.
    pub direction: Direction,
    /// The growth that the page predicts.
    pub expect: Expect,
    /// What exactly is between the two clock readings.
    pub summary: &'static str,
    /// The operations of which this one is the sum; empty when it is timed itself.
    pub sum_of: &'static [&'static str],
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

    /// The operations that are timed, rather than summed, in the order of their columns.
    pub fn timed(&self) -> impl Iterator<Item = &'static Operation> + use<> {
        self.operations.iter().filter(|operation| operation.sum_of.is_empty())
    }
}

impl Operation {
    /// An operation timed while n rises.
    pub const fn up(name: &'static str, expect: Expect, summary: &'static str) -> Operation {
        Operation { name, direction: Direction::Up, expect, summary, sum_of: &[] }
    }

    /// An operation timed while n falls.
    pub const fn down(name: &'static str, expect: Expect, summary: &'static str) -> Operation {
        Operation { name, direction: Direction::Down, expect, summary, sum_of: &[] }
    }

    /// The sum of operations that are timed one after the other.
    pub const fn sum(
        name: &'static str,
        of: &'static [&'static str],
        expect: Expect,
        summary: &'static str,
    ) -> Operation {
        Operation { name, direction: Direction::Up, expect, summary, sum_of: of }
    }
}

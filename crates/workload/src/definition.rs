//! What a workload declares of itself.

use record::Shape;

use crate::declaration::Declaration;
use crate::levels::{self, Sizes};
use crate::operation::Operation;
use crate::outcome::TrialError;
use crate::setting::Setting;
use crate::trial::Trial;

/// A workload, of one of three shapes. A curve times an operation at every n while objects are added, and
/// again while they are removed. A load is held for a time at some levels of n. A job is timed as a whole.
/// [`Workload::CURVE`], [`Workload::LOAD`] and [`Workload::JOB`] have what most of a shape share.
#[derive(Debug)]
pub struct Workload {
    /// Name on the command line.
    pub name: &'static str,
    /// Rises when the meaning of a measurement changes; different versions refuse to compare.
    pub version: u32,
    /// The text of its own file; its leading `//!` lines are the page.
    pub source: &'static str,
    /// What n counts: "bound sockets".
    pub grows: &'static str,
    /// How it measures.
    pub shape: Shape,
    /// The n at which something is measured.
    pub sizes: Sizes,
    /// A small pass comes before each trial and is discarded: the first measurements do not pay for code that
    /// was never executed. Without it where a pass is all of the work, or warms what is to be cold.
    pub warms_up: bool,
    /// Its trials may use all processors: they have several threads or processes, whose number is n. Others
    /// stay on one.
    pub all_processors: bool,
    /// A server takes part: beside the trial, or at the address of `--server`.
    pub server: bool,
    /// The ways to run it; at least one.
    pub variants: &'static [Variant],
    /// The variants are rivals: shown on one figure, and ranked against each other.
    pub rivals: bool,
    /// The rivals that answer the question of the page: where the time is too short to compare all, they come
    /// first.
    pub principal: &'static [&'static str],
    /// The rivals are also measured while all of them are offered the same: at each level half of what the
    /// slowest of them answered in the first trials. These find it out, and measure nothing else.
    pub offers_alike: bool,
    /// What the user may choose.
    pub settings: &'static [Setting],
    /// What every trial of it measures.
    pub operations: &'static [Operation],
    /// What one more n takes of a single process; nothing where several processes divide it among them.
    pub needs: Needs,
    /// What a trial takes in any case, whatever n is: of the variant that is named, or of all where that is
    /// "".
    pub in_any_case: &'static [(&'static str, Needs)],
    /// Helper processes can make its objects too: where one process cannot hold enough, they hold the rest.
    pub helpers: bool,
    /// The largest n unless the user names one. Presets go further, which suits operations of microseconds
    /// only.
    pub top: Option<u64>,
    /// How the executable that runs it must be linked.
    pub linkage: Linkage,
    /// n in the experiments of 2003.
    pub classic_n: u64,
    /// The experiment, or why this system cannot have it.
    pub run: Result<Experiment, &'static str>,
}

/// Workloads that are run together; its name stands for all of them on the command line.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    /// Its name on the command line, which is also that of its crate.
    pub name: &'static str,
    /// What its workloads measure, for a heading.
    pub title: &'static str,
    /// Its workloads, in the order of lists and reports.
    pub workloads: &'static [&'static Workload],
}

impl Group {
    /// The workload of that name.
    pub fn find(&self, name: &str) -> Option<&'static Workload> {
        self.workloads.iter().copied().find(|workload| workload.name == name)
    }
}

/// An experiment: it drives the trial up and down.
pub type Experiment = fn(&mut Trial<'_>) -> Result<(), TrialError>;

/// One way to run a workload.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    /// Name behind the slash; empty when there is only one way.
    pub name: &'static str,
    /// One sentence.
    pub summary: &'static str,
}

impl Variant {
    /// For a workload with only one way to run it.
    pub const ONLY: &'static [Variant] = &[Variant { name: "", summary: "" }];
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
    /// Descriptors that epoll watches, in variants that are called `epoll`: see [`Workload::needs_of`].
    pub epoll_watches: u64,
    /// Files that inotify(7) watches.
    pub inotify_watches: u64,
    /// Instances of inotify(7).
    pub inotify_instances: u64,
    /// Connections that a packet filter keeps track of.
    pub tracked_connections: u64,
    /// Bytes on the disk at once, roughly.
    pub disk_bytes: u64,
    /// Files and folders at once.
    pub inodes: u64,
    /// Processors.
    pub processors: u64,
}

impl Needs {
    /// Nothing but time.
    pub const NOTHING: Needs = Needs {
        descriptors: 0,
        processes: 0,
        threads: 0,
        mappings: 0,
        ports: 0,
        memory_bytes: 0,
        epoll_watches: 0,
        inotify_watches: 0,
        inotify_instances: 0,
        tracked_connections: 0,
        disk_bytes: 0,
        inodes: 0,
        processors: 0,
    };

    /// What so many take.
    pub const fn times(&self, count: u64) -> Needs {
        Needs {
            descriptors: self.descriptors * count,
            processes: self.processes * count,
            threads: self.threads * count,
            mappings: self.mappings * count,
            ports: self.ports * count,
            memory_bytes: self.memory_bytes * count,
            epoll_watches: self.epoll_watches * count,
            inotify_watches: self.inotify_watches * count,
            inotify_instances: self.inotify_instances * count,
            tracked_connections: self.tracked_connections * count,
            disk_bytes: self.disk_bytes * count,
            inodes: self.inodes * count,
            processors: self.processors * count,
        }
    }

    /// Of a variant: only epoll(7) has watches.
    fn of_variant(&self, variant: &str) -> Needs {
        let epoll_watches = if variant == "epoll" { self.epoll_watches } else { 0 };
        Needs { epoll_watches, ..*self }
    }
}

/// How an executable is linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Linkage {
    /// Against shared libraries, as systems ship their programs.
    Dynamic,
    /// Everything in one file.
    Static,
}

impl Workload {
    /// What most curves share, for `..Workload::CURVE`: every n, no rivals, one way to run it.
    pub const CURVE: Workload = Workload {
        name: "",
        version: 1,
        source: "",
        grows: "",
        shape: Shape::Curve,
        sizes: Sizes::Every,
        warms_up: true,
        all_processors: false,
        server: false,
        variants: Variant::ONLY,
        rivals: false,
        principal: &[],
        offers_alike: false,
        settings: &[],
        operations: &[],
        needs: Needs::NOTHING,
        in_any_case: &[],
        helpers: false,
        top: None,
        linkage: Linkage::Dynamic,
        classic_n: 10_000,
        run: Err("not implemented yet"),
    };

    /// What most loads share, for `..Workload::LOAD`: levels of n, which counts connections.
    pub const LOAD: Workload = Workload {
        grows: "connections",
        shape: Shape::Load,
        sizes: Sizes::Levels(levels::one_two_five),
        server: true,
        ..Workload::CURVE
    };

    /// What most jobs share, for `..Workload::JOB`: one level, which is how much work there is.
    pub const JOB: Workload = Workload {
        shape: Shape::Job,
        sizes: Sizes::Levels(levels::top_only),
        warms_up: false,
        classic_n: 1,
        ..Workload::CURVE
    };

    /// What one more n takes in this variant.
    pub fn needs_of(&self, variant: &str) -> Needs {
        self.needs.of_variant(variant)
    }

    /// What a trial of this variant takes in any case.
    pub fn needs_in_any_case(&self, variant: &str) -> Needs {
        let of_it = self.in_any_case.iter().find(|(name, _)| name.is_empty() || *name == variant);
        of_it.map_or(Needs::NOTHING, |(_, needs)| needs.of_variant(variant))
    }

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

    /// The setting of that name.
    pub fn setting(&self, name: &str) -> Option<&'static Setting> {
        self.declaration().setting(name)
    }

    /// Its definition as a line of the record, with those of its variants that are measured. Where the user
    /// has named it, no operation is a detail.
    pub fn recorded(&self, variants: impl Iterator<Item = Variant>, is_named: bool) -> record::Workload {
        let variant = |variant: Variant| record::Variant {
            name: variant.name.to_owned(),
            summary: variant.summary.to_owned(),
        };
        let kind = |operation: &Operation| record::SeriesKind {
            name: operation.name.to_owned(),
            direction: operation.direction,
            side: operation.side,
            expect: operation.expect,
            expect_by_variant: operation
                .expect_by_variant
                .iter()
                .map(|&(name, expect)| (name.to_owned(), expect))
                .collect(),
            variants: operation.variants.iter().map(|&name| name.to_owned()).collect(),
            summary: operation.summary.to_owned(),
            sum_of: operation.sum_of.iter().map(|&name| name.to_owned()).collect(),
            part: operation.part,
            unit: operation.unit,
            both_ways: false,
            detail: operation.detail && !is_named,
        };
        record::Workload {
            name: self.name.to_owned(),
            version: self.version,
            summary: self.summary(),
            page: self.page(),
            grows: self.grows.to_owned(),
            variants: variants.map(variant).collect(),
            series: self.operations.iter().map(kind).collect(),
            references: self.references().iter().map(kind).collect(),
            shape: self.shape,
            server: self.server,
            rivals: self.rivals,
            offers_alike: self.offers_alike,
        }
    }

    /// The operation of that name.
    pub fn operation(&self, name: &str) -> Option<&'static Operation> {
        self.operations.iter().find(|operation| operation.name == name)
    }

    /// What a trial needs to know of it.
    pub fn declaration(&self) -> Declaration {
        let Workload { name, sizes, operations, settings, .. } = *self;
        Declaration { name, sizes, operations, settings }
    }

    /// The references that its trials can measure, in the order of their columns, which follow those of the
    /// operations.
    pub fn references(&self) -> &'static [Operation] {
        self.declaration().references()
    }

    /// The operations that are timed or reported, not summed, in the order of their columns.
    pub fn measured(&self) -> impl Iterator<Item = &'static Operation> + use<> {
        self.declaration().measured()
    }
}

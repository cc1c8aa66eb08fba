//! The declaration of a workload and of its operations.

use record::{Direction, Expect, JobPart, Shape, Side, Unit};

use crate::levels::{self, Need, Sizes};
use crate::reference::REFERENCES;
use crate::scaling;
use crate::setting::Setting;
use crate::trial::{Trial, TrialError};

/// A workload, of one of four shapes. A curve times an operation at every n while objects are added, and
/// again while they are removed. A load is held for a time at some levels of n. A job is timed as a whole.
/// A scaling has n workers, which repeat an operation at once. [`Workload::CURVE`], [`Workload::LOAD`],
/// [`Workload::JOB`] and [`Workload::SCALING`] have the usual values of a shape.
#[derive(Debug)]
pub struct Workload {
    /// Name on the command line.
    pub name: &'static str,
    /// Rises when the meaning of a measurement changes; different versions refuse to compare.
    pub version: u32,
    /// The leading `//!` lines of its own file.
    pub source: &'static str,
    /// The objects that n counts: "bound sockets".
    pub grows: &'static str,
    /// How it measures.
    pub shape: Shape,
    /// The n at which something is measured.
    pub sizes: Sizes,
    /// A small pass comes before each trial and is discarded: the first measurements do not pay for code that
    /// was never executed. Left out where a pass is all of the work, or would warm what must be cold.
    pub warms_up: bool,
    /// Its trials may use all processors: they have several threads or processes, whose number is n. Others
    /// stay on one.
    pub all_processors: bool,
    /// A server takes part: beside the trial, or at the address of `--server`.
    pub server: bool,
    /// The ways to run it; at least one.
    pub variants: &'static [Variant],
    /// By variant, how programs keep its costs small, for the end of a sentence: "use epoll(7)".
    pub remedies: &'static [(&'static str, &'static str)],
    /// The variants are rivals: shown on one figure, and ranked against each other.
    pub rivals: bool,
    /// The variants that answer the question of the page: they come first where the time is too short to
    /// compare all.
    pub core_variants: &'static [&'static str],
    /// The rivals are also measured at equal offered load: at each level half of the throughput of the
    /// slowest in the first trials. The first trials find that rate, and measure nothing else.
    pub equal_offered_load: bool,
    /// It measures something of the user's own: no group contains it, and only its name selects it.
    pub is_own: bool,
    /// The settings of the user.
    pub settings: &'static [Setting],
    /// The operations that every trial measures.
    pub operations: &'static [Operation],
    /// The resources of a single process that one more n takes; none where several processes share it.
    pub needs: &'static [Need],
    /// The resources that a trial takes at any n.
    pub fixed_needs: &'static [Need],
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
    /// Its subject, for a heading.
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

/// The experiment of a workload on Linux, and the reason on systems that cannot have it.
#[macro_export]
macro_rules! on_linux {
    ($run:expr, $reason:literal) => {
        cfg_select! {
            target_os = "linux" => { Ok($run) }
            _ => { Err($reason) }
        }
    };
}

/// The same on Unix.
#[macro_export]
macro_rules! on_unix {
    ($run:expr, $reason:literal) => {
        cfg_select! {
            unix => { Ok($run) }
            _ => { Err($reason) }
        }
    };
}

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
    pub(crate) const ONLY: &'static [Variant] = &[Variant { name: "", summary: "" }];
}

/// The name of a workload in a variant: `bind/v6`, or `fork`, which has only one way to run it.
pub fn full_name(workload: &str, variant: &str) -> String {
    if variant.is_empty() { workload.to_owned() } else { format!("{workload}/{variant}") }
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
    /// The defaults of curves, for `..Workload::CURVE`: every n, no rivals, one way to run it.
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
        remedies: &[],
        rivals: false,
        core_variants: &[],
        equal_offered_load: false,
        is_own: false,
        settings: &[],
        operations: &[],
        needs: &[],
        fixed_needs: &[],
        helpers: false,
        top: None,
        linkage: Linkage::Dynamic,
        classic_n: 10_000,
        run: Err("not implemented yet"),
    };

    /// The defaults of loads, for `..Workload::LOAD`: levels of n, which counts connections.
    pub const LOAD: Workload = Workload {
        grows: "connections",
        shape: Shape::Load,
        sizes: Sizes::Levels(levels::one_two_five),
        server: true,
        ..Workload::CURVE
    };

    /// The defaults of jobs, for `..Workload::JOB`: one level, which is how much work there is.
    pub const JOB: Workload = Workload {
        shape: Shape::Job,
        sizes: Sizes::Levels(levels::top_only),
        warms_up: false,
        classic_n: 1,
        ..Workload::CURVE
    };

    /// The defaults of scalings, for `..Workload::SCALING`: numbers of workers, on all processors.
    pub const SCALING: Workload = Workload {
        grows: "workers",
        shape: Shape::Scaling,
        sizes: Sizes::Levels(scaling::worker_counts),
        all_processors: true,
        operations: scaling::OPERATIONS,
        settings: scaling::SETTINGS,
        classic_n: 2,
        ..Workload::CURVE
    };

    /// The same, measured at these levels where any are given. It lives as long as the process, as all
    /// definitions do.
    pub fn at_levels(&'static self, levels: &[u64]) -> &'static Workload {
        if levels.is_empty() || !self.sizes.are_levels() {
            return self;
        }
        Box::leak(Box::new(Workload { sizes: Sizes::Chosen(levels.to_vec().leak()), ..*self }))
    }

    /// The resources that one more n takes in this variant.
    pub fn needs_of(&self, variant: &str) -> Vec<Need> {
        Need::of_variant(self.needs, variant)
    }

    /// The resources that a trial of this variant takes at any n.
    pub fn fixed_needs_of(&self, variant: &str) -> Vec<Need> {
        Need::of_variant(self.fixed_needs, variant)
    }

    /// The page: question, method and expected answer, in Markdown.
    pub fn page(&self) -> String {
        let page = record::page(self.source);
        match self.shape {
            Shape::Scaling => format!("{page}\n\n{}", scaling::PAGE),
            _ => page,
        }
    }

    /// The page's first sentence.
    pub fn summary(&self) -> String {
        record::summary(self.source)
    }

    /// The setting of that name.
    pub fn setting(&self, name: &str) -> Option<&'static Setting> {
        self.settings.iter().find(|setting| setting.name == name)
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
            companion: operation.companion,
        };
        record::Workload {
            name: self.name.to_owned(),
            version: self.version,
            summary: self.summary(),
            page: self.page(),
            grows: self.grows.to_owned(),
            remedies: self
                .remedies
                .iter()
                .map(|&(name, words)| (name.to_owned(), words.to_owned()))
                .collect(),
            variants: variants.map(variant).collect(),
            series: self.operations.iter().map(kind).collect(),
            references: self.references().iter().map(kind).collect(),
            shape: self.shape,
            server: self.server,
            rivals: self.rivals,
            equal_offered_load: self.equal_offered_load,
        }
    }

    /// The operation of that name.
    pub fn operation(&self, name: &str) -> Option<&'static Operation> {
        self.operations.iter().find(|operation| operation.name == name)
    }

    /// The references of its trials, in the order of their columns, which follow those of its operations;
    /// none where n goes by levels.
    pub fn references(&self) -> &'static [Operation] {
        match self.sizes {
            Sizes::Every => REFERENCES,
            Sizes::Levels(_) | Sizes::Chosen(_) => &[],
        }
    }

    /// The operations that are timed or reported, not summed, in the order of their columns.
    pub fn measured(&self) -> impl Iterator<Item = &'static Operation> + use<> {
        self.operations.iter().filter(|operation| operation.sum_of.is_empty())
    }
}

/// The smallest unit that is measured.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// Its name, unique in the workload.
    pub name: &'static str,
    /// Unit of its values.
    pub unit: Unit,
    /// Whether its values come from the workload itself, one for each level; others are timed by the trial.
    pub reported: bool,
    /// Whether n rises or falls while it is measured.
    pub direction: Direction,
    /// The source of its values.
    pub side: Side,
    /// The growth that the page predicts, unless `expect_by_variant` names the variant.
    pub expect: Expect,
    /// The variants for which the page predicts another growth.
    pub expect_by_variant: &'static [(&'static str, Expect)],
    /// The variants that measure it; empty for all of them.
    pub variants: &'static [&'static str],
    /// The exact work between the two clock readings, or the exact object of a count.
    pub summary: &'static str,
    /// Whether it answers no question of its own in a run where the user names no workload.
    pub detail: bool,
    /// Whether a run waits for no verdict of it.
    pub companion: bool,
    /// The operations of which this one is the sum; empty when it is measured itself.
    pub sum_of: &'static [&'static str],
    /// Its part in the time of the whole job, if it is a phase of it.
    pub part: Option<JobPart>,
}

impl Operation {
    /// A timed operation, for `..Operation::TIMED`.
    const TIMED: Operation = Operation {
        name: "",
        unit: Unit::Seconds,
        reported: false,
        direction: Direction::Up,
        side: Side::Client,
        expect: Expect::Constant,
        expect_by_variant: &[],
        variants: &[],
        summary: "",
        detail: false,
        companion: false,
        sum_of: &[],
        part: None,
    };

    /// An operation timed while n rises.
    pub const fn up(name: &'static str, expect: Expect, summary: &'static str) -> Operation {
        Operation { name, expect, summary, ..Operation::TIMED }
    }

    /// A value that the workload computes itself at each level: a rate, a percentile in seconds, bytes for
    /// each connection. See [`Trial::at_levels`](crate::Trial::at_levels).
    pub const fn reported(
        name: &'static str,
        unit: Unit,
        expect: Expect,
        summary: &'static str,
    ) -> Operation {
        Operation { name, unit, reported: true, expect, summary, ..Operation::TIMED }
    }

    /// A phase of a job, timed at each level. See [`Trial::job`](crate::Trial::job).
    pub const fn phase(name: &'static str, expect: Expect, summary: &'static str) -> Operation {
        Operation::reported(name, Unit::Seconds, expect, summary)
    }

    /// The same as a part of the job, for each unit of it: with the other parts it is all that the job does.
    pub const fn of_unit(self) -> Operation {
        Operation { part: Some(JobPart::OfUnit), ..self }
    }

    /// The same as a part of the job that happens once for all n units.
    pub const fn of_all(self) -> Operation {
        Operation { part: Some(JobPart::OfAll), ..self }
    }

    /// An operation timed while n falls.
    pub const fn down(name: &'static str, expect: Expect, summary: &'static str) -> Operation {
        Operation { name, direction: Direction::Down, expect, summary, ..Operation::TIMED }
    }

    /// The sum of operations that are timed one after the other.
    pub const fn sum(
        name: &'static str,
        of: &'static [&'static str],
        expect: Expect,
        summary: &'static str,
    ) -> Operation {
        Operation { name, expect, summary, sum_of: of, ..Operation::TIMED }
    }

    /// The same, with another predicted growth for some variants.
    pub const fn except(self, expect_by_variant: &'static [(&'static str, Expect)]) -> Operation {
        Operation { expect_by_variant, ..self }
    }

    /// The same, measured by these variants only.
    pub const fn only(self, variants: &'static [&'static str]) -> Operation {
        Operation { variants, ..self }
    }

    /// Whether trials of this variant measure it.
    pub fn is_of(&self, variant: &str) -> bool {
        self.variants.is_empty() || self.variants.contains(&variant)
    }

    /// The same as a detail: it is measured because another operation is, and a run without named workloads
    /// neither waits for it nor shows it first.
    pub const fn detail(self) -> Operation {
        Operation { detail: true, ..self }
    }

    /// The same as a companion: it is judged and shown, but a run goes on for the other operations only.
    pub const fn companion(self) -> Operation {
        Operation { companion: true, ..self }
    }

    /// The same, measured at the server or in its kernel, independently of the load generator.
    pub const fn at_server(self) -> Operation {
        Operation { side: Side::Server, ..self }
    }
}

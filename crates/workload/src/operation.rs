//! The operations of a workload: the measured values, their units, and the growth that the page predicts.

use record::{Direction, Expect, JobPart, Side, Unit};

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

//! The place where a cost changes: one n, and the landmarks near it.

use record::System;
use stats::{Interval, Verdict};

use crate::hints::{self, Landmark, Mark};
use crate::verdict::gross_jump;

/// The place from which on the cost is another.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// The n, with its interval.
    pub n: Interval,
    /// Whether it is a jump, which lies somewhere between two n that were measured.
    pub is_jump: bool,
    /// The landmarks near it, the most informative first.
    pub near: Vec<Landmark>,
}

impl Place {
    /// The place where a cost rises most: its largest step, else its largest jump, else where it bends, else
    /// the limit that it approaches. `None` where it rises everywhere alike.
    pub fn from_verdict(verdict: &Verdict, grows: &str, system: &System) -> Option<Place> {
        let jump = step(verdict).or_else(|| jump(verdict));
        let is_jump = jump.is_some();
        let n = jump.or(verdict.bend.map(|bend| bend.n)).or_else(|| verdict.limit.map(|limit| limit.n))?;
        Some(Place { n, is_jump, near: hints::landmarks_near(verdict, n, grows, system) })
    }

    /// The resource of the system that runs out here: a range of ports, a number of descriptors.
    pub fn resource(&self) -> Option<&Landmark> {
        self.near.iter().find(|landmark| landmark.mark.is_resource())
    }
}

impl Mark {
    /// Whether it is a limit or a setting of the system, and not merely a number such as the size of a cache.
    fn is_resource(self) -> bool {
        const LIMITS: [&str; 5] = ["limit.", "cgroup.", "kernel.", "vm.", "fs."];
        match self {
            Mark::HalfOfPorts | Mark::Ports => true,
            Mark::Fact(key) => LIMITS.iter().any(|limit| key.starts_with(limit)),
            Mark::PowerOfTwo { .. } => false,
        }
    }
}

/// The step that raises the cost most.
fn step(verdict: &Verdict) -> Option<Interval> {
    let rising = verdict.steps.iter().filter(|step| step.ratio.value > 1.0);
    let step = rising.max_by(|a, b| a.ratio.value.total_cmp(&b.ratio.value))?;
    Some(Interval { value: step.n as f64, low: step.n_low as f64, high: step.n_high as f64 })
}

/// The first n behind the largest jump that is certain to be behind it: it lies between two ranges, which do
/// not resolve the n between them.
fn jump(verdict: &Verdict) -> Option<Interval> {
    let [before, after] = gross_jump(verdict)?;
    let n = after.n_low as f64;
    Some(Interval { value: n, low: before.n_high as f64 + 1.0, high: n })
}

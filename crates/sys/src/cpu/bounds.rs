//! Why a process may use fewer processors than the machine has.

/// The processors that a process may not use. The counts are disjoint.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProcessorBounds {
    /// Those that are present and offline, because SMT is off.
    pub without_smt: usize,
    /// Those that are present and offline for another reason.
    pub offline: usize,
    /// Those on which the kernel runs nothing that does not ask for them (`isolcpus=`).
    pub isolated: usize,
    /// Those outside of the cpuset of the control group.
    pub cpuset: usize,
    /// Those that are outside of the affinity of this process alone.
    pub affinity: usize,
    /// The quota of the control group, where it is less than the allowed processors.
    pub quota: Option<f64>,
}

impl ProcessorBounds {
    /// One word for each reason, those that take most away from a whole machine first.
    pub fn words(&self) -> Vec<&'static str> {
        let reasons = [
            (self.without_smt > 0, "smt"),
            (self.offline > 0, "offline"),
            (self.isolated > 0, "isolated"),
            (self.cpuset > 0, "cpuset"),
            (self.affinity > 0, "affinity"),
            (self.quota.is_some(), "quota"),
        ];
        reasons.into_iter().filter(|(is_reason, _)| *is_reason).map(|(_, word)| word).collect()
    }
}

/// What quotas have taken since their groups were made.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Throttling {
    /// How often a group was stopped.
    pub times: u64,
    /// For how long, summed over processors.
    pub seconds: f64,
}

/// The processors of a machine, by number.
#[cfg(any(target_os = "linux", test))]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct KnownProcessors<'a> {
    pub(super) present: usize,
    pub(super) is_smt_off: bool,
    pub(super) online: &'a [u32],
    pub(super) isolated: &'a [u32],
    pub(super) cpuset: Option<&'a [u32]>,
    pub(super) allowed: &'a [u32],
    pub(super) quota: Option<f64>,
}

#[cfg(any(target_os = "linux", test))]
impl KnownProcessors<'_> {
    pub(super) fn bounds(&self) -> ProcessorBounds {
        let mut bounds = ProcessorBounds {
            quota: self.quota.filter(|quota| *quota < self.allowed.len() as f64),
            ..ProcessorBounds::default()
        };
        let offline = self.present.saturating_sub(self.online.len());
        // All that SMT leaves online are the first of their core.
        let place = if self.is_smt_off { &mut bounds.without_smt } else { &mut bounds.offline };
        *place = offline;
        for cpu in self.online.iter().filter(|cpu| !self.allowed.contains(cpu)) {
            if self.cpuset.is_some_and(|cpuset| !cpuset.contains(cpu)) {
                bounds.cpuset += 1;
            } else if self.isolated.contains(cpu) {
                bounds.isolated += 1;
            } else {
                bounds.affinity += 1;
            }
        }
        bounds
    }
}

/// Of systems on which nothing of that is read.
#[cfg(not(target_os = "linux"))]
pub(super) fn unknown() -> ProcessorBounds {
    ProcessorBounds::default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_processor_that_is_missing_has_one_reason() {
        let all: Vec<u32> = (0..8).collect();
        let whole = KnownProcessors { present: 8, online: &all, allowed: &all, ..KnownProcessors::default() };
        assert_eq!(whole.bounds(), ProcessorBounds::default());
        let part = KnownProcessors {
            present: 12,
            isolated: &[6, 7],
            cpuset: Some(&[0, 1, 2, 3, 6, 7]),
            allowed: &[1, 2],
            quota: Some(1.5),
            ..whole
        };
        let bounds = part.bounds();
        let expected = ProcessorBounds {
            offline: 4,
            isolated: 2,
            cpuset: 2,
            affinity: 2,
            quota: Some(1.5),
            without_smt: 0,
        };
        assert_eq!(bounds, expected);
        assert_eq!(bounds.words(), ["offline", "isolated", "cpuset", "affinity", "quota"]);
        let smt_off = KnownProcessors { present: 16, is_smt_off: true, quota: Some(8.0), ..whole };
        assert_eq!(smt_off.bounds().words(), ["smt"], "a quota of all processors takes nothing");
    }
}

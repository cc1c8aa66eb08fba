//! The processors of a machine, the caches that they share, and why a process may use fewer of them, as
//! values.

/// The machine's processors and their caches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    /// The processors that are online, by rising number.
    pub cpus: Vec<Cpu>,
    /// The caches, each once, however many processors share it.
    pub caches: Vec<Cache>,
}

/// One logical processor, as the scheduler sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cpu {
    /// The system's number for it.
    pub number: u32,
    /// The lowest-numbered processor of the same core stands for the core.
    pub core: u32,
    /// The chip it sits on.
    pub package: u32,
    /// The NUMA node whose memory is nearest; `None` on kernels without NUMA.
    pub node: Option<u32>,
    /// Speed relative to the fastest processor of the machine, 1024 = equal: smaller on efficiency cores.
    pub capacity: u32,
    /// Whether the kernel keeps ordinary work away from it (`isolcpus=`).
    pub isolated: bool,
}

/// The order in which workers get processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// One for each core, the fast cores first; then the second thread of each.
    Spread,
    /// All threads of a core, then the next core, node by node.
    Compact,
    /// One for each core of a node, then its second threads, then the next node.
    Node,
}

/// Processors in an order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placed {
    /// Their numbers.
    pub cpus: Vec<u32>,
    /// Where processors of another kind begin, each kind once.
    pub borders: Vec<Border>,
}

/// A place in an order of processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Border {
    /// So many come before it.
    pub after: usize,
    /// The kind that begins.
    pub kind: BorderKind,
}

/// A kind of processors that share something with those before, or have less.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BorderKind {
    /// Further threads of cores that are in use.
    Sibling,
    /// Slower cores.
    Slower,
    /// Another memory node.
    Node,
}

/// One cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    /// 1 is nearest to the core.
    pub level: u32,
    /// Its content.
    pub kind: CacheKind,
    /// Its size.
    pub bytes: u64,
    /// The size of one line.
    pub line_bytes: u64,
    /// The processors that share it, by rising number.
    pub cpus: Vec<u32>,
}

/// The content of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheKind {
    /// Data only.
    Data,
    /// Instructions only.
    Instruction,
    /// Both.
    Unified,
}

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

/// The time that quotas have taken since their groups were made.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Throttling {
    /// How often a group was stopped.
    pub times: u64,
    /// For how long, summed over processors.
    pub seconds: f64,
}

impl Topology {
    /// Number of cores: processors less their SMT siblings.
    pub fn cores(&self) -> usize {
        distinct(self.cpus.iter().map(|cpu| cpu.core))
    }

    /// Number of chips.
    pub fn packages(&self) -> usize {
        distinct(self.cpus.iter().map(|cpu| cpu.package))
    }

    /// Number of NUMA nodes with processors; 1 on kernels without NUMA.
    pub fn nodes(&self) -> usize {
        distinct(self.cpus.iter().map(|cpu| cpu.node))
    }

    /// The processors of the same core as this one, itself among them.
    pub(crate) fn siblings(&self, number: u32) -> Vec<u32> {
        let core = self.cpus.iter().find(|cpu| cpu.number == number).map(|cpu| cpu.core);
        self.cpus.iter().filter(|cpu| Some(cpu.core) == core).map(|cpu| cpu.number).collect()
    }

    /// These processors in the order of a placement.
    pub(crate) fn placed(&self, allowed: &[u32], placement: Placement) -> Placed {
        let unknown = |number: u32| Cpu {
            number,
            core: number,
            package: 0,
            node: None,
            capacity: u32::MAX,
            isolated: false,
        };
        let found = |number: &u32| self.cpus.iter().find(|cpu| cpu.number == *number).cloned();
        let mut cpus: Vec<Cpu> = Vec::new();
        for number in allowed {
            cpus.push(found(number).unwrap_or_else(|| unknown(*number)));
        }
        // The place among the allowed threads of a core: its first may not be allowed.
        let thread = |cpu: &Cpu| {
            cpus.iter().filter(|other| other.core == cpu.core && other.number < cpu.number).count()
        };
        let mut keyed: Vec<([u32; 5], &Cpu)> = cpus
            .iter()
            .map(|cpu| {
                let (thread, slow) = (thread(cpu) as u32, u32::MAX - cpu.capacity);
                let (node, zero) = (cpu.node.unwrap_or(0), u32::from(cpu.number == 0));
                let key = match placement {
                    Placement::Spread => [slow, thread, u32::from(!cpu.isolated), zero, cpu.number],
                    Placement::Compact => [node, slow, cpu.core, cpu.number, 0],
                    Placement::Node => [node, slow, thread, zero, cpu.number],
                };
                (key, cpu)
            })
            .collect();
        keyed.sort_by_key(|(key, _)| *key);
        let order: Vec<&Cpu> = keyed.into_iter().map(|(_, cpu)| cpu).collect();
        let begins = |kind, is_it: &dyn Fn(&Cpu, &[&Cpu]) -> bool| {
            let after = (1..order.len()).find(|&after| is_it(order[after], &order[..after]))?;
            Some(Border { after, kind })
        };
        let sibling =
            begins(BorderKind::Sibling, &|cpu, before| before.iter().any(|one| one.core == cpu.core));
        let slower = begins(BorderKind::Slower, &|cpu, before| cpu.capacity < before[0].capacity);
        let node = begins(BorderKind::Node, &|cpu, before| cpu.node != before[0].node);
        let mut borders: Vec<Border> = [sibling, slower, node].into_iter().flatten().collect();
        borders.sort_by_key(|border| border.after);
        Placed { cpus: order.iter().map(|cpu| cpu.number).collect(), borders }
    }
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

fn distinct<T: Ord>(values: impl Iterator<Item = T>) -> usize {
    values.collect::<std::collections::BTreeSet<_>>().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two nodes of two cores with two threads each; processor 5 has a hole before it.
    fn topology() -> Topology {
        let cpu = |number: u32, core: u32, node: u32| Cpu {
            number,
            core,
            package: node,
            node: Some(node),
            capacity: 1024,
            isolated: false,
        };
        let cpus = vec![
            cpu(0, 0, 0),
            cpu(1, 1, 0),
            cpu(2, 2, 1),
            cpu(3, 3, 1),
            cpu(5, 0, 0),
            cpu(6, 1, 0),
            cpu(7, 2, 1),
            cpu(8, 3, 1),
        ];
        Topology { cpus, caches: Vec::new() }
    }

    #[test]
    fn workers_spread_over_cores_or_fill_them() {
        let topology = topology();
        let all: Vec<u32> = topology.cpus.iter().map(|cpu| cpu.number).collect();
        let placed = |placement| topology.placed(&all, placement);
        let spread = placed(Placement::Spread);
        assert_eq!(spread.cpus, [1, 2, 3, 0, 5, 6, 7, 8]);
        assert!(spread.borders.contains(&Border { after: 4, kind: BorderKind::Sibling }));
        assert_eq!(placed(Placement::Compact).cpus, [0, 5, 1, 6, 2, 7, 3, 8]);
        let node = placed(Placement::Node);
        assert_eq!(node.cpus, [1, 0, 5, 6, 2, 3, 7, 8]);
        assert_eq!(
            node.borders,
            [Border { after: 2, kind: BorderKind::Sibling }, Border { after: 4, kind: BorderKind::Node }]
        );
    }

    #[test]
    fn only_allowed_processors_are_placed() {
        let spread = topology().placed(&[5, 6, 7], Placement::Spread);
        assert_eq!(spread.cpus, [5, 6, 7]);
        assert!(spread.borders.iter().all(|border| border.kind != BorderKind::Sibling));
        assert_eq!(Topology::default().placed(&[0, 70, 1500], Placement::Spread).cpus, [70, 1500, 0]);
    }

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

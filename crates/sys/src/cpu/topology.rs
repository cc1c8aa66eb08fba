//! The processors of a machine and the caches they share, as values.

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
}

impl Topology {
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
}

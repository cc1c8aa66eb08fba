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

fn distinct<T: Ord>(values: impl Iterator<Item = T>) -> usize {
    values.collect::<std::collections::BTreeSet<_>>().len()
}

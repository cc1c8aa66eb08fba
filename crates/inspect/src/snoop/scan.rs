//! The scan that finds a server: the processes of the system with their descriptors, and its sockets.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use sys::process_table::{
    self, Descriptor, DescriptorKind, ProcessEntry, SocketEntry, is_gone, is_kept_from_us,
};

/// One scan.
#[derive(Debug)]
pub(super) struct Reading {
    pub(super) scan: Scan,
    pub(super) sockets: Vec<SocketEntry>,
}

/// All processes and their descriptors.
#[derive(Debug)]
pub(super) struct Scan {
    pub(super) processes: BTreeMap<u32, ProcessEntry>,
    descriptors: BTreeMap<u32, Vec<Descriptor>>,
    /// Processes whose descriptors this user may not read.
    pub(super) kept: BTreeSet<u32>,
}

impl Scan {
    pub(super) fn everything() -> io::Result<Scan> {
        Scan::of(process_table::processes()?, |_| true)
    }

    /// The descriptors of those processes that are wanted.
    pub(super) fn of(all: Vec<ProcessEntry>, wanted: impl Fn(&ProcessEntry) -> bool) -> io::Result<Scan> {
        let mut scan =
            Scan { processes: BTreeMap::new(), descriptors: BTreeMap::new(), kept: BTreeSet::new() };
        for process in all.into_iter().filter(|process| !process.is_of_kernel && !process.is_zombie()) {
            if wanted(&process) {
                match process_table::descriptors(process.pid) {
                    Ok(found) => drop(scan.descriptors.insert(process.pid, found)),
                    Err(error) if is_kept_from_us(&error) => drop(scan.kept.insert(process.pid)),
                    // It has ended meanwhile.
                    Err(error) if is_gone(&error) => continue,
                    Err(error) => return Err(error),
                }
            }
            scan.processes.insert(process.pid, process);
        }
        Ok(scan)
    }

    pub(super) fn descriptors(&self, pid: u32) -> &[Descriptor] {
        self.descriptors.get(&pid).map_or(&[], Vec::as_slice)
    }

    pub(super) fn sockets(&self, pid: u32) -> impl Iterator<Item = u64> {
        self.descriptors(pid).iter().filter_map(|descriptor| match descriptor.kind {
            DescriptorKind::Socket(inode) => Some(inode),
            _ => None,
        })
    }

    pub(super) fn holds_any(&self, pid: u32, inodes: &BTreeSet<u64>) -> bool {
        self.sockets(pid).any(|inode| inodes.contains(&inode))
    }

    pub(super) fn holders(&self, inodes: &BTreeSet<u64>) -> Vec<u32> {
        self.processes.keys().copied().filter(|pid| self.holds_any(*pid, inodes)).collect()
    }

    /// The process and everything below it.
    pub(super) fn family(&self, root: u32) -> BTreeSet<u32> {
        let mut family = BTreeSet::from([root]);
        loop {
            let is_new = |process: &&ProcessEntry| {
                family.contains(&process.parent) && !family.contains(&process.pid) && process.pid != 0
            };
            let more: Vec<u32> = self.processes.values().filter(is_new).map(|child| child.pid).collect();
            if more.is_empty() {
                return family;
            }
            family.extend(more);
        }
    }

    /// The highest process above this one that belongs to the same server: one that holds the same listening
    /// socket, or one of the same program that started several which listen.
    pub(super) fn root_above(&self, pid: u32, listening: &BTreeSet<u64>) -> u32 {
        let mut root = pid;
        while let Some(parent) = self.processes.get(&root).and_then(|child| self.processes.get(&child.parent))
        {
            let holders = || {
                let children = self.processes.values().filter(|child| child.parent == parent.pid);
                children.filter(|child| self.holds_any(child.pid, listening)).count()
            };
            let program = |pid| process_table::program(pid).ok();
            let is_alike = || program(parent.pid).is_some() && program(parent.pid) == program(root);
            let started_workers = || parent.pid > 1 && holders() > 1 && is_alike();
            if !(self.holds_any(parent.pid, listening) || started_workers()) {
                break;
            }
            root = parent.pid;
        }
        root
    }
}

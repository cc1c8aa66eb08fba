//! Finds a server: a scan of the system's processes with their descriptors and of its sockets, where the
//! server listens, and which processes belong to it.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use serde::Serialize;
use sys::process_table::{
    self, Descriptor, DescriptorKind, ProcessEntry, SocketEntry, SocketPlace, SocketState, is_gone,
    is_kept_from_us,
};

const HIDDEN: &str = "; /proc is mounted with hidepid, so it may be another user's: run osdyno as root";

/// Why a server cannot be observed.
#[derive(Debug, thiserror::Error)]
pub enum SnoopError {
    /// No such process.
    #[error("no process {pid} is there{}", if *is_hidden { HIDDEN } else { "" })]
    NoProcess {
        /// Its number.
        pid: u32,
        /// Whether /proc hides those of others.
        is_hidden: bool,
    },
    /// It has ended.
    #[error("process {pid} has ended, and its parent {parent} has not waited for it; look at that one")]
    Zombie {
        /// Its number.
        pid: u32,
        /// That of its parent.
        parent: u32,
    },
    /// It is the kernel's.
    #[error("process {pid} ({name}) is a thread of the kernel, and no server")]
    OfKernel {
        /// Its number.
        pid: u32,
        /// Its name.
        name: String,
    },
    /// This user may not read its descriptors.
    #[error("process {pid} ({name}) belongs to another user; run osdyno as root or as that user")]
    Kept {
        /// Its number.
        pid: u32,
        /// Its name.
        name: String,
    },
    /// It is no server.
    #[error(
        "process {pid} ({name}) listens nowhere, and neither do its children; name the server's process, \
         or --port"
    )]
    NotListening {
        /// Its number.
        pid: u32,
        /// Its name.
        name: String,
    },
    /// Nobody listens at that port.
    #[error("nothing listens on TCP port {0}; ss -ltn lists the ports in use")]
    NoListener(u16),
    /// A process listens there that this user may not read.
    #[error("port {0} belongs to a process of another user; run osdyno as root or as that user")]
    HiddenListener(u16),
    /// The server ended during the observation.
    #[error("the server ended while it was looked at")]
    Ended,
    /// A name of a listening socket that is no path.
    #[error("cannot connect to {0:?}, which is no path in the file system; leave out --load")]
    NoPath(String),
    /// Connections could not be held.
    #[error(transparent)]
    Load(#[from] net::Error),
    /// This system, or /proc, does not show processes.
    #[error("cannot look at processes: {0}")]
    System(#[from] io::Error),
}

/// A place where a server listens.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(untagged)]
pub enum ListeningPlace {
    /// A port of TCP.
    Tcp {
        /// The address.
        address: IpAddr,
        /// The port.
        port: u16,
    },
    /// A socket of this machine.
    Unix {
        /// Its path, or its abstract name; untrusted text.
        path: String,
    },
}

/// A server.
#[derive(Clone, Debug)]
pub struct ObservedServer {
    /// The process above all its others.
    pub root: u32,
    /// Its name; untrusted text.
    pub name: String,
    /// Where it listens.
    pub places: BTreeSet<ListeningPlace>,
    /// The inodes of its listening sockets.
    pub(super) listening: BTreeSet<u64>,
    /// Whether connections of this program reach it: it is in the same network.
    pub is_in_our_network: bool,
    /// Processes that had nothing to do with it when it was found, with the time of their start.
    pub(super) strangers: BTreeSet<(u32, u64)>,
    /// The scan that found it, for an observation right after.
    pub(super) reading: Option<Arc<Reading>>,
}

fn port(entry: &SocketEntry) -> Option<u16> {
    match entry.place {
        SocketPlace::Tcp { port, .. } => Some(port),
        SocketPlace::Unix(_) => None,
    }
}

fn listening(sockets: &[SocketEntry]) -> Vec<&SocketEntry> {
    sockets.iter().filter(|entry| entry.state == SocketState::Listening).collect()
}

fn listening_at(sockets: &[SocketEntry], number: u16) -> Vec<&SocketEntry> {
    listening(sockets).into_iter().filter(|entry| port(entry) == Some(number)).collect()
}

fn inodes(sockets: &[&SocketEntry]) -> BTreeSet<u64> {
    sockets.iter().map(|entry| entry.inode).collect()
}

impl ObservedServer {
    /// The server that this process is, or belongs to.
    ///
    /// # Errors
    /// [`SnoopError`].
    pub fn of_process(pid: u32) -> Result<ObservedServer, SnoopError> {
        let process = match process_table::process(pid) {
            Ok(process) => process,
            Err(error) if is_gone(&error) => {
                // Without /proc every process is missing.
                process_table::processes()?;
                return Err(SnoopError::NoProcess { pid, is_hidden: process_table::hides_others() });
            }
            Err(error) => return Err(error.into()),
        };
        if process.is_of_kernel {
            return Err(SnoopError::OfKernel { pid, name: process.name });
        }
        if process.is_zombie() {
            return Err(SnoopError::Zombie { pid, parent: process.parent });
        }
        let scan = Scan::everything()?;
        if scan.kept.contains(&pid) {
            return Err(SnoopError::Kept { pid, name: process.name });
        }
        let sockets = process_table::sockets(pid).map_err(ended_or)?;
        let listening = listening(&sockets);
        let held_by = |pids: &BTreeSet<u32>| -> Vec<&SocketEntry> {
            let held: BTreeSet<u64> = pids.iter().flat_map(|pid| scan.sockets(*pid)).collect();
            listening.iter().copied().filter(|entry| held.contains(&entry.inode)).collect()
        };
        let mut own = held_by(&BTreeSet::from([pid]));
        if own.is_empty() {
            own = held_by(&scan.family(pid));
        }
        if own.is_empty() {
            // It may serve a connection that another one accepted.
            let held: BTreeSet<u64> = scan.sockets(pid).collect();
            let connected = sockets.iter().filter(|entry| held.contains(&entry.inode));
            let ports: BTreeSet<u16> = connected.filter_map(port).collect();
            own = listening
                .iter()
                .copied()
                .filter(|entry| port(entry).is_some_and(|p| ports.contains(&p)))
                .collect();
        }
        // A place of TCP is the service; a path beside it is for its administrator.
        if own.iter().any(|entry| port(entry).is_some()) {
            own.retain(|entry| port(entry).is_some());
        }
        if own.is_empty() {
            return Err(SnoopError::NotListening { pid, name: process.name });
        }
        let server = ObservedServer::of_listeners(&scan, pid, &own, &sockets);
        Ok(server.with(Reading { scan, sockets }))
    }

    /// The server that listens on a port.
    ///
    /// # Errors
    /// [`SnoopError`].
    pub fn at_port(number: u16) -> Result<ObservedServer, SnoopError> {
        let scan = Scan::everything()?;
        let sockets = process_table::sockets(std::process::id())?;
        let server = ObservedServer::among(&scan, &sockets, number)?;
        Ok(server.with(Reading { scan, sockets }))
    }

    /// The server that listens on a port, among those that were read.
    fn among(scan: &Scan, sockets: &[SocketEntry], number: u16) -> Result<ObservedServer, SnoopError> {
        let own = listening_at(sockets, number);
        if own.is_empty() {
            return Err(SnoopError::NoListener(number));
        }
        let holders = scan.holders(&inodes(&own));
        // One that was started by the system's first process shares its socket with that.
        let holder = holders.iter().copied().find(|pid| *pid != 1).or(holders.first().copied());
        let holder = holder.ok_or(SnoopError::HiddenListener(number))?;
        Ok(ObservedServer::of_listeners(scan, holder, &own, sockets))
    }

    fn with(self, reading: Reading) -> ObservedServer {
        ObservedServer { reading: Some(Arc::new(reading)), ..self }
    }

    /// Every server that listens on a port of TCP, and ports whose process this user may not read.
    ///
    /// # Errors
    /// [`SnoopError::System`].
    pub fn all() -> Result<(Vec<ObservedServer>, Vec<u16>), SnoopError> {
        let scan = Scan::everything()?;
        let sockets = process_table::sockets(std::process::id())?;
        let ports: BTreeSet<u16> = listening(&sockets).into_iter().filter_map(port).collect();
        let (mut servers, mut hidden): (Vec<ObservedServer>, Vec<u16>) = (Vec::new(), Vec::new());
        for port in ports {
            match ObservedServer::among(&scan, &sockets, port) {
                Ok(server) => match servers.iter_mut().find(|other| other.root == server.root) {
                    Some(other) => {
                        other.places.extend(server.places);
                        other.listening.extend(server.listening);
                    }
                    None => servers.push(server),
                },
                Err(SnoopError::HiddenListener(port)) => hidden.push(port),
                // It has ended meanwhile.
                Err(SnoopError::NoListener(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok((servers, hidden))
    }

    fn of_listeners(scan: &Scan, pid: u32, own: &[&SocketEntry], all: &[SocketEntry]) -> ObservedServer {
        let ports: BTreeSet<u16> = own.iter().filter_map(|entry| port(entry)).collect();
        let shared = |state: SocketState| -> BTreeSet<u64> {
            let shares = |entry: &&SocketEntry| {
                entry.state == state && port(entry).is_some_and(|port| ports.contains(&port))
            };
            all.iter().filter(shares).map(|entry| entry.inode).collect()
        };
        let (connections, shared) = (shared(SocketState::Connected), shared(SocketState::Listening));
        let mut listening: BTreeSet<u64> = own.iter().map(|entry| entry.inode).collect();
        let root = scan.root_above(pid, &listening.union(&shared).copied().collect());
        // With SO_REUSEPORT each worker has a socket of its own at the same port.
        let family = scan.family(root);
        let held: BTreeSet<u64> = family.iter().flat_map(|pid| scan.sockets(*pid)).collect();
        listening.extend(shared.intersection(&held));
        let places = own.iter().map(|entry| match &entry.place {
            SocketPlace::Tcp { address, port, .. } => ListeningPlace::Tcp { address: *address, port: *port },
            SocketPlace::Unix(path) => ListeningPlace::Unix { path: path.clone() },
        });
        let is_stranger = |process: &&ProcessEntry| {
            !family.contains(&process.pid)
                && !scan.kept.contains(&process.pid)
                && !scan.holds_any(process.pid, &listening)
                && !scan.holds_any(process.pid, &connections)
        };
        let strangers = scan.processes.values().filter(is_stranger);
        let strangers = strangers.map(|process| (process.pid, process.started_ticks)).collect();
        let network = |pid| process_table::network_namespace(pid).ok();
        let ours = network(std::process::id());
        ObservedServer {
            root,
            name: scan.processes.get(&root).map(|process| process.name.clone()).unwrap_or_default(),
            places: places.collect(),
            listening,
            is_in_our_network: network(root).is_none() || network(root) == ours,
            strangers,
            reading: None,
        }
    }

    /// The same server at one of its places only.
    ///
    /// # Errors
    /// [`SnoopError`].
    pub fn at(&self, place: &ListeningPlace) -> Result<ObservedServer, SnoopError> {
        let sockets = process_table::sockets(self.root).map_err(ended_or)?;
        let is_there = |entry: &&SocketEntry| match (&entry.place, place) {
            (SocketPlace::Tcp { port, .. }, ListeningPlace::Tcp { port: wanted, .. }) => port == wanted,
            (SocketPlace::Unix(path), ListeningPlace::Unix { path: wanted }) => path == wanted,
            _ => false,
        };
        let there = sockets.iter().filter(is_there).map(|entry| entry.inode).collect();
        let listening: BTreeSet<u64> = self.listening.intersection(&there).copied().collect();
        let places = self.places.iter().filter(|other| match (other, place) {
            (ListeningPlace::Tcp { port, .. }, ListeningPlace::Tcp { port: wanted, .. }) => port == wanted,
            (other, place) => *other == place,
        });
        Ok(ObservedServer { places: places.cloned().collect(), listening, ..self.clone() })
    }

    /// Whether an entry of the table is a connection to this server, at the server's side.
    pub(super) fn is_connection(&self, entry: &SocketEntry) -> bool {
        let is_there = |place: &ListeningPlace| match (place, &entry.place) {
            (ListeningPlace::Tcp { port: own, .. }, SocketPlace::Tcp { port, .. }) => own == port,
            (ListeningPlace::Unix { path: own }, SocketPlace::Unix(path)) => own == path,
            _ => false,
        };
        entry.state == SocketState::Connected && self.places.iter().any(is_there)
    }
}

pub(super) fn ended_or(error: io::Error) -> SnoopError {
    if is_gone(&error) { SnoopError::Ended } else { error.into() }
}

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
    fn everything() -> io::Result<Scan> {
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

    fn holders(&self, inodes: &BTreeSet<u64>) -> Vec<u32> {
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
    fn root_above(&self, pid: u32, listening: &BTreeSet<u64>) -> u32 {
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

//! Namespaces (namespaces(7)): new ones for the calling thread, descriptors that keep them, and the way back.

use std::fs::File;
use std::os::fd::AsFd;
use std::{fs, io};

use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};

use crate::Unsupported;

const ONE_THREAD: Unsupported =
    Unsupported("only root makes namespaces in a process of several threads, and this is not root");

/// A resource of which a process can have an instance of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamespaceKind {
    /// Mounts.
    Mount,
    /// Network devices, addresses, ports, sockets.
    Network,
    /// Objects of System V and queues of POSIX.
    Ipc,
    /// The name of the host.
    Uts,
}

impl NamespaceKind {
    fn flag(self) -> UnshareFlags {
        match self {
            NamespaceKind::Mount => UnshareFlags::NEWNS,
            NamespaceKind::Network => UnshareFlags::NEWNET,
            NamespaceKind::Ipc => UnshareFlags::NEWIPC,
            NamespaceKind::Uts => UnshareFlags::NEWUTS,
        }
    }

    fn kind(self) -> LinkNameSpaceType {
        match self {
            NamespaceKind::Mount => LinkNameSpaceType::Mount,
            NamespaceKind::Network => LinkNameSpaceType::Network,
            NamespaceKind::Ipc => LinkNameSpaceType::InterProcessCommunication,
            NamespaceKind::Uts => LinkNameSpaceType::HostNameAndNISDomainName,
        }
    }

    fn file(self) -> &'static str {
        match self {
            NamespaceKind::Mount => "/proc/thread-self/ns/mnt",
            NamespaceKind::Network => "/proc/thread-self/ns/net",
            NamespaceKind::Ipc => "/proc/thread-self/ns/ipc",
            NamespaceKind::Uts => "/proc/thread-self/ns/uts",
        }
    }
}

/// Lets this process make namespaces: root may, and others may in a user namespace of their own, in which
/// they are root.
///
/// # Errors
/// Those of unshare(2), and of writing the maps of users; `EPERM` where user namespaces are forbidden;
/// unsupported for others than root in a process of several threads.
pub fn permit() -> io::Result<()> {
    if crate::process::is_root() {
        return Ok(());
    }
    let [user, group] = [rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw()];
    // SAFETY: only unsharing the table of descriptors could confuse other threads, and it is not unshared.
    unsafe { unshare_unsafe(UnshareFlags::NEWUSER) }.map_err(|error| match error {
        rustix::io::Errno::INVAL => ONE_THREAD.into(),
        error => io::Error::from(error),
    })?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("0 {user} 1\n"))?;
    fs::write("/proc/self/gid_map", format!("0 {group} 1\n"))
}

/// Gives the calling thread new namespaces in place of its own of these kinds.
///
/// # Errors
/// Those of unshare(2).
#[inline]
pub fn renew(kinds: &[NamespaceKind]) -> io::Result<()> {
    let flags = kinds.iter().fold(UnshareFlags::empty(), |flags, kind| flags | kind.flag());
    // SAFETY: as above.
    unsafe { unshare_unsafe(flags) }.map_err(Into::into)
}

/// Namespaces that stay alive as long as this does.
#[derive(Debug)]
pub struct Namespaces(Vec<(File, NamespaceKind)>);

impl Namespaces {
    /// Those of the calling thread.
    ///
    /// # Errors
    /// Those of opening them in /proc.
    pub fn own(kinds: &[NamespaceKind]) -> io::Result<Namespaces> {
        let open = |&kind: &NamespaceKind| Ok((File::open(kind.file())?, kind));
        kinds.iter().map(open).collect::<io::Result<_>>().map(Namespaces)
    }

    /// Moves the calling thread into them.
    ///
    /// # Errors
    /// Those of setns(2).
    #[inline]
    pub fn enter(&self) -> io::Result<()> {
        self.0.iter().try_for_each(|(file, kind)| {
            move_into_link_name_space(file.as_fd(), Some(kind.kind())).map_err(Into::into)
        })
    }

    /// Gives them up; the last holder ends them.
    ///
    /// # Errors
    /// Those of close(2).
    #[inline]
    pub fn close(self) -> io::Result<()> {
        self.0.into_iter().try_for_each(|(file, _)| crate::file::close(file))
    }

    /// The numbers by which the system tells them from others.
    ///
    /// # Errors
    /// Those of fstat(2).
    pub fn numbers(&self) -> io::Result<Vec<u64>> {
        let number =
            |(file, _): &(File, NamespaceKind)| Ok(std::os::unix::fs::MetadataExt::ino(&file.metadata()?));
        self.0.iter().map(number).collect()
    }
}

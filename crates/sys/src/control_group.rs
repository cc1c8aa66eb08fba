//! Control groups of version 2 that a process makes below its own (cgroups(7)).

#[cfg(target_os = "linux")]
pub use linux::{ControlGroup, own_members};
#[cfg(not(target_os = "linux"))]
pub use other::{ControlGroup, own_members};

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::File;
    use std::io::{self, Write};
    use std::path::PathBuf;

    use crate::{Unsupported, cgroup};

    /// A group below that of this process.
    #[derive(Clone, Debug)]
    pub struct ControlGroup {
        path: PathBuf,
        folder: crate::file::Path,
    }

    /// The folder of the group of this process in the tree of version 2.
    fn own() -> io::Result<PathBuf> {
        cgroup::unified().ok_or(Unsupported("no control groups of version 2 are mounted").into())
    }

    /// The members of the group of this process, to which a process may be moved back.
    ///
    /// # Errors
    /// Those of open(2); unsupported.
    pub fn own_members() -> io::Result<File> {
        File::options().write(true).open(own()?.join("cgroup.procs"))
    }

    impl ControlGroup {
        /// The group of that number, which need not exist.
        ///
        /// # Errors
        /// Unsupported where no groups of version 2 are mounted.
        pub fn name(number: u32) -> io::Result<ControlGroup> {
            let path = own()?.join(format!("osdyno-{number}"));
            Ok(ControlGroup { folder: path.as_path().try_into()?, path })
        }

        /// Makes it, by one mkdir(2).
        ///
        /// # Errors
        /// Those of mkdir(2).
        #[inline]
        pub fn create(&self) -> io::Result<()> {
            Ok(rustix::fs::mkdir(self.folder.as_c_str(), rustix::fs::Mode::from_raw_mode(0o755))?)
        }

        /// Removes it, by one rmdir(2).
        ///
        /// # Errors
        /// Those of rmdir(2): `EBUSY` while it has a process.
        #[inline]
        pub fn remove(&self) -> io::Result<()> {
            crate::file::remove_folder(&self.folder)
        }

        /// Its members.
        ///
        /// # Errors
        /// Those of open(2).
        pub fn members(&self) -> io::Result<File> {
            File::options().write(true).open(self.path.join("cgroup.procs"))
        }

        /// One of its files, such as `cpu.stat`.
        ///
        /// # Errors
        /// Those of open(2); unsupported where this tree does not have the controller.
        pub fn file(&self, name: &str) -> io::Result<File> {
            File::open(self.path.join(name)).map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => {
                    let text = format!(
                        "this system has no {name} in the tree of version 2: its controller is elsewhere"
                    );
                    io::Error::new(io::ErrorKind::Unsupported, text)
                }
                _ => error,
            })
        }

        /// Moves this process into the group with these members, by one write(2).
        ///
        /// # Errors
        /// Those of write(2).
        #[inline]
        pub fn attach(mut members: &File) -> io::Result<()> {
            // It stands for the process that writes.
            members.write_all(b"0")
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod other {
    use std::fs::File;
    use std::io;

    use crate::Unsupported;

    const MISSING: Unsupported = Unsupported("control groups are Linux's");

    /// Unsupported.
    ///
    /// # Errors
    /// Always.
    pub fn own_members() -> io::Result<File> {
        Err(MISSING.into())
    }

    /// There is none.
    #[derive(Clone, Debug)]
    pub enum ControlGroup {}

    impl ControlGroup {
        /// Unsupported.
        ///
        /// # Errors
        /// Always.
        pub fn name(_number: u32) -> io::Result<ControlGroup> {
            Err(MISSING.into())
        }

        /// Not reached: there is no group.
        ///
        /// # Errors
        /// None.
        pub fn create(&self) -> io::Result<()> {
            match *self {}
        }

        /// Not reached: there is no group.
        ///
        /// # Errors
        /// None.
        pub fn remove(&self) -> io::Result<()> {
            match *self {}
        }

        /// Not reached: there is no group.
        ///
        /// # Errors
        /// None.
        pub fn members(&self) -> io::Result<File> {
            match *self {}
        }

        /// Not reached: there is no group.
        ///
        /// # Errors
        /// None.
        pub fn file(&self, _name: &str) -> io::Result<File> {
            match *self {}
        }

        /// Unsupported.
        ///
        /// # Errors
        /// Always.
        pub fn attach(_members: &File) -> io::Result<()> {
            Err(MISSING.into())
        }
    }
}

//! Control groups of tests, of version 2 and version 1.

use std::fmt::Display;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// The control group of a test, removed in the end.
pub(crate) struct ControlGroup(PathBuf);

impl ControlGroup {
    /// One in which this controller has one of these files, which gets the value; `None` where none can be
    /// made.
    pub(crate) fn make(controller: &str, files: &[&str], value: impl Display) -> Option<ControlGroup> {
        // The tests of a program are threads of one process.
        static MADE: AtomicU32 = AtomicU32::new(0);
        let places = ["/sys/fs/cgroup".to_owned(), format!("/sys/fs/cgroup/{controller}")];
        places.iter().find_map(|place| {
            let number = MADE.fetch_add(1, Ordering::Relaxed);
            let name = format!("osdyno-test-{controller}-{}-{number}", std::process::id());
            let group = ControlGroup(Path::new(place).join(name));
            fs::create_dir(&group.0).ok()?;
            group.set(files, &value)?;
            Some(group)
        })
    }

    /// Gives the first of these files that is there the value.
    pub(crate) fn set(&self, files: &[&str], value: impl Display) -> Option<()> {
        // The file is there where this version has the controller, and is not made where it is not.
        let open = |file: &&str| OpenOptions::new().write(true).open(self.0.join(file)).ok();
        files.iter().find_map(open)?.write_all(value.to_string().as_bytes()).ok()
    }

    /// A command of the shell that goes into it.
    pub(crate) fn enter(&self) -> String {
        format!("echo $$ > {}/cgroup.procs", self.0.display())
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        for _ in 0..200 {
            if fs::remove_dir(&self.0).is_ok() {
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

//! Control groups of tests, of version 2 and version 1.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The control group of a test, removed in the end.
pub(crate) struct ControlGroup(PathBuf);

impl ControlGroup {
    /// One in which this controller has one of these files, which gets the value; `None` where none can be
    /// made.
    pub(crate) fn make(controller: &str, files: &[&str], value: u64) -> Option<ControlGroup> {
        let places = ["/sys/fs/cgroup".to_owned(), format!("/sys/fs/cgroup/{controller}")];
        places.iter().find_map(|place| {
            let name = format!("osdyno-test-{controller}-{}", std::process::id());
            let group = ControlGroup(Path::new(place).join(name));
            fs::create_dir(&group.0).ok()?;
            // The file is there where this version has the controller, and is not made where it is not.
            let open = |file: &&str| OpenOptions::new().write(true).open(group.0.join(file)).ok();
            let mut file = files.iter().find_map(open)?;
            file.write_all(value.to_string().as_bytes()).ok()?;
            Some(group)
        })
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

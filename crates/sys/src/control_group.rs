//! Control groups (cgroups(7)): those of this process, with their limits of processes, memory and processor
//! time, and groups of version 2 that a process makes below its own.
//!
//! Version 1 mounts every controller separately, version 2 has one tree for all of them, and a machine may
//! use both at once. The limit of a group applies to all groups below it, so the lowest on the path counts.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::Unsupported;
use crate::mount::table::{Mount, mounts};
use crate::pseudo_file::{counter, cpu_list, number, text};

/// A group below that of this process.
#[derive(Clone, Debug)]
pub struct ControlGroup {
    path: PathBuf,
    folder: crate::file::Path,
}

/// The folder of the group of this process in the tree of version 2.
fn own() -> io::Result<PathBuf> {
    unified().ok_or(Unsupported("no control groups of version 2 are mounted").into())
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

/// Version 1 writes "no limit" as the largest page-aligned number; nothing real comes near it.
const UNLIMITED_FROM: u64 = 1 << 60;

/// The tightest limit of one kind on the way up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cap {
    /// The most that the group may use.
    pub(crate) limit: u64,
    /// Its present use.
    pub(crate) used: u64,
    /// The file that sets it.
    pub(crate) file: PathBuf,
}

/// Processes and threads.
pub(crate) fn pids() -> Option<Cap> {
    tightest(&folders("pids"), &["pids.max"], &["pids.current"], |_| 0)
}

/// Memory in bytes. Cached file pages that were not used lately are counted as free: the kernel gives
/// them back before an allocation fails.
pub(crate) fn memory() -> Option<Cap> {
    tightest(
        &folders("memory"),
        &["memory.max", "memory.limit_in_bytes"],
        &["memory.current", "memory.usage_in_bytes"],
        |folder| {
            let stat = text(folder.join("memory.stat")).unwrap_or_default();
            counter(&stat, "total_inactive_file").or_else(|| counter(&stat, "inactive_file")).unwrap_or(0)
        },
    )
}

/// The tightest share of processor time, as processors: 1.5 is one and a half.
pub(crate) fn cpus() -> Option<f64> {
    tightest_share(&folders("cpu"))
}

fn tightest_share(folders: &[PathBuf]) -> Option<f64> {
    let share = |folder: &PathBuf| {
        let pair = text(folder.join("cpu.max")).or_else(|| {
            let quota = text(folder.join("cpu.cfs_quota_us"))?;
            Some(format!("{quota} {}", text(folder.join("cpu.cfs_period_us"))?))
        })?;
        let (quota, period) = pair.split_once(' ')?;
        let share = quota.parse::<f64>().ok()? / period.trim().parse::<f64>().ok()?;
        (share > 0.0).then_some(share)
    };
    folders.iter().filter_map(share).min_by(f64::total_cmp)
}

/// How often quotas have stopped this group or one above it, and for how many seconds, summed over
/// processors.
pub(crate) fn throttled(folders: &[PathBuf]) -> Option<(u64, f64)> {
    let groups = folders.iter().filter_map(|folder| stops(&text(folder.join("cpu.stat"))?));
    groups.reduce(|(times, seconds), (more, longer)| (times + more, seconds + longer))
}

/// Version 2 counts microseconds, version 1 nanoseconds.
fn stops(stat: &str) -> Option<(u64, f64)> {
    let seconds = counter(stat, "throttled_usec").map(|time| time as f64 * 1e-6);
    let seconds = seconds.or_else(|| counter(stat, "throttled_time").map(|time| time as f64 * 1e-9))?;
    Some((counter(stat, "nr_throttled").unwrap_or(0), seconds))
}

/// The processors that the group may run on; `None` where no group rules processors.
pub(crate) fn cpuset() -> Option<Vec<u32>> {
    let of_group = |folder: &PathBuf| {
        let files = ["cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus"];
        let lists = files.into_iter().filter_map(|name| text(folder.join(name)));
        lists.map(|list| cpu_list(&list)).find(|cpus| !cpus.is_empty())
    };
    // Each group has some of the processors of the one above it.
    folders("cpuset").iter().find_map(of_group)
}

/// `2` when one tree serves all controllers, `1` when each has its own, `1 and 2` when both are mounted.
pub(crate) fn version() -> Option<&'static str> {
    let mounts = mounts();
    let has = |kind: &str| mounts.iter().any(|mount| mount.kind == kind);
    match (has("cgroup"), has("cgroup2")) {
        (true, true) => Some("1 and 2"),
        (true, false) => Some("1"),
        (false, true) => Some("2"),
        (false, false) => None,
    }
}

/// The groups that rule one controller, innermost first.
pub(crate) fn folders(controller: &str) -> Vec<PathBuf> {
    folders_from(&text("/proc/self/cgroup").unwrap_or_default(), &mounts(), controller)
}

/// The group of this process in the tree of version 2.
fn unified() -> Option<PathBuf> {
    // No controller has this name, so the line of version 2 is taken.
    folders("(none)").into_iter().next()
}

fn folders_from(groups: &str, mounts: &[Mount], controller: &str) -> Vec<PathBuf> {
    // "4:memory:/path" for version 1, "0::/path" for version 2, where version 1 wins: a controller
    // belongs to one tree only.
    let group_of = |controllers: &dyn Fn(&str) -> bool| {
        groups.lines().find_map(|line| {
            let mut parts = line.splitn(3, ':');
            let (_, names, path) = (parts.next()?, parts.next()?, parts.next()?);
            controllers(names).then_some(path)
        })
    };
    let first = group_of(&|names| names.split(',').any(|name| name == controller))
        .map(|path| (path, "cgroup"))
        .or_else(|| group_of(&str::is_empty).map(|path| (path, "cgroup2")));
    let Some((path, kind)) = first else { return Vec::new() };

    let has_it = |mount: &Mount| mount.super_options.split(',').any(|option| option == controller);
    let is_of_tree = |mount: &&Mount| mount.kind == kind && (kind == "cgroup2" || has_it(mount));
    let Some(mount) = mounts.iter().find(is_of_tree) else { return Vec::new() };
    let top = mount.point.as_path();
    // Inside a container the path may be that of the host, or lie above the mounts that are visible here.
    let below = Path::new(path).strip_prefix(&mount.root).unwrap_or(Path::new(""));
    let outside = below.components().any(|part| part.as_os_str() == "..");
    // Joining nothing would leave a slash at the end.
    let own = if outside || below.as_os_str().is_empty() { top.to_owned() } else { top.join(below) };
    own.ancestors().take_while(|folder| folder.starts_with(top)).map(Path::to_owned).collect()
}

fn tightest(
    folders: &[PathBuf],
    limit_files: &[&str],
    used_files: &[&str],
    reclaimable: impl Fn(&Path) -> u64,
) -> Option<Cap> {
    let cap = |folder: &PathBuf| {
        let file = limit_files.iter().map(|name| folder.join(name)).find(|file| file.exists())?;
        let limit = number(&file).filter(|limit| *limit < UNLIMITED_FROM)?;
        let used = used_files.iter().find_map(|name| number(folder.join(name))).unwrap_or(0);
        Some(Cap { limit, used: used.saturating_sub(reclaimable(folder)), file })
    };
    folders.iter().filter_map(cap).min_by_key(|cap| cap.limit.saturating_sub(cap.used))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::{folders_from, stops, throttled, tightest_share};
    use crate::mount::table::parse;

    fn folders(groups: &str, mounts: &str, controller: &str) -> Vec<String> {
        folders_from(groups, &parse(mounts), controller).iter().map(|f| f.display().to_string()).collect()
    }

    #[test]
    fn one_tree_for_all_controllers() {
        let mounts = "25 20 0:22 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n";
        assert_eq!(
            folders("0::/user.slice/user-0.slice\n", mounts, "pids"),
            ["/sys/fs/cgroup/user.slice/user-0.slice", "/sys/fs/cgroup/user.slice", "/sys/fs/cgroup"]
        );
    }

    #[test]
    fn a_tree_of_its_own_wins() {
        let groups = "8:pids:/\n2:cpu,cpuacct:/jobs\n0::/elsewhere\n";
        let mounts = "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n\
                      41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        assert_eq!(folders(groups, mounts, "cpu"), ["/sys/fs/cgroup/cpu/jobs", "/sys/fs/cgroup/cpu"]);
        assert_eq!(folders(groups, mounts, "pids"), [""; 0], "named but not mounted");
    }

    #[test]
    fn a_container_that_sees_the_path_of_its_host() {
        let mounts = "30 20 0:26 /docker/4f1 /sys/fs/cgroup/pids ro - cgroup cgroup rw,pids\n";
        assert_eq!(folders("9:pids:/docker/4f1\n", mounts, "pids"), ["/sys/fs/cgroup/pids"]);
        let mounts = "30 20 0:26 / /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
        assert_eq!(folders("0::/../../outside\n", mounts, "pids"), ["/sys/fs/cgroup"]);
    }

    /// Groups of both versions, the inner one first.
    fn groups(files: [&[(&str, &str)]; 2]) -> (PathBuf, Vec<PathBuf>) {
        static MADE: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = MADE.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let top = std::env::temp_dir().join(format!("osdyno-groups-{}-{number}", std::process::id()));
        let folders = vec![top.join("outer/inner"), top.join("outer"), top.clone()];
        std::fs::create_dir_all(&folders[0]).expect("a folder");
        for (folder, files) in folders.iter().zip(files) {
            files.iter().for_each(|(name, text)| std::fs::write(folder.join(name), text).expect("a file"));
        }
        (top, folders)
    }

    #[test]
    fn the_tightest_quota_on_the_way_up_counts() {
        for (files, expected) in [
            ([&[("cpu.max", "max 100000\n")][..], &[("cpu.max", "150000 100000\n")][..]], Some(1.5)),
            ([&[("cpu.max", "20000 100000\n")], &[("cpu.max", "150000 100000\n")]], Some(0.2)),
            (
                [
                    &[("cpu.cfs_quota_us", "-1\n"), ("cpu.cfs_period_us", "100000\n")],
                    &[("cpu.cfs_quota_us", "75000\n"), ("cpu.cfs_period_us", "50000\n")],
                ],
                Some(1.5),
            ),
            ([&[("cpu.max", "max 100000\n")], &[]], None),
        ] {
            let (top, folders) = groups(files);
            assert_eq!(tightest_share(&folders), expected, "{files:?}");
            std::fs::remove_dir_all(top).expect("it is ours");
        }
    }

    #[test]
    fn stops_of_all_groups_on_the_way_up_count() {
        let (inner, outer) =
            ("nr_throttled 3\nthrottled_usec 2000\n", "nr_throttled 1\nthrottled_time 4000000\n");
        let (top, folders) = groups([&[("cpu.stat", inner)], &[("cpu.stat", outer)]]);
        assert_eq!(throttled(&folders), Some((4, 0.006)));
        assert_eq!(throttled(&folders[2..]), None, "the top has no quota");
        assert_eq!(stops("usage_usec 7\nthrottled_usec 1500000"), Some((0, 1.5)));
        assert_eq!(stops("nr_periods 0\nthrottled_time 1500000000"), Some((0, 1.5)));
        std::fs::remove_dir_all(top).expect("it is ours");
    }
}

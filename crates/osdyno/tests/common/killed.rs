//! Runs that are killed at a random moment, in namespaces and a control group that nothing else uses: all
//! that is found there afterwards was left by the run.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use sys::namespace::{NamespaceKind, renew};

use super::{becomes_true, osdyno, scratch_folders, text, until};

/// Kernel objects that a workload makes, and a size that this kernel allows everywhere.
pub(crate) struct Victim {
    /// Workload and variant.
    pub(crate) workload: &'static str,
    n: &'static str,
    /// Whether its objects are seen in the world, so that the run is killed while there are some. One alone
    /// lives for too short a time.
    is_seen: bool,
}

const fn victim(workload: &'static str, n: &'static str, is_seen: bool) -> Victim {
    Victim { workload, n, is_seen }
}

/// Those whose objects outlive processes, or are of the whole machine.
pub(crate) const RISKY: [Victim; 6] = [
    victim("shared-memory/sysv", "500", true),
    victim("queue/sysv", "500", true),
    victim("cgroup/alive", "300", true),
    victim("mount/bind", "500", false),
    victim("namespace/network", "30", false),
    victim("unix-socket/path", "2000", false),
];

/// All others whose objects have names, hold processes, or are in tables of the kernel.
pub(crate) const OTHERS: [Victim; 15] = [
    victim("shared-memory/posix", "500", true),
    victim("queue/posix", "100", true),
    victim("queue/posix-messages", "100", false),
    victim("queue/sysv-messages", "500", false),
    victim("cgroup/dying", "100", true),
    victim("mount/tmpfs", "300", false),
    victim("terminal", "100", false),
    victim("unix-socket/abstract", "2000", false),
    victim("process-set/group", "200", false),
    victim("futex/private", "200", false),
    victim("filter", "300", false),
    victim("route/v4", "500", false),
    victim("conntrack", "300", false),
    victim("lock/flock", "1000", false),
    victim("pipe/fifo", "500", false),
];

/// The processes that are killed.
#[derive(Clone, Copy, Debug)]
enum Killed {
    /// osdyno alone.
    Osdyno,
    /// Its process group, as a shell kills a job.
    Group,
    /// All of the run at once, but the janitor.
    Tree,
}

const EACH: [Killed; 3] = [Killed::Osdyno, Killed::Group, Killed::Tree];

/// Longer than a trial needs to begin, and not longer than many trials take.
const DELAY_MAX: Duration = Duration::from_millis(300);

/// The namespaces, mounts and control group of one thread and of the runs that it starts.
struct World {
    /// The folder with all that this test itself needs.
    home: tempfile::TempDir,
    queues: PathBuf,
    group: Option<PathBuf>,
    mounts: BTreeSet<String>,
}

/// Only root makes namespaces for a test with several threads.
pub(crate) fn is_possible() -> bool {
    let is_root = sys::process::is_root();
    if !is_root {
        skipped!("only root looks at kernel objects in namespaces of its own");
    }
    is_root
}

/// Kills runs of these workloads, `kills` of each, in all ways by turns, and several at a time. The seed is
/// printed.
pub(crate) fn kill_each<'v>(victims: impl Iterator<Item = &'v Victim>, kills: usize, at_once: usize) {
    let seed = std::env::var("OSDYNO_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| fastrand::u64(..));
    println!("OSDYNO_SEED={seed}");
    let waiting = Mutex::new(victims.zip(seed..).collect::<Vec<_>>());
    std::thread::scope(|threads| {
        for _ in 0..at_once {
            threads.spawn(|| {
                // The namespaces of this thread end with it.
                let world = World::new();
                loop {
                    let next = waiting.lock().expect("no panic").pop();
                    let Some((victim, seed)) = next else { break };
                    let mut random = fastrand::Rng::with_seed(seed);
                    for killed in EACH.into_iter().cycle().take(kills) {
                        if !world.kill_one(victim, killed, &mut random) {
                            break;
                        }
                    }
                }
            });
        }
    });
}

impl World {
    fn new() -> World {
        let kinds = [NamespaceKind::Mount, NamespaceKind::Ipc, NamespaceKind::Network];
        renew(&kinds).expect("new namespaces");
        sys::mount::own_namespace().expect("mounts of its own");
        let home = tempfile::tempdir().expect("a folder");
        let queues = home.path().join("queues");
        fs::create_dir(&queues).expect("a folder");
        // A kernel without queues of POSIX has none that could be left.
        let _ = Command::new("mount").args(["-t", "mqueue", "none"]).arg(&queues).status();
        let shared = Command::new("mount").args(["-t", "tmpfs", "none", "/dev/shm"]).status();
        assert!(shared.is_ok_and(|status| status.success()), "no /dev/shm of its own");
        let lines = fs::read_to_string("/proc/thread-self/mountinfo").expect("mounts");
        let mounts = lines.lines().map(str::to_owned).collect();
        World { group: new_group(), home, queues, mounts }
    }

    /// Starts a run, kills it at a random moment, and expects that nothing is left. Returns whether the
    /// workload is supported.
    fn kill_one(&self, victim: &Victim, killed: Killed, random: &mut fastrand::Rng) -> bool {
        let folder = tempfile::tempdir_in(self.home.path()).expect("a folder");
        let delay = Duration::from_micros(random.u64(..DELAY_MAX.as_micros() as u64));
        let phase = format!("{}, {killed:?} after {delay:?}", victim.workload);
        let mut child = self.start(folder.path(), victim);
        let mut ended = false;
        until(&phase, || {
            ended = child.try_wait().expect("its state").is_some();
            let is_there = !victim.is_seen || !self.objects().is_empty();
            let measures = |process: Member| process.has_role("measure") && process.is_of(folder.path());
            ended || is_there && processes().any(measures)
        });
        if ended {
            let output = child.wait_with_output().expect("its end");
            let reason = text(&output.stderr) + &text(&output.stdout);
            assert!(reason.contains("unsupported"), "{phase}: it ended too early: {reason}");
            skipped!("{} is unsupported here", victim.workload);
        } else {
            std::thread::sleep(delay);
            self.kill(folder.path(), child.id(), killed);
            child.wait().expect("its end");
        }
        self.expect_nothing(folder.path(), &phase);
        !ended
    }

    fn start(&self, folder: &Path, victim: &Victim) -> Child {
        let run =
            osdyno(folder, &["run", victim.workload, "-n", victim.n, "--trials=5000", "--out=a.osdyno"]);
        let enter =
            self.group.as_ref().map(|group| format!("echo $$ > {}/cgroup.procs && ", group.display()));
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("{}exec \"$@\"", enter.unwrap_or_default()), "sh"]);
        shell.arg(run.get_program()).args(run.get_args()).current_dir(folder);
        for (name, value) in run.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        shell.process_group(0).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        shell.spawn().expect("osdyno starts")
    }

    fn kill(&self, folder: &Path, osdyno: u32, killed: Killed) {
        let group = format!("-{osdyno}");
        let numbers: Vec<String> = match killed {
            Killed::Osdyno => vec![osdyno.to_string()],
            Killed::Group => vec![group],
            Killed::Tree => {
                let members = self.members(folder).into_iter();
                let members = members.filter(|process| !process.has_role("janitor"));
                members.map(|process| process.number.to_string()).chain([group]).collect()
            }
        };
        // Some may have ended by themselves.
        let mut kill = Command::new("kill");
        kill.args(["-KILL", "--"]).args(numbers).stderr(Stdio::null()).status().expect("kill starts");
    }

    /// The processes of the run.
    fn members(&self, folder: &Path) -> Vec<Member> {
        processes().filter(|process| process.is_of(folder)).collect()
    }

    /// The kernel objects of the world that outlive processes.
    fn objects(&self) -> Vec<String> {
        let mut objects = Vec::new();
        for table in ["shm", "msg"] {
            let text = fs::read_to_string(format!("/proc/sysvipc/{table}")).unwrap_or_default();
            objects.extend(text.lines().skip(1).map(|line| format!("{table}: {line}")));
        }
        for folder in [Some(Path::new("/dev/shm")), Some(&*self.queues), self.group.as_deref()] {
            let entries = folder.into_iter().flat_map(fs::read_dir).flatten().flatten();
            // Files of a control group are no objects.
            let entries = entries.filter(|entry| folder != self.group.as_deref() || entry.path().is_dir());
            objects.extend(entries.map(|entry| entry.path().display().to_string()));
        }
        let sockets = fs::read_to_string("/proc/thread-self/net/unix").unwrap_or_default();
        objects.extend(sockets.lines().filter(|line| line.contains("@osdyno-")).map(str::to_owned));
        objects
    }

    fn expect_nothing(&self, folder: &Path, phase: &str) {
        let mut left = Vec::new();
        let nothing = |left: &mut Vec<String>| {
            left.clear();
            left.extend(self.members(folder).into_iter().map(|process| format!("{process:?}")));
            left.extend(self.objects());
            left.extend(scratch_folders(folder).iter().map(|path| path.display().to_string()));
            let members = self.group.as_ref().map(|group| fs::read_to_string(group.join("cgroup.procs")));
            let members = members.and_then(Result::ok).unwrap_or_default();
            left.extend(members.lines().map(|number| format!("process {number} in the group")));
            let mounts = fs::read_to_string("/proc/thread-self/mountinfo").expect("mounts");
            left.extend(mounts.lines().filter(|line| !self.mounts.contains(*line)).map(str::to_owned));
            left.is_empty()
        };
        let is_over = becomes_true(|| nothing(&mut left));
        assert!(is_over, "{phase}: {} are left: {:#?}", left.len(), &left[..left.len().min(20)]);
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.queues).stderr(Stdio::null()).status();
        if let Some(group) = &self.group {
            let _ = fs::remove_dir(group);
        }
    }
}

/// A process that may be one of the run.
#[derive(Debug)]
struct Member {
    number: u32,
    /// With a zero byte after each.
    words: String,
}

/// All that have a command line, which those of the kernel have not.
fn processes() -> impl Iterator<Item = Member> {
    let entries = fs::read_dir("/proc").expect("/proc").flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let with_words = numbers.filter_map(|number| {
        let words = text(&fs::read(format!("/proc/{number}/cmdline")).ok()?);
        Some(Member { number, words })
    });
    with_words.filter(|process| !process.words.is_empty())
}

impl Member {
    /// Whether it has the folder in its words, its program there, or works there.
    fn is_of(&self, folder: &Path) -> bool {
        let link = |name: &str| fs::read_link(format!("/proc/{}/{name}", self.number)).unwrap_or_default();
        let is_below = |path: PathBuf| path.to_string_lossy().contains(&*folder.to_string_lossy());
        self.words.contains(&*folder.to_string_lossy()) || is_below(link("exe")) || is_below(link("cwd"))
    }

    fn has_role(&self, role: &str) -> bool {
        self.words.split('\0').any(|word| word == role)
    }
}

/// A control group of version 2 below that of this process, where one can be made.
fn new_group() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let mount = mounts.lines().find(|line| line.contains(" - cgroup2 "))?.split(' ').nth(4)?;
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let name = format!("osdyno-test-killed-{}-{}", std::process::id(), fastrand::u32(..));
    let group = Path::new(mount).join(own).join(name);
    fs::create_dir(&group).ok()?;
    Some(group)
}

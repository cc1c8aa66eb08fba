//! `cargo xtask truths` measures known properties of real kernels and compares the verdicts with them.
//!
//! A truth is an entry of `TRUTHS`: the property, its measurement, and the claims that the verdict must meet.
//! This is an experiment and not a test: it needs an idle Linux machine, root for some entries, and minutes.
//! An entry that cannot be measured here is reported with its reason. The numbers stay in `target/truths`.

mod claim;
mod laboratory;

use crate::AnyError;
use claim::Claim::{self, Blamed, CliffAtHalfOfPorts, Growth, Reported, Stopped, Word};
use claim::Found;
use laboratory::{Format, Laboratory, Need};

struct Truth {
    name: &'static str,
    /// One sentence, and its source.
    known: &'static str,
    needs: Need,
    measure: fn(&Laboratory) -> Result<Found, AnyError>,
    claims: &'static [Claim],
}

const FLAT: Claim = Word(&["flat"]);
const LINEAR: Claim = Word(&["linear-like"]);
const CLIFF: Claim = Word(&["stepped", "approaching-limit"]);

/// At least so many times.
const fn times(low: f64) -> Claim {
    Growth { low, high: f64::INFINITY }
}

const EXT2_LIST: Format = &["mkfs.ext2", "-O", "^dir_index"];
const EXT4_LIST: Format = &["mkfs.ext4", "-O", "^dir_index,^has_journal"];
const EXT4_TREE: Format = &["mkfs.ext4", "-O", "dir_index,^has_journal"];

const TRUTHS: &[Truth] = &[
    Truth {
        name: "poll of n idle descriptors",
        // On Linux 6.18 with a step of 8 % where its list no longer fits into 1 KiB, at 156 descriptors.
        known: "poll(2) asks every descriptor that it is given",
        needs: Need::Nothing,
        measure: |lab| lab.wait("poll"),
        claims: &[LINEAR, times(5.0)],
    },
    Truth {
        name: "epoll_wait on n idle descriptors",
        known: "epoll_wait(2) looks at the descriptors that are ready",
        needs: Need::Nothing,
        measure: |lab| lab.wait("epoll"),
        claims: &[FLAT],
    },
    Truth {
        name: "create on ext2, no index",
        known: "a folder of ext2 is a list, which is searched for every new name",
        needs: Need::Mount(EXT2_LIST),
        measure: |lab| lab.create("ext2-list", EXT2_LIST),
        claims: &[LINEAR, times(3.0)],
    },
    Truth {
        name: "create on ext4, no index",
        known: "so is a folder of ext4 without dir_index, ext4(5)",
        needs: Need::Mount(EXT4_LIST),
        measure: |lab| lab.create("ext4-list", EXT4_LIST),
        claims: &[LINEAR, times(3.0)],
    },
    Truth {
        name: "create on ext4, with index",
        known: "with dir_index it is a hashed tree, searched in one block, ext4(5)",
        needs: Need::Mount(EXT4_TREE),
        measure: |lab| lab.create("ext4-tree", EXT4_TREE),
        claims: &[Word(&["flat", "small-growth"]), Growth { low: 0.8, high: 1.3 }],
    },
    Truth {
        name: "fork against the parent's memory",
        known: "fork(2) copies the page tables of written memory",
        needs: Need::Nothing,
        measure: |lab| lab.run(&["fork-memory", "-n", "512", "--preset", "full"], "fork"),
        claims: &[LINEAR, times(5.0)],
    },
    Truth {
        name: "bind to one of 28 232 ports",
        known: "Linux looks for a port of one parity first: half of the range is a cliff",
        needs: Need::Network,
        measure: |lab| lab.run_with_ports("32768 60999", &["bind/v4", "-n", "16000"], "bind"),
        claims: &[CLIFF, CliffAtHalfOfPorts { times: 100.0 }],
    },
    Truth {
        name: "bind to one of 10 000 ports",
        known: "the cliff goes where the range goes",
        needs: Need::Network,
        measure: |lab| lab.run_with_ports("20000 29999", &["bind/v4", "-n", "7000"], "bind"),
        claims: &[CLIFF, CliffAtHalfOfPorts { times: 50.0 }],
    },
    Truth {
        name: "a limit that is foreseen",
        known: "no process has more descriptors than RLIMIT_NOFILE, getrlimit(2)",
        needs: Need::Program("prlimit"),
        // Sockets would be held by helpers as well.
        measure: |lab| lab.run_limited("--nofile=600", &["ready/epoll", "-n", "2000"], "wait"),
        claims: &[Reported("RLIMIT_NOFILE is 600")],
    },
    Truth {
        name: "a limit that is met",
        known: "no process maps more private memory than RLIMIT_DATA, getrlimit(2)",
        needs: Need::Program("prlimit"),
        measure: |lab| {
            let arguments = ["fork-memory", "-n", "512", "--preset", "full"];
            lab.run_limited("--data=134217728", &arguments, "fork")
        },
        claims: &[Stopped { error: "ENOMEM", from: 64, to: 128 }],
    },
    Truth {
        name: "lock of a file with n locks",
        known: "the locks of a file are a list, fs/locks.c",
        needs: Need::Profiler,
        measure: |lab| lab.blame(&["lock/posix", "-n", "5000"], "lock"),
        claims: &[times(5.0), Blamed(&["posix_lock_inode"])],
    },
    Truth {
        name: "watch on a folder with n missing names",
        known: "the first watch of a folder marks all its children, fs/notify/fsnotify.c",
        needs: Need::Profiler,
        measure: |lab| lab.blame(&["missing-names/one", "-n", "8000"], "watch"),
        claims: &[
            times(5.0),
            Blamed(&["fsnotify_set_children_dentry_flags", "__fsnotify_update_child_dentry_flags"]),
        ],
    },
    Truth {
        name: "bind mount beside n",
        known: "a loop is looked for along all mounts, fs/namespace.c",
        needs: Need::Profiler,
        measure: |lab| lab.blame(&["mount/bind", "-n", "3000"], "mount"),
        claims: &[times(2.0), Blamed(&["__do_loopback", "do_loopback", "is_subdir", "attach_recursive_mnt"])],
    },
    Truth {
        name: "copy of a mount namespace",
        known: "unshare(2) copies every mount, mount_namespaces(7)",
        needs: Need::Profiler,
        measure: |lab| lab.blame(&["mount/unshare", "-n", "2000"], "copy"),
        claims: &[times(2.0), Blamed(&["copy_tree"])],
    },
    Truth {
        name: "wait for any of n children",
        known: "waitpid(2) asks each child, kernel/exit.c",
        needs: Need::Profiler,
        measure: |lab| lab.blame(&["process-set/children", "-n", "3000"], "wait"),
        claims: &[times(5.0), Blamed(&["wait_consider_task", "__do_wait"])],
    },
    Truth {
        name: "signal to a group of n processes",
        known: "kill(2) goes to each, kernel/signal.c",
        needs: Need::Profiler,
        measure: |lab| lab.blame(&["process-set/group", "-n", "2000"], "signal"),
        claims: &[times(5.0), Blamed(&["__kill_pgrp_info"])],
    },
    Truth {
        name: "poll of n pidfds",
        known: "poll(2) asks every descriptor that it is given",
        needs: Need::Profiler,
        measure: |lab| lab.blame(&["process-set/pidfd", "-n", "2000"], "poll"),
        claims: &[times(5.0), Blamed(&["do_sys_poll", "do_poll", "pidfd_poll"])],
    },
    Truth {
        name: "list of n processes",
        known: "the folder /proc is made for each reader, fs/proc/base.c",
        needs: Need::Profiler,
        measure: |lab| lab.blame(&["process-set/list", "-n", "2000"], "list"),
        claims: &[times(2.0), Blamed(&["proc_pid_readdir", "proc_readdir"])],
    },
    Truth {
        name: "requeue of n waiters",
        known: "futex(2) moves them one by one, kernel/futex/requeue.c",
        needs: Need::Profiler,
        measure: |lab| lab.blame(&["futex/private", "-n", "3000"], "requeue"),
        claims: &[times(2.0), Blamed(&["futex_requeue"])],
    },
    Truth {
        name: "list of n mappings",
        known: "/proc/self/maps is made for each reader, fs/proc/task_mmu.c",
        needs: Need::Profiler,
        measure: |lab| lab.blame(&["memory-map-list/maps", "-n", "5000"], "read"),
        claims: &[times(2.0), Blamed(&["seq_read_iter", "seq_read", "show_map_vma"])],
    },
    Truth {
        name: "sums of n mappings",
        known: "smaps_rollup walks each, fs/proc/task_mmu.c",
        needs: Need::Profiler,
        measure: |lab| lab.blame(&["memory-map-list/rollup", "-n", "5000"], "read"),
        claims: &[times(2.0), Blamed(&["show_smaps_rollup"])],
    },
    Truth {
        name: "bind of an abstract name beside n",
        known: "names are in 256 lists, net/unix/af_unix.c",
        needs: Need::Profiler,
        measure: |lab| lab.blame(&["unix-socket/abstract", "-n", "8000"], "bind"),
        claims: &[times(2.0), Blamed(&["__unix_find_socket_byname", "unix_find_socket_byname"])],
    },
    Truth {
        name: "connect to one of n bound paths",
        known: "sockets with a path are found by the number of their inode, in lists, net/unix/af_unix.c",
        needs: Need::Profiler,
        measure: |lab| lab.blame(&["unix-socket/path", "-n", "8000"], "connect"),
        claims: &[times(1.5), Blamed(&["unix_find_other", "unix_find_bsd", "unix_find_socket_byinode"])],
    },
    Truth {
        name: "call under n filters",
        known: "every filter of seccomp(2) is executed",
        needs: Need::Profiler,
        measure: |lab| lab.blame(&["seccomp/stacked", "-n", "300"], "examined"),
        claims: &[times(3.0), Blamed(&["__seccomp_filter", "seccomp_run_filters"])],
    },
];

/// Measures every truth and prints each with its verdict.
///
/// # Errors
/// When a verdict is wrong, or a measurable entry was not measured.
pub fn run() -> Result<(), AnyError> {
    let laboratory = Laboratory::open()?;
    let mut wrong = Vec::new();
    for truth in TRUTHS {
        if let Some(reason) = laboratory.missing(&truth.needs) {
            println!("not run  {}: {reason}", truth.name);
            continue;
        }
        let fault = match (truth.measure)(&laboratory) {
            Ok(found) => {
                println!("measured {}: {found:?}", truth.name);
                let broken: Vec<&Claim> = truth.claims.iter().filter(|claim| !claim.holds(&found)).collect();
                (!broken.is_empty()).then(|| format!("expected {broken:?}, because {}", truth.known))
            }
            Err(error) => Some(error.to_string()),
        };
        wrong.extend(fault.map(|fault| format!("{}: {fault}", truth.name)));
    }
    println!("{} truths, {} wrong; numbers in {}", TRUTHS.len(), wrong.len(), laboratory.folder().display());
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n").into()) }
}

//! `cargo xtask truths` measures known properties of real kernels and compares the verdicts with them.
//!
//! A truth is an entry of `TRUTHS`: the property, its measurement, and the claims that the verdict must meet.
//! This is an experiment and not a test: it needs an idle Linux machine, root for some entries, and minutes.
//! An entry that cannot be measured here is reported with its reason. The numbers stay in `target/truths`.

mod claim;
mod laboratory;

use crate::AnyError;
use claim::Claim::{self, CliffAtHalfOfPorts, Growth, Reported, Stopped, Word};
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
        measure: |lab| lab.run_limited("--nofile=600", &["socket/v4", "-n", "2000"], "socket"),
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

//! The recipe of OpenBSD, by its manual.

use super::definition::{Recipe, RecipeStep};

pub(super) const RECIPE: Recipe = Recipe {
    system: "openbsd",
    title: "OpenBSD",
    steps: &[
        RecipeStep {
            limits: "open files of the system",
            now: "sysctl kern.maxfiles={all}",
            lasting: "kern.maxfiles={all} in /etc/sysctl.conf",
            manual: "sysctl(2), sysctl.conf(5)",
        },
        RecipeStep {
            limits: "descriptors of a process",
            now: "ulimit -n {all}, up to the hard limit of the class",
            lasting: ":openfiles-max={all}: and :openfiles-cur={all}: of the class in /etc/login.conf",
            manual: "getrlimit(2), login.conf(5)",
        },
        RecipeStep {
            limits: "connections that wait to be accepted",
            now: "sysctl kern.somaxconn={backlog}",
            lasting: "kern.somaxconn={backlog} in /etc/sysctl.conf",
            manual: "listen(2), sysctl(2)",
        },
        RecipeStep {
            limits: "local ports, of clients",
            now: "sysctl net.inet.ip.portfirst={first} net.inet.ip.portlast=65535",
            lasting: "the same in /etc/sysctl.conf",
            manual: "sysctl(2), ip(4)",
        },
        RecipeStep {
            limits: "network buffers",
            now: "sysctl kern.maxclusters={all}",
            lasting: "kern.maxclusters={all} in /etc/sysctl.conf",
            manual: "sysctl(2)",
        },
        RecipeStep {
            limits: "processes and threads",
            now: "sysctl kern.maxproc=30000 kern.maxthread=30000",
            lasting: "the same in /etc/sysctl.conf; :maxproc-max=30000: in /etc/login.conf",
            manual: "sysctl(2), login.conf(5)",
        },
    ],
    of_2001: &[],
    notes: &["It was not among the systems of 2001."],
};

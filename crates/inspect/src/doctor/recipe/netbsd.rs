//! The recipe of NetBSD, by its manual.

use super::definition::{Recipe, RecipeStep};

pub(super) const RECIPE: Recipe = Recipe {
    system: "netbsd",
    title: "NetBSD",
    steps: &[
        RecipeStep {
            limits: "open files of the system",
            now: "sysctl -w kern.maxfiles={all}",
            lasting: "kern.maxfiles={all} in /etc/sysctl.conf",
            manual: "sysctl(7), sysctl.conf(5)",
        },
        RecipeStep {
            limits: "descriptors of a process",
            now: "sysctl -w proc.$$.rlimit.descriptors.hard={all}; ulimit -n {all}",
            lasting: ":openfiles={all}: of the class in /etc/login.conf",
            manual: "sysctl(7), getrlimit(2), login.conf(5)",
        },
        RecipeStep {
            limits: "connections that wait to be accepted",
            now: "sysctl -w kern.somaxconn={backlog}",
            lasting: "kern.somaxconn={backlog} in /etc/sysctl.conf",
            manual: "listen(2), sysctl(7)",
        },
        RecipeStep {
            limits: "local ports, of clients",
            now: "sysctl -w net.inet.ip.anonportmin={first} net.inet.ip.anonportmax=65535",
            lasting: "the same in /etc/sysctl.conf",
            manual: "sysctl(7)",
        },
        RecipeStep {
            limits: "network buffers",
            now: "sysctl -w kern.mbuf.nmbclusters={all}",
            lasting: "kern.mbuf.nmbclusters={all} in /etc/sysctl.conf",
            manual: "sysctl(7), options(4)",
        },
        RecipeStep {
            limits: "processes and threads",
            now: "sysctl -w kern.maxproc=30000 kern.maxlwp=30000",
            lasting: "the same in /etc/sysctl.conf; :maxproc=30000: in /etc/login.conf",
            manual: "sysctl(7), login.conf(5)",
        },
    ],
    of_2001: &[],
    notes: &["It was not among the systems of 2001."],
};

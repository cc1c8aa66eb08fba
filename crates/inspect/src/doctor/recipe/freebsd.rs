//! The recipe of FreeBSD, by its manual.

use super::definition::{Recipe, RecipeStep, Replaced};

pub(super) const RECIPE: Recipe = Recipe {
    system: "freebsd",
    title: "FreeBSD",
    steps: &[
        RecipeStep {
            limits: "open files of the system",
            now: "sysctl kern.maxfiles={all}",
            lasting: "kern.maxfiles={all} in /etc/sysctl.conf",
            manual: "tuning(7), sysctl.conf(5)",
        },
        RecipeStep {
            limits: "descriptors of a process",
            now: "sysctl kern.maxfilesperproc={all}; limits -n {all} COMMAND",
            lasting: ":openfiles={all}: of the class in /etc/login.conf, then cap_mkdb /etc/login.conf",
            manual: "getrlimit(2), limits(1), login.conf(5)",
        },
        RecipeStep {
            limits: "sockets of the system",
            now: "sysctl kern.ipc.maxsockets={all}",
            lasting: "kern.ipc.maxsockets={all} in /boot/loader.conf",
            manual: "tuning(7), loader.conf(5)",
        },
        RecipeStep {
            limits: "connections that wait to be accepted",
            now: "sysctl kern.ipc.soacceptqueue={backlog}",
            lasting: "kern.ipc.soacceptqueue={backlog} in /etc/sysctl.conf",
            manual: "listen(2)",
        },
        RecipeStep {
            limits: "connections whose handshake is not finished",
            now: "nothing: it is read at boot",
            lasting: "net.inet.tcp.syncache.cachelimit={n} in /boot/loader.conf",
            manual: "syncache(4)",
        },
        RecipeStep {
            limits: "local ports, of clients",
            now: "sysctl net.inet.ip.portrange.first={first} net.inet.ip.portrange.last=65535",
            lasting: "the same in /etc/sysctl.conf",
            manual: "ip(4)",
        },
        RecipeStep {
            limits: "network buffers",
            now: "sysctl kern.ipc.nmbclusters={all}",
            lasting: "kern.ipc.nmbclusters={all} in /boot/loader.conf",
            manual: "tuning(7)",
        },
        RecipeStep {
            limits: "processes and threads",
            now: "sysctl kern.maxprocperuid=30000 kern.threads.max_threads_per_proc={n}",
            lasting: "kern.maxproc=32000 in /boot/loader.conf; the rest in /etc/sysctl.conf",
            manual: "loader.conf(5), sysctl(8)",
        },
    ],
    of_2001: &[
        Replaced {
            then: "maxusers 256 in the kernel's configuration, and a new kernel (FreeBSD 4.2)",
            today: "sized by memory since 4.5; kern.maxusers in loader.conf(5) overrides it",
        },
        Replaced {
            then: "options NMBCLUSTERS=32768 in the kernel's configuration",
            today: "kern.ipc.nmbclusters, at boot and while it runs",
        },
        Replaced {
            then: "sysctl -w kern.maxfiles=65536 kern.maxfilesperproc=32768",
            today: "the same settings; -w is no longer needed",
        },
        Replaced {
            then: "sysctl -w kern.ipc.somaxconn=1024",
            today: "kern.ipc.soacceptqueue; the old name is kept for old programs",
        },
    ],
    notes: &[],
};

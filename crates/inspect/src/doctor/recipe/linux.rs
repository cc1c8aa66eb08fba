//! The recipe of Linux, by its manual.

use super::definition::{Recipe, RecipeStep, Replaced};

pub(super) const RECIPE: Recipe = Recipe {
    system: "linux",
    title: "Linux",
    steps: &[
        RecipeStep {
            limits: "descriptors of a process",
            now: "sysctl -w fs.nr_open={all}; ulimit -n {all}",
            lasting: "LimitNOFILE={all} in the systemd unit; '* - nofile {all}' in /etc/security/limits.d",
            manual: "getrlimit(2), proc_sys_fs(5), systemd.exec(5), limits.conf(5)",
        },
        RecipeStep {
            limits: "open files of the system",
            now: "sysctl -w fs.file-max={all}",
            lasting: "fs.file-max = {all} in /etc/sysctl.d",
            manual: "proc_sys_fs(5)",
        },
        RecipeStep {
            limits: "connections that wait to be accepted",
            now: "sysctl -w net.core.somaxconn={backlog} net.ipv4.tcp_max_syn_backlog={backlog}",
            lasting: "the same names in /etc/sysctl.d; the server's own backlog too",
            manual: "listen(2), tcp(7)",
        },
        RecipeStep {
            limits: "local ports, of clients",
            now: "sysctl -w net.ipv4.ip_local_port_range='{first} 65535'",
            lasting: "net.ipv4.ip_local_port_range = {first} 65535 in /etc/sysctl.d",
            manual: "ip(7)",
        },
        RecipeStep {
            limits: "descriptors that epoll watches",
            now: "sysctl -w fs.epoll.max_user_watches={all}",
            lasting: "fs.epoll.max_user_watches = {all} in /etc/sysctl.d",
            manual: "epoll(7)",
        },
        RecipeStep {
            limits: "tracked connections, with a packet filter",
            now: "sysctl -w net.netfilter.nf_conntrack_max={all}",
            lasting: "net.netfilter.nf_conntrack_max = {all} in /etc/sysctl.d, after the module is loaded",
            manual: "Documentation/networking/nf_conntrack-sysctl.rst",
        },
        RecipeStep {
            limits: "processes and threads",
            now: "sysctl -w kernel.pid_max={all} kernel.threads-max={all}; ulimit -u {all}",
            lasting: "TasksMax={all} and LimitNPROC={all} in the systemd unit",
            manual: "proc_sys_kernel(5), systemd.resource-control(5)",
        },
        RecipeStep {
            limits: "mappings, two for each thread",
            now: "sysctl -w vm.max_map_count=262144",
            lasting: "vm.max_map_count = 262144 in /etc/sysctl.d",
            manual: "proc_sys_vm(5)",
        },
    ],
    of_2001: &[
        Replaced {
            then: "echo 65536 > /proc/sys/fs/file-max, in a boot script (Linux 2.2)",
            today: "it is sized by memory since 2.4; sysctl.d(5) keeps a value of one's own",
        },
        Replaced {
            then: "echo 131072 > /proc/sys/fs/inode-max, three to four times file-max",
            today: "removed in 2.4: inodes are allocated as they are needed",
        },
        Replaced {
            then: "NR_OPEN in include/linux/limits.h and fs.h, and a new kernel, for more than 1024",
            today: "fs.nr_open (since 2.6.25), and ulimit -n or LimitNOFILE= below it",
        },
        Replaced {
            then: "NR_TASKS in include/linux/tasks.h, and a new kernel, for more than 512 processes",
            today: "kernel.pid_max and kernel.threads-max (since 2.4)",
        },
        Replaced {
            then: "echo 1024 61000 > /proc/sys/net/ipv4/ip_local_port_range",
            today: "the same setting; a range for one socket by IP_LOCAL_PORT_RANGE (since 6.3)",
        },
    ],
    notes: &["`osdyno doctor --for connections={n}` prints only the steps that this machine needs."],
};

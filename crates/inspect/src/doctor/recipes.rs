//! The form of a recipe, and all recipes, each by the manual of its system, in the order of their names.

use serde::Serialize;

/// The recipe of one system.
#[derive(Debug)]
pub struct Recipe {
    /// Its name on the command line.
    pub system: &'static str,
    /// Its name as people write it.
    pub title: &'static str,
    /// The settings to raise, in this order.
    pub steps: &'static [RecipeStep],
    /// The steps of 2001 and their successors.
    pub of_2001: &'static [Replaced],
    /// Remarks.
    pub notes: &'static [&'static str],
}

/// One setting. In its texts `{n}` stands for the number, and `{all}` for that and the needs of the rest of
/// the system.
#[derive(Debug)]
pub struct RecipeStep {
    /// The thing that it limits.
    pub limits: &'static str,
    /// The command that raises it now.
    pub now: &'static str,
    /// The way to raise it for good, with the file it belongs to.
    pub lasting: &'static str,
    /// The page of the manual.
    pub manual: &'static str,
}

/// A step of 2001 and its successor.
#[derive(Debug, Serialize)]
pub struct Replaced {
    /// The step, and its successor today.
    pub then: &'static str,
    /// See `then`.
    pub today: &'static str,
}

/// All recipes, in the order of their names.
pub const RECIPES: &[Recipe] = &[FREEBSD, ILLUMOS, LINUX, MACOS, NETBSD, OPENBSD, WINDOWS];

const FREEBSD: Recipe = Recipe {
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

const ILLUMOS: Recipe = Recipe {
    system: "illumos",
    title: "illumos (OmniOS, SmartOS, OpenIndiana)",
    steps: &[
        RecipeStep {
            limits: "descriptors of a process",
            now: "prctl -n process.max-file-descriptor -t privileged -v {all} -r -e deny $$; ulimit -n {all}",
            lasting: "projmod -sK 'process.max-file-descriptor=(privileged,{all},deny)' PROJECT",
            manual: "prctl(1), projmod(8), resource_controls(7)",
        },
        RecipeStep {
            limits: "connections that wait to be accepted",
            now: "ipadm set-prop -t -p _conn_req_max_q={backlog} tcp",
            lasting: "ipadm set-prop -p _conn_req_max_q={backlog} tcp",
            manual: "ipadm(8)",
        },
        RecipeStep {
            limits: "connections whose handshake is not finished",
            now: "ipadm set-prop -t -p _conn_req_max_q0={backlog} tcp",
            lasting: "ipadm set-prop -p _conn_req_max_q0={backlog} tcp",
            manual: "ipadm(8)",
        },
        RecipeStep {
            limits: "local ports, of clients",
            now: "ipadm set-prop -t -p smallest_anon_port={first} tcp",
            lasting: "ipadm set-prop -p smallest_anon_port={first} tcp",
            manual: "ipadm(8)",
        },
        RecipeStep {
            limits: "threads and processes of a zone",
            now: "prctl -n zone.max-lwps -v {all} -r -i zone ZONE",
            lasting: "zonecfg -z ZONE set max-lwps={all}; maxuprc in /etc/system",
            manual: "resource_controls(7), zonecfg(8), system(5)",
        },
    ],
    of_2001: &[
        Replaced {
            then: "set rlim_fd_max=65536 and rlim_fd_cur in /etc/system, and a boot (Solaris 8)",
            today: "the resource control process.max-file-descriptor, without a boot",
        },
        Replaced {
            then: "ndd -set /dev/tcp tcp_conn_req_max_q 4096, in a boot script",
            today: "ipadm set-prop, which keeps the value",
        },
        Replaced {
            then: "ndd -set /dev/tcp tcp_smallest_anon_port 8192",
            today: "ipadm set-prop -p smallest_anon_port",
        },
        Replaced {
            then: "set maxusers and max_nprocs in /etc/system",
            today: "both are sized by memory; limits of zones and projects take their place",
        },
    ],
    notes: &[],
};

const LINUX: Recipe = Recipe {
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

const MACOS: Recipe = Recipe {
    system: "macos",
    title: "macOS",
    steps: &[
        RecipeStep {
            limits: "open files of the system",
            now: "sysctl -w kern.maxfiles={all}",
            lasting: "a job in /Library/LaunchDaemons that runs the same command at boot",
            manual: "sysctl(8), launchd.plist(5)",
        },
        RecipeStep {
            limits: "descriptors of a process",
            now: "sysctl -w kern.maxfilesperproc={all}; launchctl limit maxfiles {all}; ulimit -n {all}",
            lasting: "SoftResourceLimits and HardResourceLimits, NumberOfFiles, of the server's job",
            manual: "setrlimit(2), launchctl(1), launchd.plist(5)",
        },
        RecipeStep {
            limits: "connections that wait to be accepted",
            now: "sysctl -w kern.ipc.somaxconn={backlog}",
            lasting: "a job in /Library/LaunchDaemons that runs the same command at boot",
            manual: "listen(2), sysctl(8)",
        },
        RecipeStep {
            limits: "local ports, of clients",
            now: "sysctl -w net.inet.ip.portrange.first={first} net.inet.ip.portrange.last=65535",
            lasting: "a job in /Library/LaunchDaemons that runs the same command at boot",
            manual: "sysctl(8), ip(4)",
        },
        RecipeStep {
            limits: "processes",
            now: "sysctl -w kern.maxprocperuid=2000; launchctl limit maxproc 2000 2000; ulimit -u 2000",
            lasting: "NumberOfProcesses of the server's job; kern.maxproc depends on the model",
            manual: "launchctl(1), launchd.plist(5)",
        },
    ],
    of_2001: &[],
    notes: &[
        "It was not among the systems of 2001.",
        "/etc/sysctl.conf and /etc/launchd.conf are not read any more.",
    ],
};

const NETBSD: Recipe = Recipe {
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

const OPENBSD: Recipe = Recipe {
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

const WINDOWS: Recipe = Recipe {
    system: "windows",
    title: "Windows",
    steps: &[
        RecipeStep {
            limits: "sockets and other handles of a process",
            now: "nothing: 16 million handles, as far as the nonpaged pool has memory",
            lasting: "more memory",
            manual: "Windows Internals, object manager; Win32 documentation, \"Kernel objects\"",
        },
        RecipeStep {
            limits: "files of the C library",
            now: "_setmaxstdio(8192) in the program, instead of 512",
            lasting: "use handles (CreateFile), which have no such limit",
            manual: "C runtime reference, _setmaxstdio",
        },
        RecipeStep {
            limits: "connections that wait to be accepted",
            now: "listen(socket, SOMAXCONN_HINT({backlog})) in the program, 200 to 65535",
            lasting: "the same: there is no setting of the system",
            manual: "Winsock reference, listen",
        },
        RecipeStep {
            limits: "local ports, of clients",
            now: "netsh int ipv4 set dynamicport tcp start={first} num={ports}",
            lasting: "the same command: it is kept, and holds for new sockets at once",
            manual: "Microsoft Learn, \"Default dynamic port range for TCP/IP\" (929851)",
        },
        RecipeStep {
            limits: "processes of a service with windows",
            now: "nothing",
            lasting: "SharedSection in HKLM\\SYSTEM\\CurrentControlSet\\Control\\Session Manager\\SubSystems",
            manual: "Microsoft Learn, \"Desktop heap\"",
        },
    ],
    of_2001: &[
        Replaced {
            then: "MaxUserPort=65534 of Services\\Tcpip\\Parameters in the registry, and a boot",
            today: "netsh int ipv4 set dynamicport (since Vista); else 49152 to 65535, not 1025 to 5000",
        },
        Replaced {
            then: "TcpTimedWaitDelay=30, because closed connections kept their port for four minutes",
            today: "two minutes, and a wider range; the same name in the registry where it still matters",
        },
        Replaced {
            then: "EnableDynamicBacklog and MaximumDynamicBacklog of AFD, against full backlogs",
            today: "gone; SOMAXCONN_HINT in listen",
        },
    ],
    notes: &["Exclude the scratch folder from real-time scanning: Add-MpPreference -ExclusionPath."],
};

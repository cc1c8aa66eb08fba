//! The settings behind limits: how each is raised now, and for good. Where no setting can be changed, the
//! limit's own advice has the remedy.

use serde::Serialize;

/// The kind of a setting, which decides how it is raised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingKind {
    /// A number of the kernel, sysctl(8). In a container some can be set for it alone.
    Sysctl {
        /// Belongs to the network namespace, so a container has its own.
        of_network: bool,
    },
    /// The range of ports, two numbers.
    PortRange,
    /// A limit of processes, inherited: setrlimit(2).
    Process {
        /// The option of `ulimit`.
        flag: char,
        /// Its name in limits.conf(5), and behind `--ulimit` of a container.
        item: &'static str,
        /// Its name in systemd.exec(5).
        unit: &'static str,
        /// Bytes of one unit of `ulimit` and of limits.conf(5).
        bytes: u64,
    },
    /// A limit of a control group.
    Group {
        /// Its name in systemd.resource-control(5).
        unit: &'static str,
        /// The option of a container manager.
        container: &'static str,
    },
}

/// A setting that limits something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitSetting {
    /// Its name, as limits have it.
    pub name: &'static str,
    /// How it is raised.
    pub kind: SettingKind,
    /// Where it is documented.
    pub manual: &'static str,
    /// The largest value that the system accepts.
    pub most: Option<u64>,
}

/// A way to raise a setting for good.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Lasting {
    /// `systemd unit`, `sysctl.d`, `limits.d` or `container`.
    pub place: &'static str,
    /// The line to write there.
    pub text: String,
}

/// How a setting is raised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remedy {
    /// The command that does it now.
    pub now: String,
    /// The ways to raise it for good; each is enough where it applies.
    pub lasting: Vec<Lasting>,
}

const fn sysctl(name: &'static str, manual: &'static str) -> LimitSetting {
    LimitSetting { name, kind: SettingKind::Sysctl { of_network: false }, manual, most: None }
}

const fn network(name: &'static str, manual: &'static str) -> LimitSetting {
    LimitSetting { name, kind: SettingKind::Sysctl { of_network: true }, manual, most: None }
}

/// Values are numbers of 32 bits with a sign in the kernel.
const INT_MOST: Option<u64> = Some(i32::MAX as u64);
/// `PID_MAX_LIMIT` in include/linux/threads.h.
const PIDS_MOST: Option<u64> = Some(4_194_304);

/// `IPCMNI` in include/linux/ipc_namespace.h.
const IPC_MOST: Option<u64> = Some(32_768);
/// `HARD_MSGMAX` of include/linux/ipc_namespace.h.
const POSIX_MESSAGES_MOST: Option<u64> = Some(65_536);
/// `NR_UNIX98_PTY_MAX` in include/linux/tty.h.
const PTYS_MOST: Option<u64> = Some(1 << 20);

const SETTINGS: &[LimitSetting] = &[
    LimitSetting {
        name: "RLIMIT_NOFILE",
        kind: SettingKind::Process { flag: 'n', item: "nofile", unit: "LimitNOFILE", bytes: 1 },
        manual: "getrlimit(2)",
        most: None,
    },
    LimitSetting {
        name: "RLIMIT_NPROC",
        kind: SettingKind::Process { flag: 'u', item: "nproc", unit: "LimitNPROC", bytes: 1 },
        manual: "getrlimit(2)",
        most: None,
    },
    LimitSetting {
        name: "RLIMIT_AS",
        kind: SettingKind::Process { flag: 'v', item: "as", unit: "LimitAS", bytes: 1024 },
        manual: "getrlimit(2)",
        most: None,
    },
    LimitSetting {
        name: "RLIMIT_SIGPENDING",
        kind: SettingKind::Process { flag: 'i', item: "sigpending", unit: "LimitSIGPENDING", bytes: 1 },
        manual: "getrlimit(2)",
        most: None,
    },
    LimitSetting {
        name: "RLIMIT_MSGQUEUE",
        kind: SettingKind::Process { flag: 'q', item: "msgqueue", unit: "LimitMSGQUEUE", bytes: 1 },
        manual: "getrlimit(2)",
        most: None,
    },
    // Multiples of 64, below a number of 32 bits with a sign: `sysctl_nr_open_max` in fs/file.c.
    LimitSetting { most: Some(2_147_483_584), ..sysctl("fs.nr_open", "proc_sys_fs(5)") },
    sysctl("fs.file-max", "proc_sys_fs(5)"),
    sysctl("fs.mount-max", "proc_sys_fs(5)"),
    sysctl("user.max_mnt_namespaces", "proc_sys_user(5)"),
    sysctl("user.max_net_namespaces", "proc_sys_user(5)"),
    sysctl("user.max_ipc_namespaces", "proc_sys_user(5)"),
    sysctl("user.max_uts_namespaces", "proc_sys_user(5)"),
    sysctl("fs.epoll.max_user_watches", "epoll(7)"),
    sysctl("fs.inotify.max_user_watches", "inotify(7)"),
    sysctl("fs.inotify.max_user_instances", "inotify(7)"),
    sysctl("user.max_inotify_watches", "proc_sys_user(5)"),
    sysctl("user.max_inotify_instances", "proc_sys_user(5)"),
    sysctl("fs.fanotify.max_user_marks", "fanotify(7)"),
    sysctl("user.max_fanotify_marks", "proc_sys_user(5)"),
    sysctl("fs.pipe-user-pages-hard", "pipe(7)"),
    sysctl("fs.mqueue.queues_max", "mq_overview(7)"),
    LimitSetting { most: POSIX_MESSAGES_MOST, ..sysctl("fs.mqueue.msg_max", "mq_overview(7)") },
    LimitSetting { most: INT_MOST, ..sysctl("kernel.msgmnb", "proc_sys_kernel(5)") },
    LimitSetting { most: IPC_MOST, ..sysctl("kernel.shmmni", "proc_sys_kernel(5)") },
    sysctl("kernel.shmall", "proc_sys_kernel(5)"),
    LimitSetting { most: IPC_MOST, ..sysctl("kernel.msgmni", "proc_sys_kernel(5)") },
    LimitSetting { most: PTYS_MOST, ..sysctl("kernel.pty.max", "pty(7)") },
    LimitSetting { most: PIDS_MOST, ..sysctl("kernel.pid_max", "proc_sys_kernel(5)") },
    sysctl("kernel.threads-max", "proc_sys_kernel(5)"),
    LimitSetting { most: INT_MOST, ..sysctl("vm.max_map_count", "proc_sys_vm(5)") },
    LimitSetting { most: INT_MOST, ..network("net.core.somaxconn", "listen(2)") },
    LimitSetting { most: INT_MOST, ..network("net.ipv4.tcp_max_syn_backlog", "tcp(7)") },
    LimitSetting { most: INT_MOST, ..sysctl("net.netfilter.nf_conntrack_max", "nf_conntrack-sysctl.rst") },
    LimitSetting {
        name: "net.ipv4.ip_local_port_range",
        kind: SettingKind::PortRange,
        manual: "ip(7)",
        most: Some((PORT_LAST - PORT_FIRST + 1) as u64),
    },
    group("pids.max", "TasksMax", "--pids-limit"),
    group("memory.max", "MemoryMax", "--memory"),
    group("memory.limit_in_bytes", "MemoryMax", "--memory"),
];

const fn group(name: &'static str, unit: &'static str, container: &'static str) -> LimitSetting {
    LimitSetting { name, kind: SettingKind::Group { unit, container }, manual: "cgroups(7)", most: None }
}

/// Below it are ports of services that root starts.
const PORT_FIRST: u32 = 1024;
const PORT_LAST: u32 = 65_535;

impl LimitSetting {
    /// The setting of that name; `None` where the limit is no setting, such as the memory of a machine.
    pub fn named(name: &str) -> Option<&'static LimitSetting> {
        SETTINGS.iter().find(|setting| setting.name == name)
    }

    /// Whether it is one of the whole system, which can be changed while it runs, for processes that run too.
    pub fn is_of_system(&self) -> bool {
        matches!(self.kind, SettingKind::Sysctl { .. } | SettingKind::PortRange)
    }

    /// Its value for that amount, as text.
    pub(crate) fn value_for(&self, needed: u64) -> String {
        match self.kind {
            SettingKind::PortRange => {
                let count = u32::try_from(needed).unwrap_or(u32::MAX).min(PORT_LAST - PORT_FIRST + 1);
                format!("{} {PORT_LAST}", PORT_LAST + 1 - count)
            }
            SettingKind::Process { bytes, .. } => needed.div_ceil(bytes).to_string(),
            _ => needed.to_string(),
        }
    }

    /// How it is raised to that amount. `file` is that of a control group.
    pub(super) fn remedy(&self, needed: u64, file: Option<&str>) -> Remedy {
        let (name, value) = (self.name, self.value_for(needed));
        let lasting = |place, text| Lasting { place, text };
        match self.kind {
            SettingKind::Sysctl { of_network } => {
                let mut ways = vec![lasting("sysctl.d", format!("{name} = {value}"))];
                if of_network {
                    ways.push(lasting("container", format!("--sysctl {name}={value}")));
                }
                Remedy { now: format!("sysctl -w {name}={value}"), lasting: ways }
            }
            SettingKind::PortRange => Remedy {
                now: format!("sysctl -w {name}='{value}'"),
                lasting: vec![
                    lasting("sysctl.d", format!("{name} = {value}")),
                    lasting("container", format!("--sysctl '{name}={value}'")),
                ],
            },
            SettingKind::Process { flag, item, unit, bytes } => {
                let mut ways = vec![
                    lasting("systemd unit", format!("{unit}={}", needed.div_ceil(bytes) * bytes)),
                    lasting("limits.d", format!("* - {item} {value}")),
                ];
                // Container managers have no address space among theirs.
                if bytes == 1 {
                    ways.push(lasting("container", format!("--ulimit {item}={value}")));
                }
                Remedy { now: format!("ulimit -{flag} {value}"), lasting: ways }
            }
            SettingKind::Group { unit, container } => Remedy {
                now: format!("echo {value} > {}", file.unwrap_or(name)),
                lasting: vec![
                    lasting("systemd unit", format!("{unit}={value}")),
                    lasting("container", format!("{container} {value}")),
                ],
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_commands_now_and_for_good() {
        let remedy =
            |name: &str, needed| LimitSetting::named(name).unwrap().remedy(needed, Some("/sys/fs/x"));
        let places =
            |remedy: &Remedy| remedy.lasting.iter().map(|way| way.place).collect::<Vec<_>>().join(" ");
        let nofile = remedy("RLIMIT_NOFILE", 100_032);
        assert_eq!(nofile.now, "ulimit -n 100032");
        assert_eq!(places(&nofile), "systemd unit limits.d container");
        assert_eq!(nofile.lasting[1].text, "* - nofile 100032");
        let space = remedy("RLIMIT_AS", 1_000_000);
        assert_eq!((space.now.as_str(), places(&space).as_str()), ("ulimit -v 977", "systemd unit limits.d"));
        assert_eq!(space.lasting[0].text, "LimitAS=1000448", "systemd counts bytes");
        let backlog = remedy("net.core.somaxconn", 4096);
        assert_eq!(backlog.now, "sysctl -w net.core.somaxconn=4096");
        assert_eq!(places(&backlog), "sysctl.d container");
        assert_eq!(places(&remedy("vm.max_map_count", 1)), "sysctl.d", "it is that of the host");
        assert_eq!(remedy("pids.max", 9).now, "echo 9 > /sys/fs/x");
        let ports = LimitSetting::named("net.ipv4.ip_local_port_range").unwrap();
        assert_eq!(ports.value_for(50_000), "15536 65535");
        assert_eq!(ports.value_for(1_000_000), "1024 65535");
        assert_eq!(LimitSetting::named("MemAvailable"), None);
    }
}

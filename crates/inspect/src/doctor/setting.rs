//! Settings that are too low: the present value, the needed one, the workloads that need it, and how each is
//! raised now and for good. Where no setting can be changed, the limit's own advice has the remedy.

use record::{ResourceLimit, System, resource};
use serde::Serialize;
use workload::Ceiling;

use super::Prognosis;
use super::demand::MachineDemand;

/// A limit that is too low for the plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Shortfall {
    /// Name of the limit, such as `RLIMIT_NOFILE`.
    pub limit: String,
    /// Resource, such as `descriptors`.
    pub resource: &'static str,
    /// Value now, and the one that suffices.
    pub now: u64,
    /// See `now`.
    pub needed: u64,
    /// Workloads that want it, or `--for`.
    pub wanted_by: Vec<String>,
    /// The page of the manual of the setting behind it; `null` where nothing can be set, such as the memory
    /// of a machine.
    pub manual: Option<&'static str>,
    /// The command that raises it now; `null` where it cannot be raised, or not so far.
    pub command: Option<String>,
    /// For good; one suffices where it applies.
    pub lasting: Option<Vec<Lasting>>,
    /// Remedy, as the end of a sentence.
    pub advice: String,
    /// The setting behind it.
    #[serde(skip)]
    pub setting: Option<&'static LimitSetting>,
    /// The file of a control group.
    #[serde(skip)]
    pub file: Option<String>,
}

impl Shortfall {
    /// Stands for the demand among the workloads.
    const DEMAND: &'static str = "--for";

    /// Whether the demand wants it, and not workloads alone.
    pub(super) fn is_of_demand(&self) -> bool {
        self.wanted_by.iter().any(|name| name == Shortfall::DEMAND)
    }

    /// The same with the way to raise it.
    fn with_remedy(self) -> Shortfall {
        let setting = self.setting.filter(|_| !self.is_out_of_reach());
        let remedy = setting.map(|setting| setting.remedy(self.needed, self.file.as_deref()));
        let (command, lasting) = remedy.map(|Remedy { now, lasting }| (now, lasting)).unzip();
        Shortfall { manual: self.setting.map(|setting| setting.manual), command, lasting, ..self }
    }

    /// Whether the system does not take so much.
    pub(crate) fn is_out_of_reach(&self) -> bool {
        self.setting.and_then(|setting| setting.most).is_some_and(|most| self.needed > most)
    }
}

/// Settings that are too low for workloads or for a demand, each once: those that the most depends on first.
pub fn shortfalls(
    system: &System,
    prognoses: &[Prognosis],
    demand: Option<&MachineDemand>,
) -> Vec<Shortfall> {
    let mut found: Vec<Shortfall> = Vec::new();
    if let Some(demand) = demand {
        of_demand(system, demand, &mut found);
    }
    // The list has every limit in the table of workloads, however near they come.
    for prognosis in prognoses.iter().filter(|prognosis| prognosis.extent.stopped_by().is_some()) {
        let wanted = prognosis.extent.wanted;
        for ceiling in &prognosis.ceilings {
            let total = wanted.saturating_mul(ceiling.per_n).max(ceiling.fixed);
            let is_short = ceiling.n < wanted && can_be_raised(ceiling);
            let Some(resource) = ceiling.resource.filter(|_| is_short) else { continue };
            add(&mut found, resource, &ceiling.limit, total, &prognosis.name);
        }
    }
    found.into_iter().map(Shortfall::with_remedy).collect()
}

/// Whether a setting is behind it: memory and disks cannot be raised, and end a workload.
fn can_be_raised(ceiling: &Ceiling) -> bool {
    let is_bought =
        matches!(ceiling.resource, Some(resource::MEMORY | resource::DISK | resource::INODES) | None);
    !is_bought || LimitSetting::named(&ceiling.limit.name).is_some()
}

fn of_demand(system: &System, demand: &MachineDemand, found: &mut Vec<Shortfall>) {
    // All of it once: a ceiling of 0 is one that does not suffice.
    for ceiling in Ceiling::all(&demand.needs(), &[], system) {
        if let Some(resource) = ceiling.resource.filter(|_| ceiling.n == 0) {
            add(found, resource, &ceiling.limit, ceiling.per_n, Shortfall::DEMAND);
        }
    }
    let backlog = demand.backlog();
    for limit in system.limits.get(resource::BACKLOG).into_iter().flatten() {
        if limit.usable < backlog {
            add(found, resource::BACKLOG, limit, backlog, Shortfall::DEMAND);
        }
    }
}

/// Adds one, or raises its needed value.
fn add(
    found: &mut Vec<Shortfall>,
    resource: &'static str,
    limit: &ResourceLimit,
    total: u64,
    wanted_by: &str,
) {
    let needed = needed(resource, limit, total);
    if let Some(known) = found.iter_mut().find(|known| known.limit == limit.name) {
        known.needed = known.needed.max(needed);
        if !known.wanted_by.iter().any(|name| name == wanted_by) {
            known.wanted_by.push(wanted_by.to_owned());
        }
        return;
    }
    let is_file = |word: &&str| word.starts_with("/sys/fs/cgroup");
    let file = limit.advice.split([' ', ',']).find(is_file).map(str::to_owned);
    found.push(Shortfall {
        limit: limit.name.clone(),
        resource,
        now: limit.value,
        needed,
        wanted_by: vec![wanted_by.to_owned()],
        manual: None,
        command: None,
        lasting: None,
        advice: limit.advice.clone(),
        setting: LimitSetting::named(&limit.name),
        file,
    });
}

/// Reserves are at most so large; where nothing is usable, their exact size is unknown.
const RESERVE_MOST: u64 = 512;

/// The value of a limit with which so much is usable.
fn needed(resource: &str, limit: &ResourceLimit, total: u64) -> u64 {
    let lacking = total.saturating_sub(limit.usable);
    // Only a part of some limits is usable: a tenth of memory and disk stays free, and a thread takes two
    // mappings.
    let lacking = match (resource, limit.name.as_str()) {
        (resource::THREADS, "vm.max_map_count") => lacking.saturating_mul(2),
        (resource::MEMORY | resource::DISK | resource::INODES, _) => lacking.saturating_mul(10).div_ceil(9),
        _ => lacking,
    };
    let unknown = if limit.usable == 0 { RESERVE_MOST } else { 0 };
    limit.value.saturating_add(lacking).saturating_add(unknown)
}

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

const fn of_process([name, item, unit]: [&'static str; 3], flag: char, bytes: u64) -> LimitSetting {
    let kind = SettingKind::Process { flag, item, unit, bytes };
    LimitSetting { name, kind, manual: "getrlimit(2)", most: None }
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
    of_process(["RLIMIT_NOFILE", "nofile", "LimitNOFILE"], 'n', 1),
    of_process(["RLIMIT_NPROC", "nproc", "LimitNPROC"], 'u', 1),
    of_process(["RLIMIT_AS", "as", "LimitAS"], 'v', 1024),
    of_process(["RLIMIT_SIGPENDING", "sigpending", "LimitSIGPENDING"], 'i', 1),
    of_process(["RLIMIT_MSGQUEUE", "msgqueue", "LimitMSGQUEUE"], 'q', 1),
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
    fn remedy(&self, needed: u64, file: Option<&str>) -> Remedy {
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

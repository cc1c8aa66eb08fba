//! Linux: facts from /proc and /sys.

use std::path::{Path, PathBuf};

use super::Collector;
use crate::control_group;
use crate::mount::table::{Mount, mounts};
use crate::pseudo_file::{field, field_bytes, in_first_pid_namespace, number, text};

pub(super) fn read(facts: &mut Collector, scratch: Option<&Path>) {
    for (key, file) in FILES {
        facts.add(key, text(file));
    }
    for (key, file) in CHOICES {
        facts.add(key, text(file).as_deref().map(chosen));
    }
    distribution(facts);
    kernel(facts);
    processor(facts);
    frequency(facts);
    idle_states(facts);
    mitigations(facts);
    memory(facts);
    machine(facts);
    groups(facts);
    security(facts);
    process(facts);
    power(facts);
    facts.add("libc", libc_version());
    facts.add("container", container());
    if let Some(folder) = scratch {
        file_system(facts, folder);
    }
}

/// One file, one fact.
const FILES: &[(&str, &str)] = &[
    ("clock.sources", "/sys/devices/system/clocksource/clocksource0/available_clocksource"),
    ("clock.source", "/sys/devices/system/clocksource/clocksource0/current_clocksource"),
    ("cpu.boost", "/sys/devices/system/cpu/cpufreq/boost"),
    ("cpu.idle_driver", "/sys/devices/system/cpu/cpuidle/current_driver"),
    ("cpu.idle_governor", "/sys/devices/system/cpu/cpuidle/current_governor_ro"),
    ("cpu.isolated", "/sys/devices/system/cpu/isolated"),
    ("cpu.nohz_full", "/sys/devices/system/cpu/nohz_full"),
    ("cpu.smt_control", "/sys/devices/system/cpu/smt/control"),
    ("fs.aio_max_nr", "/proc/sys/fs/aio-max-nr"),
    ("fs.file_max", "/proc/sys/fs/file-max"),
    ("fs.inotify.max_user_instances", "/proc/sys/fs/inotify/max_user_instances"),
    ("fs.inotify.max_user_watches", "/proc/sys/fs/inotify/max_user_watches"),
    ("fs.epoll.max_user_watches", "/proc/sys/fs/epoll/max_user_watches"),
    ("fs.nr_open", "/proc/sys/fs/nr_open"),
    ("fs.pipe_max_size", "/proc/sys/fs/pipe-max-size"),
    ("fs.pipe_user_pages_soft", "/proc/sys/fs/pipe-user-pages-soft"),
    ("kernel.aslr", "/proc/sys/kernel/randomize_va_space"),
    ("kernel.autogroup", "/proc/sys/kernel/sched_autogroup_enabled"),
    ("kernel.bpf_stats", "/proc/sys/kernel/bpf_stats_enabled"),
    ("kernel.command_line", "/proc/cmdline"),
    ("kernel.compiler", "/proc/version"),
    ("kernel.io_uring_disabled", "/proc/sys/kernel/io_uring_disabled"),
    ("kernel.kfence_sample_interval", "/sys/module/kfence/parameters/sample_interval"),
    ("kernel.max_threads", "/proc/sys/kernel/threads-max"),
    ("kernel.nmi_watchdog", "/proc/sys/kernel/nmi_watchdog"),
    ("kernel.numa_balancing", "/proc/sys/kernel/numa_balancing"),
    ("kernel.perf_event_paranoid", "/proc/sys/kernel/perf_event_paranoid"),
    ("kernel.pid_max", "/proc/sys/kernel/pid_max"),
    ("kernel.realtime", "/sys/kernel/realtime"),
    ("kernel.sched_ext", "/sys/kernel/sched_ext/state"),
    ("kernel.sched_rt_runtime_us", "/proc/sys/kernel/sched_rt_runtime_us"),
    ("kernel.tainted", "/proc/sys/kernel/tainted"),
    ("kernel.timer_migration", "/proc/sys/kernel/timer_migration"),
    ("kernel.unprivileged_bpf_disabled", "/proc/sys/kernel/unprivileged_bpf_disabled"),
    ("machine.product", "/sys/class/dmi/id/product_name"),
    ("machine.vendor", "/sys/class/dmi/id/sys_vendor"),
    ("memory.ksm", "/sys/kernel/mm/ksm/run"),
    ("memory.lru_gen", "/sys/kernel/mm/lru_gen/enabled"),
    ("memory.zswap", "/sys/module/zswap/parameters/enabled"),
    ("net.conntrack_max", "/proc/sys/net/netfilter/nf_conntrack_max"),
    ("net.busy_poll", "/proc/sys/net/core/busy_poll"),
    ("net.default_qdisc", "/proc/sys/net/core/default_qdisc"),
    ("net.ip_local_port_range", "/proc/sys/net/ipv4/ip_local_port_range"),
    ("net.ip_local_reserved_ports", "/proc/sys/net/ipv4/ip_local_reserved_ports"),
    ("net.loopback_mtu", "/sys/class/net/lo/mtu"),
    ("net.netdev_max_backlog", "/proc/sys/net/core/netdev_max_backlog"),
    ("net.rmem_max", "/proc/sys/net/core/rmem_max"),
    ("net.somaxconn", "/proc/sys/net/core/somaxconn"),
    ("net.tcp_congestion_control", "/proc/sys/net/ipv4/tcp_congestion_control"),
    ("net.tcp_fastopen", "/proc/sys/net/ipv4/tcp_fastopen"),
    ("net.tcp_fin_timeout", "/proc/sys/net/ipv4/tcp_fin_timeout"),
    ("net.tcp_max_orphans", "/proc/sys/net/ipv4/tcp_max_orphans"),
    ("net.tcp_max_syn_backlog", "/proc/sys/net/ipv4/tcp_max_syn_backlog"),
    ("net.tcp_max_tw_buckets", "/proc/sys/net/ipv4/tcp_max_tw_buckets"),
    ("net.tcp_mem", "/proc/sys/net/ipv4/tcp_mem"),
    ("net.tcp_rmem", "/proc/sys/net/ipv4/tcp_rmem"),
    ("net.tcp_syncookies", "/proc/sys/net/ipv4/tcp_syncookies"),
    ("net.tcp_tw_reuse", "/proc/sys/net/ipv4/tcp_tw_reuse"),
    ("net.tcp_wmem", "/proc/sys/net/ipv4/tcp_wmem"),
    ("net.wmem_max", "/proc/sys/net/core/wmem_max"),
    ("security.lsm", "/sys/kernel/security/lsm"),
    ("security.selinux_enforce", "/sys/fs/selinux/enforce"),
    ("security.unprivileged_userfaultfd", "/proc/sys/vm/unprivileged_userfaultfd"),
    ("vm.dirty_background_ratio", "/proc/sys/vm/dirty_background_ratio"),
    ("vm.dirty_ratio", "/proc/sys/vm/dirty_ratio"),
    ("vm.max_map_count", "/proc/sys/vm/max_map_count"),
    ("vm.mmap_min_addr", "/proc/sys/vm/mmap_min_addr"),
    ("vm.nr_hugepages", "/proc/sys/vm/nr_hugepages"),
    ("vm.overcommit_memory", "/proc/sys/vm/overcommit_memory"),
    ("vm.swappiness", "/proc/sys/vm/swappiness"),
    ("vm.zone_reclaim_mode", "/proc/sys/vm/zone_reclaim_mode"),
];

/// Files that list all choices with the one in force in brackets.
const CHOICES: &[(&str, &str)] = &[
    ("memory.thp", "/sys/kernel/mm/transparent_hugepage/enabled"),
    ("memory.thp_defrag", "/sys/kernel/mm/transparent_hugepage/defrag"),
    ("memory.thp_shmem", "/sys/kernel/mm/transparent_hugepage/shmem_enabled"),
    ("security.lockdown", "/sys/kernel/security/lockdown"),
    ("power.sleep", "/sys/power/mem_sleep"),
];

/// os-release(5).
fn distribution(facts: &mut Collector) {
    let Some(release) = text("/etc/os-release").or_else(|| text("/usr/lib/os-release")) else { return };
    let name = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    facts.add("os.distribution", name.map(|name| name.trim_matches('"')));
}

fn kernel(facts: &mut Collector) {
    let release = facts.0.get("kernel.release").cloned().unwrap_or_default();
    let version = facts.0.get("kernel.version").cloned().unwrap_or_default();
    // "Linux version 6.12.1 (builder@host) (gcc …) #1 …": the compiler is the second pair of brackets. The
    // first names a person and a machine.
    let compiler = facts.0.remove("kernel.compiler").and_then(|version| {
        let (_, behind) = version.split_once(") (")?;
        Some(behind.rsplit_once(") #")?.0.to_owned())
    });
    facts.add("kernel.compiler", compiler);
    facts.add("kernel.preemption", preemption(&version));

    // Behind the two dashes stand arguments of init, not settings of the kernel.
    let command_line = facts.0.get("kernel.command_line").cloned().unwrap_or_default();
    let command_line = command_line.split(" -- ").next().unwrap_or_default();
    facts.add("kernel.command_line", Some(command_line));

    // A kernel that is built for finding errors is slower everywhere. These signs of it are readable by any
    // user.
    let config = text(format!("/boot/config-{release}")).unwrap_or_default();
    let mut debug: Vec<&str> = [
        ("lockdep", "/proc/lockdep"),
        ("lock_stat", "/proc/lock_stat"),
        ("kmemleak", "/sys/kernel/debug/kmemleak"),
        ("kcov", "/sys/kernel/debug/kcov"),
        ("page_owner", "/sys/kernel/debug/page_owner"),
    ]
    .into_iter()
    .filter(|(_, file)| Path::new(file).exists())
    .map(|(name, _)| name)
    .collect();
    for (name, option) in [
        ("kasan", "CONFIG_KASAN=y"),
        ("kcsan", "CONFIG_KCSAN=y"),
        ("kmsan", "CONFIG_KMSAN=y"),
        ("prove_locking", "CONFIG_PROVE_LOCKING=y"),
        ("debug_pagealloc", "CONFIG_DEBUG_PAGEALLOC_ENABLE_DEFAULT=y"),
        ("slub_debug", "CONFIG_SLUB_DEBUG_ON=y"),
    ] {
        if config.lines().any(|line| line == option) {
            debug.push(name);
        }
    }
    if release.contains("debug") || version.contains("DEBUG") {
        debug.push("by its name");
    }
    let options = ["slub_debug", "slab_debug", "page_poison=1", "page_poison=on", "debug_pagealloc=on"];
    debug.extend(options.into_iter().filter(|option| {
        command_line.split(' ').any(|word| word == *option || word.starts_with(&format!("{option}=")))
    }));
    facts.add("kernel.debug", Some(debug.join(" ")));

    let hertz = config.lines().find_map(|line| line.strip_prefix("CONFIG_HZ=")).map(str::to_owned);
    facts.add("kernel.hz", hertz);
}

/// The mode in force where it can be read (root), else that for which the kernel was built.
fn preemption(version: &str) -> Option<String> {
    if let Some(modes) = text("/sys/kernel/debug/sched/preempt") {
        let mode = modes.split_once('(').and_then(|(_, mode)| mode.split_once(')')).map(|(mode, _)| mode);
        return mode.map(str::to_owned);
    }
    let built = version.split_whitespace().find(|word| word.starts_with("PREEMPT"))?;
    Some(match built {
        "PREEMPT_RT" => "realtime".into(),
        "PREEMPT_DYNAMIC" => "dynamic".into(),
        _ => "full".into(),
    })
}

/// /proc/cpuinfo has other names on every architecture; these are those of x86, Arm, POWER, s390 and RISC-V.
fn processor(facts: &mut Collector) {
    let cpuinfo = text("/proc/cpuinfo").unwrap_or_default();
    // The first processor is enough: all are alike, and 500 of them make a long file.
    let first = cpuinfo.split("\n\n").next().unwrap_or_default();
    let one_of = |names: &[&str]| names.iter().find_map(|name| field(first, name)).map(str::to_owned);
    facts.add("cpu.model", one_of(&["model name", "cpu model", "cpu", "uarch", "CPU part"]));
    facts.add("cpu.vendor", one_of(&["vendor_id", "CPU implementer", "mvendorid"]));
    facts.add("cpu.microcode", one_of(&["microcode"]));
    facts.add("cpu.bugs", one_of(&["bugs"]));
    // The features that decide the cost of entering the kernel, switching address spaces and copying.
    let flags = one_of(&["flags", "Features"]).unwrap_or_default();
    let telling = [
        "constant_tsc",
        "nonstop_tsc",
        "tsc_known_freq",
        "rdtscp",
        "pcid",
        "invpcid",
        "smap",
        "smep",
        "pti",
        "fred",
        "erms",
        "fsrm",
        "ibrs_enhanced",
        "la57",
        "pku",
        "user_shstk",
        "atomics",
        "paca",
        "bti",
        "mte",
    ];
    let present: Vec<&str> =
        telling.into_iter().filter(|flag| flags.split(' ').any(|f| f == *flag)).collect();
    facts.add("cpu.features", Some(present.join(" ")));
    if one_of(&["vendor_id"]).as_deref() == Some("User Mode Linux") {
        facts.add("machine.hypervisor", Some("User Mode Linux"));
        facts.add("machine.virtual", Some("yes"));
    }
}

/// Documentation/admin-guide/pm/cpufreq.rst. All processors that we may use are asked for their governor;
/// the rest is read from the first.
fn frequency(facts: &mut Collector) {
    let allowed = crate::cpu::allowed().unwrap_or_default();
    let Some(first) = allowed.first() else { return };
    let setting = |cpu: u32, name: &str| text(format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/{name}"));
    facts.add("cpu.frequency_driver", setting(*first, "scaling_driver"));
    facts.add("cpu.frequency_min_khz", setting(*first, "scaling_min_freq"));
    facts.add("cpu.frequency_max_khz", setting(*first, "scaling_max_freq"));
    facts.add("cpu.frequency_base_khz", setting(*first, "base_frequency"));
    facts.add("cpu.energy_preference", setting(*first, "energy_performance_preference"));
    let mut governors: Vec<String> =
        allowed.iter().filter_map(|cpu| setting(*cpu, "scaling_governor")).collect();
    governors.sort();
    governors.dedup();
    facts.add("cpu.governor", Some(governors.join(" ")));

    let no_turbo = text("/sys/devices/system/cpu/intel_pstate/no_turbo");
    let boost = no_turbo.map(|off| off == "0").or_else(|| facts.0.get("cpu.boost").map(|on| on != "0"));
    facts.add("cpu.boost", boost.map(|on| if on { "on" } else { "off" }));
}

/// The longest time that an idle processor takes to wake up: Documentation/admin-guide/pm/cpuidle.rst.
fn idle_states(facts: &mut Collector) {
    let first = crate::cpu::allowed().unwrap_or_default().first().copied().unwrap_or(0);
    let folder = format!("/sys/devices/system/cpu/cpu{first}/cpuidle");
    let Ok(states) = std::fs::read_dir(folder) else { return };
    let is_on = |state: &PathBuf| text(state.join("disable")).is_none_or(|off| off == "0");
    let states = states.flatten().map(|state| state.path()).filter(is_on);
    facts.add("cpu.idle_exit_us", states.filter_map(|state| number(state.join("latency"))).max());
}

/// Documentation/admin-guide/hw-vuln: each of these costs something on the way into the kernel or out of it.
fn mitigations(facts: &mut Collector) {
    let Ok(files) = std::fs::read_dir("/sys/devices/system/cpu/vulnerabilities") else { return };
    for file in files.flatten() {
        let name = file.file_name();
        facts.add(&format!("cpu.mitigations.{}", name.to_string_lossy()), text(file.path()));
    }
}

fn memory(facts: &mut Collector) {
    let meminfo = text("/proc/meminfo").unwrap_or_default();
    facts.add("memory.total_bytes", field_bytes(&meminfo, "MemTotal"));
    facts.add("memory.swap_bytes", field_bytes(&meminfo, "SwapTotal"));
    facts.add("memory.huge_page_bytes", field_bytes(&meminfo, "Hugepagesize"));
}

/// x86 processors name the hypervisor themselves; elsewhere firmware or Xen names it.
fn machine(facts: &mut Collector) {
    let firmware = text("/sys/hypervisor/type").or_else(|| text("/proc/device-tree/hypervisor/compatible"));
    if let Some(name) = firmware {
        facts.add("machine.hypervisor", Some(name));
        facts.add("machine.virtual", Some("yes"));
    }
    let version = facts.0.get("kernel.version").cloned().unwrap_or_default();
    let release = facts.0.get("kernel.release").cloned().unwrap_or_default();
    if version == GVISOR_VERSION {
        facts.add("machine.emulation", Some("gVisor"));
    } else if release.to_lowercase().contains("microsoft") {
        facts.add("machine.emulation", Some("WSL"));
    }
}

/// gVisor's Sentry shows every program this date of birth (pkg/sentry/kernel, `LinuxVersion`).
const GVISOR_VERSION: &str = "#1 SMP Sun Jan 10 15:06:54 PST 2016";

fn groups(facts: &mut Collector) {
    facts.add("cgroup.version", control_group::version());
    facts.add("cgroup.cpu_max", control_group::cpus());
    facts.add("cgroup.cpuset", control_group::cpuset().map(|cpus| cpus.len()));
    facts.add("cgroup.pids_max", control_group::pids().map(|cap| cap.limit));
    facts.add("cgroup.memory_max_bytes", control_group::memory().map(|cap| cap.limit));
}

fn security(facts: &mut Collector) {
    let status = text("/proc/self/status").unwrap_or_default();
    let seccomp = field(&status, "Seccomp").map(|mode| match mode {
        "0" => "off",
        "1" => "strict",
        _ => "filter",
    });
    facts.add("security.seccomp", seccomp);
    facts.add("security.seccomp_filters", field(&status, "Seccomp_filters"));
    facts.add("security.no_new_privileges", field(&status, "NoNewPrivs"));
    facts.add("security.capabilities", field(&status, "CapEff"));
    let root = rustix::process::geteuid().is_root();
    facts.add("security.root", Some(if root { "yes" } else { "no" }));
    let tracer = field(&status, "TracerPid").filter(|pid| *pid != "0");
    facts.add("process.traced", tracer.map(|_| "yes"));
}

fn process(facts: &mut Collector) {
    // Fields 19 and 41 of proc_pid_stat(5), counted behind the name in brackets, which may hold anything.
    if let Some(stat) = text("/proc/self/stat")
        && let Some((_, behind)) = stat.rsplit_once(')')
    {
        let fields: Vec<&str> = behind.split_whitespace().collect();
        facts.add("process.nice", fields.get(16));
        let policy = fields.get(38).map(|policy| match *policy {
            "0" => "other",
            "1" => "fifo",
            "2" => "round robin",
            "3" => "batch",
            "5" => "idle",
            "6" => "deadline",
            "7" => "ext",
            unknown => unknown,
        });
        facts.add("process.scheduling", policy);
    }
    facts.add("process.preload", std::env::var_os("LD_PRELOAD").filter(|v| !v.is_empty()).map(|_| "yes"));
    facts
        .add("process.linkage", Some(if cfg!(target_feature = "crt-static") { "static" } else { "dynamic" }));
}

/// `/sys/class/power_supply`, power_supply_class.rst: on battery when one discharges.
fn power(facts: &mut Collector) {
    let Ok(supplies) = std::fs::read_dir("/sys/class/power_supply") else { return };
    let mut source = None;
    for supply in supplies.flatten().map(|entry| entry.path()) {
        let is = |file: &str, value: &str| text(supply.join(file)).as_deref() == Some(value);
        // Batteries of mice and keyboards have the scope "Device".
        if is("type", "Battery") && !is("scope", "Device") && is("status", "Discharging") {
            source = Some("battery");
        } else if is("type", "Mains") && is("online", "1") {
            source = source.or(Some("mains"));
        }
    }
    facts.add("power.source", source);
}

/// The file system a folder is on, with its mount options and its device (proc_pid_mountinfo(5)).
fn file_system(facts: &mut Collector, folder: &Path) {
    let Ok(folder) = folder.canonicalize() else { return };
    let Some(mount) = mount_of(mounts(), &folder) else { return };
    facts.add("scratch.file_system", Some(&mount.kind));
    facts.add("scratch.options", Some(&mount.options));
    facts.add("scratch.super_options", Some(&mount.super_options));
    // Sources other than devices are names of people's servers and folders, and are not recorded.
    if !mount.source.starts_with("/dev/") {
        return;
    }
    facts.add("scratch.device", mount.source.strip_prefix("/dev/"));
    let queue = queue_of(&mount.device);
    let setting = |name: &str| text(queue.join(name));
    facts.add("scratch.scheduler", setting("scheduler").as_deref().map(chosen));
    facts.add("scratch.rotational", setting("rotational"));
    facts.add("scratch.write_cache", setting("write_cache"));
    facts.add("scratch.block_bytes", setting("logical_block_size"));
    facts.add("scratch.read_ahead_kb", setting("read_ahead_kb"));
}

/// A partition has no queue of its own; its disk, the folder above, has one.
fn queue_of(device: &str) -> PathBuf {
    let block = PathBuf::from(format!("/sys/dev/block/{device}"));
    let own = block.join("queue");
    if own.exists() { own } else { block.join("../queue") }
}

/// The one in brackets: `none [mq-deadline] kyber`; the whole line where there are none.
fn chosen(choices: &str) -> &str {
    let between = || choices.split_once('[')?.1.split_once(']').map(|(chosen, _)| chosen);
    between().unwrap_or(choices)
}

/// The mount that covers a folder: the longest mount point above it, and of several on one point the last.
fn mount_of(mounts: Vec<Mount>, folder: &Path) -> Option<Mount> {
    let covering = mounts.into_iter().filter(|mount| folder.starts_with(&mount.point));
    // max_by_key keeps the last of equals.
    covering.max_by_key(|mount| mount.point.as_os_str().len())
}

#[cfg(target_env = "gnu")]
fn libc_version() -> Option<String> {
    // SAFETY: the call takes nothing and returns a string of the library's own that is never freed.
    let version = unsafe { std::ffi::CStr::from_ptr(libc::gnu_get_libc_version()) };
    Some(format!("glibc {}", version.to_string_lossy()))
}

#[cfg(not(target_env = "gnu"))]
fn libc_version() -> Option<String> {
    // musl has no call for its version.
    cfg!(target_env = "musl").then(|| "musl".to_owned())
}

/// The marks that container managers leave (systemd's CONTAINER_INTERFACE, Docker's and Podman's files).
/// Images of containers are also booted as virtual machines, marks and all: only separate process numbers
/// make a container.
fn container() -> Option<String> {
    if in_first_pid_namespace() {
        return None;
    }
    if let Some(manager) = text("/run/systemd/container") {
        return Some(manager);
    }
    for (file, name) in [("/run/.containerenv", "podman"), ("/.dockerenv", "docker")] {
        if Path::new(file).exists() {
            return Some(name.to_owned());
        }
    }
    let groups = text("/proc/1/cgroup").unwrap_or_default();
    ["kubepods", "docker", "containerd", "libpod", "lxc"]
        .into_iter()
        .find(|name| groups.contains(name))
        .or_else(|| std::env::var_os("KUBERNETES_SERVICE_HOST").map(|_| "kubepods"))
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mount::table::parse;

    const MOUNTS: &str = "\
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
25 24 0:23 / /tmp rw,nosuid - tmpfs tmpfs rw,size=24684096k
28 25 0:31 / /tmp rw,noexec shared:7 - xfs /dev/sdb1 rw,logbufs=8
29 27 0:40 / /two\\040words rw - btrfs /dev/sdc rw
";

    #[test]
    fn the_longest_and_last_mount_covers() {
        let kind = |folder: &str| mount_of(parse(MOUNTS), Path::new(folder)).map(|mount| mount.kind);
        assert_eq!(kind("/srv/data").as_deref(), Some("ext4"));
        assert_eq!(kind("/tmp/x").as_deref(), Some("xfs"));
        assert_eq!(kind("/tmpfile").as_deref(), Some("ext4"), "a name is not a folder");
        assert_eq!(kind("/two words/x").as_deref(), Some("btrfs"));
    }

    #[test]
    fn the_chosen_one_stands_in_brackets() {
        assert_eq!(chosen("none [mq-deadline] kyber"), "mq-deadline");
        assert_eq!(chosen("none"), "none");
    }
}

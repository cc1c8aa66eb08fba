//! Whether this machine is ready for a measurement: one sentence for each condition that may disturb it, with
//! the reason and the remedy. Nothing is changed here.

use super::Facts;
use crate::activity::Snapshot;

/// With a higher load per processor than this, trials share their processor.
const LOAD_PER_CPU: f64 = 0.25;
/// With a higher one, a trial waits longer than it runs.
const OVERLOAD_PER_CPU: f64 = 1.0;
/// From this share of stolen time on, the hypervisor makes trials differ (METHODOLOGY, environment).
const STEAL_SHARE: f64 = 0.01;
/// With fewer descriptors than this, most sweeps end early.
const FEW_DESCRIPTORS: f64 = 10_000.0;
/// Waking up from a deeper idle state takes as long as the operations that are measured.
const DEEP_IDLE_US: f64 = 10.0;
/// Clocks that need a system call or access to a chip: a thousand cycles and more.
const SLOW_CLOCKS: [&str; 6] = ["hpet", "acpi_pm", "xen", "jiffies", "refined-jiffies", "i8254"];
/// Clocks that are read without a system call.
const FAST_CLOCKS: [&str; 4] = ["tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter"];

/// How much a condition matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConditionSeverity {
    /// Figures describe something other than the system in question.
    Unfit,
    /// Figures are usable, with care.
    Care,
    /// It is part of every figure, and not a fault.
    Note,
}

/// Something about a machine that shows in figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineCondition {
    /// Its subject, in a word or two: `governor`.
    pub subject: &'static str,
    /// How much it matters.
    pub weight: ConditionSeverity,
    /// A sentence with its value, the consequence and the remedy.
    pub text: String,
}

/// The sentences that warn, the most severe first; none if the machine is ready. Uses only its arguments, so
/// it works for the facts of a remote system too.
pub fn warnings(facts: &Facts, now: &Snapshot) -> Vec<String> {
    let warn =
        |condition: MachineCondition| (condition.weight != ConditionSeverity::Note).then_some(condition.text);
    conditions(facts, now).into_iter().filter_map(warn).collect()
}

/// All conditions, in order of weight.
pub fn conditions(facts: &Facts, now: &Snapshot) -> Vec<MachineCondition> {
    use ConditionSeverity::{Care, Note, Unfit};
    let machine = Machine { facts, now };
    let conditions = [
        ("tracer", Unfit, machine.traced()),
        ("debug kernel", Unfit, machine.debug_kernel()),
        ("emulation", Care, machine.emulated()),
        ("clock source", Care, machine.slow_clock()),
        ("load", if machine.is_overloaded() { Unfit } else { Care }, machine.loaded()),
        ("steal", Care, machine.stolen()),
        ("governor", Care, machine.governor()),
        ("battery", Care, machine.battery()),
        ("swap", Care, machine.swapped()),
        ("quota", Care, machine.throttled()),
        ("offline", Note, machine.offline()),
        ("processors", if machine.is_confined_to_one() { Care } else { Note }, machine.confined()),
        ("container", Care, machine.container()),
        ("call filter", Care, machine.filtered()),
        ("preload", Care, machine.preloaded()),
        ("nice", Care, machine.nice()),
        ("descriptors", Care, machine.few_descriptors()),
        ("heat", Note, machine.overheated()),
        ("turbo", Note, machine.boosted()),
        ("C-states", Note, machine.idle_states()),
        ("SMT", Note, machine.shared_cores()),
        ("THP", Note, machine.huge_pages()),
        ("ASLR", Note, machine.randomized()),
        ("mitigations", Note, machine.mitigated()),
    ];
    let condition = |(subject, weight, text): (&'static str, ConditionSeverity, Option<String>)| {
        Some(MachineCondition { subject, weight, text: text? })
    };
    let mut conditions: Vec<MachineCondition> = conditions.into_iter().filter_map(condition).collect();
    conditions.sort_by_key(|condition| condition.weight);
    conditions
}

/// The known facts of a machine. Each method is one condition; it returns nothing if the fact is missing.
struct Machine<'a> {
    facts: &'a Facts,
    now: &'a Snapshot,
}

impl Machine<'_> {
    fn fact(&self, key: &str) -> Option<&str> {
        self.facts.get(key).map(String::as_str)
    }

    fn number(&self, key: &str) -> Option<f64> {
        self.fact(key)?.parse().ok()
    }

    fn traced(&self) -> Option<String> {
        self.fact("process.traced")?;
        Some(
            "This process is being traced, which makes every system call many times slower; run it without \
             the tracer."
                .into(),
        )
    }

    fn debug_kernel(&self) -> Option<String> {
        let why = self.fact("kernel.debug")?;
        Some(format!(
            "The kernel has debugging options enabled ({why}), so its costs are not those of a production \
             kernel; boot another one."
        ))
    }

    fn emulated(&self) -> Option<String> {
        let emulation = self.fact("machine.emulation")?;
        Some(format!(
            "System calls are served by {emulation} and not by the kernel that it reports; the results are \
             those of {emulation}."
        ))
    }

    fn slow_clock(&self) -> Option<String> {
        let clock = self.fact("clock.source").filter(|clock| SLOW_CLOCKS.contains(clock))?;
        let sources = self.fact("clock.sources").unwrap_or_default();
        let is_present = |name: &&str| sources.split(' ').any(|source| source == *name);
        let advice = match FAST_CLOCKS.into_iter().find(is_present) {
            Some(name) => format!("boot with clocksource={name}"),
            None => "measure on another machine, or distrust the figures of short operations".into(),
        };
        Some(format!(
            "The clock is {clock}, which takes about a microsecond to read and so hides short operations; \
             {advice}."
        ))
    }

    fn loaded(&self) -> Option<String> {
        let load = self.now.get("load_1m")?;
        let cpus = self.processors();
        (load > cpus * LOAD_PER_CPU).then(|| {
            format!(
                "The load is {load:.1} on {cpus:.0} processors, so trials share them with other work; wait \
                 until the machine is idle."
            )
        })
    }

    /// A measurement is impossible where other programs already demand more than the machine has.
    fn is_overloaded(&self) -> bool {
        self.now.get("load_1m").is_some_and(|load| load > self.processors() * OVERLOAD_PER_CPU)
    }

    /// Those of the whole machine, as the load is, however few of them are ours.
    fn processors(&self) -> f64 {
        self.number("cpu.online").or_else(|| self.number("cpu.count")).unwrap_or(1.0).max(1.0)
    }

    fn stolen(&self) -> Option<String> {
        let share = steal(self.now).filter(|share| *share > STEAL_SHARE)?;
        Some(format!(
            "The hypervisor has taken {:.1} % of the processor time since boot, which makes trials differ; \
             use a dedicated machine, or more trials.",
            share * 100.0
        ))
    }

    fn governor(&self) -> Option<String> {
        let governors = self.fact("cpu.governor")?;
        governors.split(' ').any(|governor| governor != "performance").then(|| {
            format!(
                "The frequency governor is {governors}, so the processor changes its speed during a trial; \
                 set it with `cpupower frequency-set -g performance`."
            )
        })
    }

    fn battery(&self) -> Option<String> {
        let on_battery = self.fact("power.source") == Some("battery");
        on_battery.then(|| {
            "The machine runs on battery power, so its speed may vary; connect it to mains power.".into()
        })
    }

    fn swapped(&self) -> Option<String> {
        let used = self.now.get("swap_used_bytes").filter(|used| *used > 0.0)?;
        Some(format!(
            "{:.0} MB are swapped out, and touching them again would be timed as part of an operation; free \
             memory and run `swapoff -a`.",
            (used / 1e6).max(1.0)
        ))
    }

    fn throttled(&self) -> Option<String> {
        let allowed = self.number("cpu.allowed").unwrap_or(f64::INFINITY);
        let quota = self.number("cgroup.cpu_max").filter(|quota| *quota < allowed)?;
        let processors = if quota == 1.0 { "processor" } else { "processors" };
        Some(format!(
            "A control group limits this process to {quota} {processors} and throttles it; raise its cpu.max."
        ))
    }

    fn offline(&self) -> Option<String> {
        let offline = self.number("cpu.offline")?;
        let (why, remedy) = match self.is_bounded_by("smt") {
            true => ("because SMT is off", "`echo on > /sys/devices/system/cpu/smt/control`"),
            false => ("so nothing runs there", "`echo 1 > /sys/devices/system/cpu/cpuN/online`"),
        };
        let (count, are) =
            if offline == 1.0 { ("1 processor", "is") } else { (&*format!("{offline} processors"), "are") };
        Some(format!("{count} {are} offline, {why}; {remedy} changes it until the next boot."))
    }

    fn is_bounded_by(&self, word: &str) -> bool {
        self.fact("cpu.bounded_by").is_some_and(|words| words.split(' ').any(|known| known == word))
    }

    /// Processors that this process may use, and those of the machine, where these are more.
    fn usable_processors(&self) -> Option<(f64, f64)> {
        let (usable, online) = (self.number("cpu.allowed")?, self.number("cpu.online")?);
        (usable < online).then_some((usable, online))
    }

    /// Nothing can then run beside a trial.
    fn is_confined_to_one(&self) -> bool {
        self.usable_processors().is_some_and(|(usable, _)| usable <= 1.0)
    }

    fn confined(&self) -> Option<String> {
        let (usable, online) = self.usable_processors()?;
        let of_group = self.number("cgroup.cpuset").unwrap_or(online);
        let affinity = "the CPU affinity of this process (taskset(1), sched_setaffinity(2))";
        let cpuset = "the cpuset of its control group (cpuset.cpus)";
        let isolation =
            "the isolation of processors, which only an affinity that names them reaches (isolcpus=)";
        let affinity = match (self.is_bounded_by("isolated"), self.is_bounded_by("affinity")) {
            (true, true) => &format!("{isolation}, and {affinity}"),
            (true, false) => isolation,
            _ => affinity,
        };
        let by = match (usable < of_group, of_group < online) {
            (true, true) => format!("{affinity} and {cpuset}"),
            (false, true) => cpuset.to_owned(),
            _ => affinity.to_owned(),
        };
        let follows = match usable <= 1.0 {
            true => "servers and clients share it with the measured program",
            false => "nothing is measured on the others",
        };
        Some(format!("{usable} of {online} processors usable, by {by}: {follows}; start it without that."))
    }

    fn container(&self) -> Option<String> {
        let manager = self.fact("container")?;
        let filter = if self.has_filter() { ", a system call filter" } else { "" };
        Some(format!(
            "This is a container ({manager}): its network, its file system{filter} and its limits are part \
             of every result; measure on the host to leave them out."
        ))
    }

    /// In a container, the sentence about that names the filter.
    fn filtered(&self) -> Option<String> {
        let alone = self.has_filter() && self.fact("container").is_none();
        alone.then(|| {
            "A system call filter (seccomp) adds time to every call; run without it, or compare only with \
             runs that have the same filter."
                .into()
        })
    }

    fn has_filter(&self) -> bool {
        self.fact("security.seccomp") == Some("filter")
    }

    fn preloaded(&self) -> Option<String> {
        self.fact("process.preload")?;
        Some("LD_PRELOAD loads a library into every program; unset it.".into())
    }

    fn nice(&self) -> Option<String> {
        self.number("process.nice").filter(|nice| *nice > 0.0)?;
        Some("This process runs under nice and yields to all others; start it without nice.".into())
    }

    fn few_descriptors(&self) -> Option<String> {
        let hard = self.number("limit.descriptors.hard").filter(|limit| *limit < FEW_DESCRIPTORS)?;
        Some(format!(
            "The limit is {hard:.0} descriptors, and most sweeps would go further; raise it as root with \
             `ulimit -n 1048576`."
        ))
    }

    fn overheated(&self) -> Option<String> {
        let times = self.now.get("thermal_throttles").filter(|times| *times > 0.0)?;
        Some(format!(
            "Processors were slowed down by heat {times:.0} times since boot, so a run may become slower in \
             its course; improve the cooling, or measure for a shorter time."
        ))
    }

    fn boosted(&self) -> Option<String> {
        self.fact("cpu.boost").filter(|boost| *boost == "on")?;
        let file = match self.fact("cpu.frequency_driver") {
            Some("intel_pstate") => "echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo",
            _ => "echo 0 > /sys/devices/system/cpu/cpufreq/boost",
        };
        Some(format!(
            "Turbo is on, so the clock rate depends on heat and on the load of other cores; `{file}` fixes \
             it until the next boot."
        ))
    }

    fn idle_states(&self) -> Option<String> {
        let latency = self.number("cpu.idle_exit_us").filter(|latency| *latency > DEEP_IDLE_US)?;
        Some(format!(
            "Idle processors enter C-states that take up to {latency:.0} µs to leave, which shows where \
             processes wait for each other; `cpupower idle-set -D 10` keeps them out until the next boot."
        ))
    }

    fn shared_cores(&self) -> Option<String> {
        self.fact("cpu.smt").filter(|smt| *smt == "on")?;
        Some(
            "SMT is on: two processors share a core, and a program on one slows the other; \
             `echo off > /sys/devices/system/cpu/smt/control` changes it until the next boot."
                .into(),
        )
    }

    fn huge_pages(&self) -> Option<String> {
        self.fact("memory.thp").filter(|mode| *mode == "always")?;
        Some(
            "Transparent huge pages (THP) are always used, so the cost of memory and of fork depends on how \
             fragmented memory is; `echo madvise > /sys/kernel/mm/transparent_hugepage/enabled` changes it."
                .into(),
        )
    }

    fn randomized(&self) -> Option<String> {
        self.fact("kernel.aslr").filter(|mode| *mode != "0")?;
        Some(
            "Addresses are random (ASLR), so the layout of memory differs from trial to trial, which more \
             trials average; `--system 'noaslr=setarch -R'` shows how much it is."
                .into(),
        )
    }

    fn mitigated(&self) -> Option<String> {
        let is_active = |(key, value): &(&String, &String)| {
            key.starts_with("cpu.mitigations.") && value.starts_with("Mitigation")
        };
        let active: Vec<&str> = self
            .facts
            .iter()
            .filter(is_active)
            .filter_map(|(key, _)| key.strip_prefix("cpu.mitigations."))
            .collect();
        (!active.is_empty()).then(|| {
            format!(
                "Mitigations of {} processor bugs add time to system calls ({}); they are part of this \
                 system, and a comparison lists them.",
                active.len(),
                active.join(", ")
            )
        })
    }
}

/// Stolen time as a share of busy and stolen time; `None` before the machine has been busy for a second.
fn steal(now: &Snapshot) -> Option<f64> {
    let stolen = now.get("steal_seconds")?;
    let busy = now.get("busy_seconds")?;
    (busy > 1.0).then(|| stolen / (busy + stolen))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warned(facts: &[(&str, &str)], now: &[(&'static str, f64)]) -> Vec<String> {
        let facts = facts.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let mut snapshot = Snapshot::default();
        for (name, value) in now {
            snapshot.level(name, Some(*value));
        }
        warnings(&facts, &snapshot)
    }

    #[test]
    fn a_quiet_machine_gives_no_warning() {
        let facts = [
            ("clock.source", "tsc"),
            ("cpu.count", "8"),
            ("cpu.governor", "performance"),
            ("limit.descriptors.hard", "1048576"),
            ("process.nice", "0"),
        ];
        let now =
            [("load_1m", 0.1), ("steal_seconds", 0.0), ("busy_seconds", 900.0), ("swap_used_bytes", 0.0)];
        assert_eq!(warned(&facts, &now), [""; 0]);
        assert_eq!(warned(&[], &[]), [""; 0], "an unknown fact warns of nothing");
    }

    #[test]
    fn each_finding_is_a_sentence_with_its_value_and_its_advice() {
        let clock = warned(&[("clock.source", "hpet"), ("clock.sources", "tsc hpet acpi_pm")], &[]);
        assert!(clock[0].contains("hpet") && clock[0].contains("clocksource=tsc"), "{clock:?}");
        let load = warned(&[("cpu.count", "2")], &[("load_1m", 1.5)]);
        assert!(load[0].starts_with("The load is 1.5 on 2 processors"), "{load:?}");
        let steal = warned(&[], &[("steal_seconds", 5.0), ("busy_seconds", 95.0)]);
        assert!(steal[0].contains("5.0 %"), "{steal:?}");
        let one = [("cpu.online", "2"), ("cpu.allowed", "1"), ("cgroup.cpuset", "2")];
        let affinity = warned(&one, &[]);
        assert!(affinity[0].starts_with("1 of 2 processors usable, by the CPU affinity"), "{affinity:?}");
        assert!(!affinity[0].contains("cpuset"), "{affinity:?}");
        let group = warned(&[("cpu.online", "4"), ("cpu.allowed", "1"), ("cgroup.cpuset", "1")], &[]);
        assert!(group[0].starts_with("1 of 4 processors usable, by the cpuset of its"), "{group:?}");
        let isolated = warned(&[&one[..], &[("cpu.bounded_by", "isolated")]].concat(), &[]);
        assert!(isolated[0].starts_with("1 of 2 processors usable, by the isolation"), "{isolated:?}");
        let quota = |quota| warned(&[("cpu.allowed", "2"), ("cgroup.cpu_max", quota)], &[]);
        assert!(quota("1.5")[0].starts_with("A control group limits this process to 1.5 processors and"));
        assert_eq!(quota("3"), [""; 0], "more than there are");
        let offline = conditions(&[("cpu.offline".to_owned(), "2".to_owned())].into(), &Snapshot::default());
        assert!(
            offline[0].text.starts_with("2 processors are offline, so nothing runs there;"),
            "{offline:?}"
        );
        for facts in [
            [("cpu.governor", "powersave"), ("power.source", "battery")],
            [("container", "docker"), ("security.seccomp", "filter")],
            [("kernel.debug", "kasan"), ("process.traced", "yes")],
            [("limit.descriptors.hard", "1024"), ("process.nice", "5")],
        ] {
            for sentence in warned(&facts, &[]) {
                assert!(sentence.ends_with('.') && sentence.contains(';'), "{sentence}");
            }
        }
    }
}

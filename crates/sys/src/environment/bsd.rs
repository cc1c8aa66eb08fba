//! The BSDs, macOS and illumos: facts from sysctl(3), where names can be looked up.

use std::path::Path;

use super::Collector;
use crate::sysctl;

pub(super) fn read(facts: &mut Collector, _scratch: Option<&Path>) {
    for (key, name) in [
        ("cpu.model", c"machdep.cpu.brand_string"),
        ("machine.product", c"hw.model"),
        ("clock.source", c"kern.timecounter.hardware"),
        ("clock.sources", c"kern.timecounter.choice"),
        ("machine.hypervisor", c"kern.vm_guest"),
        ("kernel.command_line", c"kern.bootargs"),
        ("kernel.version", c"kern.version"),
        ("os.distribution", c"kern.osproductversion"),
        ("cpu.frequency_levels", c"dev.cpu.0.freq_levels"),
        ("net.tcp_congestion_control", c"net.inet.tcp.cc.algorithm"),
    ] {
        facts.add(key, sysctl::text(name));
    }
    for (key, name) in [
        ("memory.total_bytes", c"hw.physmem"),
        ("memory.total_bytes", c"hw.physmem64"),
        ("memory.total_bytes", c"hw.memsize"),
        ("memory.swap_bytes", c"vm.swap_total"),
        ("cpu.online", c"hw.ncpu"),
        ("cpu.cores", c"hw.physicalcpu"),
        ("cpu.cores", c"kern.smp.cores"),
        ("cpu.packages", c"hw.packages"),
        ("cpu.cache.l1d_bytes", c"hw.l1dcachesize"),
        ("cpu.cache.l2_bytes", c"hw.l2cachesize"),
        ("cpu.cache.l3_bytes", c"hw.l3cachesize"),
        ("cpu.cache.line_bytes", c"hw.cachelinesize"),
        ("kernel.max_files", c"kern.maxfiles"),
        ("kernel.max_files_per_process", c"kern.maxfilesperproc"),
        ("kernel.max_processes", c"kern.maxproc"),
        ("kernel.hz", c"kern.hz"),
        ("net.somaxconn", c"kern.ipc.somaxconn"),
        ("net.port_first", c"net.inet.ip.portrange.first"),
        ("net.port_last", c"net.inet.ip.portrange.last"),
        ("security.jailed", c"security.jail.jailed"),
        ("kernel.aslr", c"kern.elf64.aslr.enable"),
        ("cpu.mitigations.pti", c"vm.pmap.pti"),
        ("cpu.mitigations.ibrs", c"hw.ibrs_active"),
        ("cpu.mitigations.mds", c"hw.mds_disable_state"),
    ] {
        facts.add(key, sysctl::number(name));
    }
    // FreeBSD's word for a machine of one's own.
    if let Some(guest) = facts.0.get("machine.hypervisor").cloned() {
        facts.add("machine.virtual", Some(if guest == "none" { "no" } else { "yes" }));
        if guest == "none" {
            facts.0.remove("machine.hypervisor");
        }
    }
    if facts.0.get("security.jailed").is_some_and(|jailed| jailed == "1") {
        facts.add("container", Some("jail"));
    }
}

//! Linux: /sys/devices/system/cpu (Documentation/ABI/stable/sysfs-devices-system-cpu).

use std::io;
use std::path::{Path, PathBuf};

use super::topology::KnownProcessors;
use super::{Cache, CacheKind, Cpu, ProcessorBounds, Topology};
use crate::Unsupported;
use crate::error::checked;
use crate::pseudo_file::{cpu_list, number, text};

const CPUS: &str = "/sys/devices/system/cpu";

/// Equal speed, where the kernel reports no speeds.
const FULL_CAPACITY: u32 = 1024;

/// A mask that grows until the kernel's own fits: kernels are built for up to 8,192 processors.
const MASK_WORDS_MAX: usize = 1 << 12;
const WORD_BITS: usize = u64::BITS as usize;

pub(super) fn allowed() -> Result<Vec<u32>, Unsupported> {
    let mut words = vec![0_u64; 16];
    loop {
        let bytes = words.len() * size_of::<u64>();
        // SAFETY: the call writes at most `bytes` into the mask, which has as many.
        if unsafe { libc::sched_getaffinity(0, bytes, words.as_mut_ptr().cast()) } == 0 {
            break;
        }
        // The mask of the kernel is longer.
        let is_short = io::Error::last_os_error().raw_os_error() == Some(libc::EINVAL);
        if !is_short || words.len() >= MASK_WORDS_MAX {
            return Err(Unsupported("the processors of this thread cannot be read; perhaps in a sandbox"));
        }
        words.resize(2 * words.len(), 0);
    }
    let is_set = |cpu: &usize| words[cpu / WORD_BITS] >> (cpu % WORD_BITS) & 1 == 1;
    Ok((0..words.len() * WORD_BITS).filter(is_set).map(|cpu| cpu as u32).collect())
}

pub(super) fn confine(cpus: &[u32]) -> io::Result<()> {
    let last = cpus.iter().max().map_or(0, |&cpu| cpu as usize);
    if last >= MASK_WORDS_MAX * WORD_BITS {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    let mut words = vec![0_u64; last / WORD_BITS + 1];
    for &cpu in cpus {
        words[cpu as usize / WORD_BITS] |= 1 << (cpu as usize % WORD_BITS);
    }
    let bytes = words.len() * size_of::<u64>();
    // SAFETY: the call reads `bytes` of the mask, which has as many.
    checked(unsafe { libc::sched_setaffinity(0, bytes, words.as_ptr().cast()) }).map(drop)
}

pub(super) fn topology() -> Result<Topology, Unsupported> {
    let online = text(Path::new(CPUS).join("online")).ok_or(Unsupported("/sys is not there to be read"))?;
    let isolated = text(Path::new(CPUS).join("isolated")).map(|list| cpu_list(&list)).unwrap_or_default();
    let nodes = nodes();

    let mut topology = Topology::default();
    for number in cpu_list(&online) {
        let folder = Path::new(CPUS).join(format!("cpu{number}"));
        topology.cpus.push(Cpu {
            number,
            core: core(&folder).unwrap_or(number),
            package: crate::pseudo_file::number(folder.join("topology/physical_package_id")).unwrap_or(0)
                as u32,
            node: nodes.iter().find(|(_, cpus)| cpus.contains(&number)).map(|(node, _)| *node),
            capacity: capacity(&folder),
            isolated: isolated.contains(&number),
        });
        for cache in (0..).map_while(|index| cache(&folder.join(format!("cache/index{index}")))) {
            // Each processor lists the caches it shares; the first of them speaks for all.
            if cache.cpus.first() == Some(&number) {
                topology.caches.push(cache);
            }
        }
    }
    scale_to_fastest(&mut topology.cpus);
    Ok(topology)
}

pub(super) fn bounds() -> ProcessorBounds {
    let list = |file: &str| text(Path::new(CPUS).join(file)).map(|list| cpu_list(&list)).unwrap_or_default();
    let (online, isolated) = (list("online"), list("isolated"));
    // Where they cannot be known, none is missing.
    let allowed = allowed().unwrap_or_else(|_| online.clone());
    let cpuset = crate::control_group::cpuset();
    let known = KnownProcessors {
        present: list("present").len(),
        is_smt_off: text(Path::new(CPUS).join("smt/control")).is_some_and(|control| control.ends_with("off")),
        online: &online,
        isolated: &isolated,
        cpuset: cpuset.as_deref(),
        allowed: &allowed,
        quota: super::quota(),
    };
    known.bounds()
}

fn core(folder: &Path) -> Option<u32> {
    let siblings = text(folder.join("topology/core_cpus_list"))
        .or_else(|| text(folder.join("topology/thread_siblings_list")))?;
    cpu_list(&siblings).first().copied()
}

/// Arm and recent x86 hybrids report a capacity; other hybrids differ in their highest frequency.
fn capacity(folder: &Path) -> u32 {
    let told = number(folder.join("cpu_capacity"))
        .or_else(|| number(folder.join("acpi_cppc/highest_perf")))
        .or_else(|| number(folder.join("cpufreq/cpuinfo_max_freq")));
    told.map_or(FULL_CAPACITY, |capacity| u32::try_from(capacity).unwrap_or(u32::MAX))
}

/// In any unit. Reported speeds of equal cores differ by a few percent, so all within a tenth of the fastest
/// count as equal.
fn scale_to_fastest(cpus: &mut [Cpu]) {
    let Some(fastest) = cpus.iter().map(|cpu| u64::from(cpu.capacity)).max().filter(|most| *most > 0) else {
        return;
    };
    for cpu in cpus {
        let scaled = (u64::from(cpu.capacity) * u64::from(FULL_CAPACITY) / fastest) as u32;
        cpu.capacity = if scaled >= FULL_CAPACITY - FULL_CAPACITY / 10 { FULL_CAPACITY } else { scaled };
    }
}

fn cache(folder: &Path) -> Option<Cache> {
    let kind = match text(folder.join("type"))?.as_str() {
        "Data" => CacheKind::Data,
        "Instruction" => CacheKind::Instruction,
        _ => CacheKind::Unified,
    };
    let size = text(folder.join("size"))?;
    Some(Cache {
        level: number(folder.join("level"))? as u32,
        kind,
        bytes: size.strip_suffix('K')?.parse::<u64>().ok()? * 1024,
        line_bytes: number(folder.join("coherency_line_size")).unwrap_or(0),
        cpus: cpu_list(&text(folder.join("shared_cpu_list"))?),
    })
}

fn nodes() -> Vec<(u32, Vec<u32>)> {
    let Some(online) = text("/sys/devices/system/node/online") else { return Vec::new() };
    let cpus = |node: u32| {
        let folder = PathBuf::from(format!("/sys/devices/system/node/node{node}"));
        Some((node, cpu_list(&text(folder.join("cpulist"))?)))
    };
    cpu_list(&online).into_iter().filter_map(cpus).collect()
}

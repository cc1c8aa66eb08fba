//! The landmarks near a place of n: a limit, the port range, a growth of the descriptor table, a cache. A
//! hint states that something is near, never that it is the cause.
//!
//! A landmark is near when it lies within the interval of the place or within 3 % of its value. Landmarks
//! come from the environment of the record; a fact that was not recorded gives no hint.

use record::System;
use serde::Serialize;
use stats::{Interval, Verdict};

/// How far a landmark may be from the place, as a share of it, when the interval does not reach it: objects
/// that a process had before, such as its first descriptors, shift a place by a few.
const NEAR: f64 = 0.03;

/// Beyond this ratio of its ends an interval holds too many landmarks for a hint.
const INTERVAL_WIDEST: f64 = 2.0;

/// There is a power of two within 5 % of every seventh n, so only a narrow place can point at one: n that
/// were measured at powers of two alone leave a gap of a factor of two.
const INTERVAL_NARROW: f64 = 0.05;

/// The first power of two worth a hint; smaller ones are everywhere.
const POWER_MIN: u32 = 6;
const POWER_MAX: u32 = 40;

/// How many hints a reader is given.
const HINTS_MAX: usize = 2;

/// A number in the system that a place of n may be near to.
#[derive(Clone, Debug, PartialEq)]
pub struct Landmark {
    /// Its n.
    pub at: f64,
    /// Its kind.
    pub mark: Mark,
}

/// The kind of a landmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Half of the ports that the system may choose.
    HalfOfPorts,
    /// All ports that the system may choose.
    Ports,
    /// A fact of the system, by its key in the record.
    Fact(&'static str),
    /// A power of two, and whether the system doubles its descriptor table there.
    PowerOfTwo {
        /// Which power.
        power: u32,
        /// Whether a descriptor table is doubled there.
        doubles_table: bool,
    },
}

impl Mark {
    /// Whether it is a limit or a setting of the system, and not merely a number such as the size of a cache.
    pub(crate) fn is_resource(self) -> bool {
        const LIMITS: [&str; 5] = ["limit.", "cgroup.", "kernel.", "vm.", "fs."];
        match self {
            Mark::HalfOfPorts | Mark::Ports => true,
            Mark::Fact(key) => LIMITS.iter().any(|limit| key.starts_with(limit)),
            Mark::PowerOfTwo { .. } => false,
        }
    }
}

/// The remedy where a cost changes at a landmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LandmarkRemedy {
    /// Widen the range of ports, or bind explicit ports.
    WidenPorts,
    /// Raise the limit with ulimit.
    RaiseLimit,
    /// Raise the limit of the control group.
    RaiseGroup,
    /// Raise the setting with sysctl.
    RaiseSetting,
    /// Open a high descriptor early, so that the table has its size.
    OpenHighDescriptor,
}

impl Landmark {
    /// The remedy; `None` where it is no setting.
    pub fn remedy(&self) -> Option<LandmarkRemedy> {
        Some(match self.mark {
            Mark::HalfOfPorts | Mark::Ports => LandmarkRemedy::WidenPorts,
            // Keys of facts are names with their area before the first dot (docs/record.md).
            Mark::Fact(key) => match key.split('.').next()? {
                "limit" => LandmarkRemedy::RaiseLimit,
                "cgroup" => LandmarkRemedy::RaiseGroup,
                "kernel" | "vm" | "fs" => LandmarkRemedy::RaiseSetting,
                _ => return None,
            },
            Mark::PowerOfTwo { doubles_table: true, .. } => LandmarkRemedy::OpenHighDescriptor,
            Mark::PowerOfTwo { .. } => return None,
        })
    }
}

/// At most two landmarks near a place in a series, the most informative first. `grows` is the object that n
/// counts, in the words of the workload. Where only powers of two were measured, a place near one is no hint.
pub fn landmarks_near(verdict: &Verdict, n: Interval, grows: &str, system: &System) -> Vec<Landmark> {
    let mut found = near((n.value, n.low, n.high), grows, system);
    if is_on_powers(verdict) {
        found.retain(|landmark| !matches!(landmark.mark, Mark::PowerOfTwo { .. }));
    }
    found
}

/// Whether every n that was measured is a power of two, as far as the ranges of n show.
fn is_on_powers(verdict: &Verdict) -> bool {
    verdict.blocks.iter().all(|block| block.n_low.is_power_of_two() && block.n_high.is_power_of_two())
}

/// The same for `place`, which is n with the ends of its interval, for any measured n.
fn near(place: (f64, f64, f64), grows: &str, system: &System) -> Vec<Landmark> {
    let (value, low, high) = place;
    let sound = value.is_finite() && low > 0.0 && low <= value && value <= high;
    if !sound || high / low > INTERVAL_WIDEST {
        return Vec::new();
    }
    let is_near =
        |mark: &Landmark| (low..=high).contains(&mark.at) || (mark.at - value).abs() <= NEAR * value;
    let narrow = low >= value * (1.0 - INTERVAL_NARROW) && high <= value * (1.0 + INTERVAL_NARROW);

    let mut found: Vec<Landmark> = landmarks(grows, system).into_iter().filter(is_near).collect();
    if narrow {
        // alloc_fdtable in Linux' fs/file.c: a table of 64 descriptors at first, then of the next power of
        // two; so a process that opens one more than 2^k finds its table copied.
        let doubles_table = counts(grows, DESCRIPTORS) && is_linux(system);
        // A power of two is no hint beside a landmark that equals it.
        let power = powers(doubles_table).filter(is_near);
        found.extend(power.into_iter().find(|power| found.iter().all(|mark| mark.at != power.at)));
    }
    found.truncate(HINTS_MAX);
    found
}

/// Words of `grows` by which n counts a resource.
const PORTS: &[&str] = &["bound", "port", "connection"];
const DESCRIPTORS: &[&str] = &["socket", "descriptor", "file", "pipe", "connection"];
const PROCESSES: &[&str] = &["process", "thread", "children"];
const MAPPINGS: &[&str] = &["mapping", "mapped"];

fn counts(grows: &str, words: &[&str]) -> bool {
    let grows = grows.to_lowercase();
    words.iter().any(|word| grows.contains(word))
}

fn is_linux(system: &System) -> bool {
    system.environment.get("kernel.name").is_some_and(|name| name == "Linux")
}

/// All landmarks of the environment for the object that n counts, the most informative first.
fn landmarks(grows: &str, system: &System) -> Vec<Landmark> {
    let mut marks = Vec::new();
    if counts(grows, PORTS)
        && let Some(ports) = ports(system)
    {
        marks.push(Landmark { at: ports / 2.0, mark: Mark::HalfOfPorts });
        marks.push(Landmark { at: ports, mark: Mark::Ports });
    }
    let mut facts = |resource: &[&str], known: &[&'static str]| {
        if counts(grows, resource) {
            marks.extend(known.iter().filter_map(|key| fact(system, key, 1.0)));
        }
    };
    facts(DESCRIPTORS, &["limit.descriptors.soft", "limit.descriptors.hard", "fs.nr_open"]);
    facts(
        PROCESSES,
        &[
            "limit.processes.soft",
            "limit.processes.hard",
            "cgroup.pids_max",
            "kernel.pid_max",
            "kernel.max_threads",
        ],
    );
    facts(MAPPINGS, &["vm.max_map_count"]);
    marks.extend(memory(grows, system));
    marks
}

/// The number of ports that the system may choose. Reserved ports are too few to move it beyond the tolerance
/// of a hint, or were set deliberately.
fn ports(system: &System) -> Option<f64> {
    let mut ends =
        system.environment.get("net.ip_local_port_range")?.split_whitespace().map(str::parse::<u32>);
    let (first, last) = (ends.next()?.ok()?, ends.next()?.ok()?);
    (last >= first).then(|| f64::from(last - first) + 1.0)
}

/// Pages and caches, where n is an amount of memory.
fn memory(grows: &str, system: &System) -> Vec<Landmark> {
    let bytes_per_n = match grows.split_whitespace().next().unwrap_or_default() {
        "byte" | "bytes" => 1.0,
        "KiB" => 1024.0,
        "MiB" => 1024.0 * 1024.0,
        "GiB" => 1024.0 * 1024.0 * 1024.0,
        "page" | "pages" => match number(system, "memory.page_bytes") {
            Some(bytes) => bytes,
            None => return Vec::new(),
        },
        _ => return Vec::new(),
    };
    let known = [
        "memory.page_bytes",
        "memory.huge_page_bytes",
        "cpu.cache.l1d_bytes",
        "cpu.cache.l2_bytes",
        "cpu.cache.l3_bytes",
        "memory.total_bytes",
    ];
    let marks = known.into_iter().filter_map(|key| fact(system, key, bytes_per_n));
    marks.filter(|mark| mark.at > 1.0).collect()
}

fn powers(doubles_table: bool) -> impl Iterator<Item = Landmark> {
    (POWER_MIN..=POWER_MAX).map(move |power| Landmark {
        at: 2_f64.powi(power as i32),
        mark: Mark::PowerOfTwo { power, doubles_table },
    })
}

/// A fact that is a number: not "unlimited" or "max".
fn number(system: &System, key: &str) -> Option<f64> {
    system.environment.get(key)?.parse().ok()
}

/// The landmark of such a fact, of which each n takes so many.
fn fact(system: &System, key: &'static str, per_n: f64) -> Option<Landmark> {
    Some(Landmark { at: number(system, key)? / per_n, mark: Mark::Fact(key) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn system(facts: &[(&str, &str)]) -> System {
        System {
            name: "local".into(),
            environment: facts.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect(),
            ..System::default()
        }
    }

    fn linux() -> System {
        system(&[
            ("kernel.name", "Linux"),
            ("net.ip_local_port_range", "32768 60999"),
            ("limit.descriptors.soft", "20000"),
            ("limit.descriptors.hard", "unlimited"),
            ("kernel.pid_max", "4194304"),
            ("vm.max_map_count", "65530"),
            ("memory.page_bytes", "4096"),
            ("cpu.cache.l2_bytes", "2097152"),
            ("cpu.cache.l3_bytes", "33554432"),
        ])
    }

    fn marks(landmarks: Vec<Landmark>) -> Vec<(Mark, f64)> {
        landmarks.into_iter().map(|near| (near.mark, near.at)).collect()
    }

    fn power(power: u32, doubles_table: bool) -> (Mark, f64) {
        (Mark::PowerOfTwo { power, doubles_table }, 2_f64.powi(power as i32))
    }

    #[test]
    fn a_cliff_of_bind_is_near_half_of_the_port_range() {
        let hints = marks(near((14_100.0, 13_900.0, 14_300.0), "bound sockets", &linux()));
        assert_eq!(hints, [(Mark::HalfOfPorts, 14_116.0)]);
    }

    #[test]
    fn a_changed_range_is_another_landmark() {
        let mut changed = linux();
        changed.environment.insert("net.ip_local_port_range".into(), "20000 29999".into());
        let hints = marks(near((5000.0, 4900.0, 5100.0), "bound sockets", &changed));
        assert_eq!(hints, [(Mark::HalfOfPorts, 5_000.0)]);
        assert!(near((14_100.0, 13_900.0, 14_300.0), "bound sockets", &changed).is_empty());
    }

    #[test]
    fn ports_and_descriptors_are_only_near_what_counts_them() {
        let place = (14_100.0, 13_900.0, 14_300.0);
        for grows in ["mappings", "live processes", "repetitions", "open sockets"] {
            assert!(near(place, grows, &linux()).is_empty(), "{grows}");
        }
        let limit = marks(near((19_990.0, 19_950.0, 20_010.0), "open sockets", &linux()));
        assert_eq!(limit, [(Mark::Fact("limit.descriptors.soft"), 20_000.0)]);
    }

    #[test]
    fn descriptor_tables_double_on_linux_and_elsewhere_a_power_is_a_power() {
        let place = (1021.0, 1010.0, 1030.0);
        let hints = marks(near(place, "open sockets", &linux()));
        assert_eq!(hints, [power(10, true)]);
        let elsewhere = marks(near(place, "open sockets", &system(&[("kernel.name", "FreeBSD")])));
        assert_eq!(elsewhere, [power(10, false)]);
        assert_eq!(marks(near(place, "mappings", &linux())), [power(10, false)]);
    }

    #[test]
    fn a_wide_place_points_at_no_power_and_a_very_wide_one_at_nothing() {
        assert!(near((1024.0, 800.0, 1300.0), "mappings", &linux()).is_empty());
        let half = marks(near((14_000.0, 11_000.0, 17_000.0), "bound sockets", &linux()));
        assert_eq!(half, [(Mark::HalfOfPorts, 14_116.0)]);
        assert!(near((14_000.0, 3000.0, 17_000.0), "bound sockets", &linux()).is_empty());
    }

    #[test]
    fn caches_are_near_amounts_of_memory_only() {
        let hints = marks(near((32.0, 31.0, 33.0), "MiB that the parent has written", &linux()));
        assert_eq!(hints, [(Mark::Fact("cpu.cache.l3_bytes"), 32.0)]);
        let pages = marks(near((512.0, 505.0, 520.0), "pages", &linux()));
        assert_eq!(pages, [(Mark::Fact("cpu.cache.l2_bytes"), 512.0)]);
        assert!(near((32.0, 31.0, 33.0), "live threads", &linux()).is_empty());
    }

    #[test]
    fn mappings_have_a_limit() {
        let hints = marks(near((65_500.0, 65_000.0, 65_600.0), "mappings", &linux()));
        assert_eq!(hints, [(Mark::Fact("vm.max_map_count"), 65_530.0), power(16, false)]);
    }

    #[test]
    fn places_that_are_none_and_systems_without_facts_give_no_hint() {
        for place in [
            (f64::NAN, 1.0, 2.0),
            (0.0, 0.0, 0.0),
            (100.0, -5.0, 200.0),
            (100.0, 150.0, 50.0),
            (f64::INFINITY, 1.0, f64::INFINITY),
        ] {
            assert!(near(place, "bound sockets", &linux()).is_empty(), "{place:?}");
        }
        assert!(near((14_116.0, 14_000.0, 14_200.0), "bound sockets", &system(&[])).is_empty());
        let damaged = system(&[("net.ip_local_port_range", "60999 a"), ("limit.descriptors.soft", "max")]);
        assert!(near((14_116.0, 14_000.0, 14_200.0), "bound sockets", &damaged).is_empty());
    }
}

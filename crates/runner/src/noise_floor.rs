//! The noise floor of this machine: measured by a run against itself, stored, and read by later runs.
//!
//! The floor is stored in `osdyno/noise-floor/` below the state folder of the user: `$XDG_STATE_HOME` or
//! `~/.local/state` (XDG Base Directory Specification), or the data folder on systems without one. There is
//! one file for each machine and each command of a system. It contains the results of every A/A run, series
//! by series; the newest floor of a series is used.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use etcetera::{BaseStrategy, choose_base_strategy};
use record::{NoiseFloor, System};
use serde::{Deserialize, Serialize};

use crate::Error;

/// Facts that identify a machine, and that neither a boot nor another kernel of the same family changes. Two
/// machines that are alike in all of them share a floor.
const MACHINE: &[&str] = &[
    "os.name",
    "machine.arch",
    "machine.hypervisor",
    "machine.product",
    "cpu.vendor",
    "cpu.model",
    "cpu.family",
    "cpu.model_number",
    "cpu.stepping",
    "cpu.online",
    "memory.total_bytes",
    ENGINE,
];

/// The engine: one kernel is another system on an emulated processor. The processor itself is left out, so
/// that floors which were measured before this fact was recorded still apply.
pub(crate) const ENGINE: &str = "machine.engine";
const NATIVE: &str = "native";

/// Kernels differ in how much of the memory they keep for themselves, so its size counts in whole GiB.
const MEMORY_UNIT: f64 = (1 << 30) as f64;

/// The key of the command, beside the facts; absent for the machine itself.
const COMMAND: &str = "command";

/// More than any file of ours; a larger one is refused.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The name of a file stays well below what file systems allow.
const NAME_LETTERS_MAX: usize = 120;

/// The floors of a machine in their file.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    /// The machine by its facts, and the command of the system.
    machine: BTreeMap<String, String>,
    /// The floors of each run, the oldest first. No series is in two of them.
    floors: Vec<Measured>,
}

/// The floors of one run, without the series that a later one measured again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Measured {
    /// Version of osdyno that measured.
    tool: String,
    /// Seed of the run.
    seed: u64,
    #[serde(flatten)]
    floor: NoiseFloor,
}

/// The latest floor of this system, or else of its machine; `None` when none was.
///
/// # Errors
/// A sentence about a file that cannot be used.
pub(crate) fn known(system: &System) -> Result<Option<NoiseFloor>, String> {
    let own = kept(&machine(system))?;
    if own.is_some() || system.prefix.is_empty() {
        return Ok(own);
    }
    kept(&machine(&System { prefix: Vec::new(), ..system.clone() }))
}

fn kept(machine: &BTreeMap<String, String>) -> Result<Option<NoiseFloor>, String> {
    let Some(path) = path(machine) else { return Ok(None) };
    match read(&path) {
        Ok(kept) => Ok(together(&kept.floors).filter(|_| kept.machine == *machine)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!(
            "The noise floor in {} cannot be used: {error}. Measure it again with osdyno run --aa.",
            path.display()
        )),
    }
}

fn read(path: &Path) -> io::Result<Kept> {
    let mut text = String::new();
    File::open(path)?.take(FILE_BYTES_MAX).read_to_string(&mut text)?;
    let kept: Kept = serde_json::from_str(&text)?;
    let is_share = |share: &f64| share.is_finite() && *share > 0.0;
    let are_shares = |one: &Measured| is_share(&one.floor.share) && one.floor.series.values().all(is_share);
    if !kept.floors.iter().all(are_shares) {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a share in it is not above zero"));
    }
    Ok(kept)
}

/// The floors of all runs: the latest of every series, and the largest of any run.
fn together(floors: &[Measured]) -> Option<NoiseFloor> {
    let floors = || floors.iter().map(|one| &one.floor);
    let newest = floors().next_back()?;
    let judged: usize = floors().map(|floor| floor.series.len()).sum();
    let alarms: f64 = floors().map(|floor| floor.false_alarm_rate * floor.series.len() as f64).sum();
    Some(NoiseFloor {
        share: floors().map(|floor| floor.share).fold(0.0, f64::max),
        false_alarm_rate: alarms / judged.max(1) as f64,
        trials: floors().map(|floor| floor.trials).min().unwrap_or(0),
        series: floors().flat_map(|floor| floor.series.clone()).collect(),
        ..newest.clone()
    })
}

/// Adds the floors of a run. Its series replace older ones, and a run without remaining series is left out.
fn add(floors: Vec<Measured>, found: Measured) -> Vec<Measured> {
    let mut floors = floors;
    for earlier in &mut floors {
        earlier.floor.series.retain(|name, _| !found.floor.series.contains_key(name));
    }
    floors.retain(|earlier| !earlier.floor.series.is_empty());
    floors.push(found);
    floors
}

/// Stores a floor for later runs of this system, beside those of other series; returns the path.
pub(crate) fn keep(floor: &NoiseFloor, system: &System, seed: u64, run: &Path) -> Result<PathBuf, Error> {
    let machine = machine(system);
    let failed = |path: &Path| {
        let path = path.to_owned();
        |source| Error::NoiseFloor { path, source }
    };
    let nowhere = || io::Error::new(io::ErrorKind::NotFound, "the user has no home folder");
    let path = path(&machine).ok_or_else(nowhere).map_err(failed(Path::new("the folder for state")))?;
    let run = std::path::absolute(run).unwrap_or_else(|_| run.to_owned()).to_string_lossy().into_owned();
    let floor = NoiseFloor { run, ..floor.clone() };
    let found = Measured { tool: env!("CARGO_PKG_VERSION").to_owned(), seed, floor };
    // A file that cannot be read was reported when the run began, and is replaced.
    let known = read(&path).ok().filter(|known| known.machine == machine);
    let kept = Kept { machine, floors: add(known.map(|known| known.floors).unwrap_or_default(), found) };
    let write = || -> io::Result<()> {
        let folder = path.parent().ok_or_else(nowhere)?;
        fs::create_dir_all(folder)?;
        // Whole or not at all: another run may be reading it.
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        serde_json::to_writer_pretty(&mut file, &kept)?;
        file.persist(&path)?;
        Ok(())
    };
    write().map_err(failed(&path))?;
    Ok(path)
}

fn machine(system: &System) -> BTreeMap<String, String> {
    let fact = |&key: &&str| {
        let value = system.environment.get(key).filter(|value| key != ENGINE || *value != NATIVE)?;
        let bytes = value.parse::<f64>().ok().filter(|_| key == "memory.total_bytes");
        let value = bytes.map_or_else(|| value.clone(), |b| format!("{:.0} GiB", b / MEMORY_UNIT));
        Some((key.to_owned(), value))
    };
    let command = (!system.prefix.is_empty()).then(|| (COMMAND.to_owned(), system.prefix.join(" ")));
    MACHINE.iter().filter_map(fact).chain(command).collect()
}

/// `linux-x86-64-kvm-authenticamd-….json`: readable, and the same for the same machine and command.
fn path(machine: &BTreeMap<String, String>) -> Option<PathBuf> {
    let places = choose_base_strategy().ok()?;
    let state = places.state_dir().unwrap_or_else(|| places.data_dir());
    let keys = [COMMAND].iter().chain(MACHINE);
    let facts: Vec<&str> = keys.filter_map(|&key| machine.get(key)).map(String::as_str).collect();
    let joined = facts.join("-").to_lowercase();
    let words: Vec<&str> = joined
        .split(|letter: char| !letter.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let name: String = words.join("-").chars().take(NAME_LETTERS_MAX).collect();
    Some(state.join("osdyno/noise-floor").join(name).with_added_extension("json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured_at(day: u32, share: f64, series: &[(&str, f64)]) -> Measured {
        let floor = NoiseFloor {
            share,
            false_alarm_rate: 0.5,
            trials: 10 + day,
            measured_at: format!("2026-11-{day:02}T00:00:00Z"),
            run: format!("{day}.osdyno"),
            series: series.iter().map(|(name, share)| ((*name).to_owned(), *share)).collect(),
        };
        Measured { tool: "0.1.0".to_owned(), seed: 1, floor }
    }

    #[test]
    fn a_series_keeps_its_floor_until_it_is_measured_again() {
        let first = measured_at(1, 0.05, &[("bind up", 0.04), ("socket up", 0.07)]);
        let second = measured_at(2, 0.02, &[("socket up", 0.03), ("mmap up", 0.01)]);
        let floors = add(add(Vec::new(), first), second.clone());
        let dates: Vec<&str> = floors.iter().map(|one| one.floor.measured_at.as_str()).collect();
        assert_eq!(dates, ["2026-11-01T00:00:00Z", "2026-11-02T00:00:00Z"]);
        assert_eq!(floors[0].floor.series.keys().collect::<Vec<_>>(), ["bind up"]);
        let all = together(&floors).expect("a floor");
        assert_eq!(all.series.values().copied().collect::<Vec<_>>(), [0.04, 0.01, 0.03]);
        assert_eq!((all.share, all.trials, all.false_alarm_rate), (0.05, 11, 0.5));
        assert_eq!((all.run.as_str(), all.measured_at.as_str()), ("2.osdyno", "2026-11-02T00:00:00Z"));
        let third = measured_at(3, 0.03, &[("bind up", 0.02)]);
        assert_eq!(add(floors, third.clone()), [second, third], "nothing of the first stands any more");
        assert_eq!(together(&[]), None);
    }

    #[test]
    fn the_name_of_a_machine_is_readable_and_short() {
        let facts = [
            ("os.name", "linux"),
            ("machine.arch", "x86_64"),
            ("cpu.model", "A  very/long ../name (R)"),
            ("memory.total_bytes", "25276514304"),
            ("machine.engine", "native"),
            ("kernel.release", "6.18"),
        ];
        let environment = facts.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        let here = System { name: "local".to_owned(), environment, ..System::default() };
        let machine = machine(&here);
        assert_eq!(machine.len(), 4, "another kernel is the same machine");
        let name = path(&machine).expect("a place").file_name().expect("a name").to_owned();
        assert_eq!(name, "linux-x86-64-a-very-long-name-r-24-gib.json");
        let mut guest = here.clone();
        guest.environment.insert("machine.engine".to_owned(), "QEMU TCG".to_owned());
        guest.prefix = vec!["--kernel".to_owned(), "debian:6.12".to_owned()];
        let emulated = path(&super::machine(&guest)).expect("a place");
        let words = "kernel-debian-6-12-linux-x86-64-a-very-long-name-r-24-gib-qemu-tcg.json";
        assert!(emulated.ends_with(words), "{emulated:?}");
        let there = System { prefix: vec!["unshare".to_owned(), "-n".to_owned()], ..here };
        let path = path(&super::machine(&there)).expect("a place");
        assert!(path.ends_with("unshare-n-linux-x86-64-a-very-long-name-r-24-gib.json"), "{path:?}");
    }
}

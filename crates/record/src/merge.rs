//! Joins run files of hosts into one run of a fleet.
//!
//! Each file is read twice. The first time finds systems, definitions, trials and damage.
//! Everything that speaks against a fleet is found there, before a byte is written. The second time each
//! trial is copied as it comes, with the name of its system rewritten, so that memory holds one trial and not
//! a run.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use crate::{
    End, EndStatus, Error, FleetPlace, Line, Loss, NoiseFloor, Reader, Run, SCHEMA, SeriesKind, System,
    Trial, TrialKey, Workload, Writer,
};

/// A file, and the host that it is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeInput {
    /// The run file.
    pub path: PathBuf,
    /// Name of the host.
    pub host: String,
    /// Whether the user chose the name: the hosts of a fleet keep theirs.
    pub is_named: bool,
}

/// The parts of a merged run.
#[derive(Clone, Debug, PartialEq)]
pub struct Merged {
    /// Of each file, in the order given.
    pub files: Vec<MergedFile>,
    /// Trials in the run.
    pub trials: usize,
}

/// The part of one file.
#[derive(Clone, Debug, PartialEq)]
pub struct MergedFile {
    /// The run file.
    pub path: PathBuf,
    /// Names of its hosts.
    pub hosts: Vec<String>,
    /// Its trials.
    pub trials: usize,
    /// The parts that could not be read and are not in the run.
    pub losses: Vec<Loss>,
    /// Whether it has an end: if not, its run was killed.
    pub has_end: bool,
}

/// Why files make no fleet. The message has the remedy.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// A file could not be read, or the run not be written.
    #[error(transparent)]
    File(#[from] Error),
    /// Two files are of one host.
    #[error(
        "{} and {} are both of host {host}: name one of them otherwise, as in OTHER={}",
        one.display(), two.display(), two.display()
    )]
    Doubled {
        /// The host.
        host: String,
        /// The first file.
        one: PathBuf,
        /// The second file.
        two: PathBuf,
    },
    /// Two systems would have one name.
    #[error("{} would have a second system called {name:?}: name its host otherwise", path.display())]
    SameSystem {
        /// The name.
        name: String,
        /// The file of the second.
        path: PathBuf,
    },
    /// Two files hold the same trial.
    #[error(
        "{} and {} hold the same trial ({trial}): no trial may count twice, so leave one of them out",
        one.display(), two.display()
    )]
    SameTrial {
        /// The trial.
        trial: String,
        /// The first file.
        one: PathBuf,
        /// The second file.
        two: PathBuf,
    },
    /// The definitions of a workload differ.
    #[error(
        "{workload} is version {of_one} in {} and version {of_two} in {}{same}: measure both with one osdyno",
        one.display(), two.display(),
        same = if of_one == of_two { ", with another definition" } else { "" }
    )]
    OtherWorkload {
        /// The workload.
        workload: String,
        /// Its version in the first file.
        of_one: u32,
        /// The first file.
        one: PathBuf,
        /// Its version in the second file.
        of_two: u32,
        /// The second file.
        two: PathBuf,
    },
    /// Trials of a workload were measured with other settings, or beside other loads.
    #[error("{workload} was measured with {one} and with {two}: measure all hosts alike")]
    OtherSettings {
        /// The workload, with its configuration where there are several.
        workload: String,
        /// Settings and loads of the first file, and its name, in words.
        one: String,
        /// The same of the second file.
        two: String,
    },
    /// A name was given to the hosts of a fleet.
    #[error("{} is a fleet already and its hosts keep their names; leave out the name", path.display())]
    NamedFleet {
        /// The file.
        path: PathBuf,
    },
    /// A run of a system against itself.
    #[error("{} measures a system against itself, which is no host of a fleet", path.display())]
    AgainstItself {
        /// The file.
        path: PathBuf,
    },
    /// A file has no system.
    #[error("{} has no system", path.display())]
    NoSystem {
        /// The file.
        path: PathBuf,
    },
}

/// The content of one file without its measurements.
struct Scan {
    input: MergeInput,
    run: Run,
    systems: Vec<System>,
    workloads: Vec<Workload>,
    floor: Option<NoiseFloor>,
    end: Option<End>,
    trials: usize,
    losses: Vec<Loss>,
    /// Settings and loads beside the trials, by system and workload as this file names them.
    chosen: BTreeMap<(String, String), Chosen>,
    /// The name of each of its systems in the merged run.
    names: HashMap<String, String>,
}

/// Settings that the user chose for trials, and the loads beside them.
type Chosen = (BTreeMap<String, String>, Vec<String>);

/// `workers=4 beside cpu:50%`.
fn in_words((settings, loads): &Chosen) -> String {
    let settings: Vec<String> = settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let settings = if settings.is_empty() { "the defaults".to_owned() } else { settings.join(" ") };
    if loads.is_empty() { settings } else { format!("{settings} beside {}", loads.join(",")) }
}

/// Name of a system that the user gave none.
const LOCAL: &str = "local";

/// Joins run files into `out`, which must not exist. `command` is the command line of this, for the record.
///
/// # Errors
/// [`MergeError`]; nothing is left behind.
pub fn merge(out: &Path, inputs: &[MergeInput], command: Vec<String>) -> Result<Merged, MergeError> {
    let mut trials = Trials::default();
    let mut scans = Vec::new();
    for (place, input) in inputs.iter().enumerate() {
        scans.push(Scan::new((place, input), &mut trials)?);
    }
    check_hosts(&scans)?;
    check_chosen(&scans)?;
    let workloads = workloads(&scans)?;
    let systems = scans.iter().flat_map(|scan| scan.systems.iter().cloned().map(Line::System));
    let head: Vec<Line> = systems.chain(workloads.into_iter().map(Line::Workload)).collect();
    let mut writer = Writer::create(out, run(&scans, command), &head)?;
    let written = scans.iter().try_for_each(|scan| scan.copy(&mut writer));
    // Only a whole fleet is useful: a part of it would look like hosts that were never measured.
    let written = written.and_then(|()| writer.finish(end(&scans)));
    written.inspect_err(|_| drop(fs::remove_file(out)))?;
    Ok(Merged {
        trials: scans.iter().map(|scan| scan.trials).sum(),
        files: scans.into_iter().map(Scan::merged).collect(),
    })
}

/// The trials that were met, each with its file and the place of that among all.
#[derive(Default)]
struct Trials(HashMap<u64, (usize, PathBuf)>);

impl Trials {
    /// Two trials with the same seed that began and ended at the same nanosecond are one. Those that did not
    /// begin took no time, and agree by chance where hosts were measured with one seed.
    fn add(&mut self, trial: &Trial, (place, path): (usize, &Path)) -> Result<(), MergeError> {
        if trial.elapsed_seconds <= 0.0 {
            return Ok(());
        }
        let order = &trial.order;
        let mut hasher = DefaultHasher::new();
        (&order.workload, &order.variant, order.trial, order.seed).hash(&mut hasher);
        (trial.started_seconds.to_bits(), trial.elapsed_seconds.to_bits()).hash(&mut hasher);
        match self.0.insert(hasher.finish(), (place, path.to_owned())) {
            // A trial that stands twice in one file counts once, as in every reader.
            Some((other, one)) if other != place => {
                let slash = if order.variant.is_empty() { "" } else { "/" };
                let trial = format!("trial {} of {}{slash}{}", order.trial, order.workload, order.variant);
                Err(MergeError::SameTrial { trial, one, two: path.to_owned() })
            }
            _ => Ok(()),
        }
    }
}

impl Scan {
    fn new((place, input): (usize, &MergeInput), trials: &mut Trials) -> Result<Scan, MergeError> {
        let mut reader = Reader::open(&input.path)?;
        let Some(Line::Run(run)) = reader.next().transpose()? else {
            let reason = "its first line is not a run line".to_owned();
            return Err(Error::NotARun { path: input.path.clone(), reason }.into());
        };
        let mut scan = Scan {
            input: input.clone(),
            run,
            systems: Vec::new(),
            workloads: Vec::new(),
            floor: None,
            end: None,
            trials: 0,
            losses: Vec::new(),
            chosen: BTreeMap::new(),
            names: HashMap::new(),
        };
        for line in reader.by_ref() {
            match line? {
                Line::System(system) => scan.systems.push(system),
                Line::Workload(workload) => scan.workloads.push(workload),
                Line::NoiseFloor(floor) => scan.floor = Some(floor),
                Line::End(end) => scan.end = Some(end),
                Line::Trial(trial) => {
                    scan.trials += 1;
                    trials.add(&trial, (place, &input.path))?;
                    let order = trial.order;
                    let loads = order.background.into_iter().map(|one| one.load);
                    let clients = order.clients.into_iter().map(|client| format!("client {}", client.name));
                    let loads = loads.chain(clients).collect();
                    scan.chosen.entry((order.system, order.workload)).or_insert((order.settings, loads));
                }
                _ => {}
            }
        }
        scan.losses = reader.into_losses();
        scan.placed()
    }

    /// The same with the place of each system in the fleet.
    fn placed(mut self) -> Result<Scan, MergeError> {
        let path = || self.input.path.clone();
        let is_fleet = self.systems.iter().any(|system| system.fleet.is_some());
        if self.floor.is_some() {
            return Err(MergeError::AgainstItself { path: path() });
        }
        if self.systems.is_empty() {
            return Err(MergeError::NoSystem { path: path() });
        }
        if is_fleet && self.input.is_named {
            return Err(MergeError::NamedFleet { path: path() });
        }
        let is_single = self.systems.len() == 1;
        let host = self.input.host.clone();
        for system in self.systems.iter_mut().filter(|_| !is_fleet) {
            let old = system.name.clone();
            // As in a run on hosts, a command is a configuration, and this machine is none.
            let is_plain = is_single && (old == LOCAL || old == host);
            let configuration = if is_plain { String::new() } else { old.clone() };
            system.name = if is_plain { host.clone() } else { format!("{host} {old}") };
            system.fleet = Some(FleetPlace { host: host.clone(), configuration });
            self.names.insert(old, system.name.clone());
        }
        Ok(self)
    }

    /// The names of its hosts, each once.
    fn hosts(&self) -> Vec<String> {
        let host = |system: &System| {
            system.fleet.as_ref().map_or_else(|| system.name.clone(), |place| place.host.clone())
        };
        let mut hosts: Vec<String> = Vec::new();
        for host in self.systems.iter().map(host) {
            if !hosts.contains(&host) {
                hosts.push(host);
            }
        }
        hosts
    }

    /// The configuration of a system that has this name in the file.
    fn configuration(&self, system: &str) -> &str {
        let name = self.names.get(system).map_or(system, String::as_str);
        let place = self.systems.iter().find(|known| known.name == name).and_then(|one| one.fleet.as_ref());
        place.map_or("", |place| &place.configuration)
    }

    /// Copies all trials, each as a frame.
    fn copy(&self, writer: &mut Writer) -> crate::Result<()> {
        let mut frame: Vec<Line> = Vec::new();
        let mut of: Option<TrialKey> = None;
        for line in Reader::open(&self.input.path)? {
            let mut line = line?;
            if let Line::Judged(_) = line {
                self.rename(&mut line);
                writer.append(&[line])?;
                continue;
            }
            let Some(key) = line.trial() else { continue };
            if of.as_ref() != Some(&key) && !frame.is_empty() {
                writer.append(&frame)?;
                frame.clear();
            }
            of = Some(key);
            self.rename(&mut line);
            frame.push(line);
        }
        if frame.is_empty() { Ok(()) } else { writer.append(&frame) }
    }

    /// Gives a line the name that its system has in the fleet.
    fn rename(&self, line: &mut Line) {
        let rename = |name: &mut String| {
            if let Some(new) = self.names.get(name.as_str()) {
                name.clone_from(new);
            }
        };
        match line {
            Line::Trial(trial) => {
                rename(&mut trial.order.system);
                trial.order.offered.iter_mut().for_each(|level| rename(&mut level.slowest));
            }
            Line::Series(series) => rename(&mut series.system),
            Line::Generator(level) => rename(&mut level.of.system),
            Line::Limited(limitation) => rename(&mut limitation.of.system),
            Line::Histogram(histogram) => rename(&mut histogram.of.system),
            Line::Profile(profile) => rename(&mut profile.of.system),
            Line::Judged(judged) => rename(&mut judged.of.system),
            Line::Run(_) | Line::System(_) | Line::Workload(_) | Line::NoiseFloor(_) | Line::End(_) => {}
        }
    }

    fn merged(self) -> MergedFile {
        MergedFile {
            hosts: self.hosts(),
            path: self.input.path,
            trials: self.trials,
            losses: self.losses,
            has_end: self.end.is_some(),
        }
    }
}

/// Each host is of one file, and each system has a name of its own.
fn check_hosts(scans: &[Scan]) -> Result<(), MergeError> {
    let mut files: BTreeMap<String, &Path> = BTreeMap::new();
    let mut systems: BTreeMap<&str, ()> = BTreeMap::new();
    for scan in scans {
        for host in scan.hosts() {
            if let Some(one) = files.insert(host.clone(), &scan.input.path) {
                return Err(MergeError::Doubled { host, one: one.into(), two: scan.input.path.clone() });
            }
        }
        for system in &scan.systems {
            if systems.insert(&system.name, ()).is_some() {
                let (name, path) = (system.name.clone(), scan.input.path.clone());
                return Err(MergeError::SameSystem { name, path });
            }
        }
    }
    Ok(())
}

/// Each workload of a configuration was measured with the same settings, beside the same loads.
fn check_chosen(scans: &[Scan]) -> Result<(), MergeError> {
    let mut all: BTreeMap<(&str, &str), (&Chosen, &Path)> = BTreeMap::new();
    for scan in scans {
        for ((system, workload), chosen) in &scan.chosen {
            let configuration = scan.configuration(system);
            let two = scan.input.path.as_path();
            let (known, one) = *all.entry((configuration, workload.as_str())).or_insert((chosen, two));
            if known != chosen {
                return Err(MergeError::OtherSettings {
                    workload: match configuration {
                        "" => workload.clone(),
                        configuration => format!("{workload} ({configuration})"),
                    },
                    one: format!("{} in {}", in_words(known), one.display()),
                    two: format!("{} in {}", in_words(chosen), two.display()),
                });
            }
        }
    }
    Ok(())
}

/// The definitions, each once, with the variants of all files.
fn workloads(scans: &[Scan]) -> Result<Vec<Workload>, MergeError> {
    let mut all: Vec<(Workload, &Path)> = Vec::new();
    for scan in scans {
        for workload in &scan.workloads {
            let Some((known, one)) = all.iter_mut().find(|(known, _)| known.name == workload.name) else {
                all.push((workload.clone(), &scan.input.path));
                continue;
            };
            if !is_same(known, workload) {
                return Err(MergeError::OtherWorkload {
                    workload: workload.name.clone(),
                    of_one: known.version,
                    one: (*one).to_owned(),
                    of_two: workload.version,
                    two: scan.input.path.clone(),
                });
            }
            for variant in &workload.variants {
                if !known.variants.iter().any(|one| one.name == variant.name) {
                    known.variants.push(variant.clone());
                }
            }
        }
    }
    Ok(all.into_iter().map(|(workload, _)| workload).collect())
}

/// Whether numbers of two definitions mean the same. Their texts may differ.
fn is_same(one: &Workload, other: &Workload) -> bool {
    let same = |(one, other): (&SeriesKind, &SeriesKind)| {
        (&one.name, one.direction, one.unit, &one.sum_of)
            == (&other.name, other.direction, other.unit, &other.sum_of)
    };
    one.version == other.version
        && (one.shape, &one.grows) == (other.shape, &other.grows)
        && one.series.len() == other.series.len()
        && one.series.iter().zip(&other.series).all(same)
}

/// The head of the merged run. Where the files differ it has the value that claims less.
fn run(scans: &[Scan], command: Vec<String>) -> Run {
    let runs = || scans.iter().map(|scan| &scan.run);
    let same = |of: &dyn Fn(&Run) -> String| {
        let first = runs().next().map(of).unwrap_or_default();
        if runs().all(|run| of(run) == first) { first } else { String::new() }
    };
    // A file with one system has no pairs, and none are missing.
    let several = || scans.iter().filter(|scan| scan.systems.len() > 1);
    let first = runs().next();
    Run {
        schema: SCHEMA,
        tool: first.map(|run| run.tool.clone()).unwrap_or_default(),
        started_at: runs().map(|run| run.started_at.clone()).min().unwrap_or_default(),
        command,
        preset: same(&|run| run.preset.clone()),
        seed: first.map_or(0, |run| run.seed),
        budget_seconds: None,
        // More looks cost more confidence.
        looks: runs().map(|run| run.looks.clone()).max_by_key(Vec::len).unwrap_or_default(),
        pinned: runs().all(|run| run.pinned),
        paired: several().next().is_some() && several().all(|scan| scan.run.paired),
    }
}

/// The end of the merged run: complete if each file's is, and nothing of it was lost.
fn end(scans: &[Scan]) -> End {
    let status = |scan: &Scan| scan.end.as_ref().map_or(EndStatus::Interrupted, |end| end.status.clone());
    // The record of losses stays behind in the damaged file.
    let damaged = scans.iter().filter(|scan| !scan.losses.is_empty()).map(|_| EndStatus::Interrupted);
    let rank = |status: &EndStatus| match status {
        EndStatus::Complete => 0,
        EndStatus::Budget => 1,
        EndStatus::Other(_) => 2,
        EndStatus::Interrupted => 3,
        EndStatus::Failed => 4,
    };
    End {
        status: scans.iter().map(status).chain(damaged).max_by_key(rank).unwrap_or(EndStatus::Complete),
        elapsed_seconds: scans
            .iter()
            .filter_map(|scan| Some(scan.end.as_ref()?.elapsed_seconds))
            .fold(0.0, f64::max),
    }
}

//! The part of a run that samples, after the judged trials: the growing series, the n at which each is
//! sampled, the number of samples, and the names of the functions that they are in.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::time::Duration;

use judge::{Findings, GrowthWindows};
use object::{Object, ObjectSegment, ObjectSymbol, SymbolKind};
use record::{
    EndStatus, Frame, Line, Outcome, Profile, ProfileOrder, ProfiledSeries, Recording, SentLine, System,
    Trial, TrialParameters,
};

use crate::lines::failed;
use crate::run::RunEvent;
use crate::run_loop::RunLoop;
use crate::{Error, Executor, Item};

/// How a run samples growing series.
#[derive(Clone, Debug, Default)]
pub struct BlameOptions {
    /// So many trials of each workload instead of as many as are needed.
    pub trials: Option<u32>,
    /// The run that found the growing series; `None` is the one that samples.
    pub run: Option<(Recording, Findings)>,
    /// Sample although a system is another than that of the run.
    pub anyway: bool,
}

/// Processor time from one sample to the next. Not a round number: an event at round times would be sampled
/// each time, or never.
const PERIOD_SECONDS: f64 = 97e-6;

/// An interval over fewer trials is too wide to be of use.
const TRIALS_LEAST: u32 = 8;
/// More are not worth their time.
const TRIALS_MOST: u32 = 30;
/// With so many samples where it is expensive, a share is known to a few percent.
const SAMPLES_ENOUGH: u64 = 3000;
/// How long one workload is sampled, if not for the least number of trials.
const TIME_MOST: Duration = Duration::from_secs(20);

/// The facts that change the growth between runs.
const FACTS: [&str; 5] = ["kernel.release", "kernel.version", "machine.product", "cpu.model", "cpu.online"];

/// Refuses to sample systems other than those of the run.
pub(crate) fn refuse_others(run: &Recording, systems: &[System]) -> Result<(), Error> {
    for now in systems {
        let Some(then) = run.systems.iter().find(|then| then.name == now.name) else { continue };
        for fact in FACTS {
            let [then, now] =
                [then, now].map(|system| system.environment.get(fact).map_or("", String::as_str));
            if then != now && !then.is_empty() && !now.is_empty() {
                let (fact, then, now) = (fact.to_owned(), then.to_owned(), now.to_owned());
                return Err(Error::OtherMachine { fact, then, now });
            }
        }
    }
    Ok(())
}

impl<E: Executor> RunLoop<'_, E> {
    /// Samples growing series, if requested, and returns how the run ended; without it that is `status`.
    pub(crate) fn sample(&mut self, status: EndStatus, on_event: &mut dyn FnMut(RunEvent<'_>)) -> EndStatus {
        let Some(options) = self.plan.blame.as_ref().filter(|_| !self.is_stopped()) else { return status };
        let mut suspects = match &options.run {
            Some((run, findings)) => {
                let suspects = suspects(run, findings, options);
                self.keep(evidence(run, &suspects));
                suspects
            }
            None => suspects(&self.recording, &self.judgements.findings(&self.recording), options),
        };
        let mut functions = Functions::default();
        loop {
            let mut is_over = true;
            // In turns, so that disturbances of the machine affect all alike.
            for suspect in &mut suspects {
                if self.is_stopped() {
                    return match self.is_unwritten() {
                        true => EndStatus::Failed,
                        false => EndStatus::Interrupted,
                    };
                }
                is_over &= !self.sample_one(suspect, &mut functions, on_event);
            }
            if is_over {
                return status;
            }
        }
    }

    /// One more trial; whether there was one.
    fn sample_one(
        &mut self,
        suspect: &mut Suspect,
        functions: &mut Functions,
        on_event: &mut dyn FnMut(RunEvent<'_>),
    ) -> bool {
        let plan = self.plan;
        let Some(order) = suspect.next(self.random.u64(..)) else { return false };
        let is_its = |item: &Item| {
            (item.workload.name, item.variant.name) == (order.workload.as_str(), order.variant.as_str())
        };
        let Some(index) = plan.items.iter().position(is_its) else { return false };
        let Some(system) = plan.targets.iter().position(|target| target.name == order.system) else {
            return false;
        };
        let (item, name) = (&plan.items[index], &plan.targets[system].name);
        let of = suspect.trials();
        let done = f64::from(suspect.done) / f64::from(of.max(1));
        on_event(RunEvent::Trial {
            item,
            system: name,
            trial: suspect.done,
            of,
            done: done.min(1.0),
            left: None,
        });
        let (begun, started_seconds) = (self.clock.now(), self.elapsed().as_secs_f64());
        let mut lines = match self.attempt(index, system, &order) {
            Ok(Some(lines)) => lines,
            Ok(None) => return false,
            Err(error) => vec![failed(&order, error.to_string())],
        };
        let is_changed = |line: &&mut SentLine| matches!(line.line(), Line::Trial(_) | Line::Profile(_));
        for line in lines.iter_mut().filter(is_changed) {
            match line.line_mut() {
                Line::Trial(trial) => trial.started_seconds = started_seconds,
                Line::Profile(profile) => functions.name(profile),
                _ => {}
            }
        }
        suspect.learn(&lines, self.clock.now().saturating_sub(begun));
        self.keep(lines);
        self.pass_turn();
        true
    }
}

/// A workload and variant on one system, with the series of it that grow.
struct Suspect {
    /// The parameters of its trials.
    order: TrialParameters,
    /// Trials so far.
    done: u32,
    /// How many it gets, if that is fixed.
    wanted: Option<u32>,
    /// Samples so far where it is expensive, for each series.
    samples: Vec<u64>,
    spent: Duration,
    is_hopeless: bool,
}

/// The growing series of a run, as far as they can be sampled.
fn suspects(recording: &Recording, findings: &Findings, options: &BlameOptions) -> Vec<Suspect> {
    let mut series: BTreeMap<[&str; 3], Vec<ProfiledSeries>> = BTreeMap::new();
    for finding in &findings.series {
        let key = &finding.key;
        if !judge::can_be_sampled(recording, key) {
            continue;
        }
        let Some(windows) = GrowthWindows::from_finding(finding) else { continue };
        let (name, direction) = (key.name.clone(), key.direction);
        let sampled = ProfiledSeries { name, direction, low: windows.low, high: windows.high };
        series.entry([&key.system, &key.workload, &key.variant]).or_default().push(sampled);
    }
    let suspect = |([system, workload, variant], series): ([&str; 3], Vec<ProfiledSeries>)| {
        let is_its = |trial: &&Trial| {
            let order = &trial.order;
            (order.system.as_str(), order.workload.as_str(), order.variant.as_str())
                == (system, workload, variant)
        };
        let last = recording.trials.iter().filter(is_its).rfind(|trial| has_measured(trial))?;
        let number = recording.trials.iter().filter(is_its).map(|trial| trial.order.trial).max()?;
        let samples = vec![0; series.len()];
        let order = TrialParameters {
            trial: number,
            // They are for series that are judged.
            references: false,
            scratch: String::new(),
            profile: Some(Box::new(ProfileOrder { period_seconds: PERIOD_SECONDS, series })),
            ..last.order.clone()
        };
        let (done, spent, wanted) = (0, Duration::ZERO, options.trials);
        Some(Suspect { order, done, wanted, samples, spent, is_hopeless: false })
    };
    series.into_iter().filter_map(suspect).collect()
}

impl Suspect {
    /// The next trial, if one is wanted.
    fn next(&mut self, seed: u64) -> Option<TrialParameters> {
        let has_enough = self.samples.iter().all(|&all| all >= SAMPLES_ENOUGH);
        let is_over = match self.wanted {
            Some(wanted) => self.done >= wanted,
            None => {
                self.done >= TRIALS_MOST
                    || self.done >= TRIALS_LEAST && (has_enough || self.spent >= TIME_MOST)
            }
        };
        if is_over || self.is_hopeless {
            return None;
        }
        self.done += 1;
        Some(TrialParameters { trial: self.order.trial + self.done, seed, ..self.order.clone() })
    }

    /// How many trials there will be.
    fn trials(&self) -> u32 {
        self.wanted.unwrap_or(TRIALS_LEAST).max(self.done)
    }

    /// Takes the samples of a trial, and its duration.
    fn learn(&mut self, lines: &[SentLine], took: Duration) {
        self.spent += took;
        let series = self.order.profile.as_ref().map_or(&[][..], |profile| &profile.series);
        for line in lines {
            match line.line() {
                Line::Trial(trial) => self.is_hopeless |= !has_measured(trial),
                Line::Profile(profile) => {
                    let is_its = |series: &ProfiledSeries| {
                        (&series.name, series.direction) == (&profile.name, profile.direction)
                    };
                    if let Some(place) = series.iter().position(is_its) {
                        self.samples[place] += profile.high.samples;
                    }
                }
                _ => {}
            }
        }
    }
}

/// Whether it came as far as a trial can, so that another one is worth its time.
fn has_measured(trial: &Trial) -> bool {
    matches!(trial.outcome, Outcome::Complete | Outcome::Limit { .. } | Outcome::Allowance { .. })
}

/// The lines of a run that show the growth: the judged trials of the suspects.
fn evidence(recording: &Recording, suspects: &[Suspect]) -> Vec<SentLine> {
    let is_suspect = |[system, workload, variant]: [&str; 3]| {
        suspects.iter().any(|suspect| {
            let order = &suspect.order;
            [order.system.as_str(), order.workload.as_str(), order.variant.as_str()]
                == [system, workload, variant]
        })
    };
    let trials = recording.trials.iter().filter(|trial| {
        let order = &trial.order;
        is_suspect([&order.system, &order.workload, &order.variant])
    });
    let series = recording.series().flat_map(|(_, series)| series);
    // Every reader makes the sums again.
    let is_measured = |series: &&record::Series| {
        let kind = recording.kind(&record::SeriesKey::from_series(series));
        kind.is_none_or(|kind| kind.sum_of.is_empty())
    };
    let series =
        series.filter(is_measured).filter(|one| is_suspect([&one.system, &one.workload, &one.variant]));
    let lines = trials.cloned().map(Line::Trial).chain(series.cloned().map(Line::Series));
    lines.map(SentLine::from).collect()
}

/// A larger file is not read.
const FILE_BYTES_MAX: u64 = 1 << 30;

/// The functions of files that samples were in. Each file is read once.
#[derive(Debug, Default)]
struct Functions(HashMap<(String, u64), Option<Module>>);

/// The functions of one file.
#[derive(Debug, Default)]
struct Module {
    /// Where its parts are: offset in the file, length, address.
    parts: Vec<[u64; 3]>,
    /// Address, size and name of each function, by address.
    functions: Vec<(u64, u64, String)>,
}

impl Functions {
    /// Gives functions in files of this machine their names. A function without one is known by its file.
    fn name(&mut self, profile: &mut Profile) {
        profile.rename(|frame| self.named(frame));
    }

    fn named(&mut self, frame: &Frame) -> Frame {
        let (Some(offset), Some(inode)) = (frame.offset, frame.inode) else { return frame.clone() };
        let module = self.0.entry((frame.module.clone(), inode));
        let module = module.or_insert_with(|| read(Path::new(&frame.module), inode));
        let name = module.as_ref().and_then(|module| module.function(offset)).unwrap_or_default();
        Frame { function: name.to_owned(), module: frame.module.clone(), offset: None, inode: None }
    }
}

impl Module {
    /// The functions and segments of a file; empty where it is not a program.
    fn parse(bytes: &[u8]) -> Module {
        let Ok(file) = object::File::parse(bytes) else { return Module::default() };
        let parts = file.segments().map(|segment| {
            let (offset, length) = segment.file_range();
            [offset, length, segment.address()]
        });
        let symbols = file.symbols().chain(file.dynamic_symbols());
        let functions = symbols.filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition());
        let functions = functions.filter_map(|symbol| {
            let name = symbol.name().ok().filter(|name| !name.is_empty())?;
            Some((symbol.address(), symbol.size(), name.to_owned()))
        });
        let mut functions: Vec<(u64, u64, String)> = functions.collect();
        functions.sort();
        functions.dedup_by_key(|&mut (address, ..)| address);
        Module { parts: parts.collect(), functions }
    }

    /// The function at that place of the file.
    fn function(&self, offset: u64) -> Option<&str> {
        let is_in = |part: &&[u64; 3]| offset.checked_sub(part[0]).is_some_and(|inside| inside < part[1]);
        let [begin, _, address] = self.parts.iter().find(is_in)?;
        let address = address.checked_add(offset - begin)?;
        let behind = self.functions.partition_point(|&(start, ..)| start <= address);
        let (start, size, name) = self.functions.get(behind.checked_sub(1)?)?;
        (address - start < *size).then_some(name)
    }
}

/// The file of that path, if it is the one that was mapped.
fn read(path: &Path, inode: u64) -> Option<Module> {
    let metadata = path.metadata().ok().filter(|metadata| metadata.is_file())?;
    #[cfg(unix)]
    let is_same = std::os::unix::fs::MetadataExt::ino(&metadata) == inode;
    #[cfg(not(unix))]
    let is_same = inode == 0;
    if !is_same || metadata.len() > FILE_BYTES_MAX {
        return None;
    }
    Some(Module::parse(&std::fs::read(path).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn functions_of_a_library_have_their_names() {
        let maps = std::fs::read_to_string("/proc/self/maps").expect("/proc/self/maps");
        let mappings = sys::profile::parse_mappings(&maps);
        let Some(libc) = mappings.iter().find(|mapping| mapping.path.contains("libc.so")) else {
            println!("skipped: no C library is mapped");
            return;
        };
        let module = read(Path::new(&libc.path), libc.inode).expect("its file");
        let (address, _, name) = module.functions.iter().find(|(_, size, _)| *size > 4).expect("a function");
        let part =
            module.parts.iter().find(|[_, length, at]| (*at..at + length).contains(address)).expect("a part");
        assert_eq!(module.function(address - part[2] + part[0] + 1), Some(name.as_str()));
        assert!(read(Path::new(&libc.path), libc.inode + 1).is_none(), "another file of that name");
    }

    #[test]
    fn what_is_no_program_has_no_functions() {
        for bytes in [&b""[..], b"#!/bin/sh\n", b"\x7fELF\x02\x01\x01"] {
            assert_eq!(Module::parse(bytes).function(0), None);
        }
    }

    #[test]
    fn what_is_on_another_machine_is_known_by_its_file() {
        let frame = Frame {
            module: "/nowhere/lib.so".to_owned(),
            offset: Some(64),
            inode: Some(7),
            ..Frame::default()
        };
        let named = Functions::default().named(&frame);
        assert_eq!(named, Frame { module: "/nowhere/lib.so".to_owned(), ..Frame::default() });
    }
}

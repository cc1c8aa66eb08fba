//! What to measure, how far and how often, decided before anything is measured.

use std::path::PathBuf;
use std::time::Duration;

use curve::{Curve, Variant};

use crate::ceiling::{self, Ceiling};
use crate::preset::{Preset, Reach, Trials};
use crate::{Error, Target, select};

/// What the user asked for.
#[derive(Clone, Debug, Default)]
pub struct Wish {
    /// Names and globs; none means all.
    pub workloads: Vec<String>,
    /// Name of a preset.
    pub preset: Option<String>,
    /// n instead of the preset's.
    pub n: Option<u64>,
    /// A fixed number of trials instead of the preset's way.
    pub trials: Option<u32>,
    /// Time that all trials together may take, instead of the preset's.
    pub budget: Option<Duration>,
    /// A trial that takes longer is killed.
    pub timeout: Option<Duration>,
    /// Leave the choice of processors to the system.
    pub unpinned: bool,
    /// Seed of every random choice.
    pub seed: Option<u64>,
    /// Folder for the workloads' files.
    pub scratch: Option<PathBuf>,
    /// The systems; none means this one, as it is.
    pub targets: Vec<Target>,
    /// Measure the system against itself.
    pub aa: bool,
}

/// What will be measured.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Name of the preset.
    pub preset: &'static str,
    /// What is measured.
    pub items: Vec<Item>,
    /// How many trials each item gets.
    pub trials: Trials,
    /// Time that all trials together may take.
    pub budget: Option<Duration>,
    /// Time that the way up of an item's first trial may take.
    pub allowance: Option<Duration>,
    /// A trial that takes longer is killed.
    pub timeout: Duration,
    /// The processor of all trials; `None` leaves it to the system.
    pub cpu: Option<u32>,
    /// Seed of every random choice.
    pub seed: u64,
    /// Where the scratch folder is made.
    pub scratch: PathBuf,
    /// What the user should know before it begins, each a whole sentence.
    pub notes: Vec<String>,
    /// The systems, one at least.
    pub targets: Vec<Target>,
    /// The system is measured against itself: the two systems are one and the same.
    pub aa: bool,
    /// Trials that each item gets, whatever becomes of the budget.
    pub least: u32,
}

/// One workload in one variant.
#[derive(Clone, Debug)]
pub struct Item {
    /// The workload.
    pub curve: &'static Curve,
    /// The variant.
    pub variant: Variant,
    /// How far n goes.
    pub n: u64,
    /// Why not a single one fits on this machine, where that is so.
    pub obstacle: Option<String>,
}

impl Item {
    /// `bind/v6`, or `fork`.
    pub fn name(&self) -> String {
        match self.variant.name {
            "" => self.curve.name.to_owned(),
            variant => format!("{}/{variant}", self.curve.name),
        }
    }
}

/// Time after which a trial is taken for hung, where the user says nothing.
const TIMEOUT: Duration = Duration::from_secs(120);

impl Plan {
    /// Makes a plan for this machine.
    ///
    /// # Errors
    /// [`Error::UnknownWorkload`], [`Error::UnknownPreset`], and systems or trials that cannot be as asked.
    pub fn make(wish: &Wish) -> Result<Plan, Error> {
        let targets = targets(wish)?;
        let least = if wish.aa { stats::FLOOR_PAIRS } else { 0 };
        if let Some(trials) = wish.trials.filter(|&trials| trials < least) {
            return Err(Error::FewTrials { trials, least });
        }
        let preset = Preset::named(wish.preset.as_deref().unwrap_or(Preset::DEFAULT))?;
        let selected = select(&wish.workloads)?;
        // Limits are those of the processes to come, which inherit ours.
        let _ = sys::limit::raise_soft_to_hard();
        let mut notes = Vec::new();
        let mut items = Vec::with_capacity(selected.len());
        let mut short = Vec::new();
        for (curve, variant) in selected {
            let n = reach(curve, &preset, wish.n, &mut short);
            let obstacle = short.last().filter(|_| n == 0).map(|short| short.ceiling.reason.clone());
            items.push(Item { curve, variant, n, obstacle });
        }
        notes.extend(told(&short));
        let cpu = if wish.unpinned { None } else { pinned_cpu(&mut notes) };
        Ok(Plan {
            preset: preset.name,
            items,
            trials: match wish.trials.map_or(preset.trials, Trials::Fixed) {
                Trials::Fixed(trials) => Trials::Fixed(trials.max(least)),
                looks => looks,
            },
            budget: wish.budget.or(preset.budget),
            allowance: preset.allowance,
            timeout: wish.timeout.unwrap_or(TIMEOUT),
            cpu,
            seed: wish.seed.unwrap_or_else(|| fastrand::u64(..)),
            scratch: wish.scratch.clone().unwrap_or_else(std::env::temp_dir),
            notes,
            targets,
            aa: wish.aa,
            least,
        })
    }
}

fn targets(wish: &Wish) -> Result<Vec<Target>, Error> {
    match (wish.aa, wish.targets.as_slice()) {
        (false, []) => Ok(vec![Target::local()]),
        (true, []) => Ok(Target::local().against_itself()),
        (true, [one]) => Ok(one.against_itself()),
        (true, _) => Err(Error::AgainstItself),
        (false, targets) => {
            let is_taken = |&(place, target): &(usize, &Target)| {
                targets[..place].iter().any(|earlier| earlier.name == target.name)
            };
            match targets.iter().enumerate().find(is_taken) {
                Some((_, target)) => Err(Error::SameName { name: target.name.clone() }),
                None => Ok(targets.to_vec()),
            }
        }
    }
}

/// How far n goes for this curve.
fn reach(curve: &Curve, preset: &Preset, wished: Option<u64>, short: &mut Vec<Short>) -> u64 {
    let ceiling = ceiling::of(&curve.needs);
    // Where nothing limits n, there is nothing to find at its limit either.
    let unlimited = 20_000;
    let wanted = match (wished, preset.reach) {
        (Some(n), _) | (None, Reach::To(n)) => n,
        (None, Reach::Classic) => curve.classic_n,
        (None, Reach::Limit) => ceiling.as_ref().map_or(unlimited, |ceiling| ceiling.n),
    };
    match ceiling {
        Some(ceiling) if ceiling.n < wanted => {
            let n = ceiling.n;
            short.push(Short { curve: curve.name, wanted, ceiling });
            n
        }
        _ => wanted,
    }
}

/// A curve that goes less far than was wished for, and what stops it.
struct Short {
    curve: &'static str,
    wanted: u64,
    ceiling: Ceiling,
}

/// One sentence per limit, with all the curves that it stops.
fn told(short: &[Short]) -> Vec<String> {
    let mut sentences: Vec<String> = Vec::new();
    // What does not fit at all is told as a result of its own.
    for (place, first) in short.iter().enumerate().filter(|(_, short)| short.ceiling.n > 0) {
        let alike = |other: &&Short| other.ceiling == first.ceiling && other.wanted == first.wanted;
        if short[..place].iter().any(|earlier| alike(&earlier)) {
            continue;
        }
        let mut curves: Vec<&str> = short.iter().filter(alike).map(|short| short.curve).collect();
        curves.dedup();
        let Short { wanted, ceiling: Ceiling { n, reason }, .. } = first;
        sentences.push(format!("{}: n goes to {n} instead of {wanted}, because {reason}", curves.join(", ")));
    }
    sentences
}

fn pinned_cpu(notes: &mut Vec<String>) -> Option<u32> {
    match sys::cpu::preferred() {
        Ok(cpus) => cpus.first().copied(),
        Err(reason) => {
            notes.push(format!("trials are not pinned: {reason}"));
            None
        }
    }
}

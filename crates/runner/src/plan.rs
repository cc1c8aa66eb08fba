//! The plan of a run as far as it is the same on every system: workloads, settings, number of trials.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use background::BackgroundSpec;
use fleet::NamedHost;
use judge::gate::Gate;
use record::{ClientHost, Recording, Server, Shape};
use workload::server_workers::GENERATORS;
use workload::{Variant, Workload};

use crate::blame::BlameOptions;
use crate::hosts::{FleetOptions, Turns};
use crate::preset::{Preset, Reach, Trials};
use crate::schedule::Boots;
use crate::{Error, Target, select, settings};

/// The options of the user.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Names, globs and groups; empty for the default run.
    pub workloads: Vec<String>,
    /// Name of a preset.
    pub preset: Option<String>,
    /// n instead of the preset's.
    pub n: Option<u64>,
    /// The levels of workloads that have levels, rising; none means their own.
    pub levels: Vec<u64>,
    /// Variants in place of those that a workload declares.
    pub own_variants: Option<OwnVariants>,
    /// A fixed number of trials instead of the preset's way.
    pub trials: Option<u32>,
    /// Time that all trials together may take, instead of the preset's.
    pub budget: Option<Duration>,
    /// A trial that takes longer is killed; a load may take its windows besides.
    pub timeout: Option<Duration>,
    /// How long a load is held at each level, instead of the time that fits the preset.
    pub window: Option<Duration>,
    /// Settings of workloads, by name.
    pub settings: Vec<(String, String)>,
    /// Where the server of a load runs, instead of beside the trial.
    pub server: Option<Server>,
    /// The hosts that load the servers, instead of the trials.
    pub clients: Vec<NamedHost>,
    /// That server may be anywhere.
    pub allow_public: bool,
    /// Leave the choice of processors to the system.
    pub unpinned: bool,
    /// Time no references among the operations of curves.
    pub no_references: bool,
    /// Seed of every random choice.
    pub seed: Option<u64>,
    /// Folder for the workloads' files.
    pub scratch: Option<PathBuf>,
    /// The systems; empty for this machine.
    pub targets: Vec<Target>,
    /// The hosts that have these systems.
    pub fleet: FleetOptions,
    /// The loads beside the trials of each system; each level makes systems of its own.
    pub background: Option<BackgroundSpec>,
    /// Measure the system against itself.
    pub aa: bool,
    /// Boots over which the trials on a booted system are spread; `None` is one.
    pub boots: Option<u32>,
    /// Compare each system with the one before it, instead of all that a report judges.
    pub steps: Option<StepOptions>,
    /// Sample growing series, in separate trials.
    pub blame: Option<BlameOptions>,
    /// Measure until this gate is decided, instead of all that a report judges.
    pub gate: Option<GateOptions>,
}

/// A gate that a run measures until it is decided.
#[derive(Clone, Debug)]
pub struct GateOptions {
    /// Its claims.
    pub gate: Gate,
    /// The run that the systems are set against, by its name; `None` is the first system.
    pub baseline: Option<(String, Recording)>,
}

/// Variants of the user, in place of those of one workload.
#[derive(Clone, Debug)]
pub struct OwnVariants {
    /// Name of the workload.
    pub workload: &'static str,
    /// At least one; each has a name of its own.
    pub variants: Vec<OwnVariant>,
}

/// One way of the user to run a workload.
#[derive(Clone, Debug)]
pub struct OwnVariant {
    /// Its name in results; empty where it is the only one.
    pub name: String,
    /// Its description, for the record.
    pub summary: String,
    /// The settings that make it, by name.
    pub settings: Vec<(String, String)>,
}

/// How each system is compared with the one before it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepOptions {
    /// A smaller change is none, as a share.
    pub margin: f64,
    /// Boots of each system after which an open step stays open.
    pub boots: u32,
}

impl StepOptions {
    /// Boots of the first look: fewer could not be certain where several series and steps share the error
    /// rate.
    pub const BOOTS_LEAST: u32 = LOOKS_OF_STEPS[0] / TRIALS_OF_BOOT;

    fn trials(self) -> Trials {
        let count = LOOKS_OF_STEPS.iter().filter(|&&look| look / TRIALS_OF_BOOT <= self.boots).count();
        Trials::Looks(&LOOKS_OF_STEPS[..count.max(1)])
    }
}

/// Trials in each boot where more boots are the aim: two, so that one disturbed trial does not decide a boot.
const TRIALS_OF_BOOT: u32 = 2;
/// The counts of trials after which steps are looked at.
const LOOKS_OF_STEPS: &[u32] = &[16, 32, 64, 128];

/// The counts of trials after which a gate is looked at.
const LOOKS_OF_GATE: &[u32] = &[10, 20, 40, 80, 160, 320, 640];

/// The plan of a run.
#[derive(Clone, Debug)]
pub struct RunPlan {
    /// Name of the preset.
    pub preset: &'static str,
    /// The items to measure.
    pub items: Vec<Item>,
    /// Whether the user has named workloads.
    pub is_named: bool,
    /// How many trials each item gets.
    pub trials: Trials,
    /// Time that all trials together may take.
    pub budget: Option<Duration>,
    /// Time that the way up of an item's first trial may take.
    pub allowance: Option<Duration>,
    /// How far n goes, by the preset.
    pub(crate) reach: Reach,
    /// How far n goes, if the user chose it: a load goes as far, however slow one of its variants is.
    pub n: Option<u64>,
    /// A trial that takes longer is killed; a load may take its windows besides.
    pub timeout: Duration,
    /// How long a load is held at each level; `None` is as long as fits the allowance.
    pub window: Option<Duration>,
    /// Where the server of a load runs; `None` is beside the trial.
    pub server: Option<Server>,
    /// The hosts that load it; none is the trial itself.
    pub clients: Vec<ClientHost>,
    /// Leave the choice of processors to the system.
    pub unpinned: bool,
    /// Time references among the operations of curves.
    pub references: bool,
    /// Seed of every random choice.
    pub seed: u64,
    /// Where the scratch folder is made.
    pub scratch: PathBuf,
    /// Remarks for the user before it begins, each a whole sentence.
    pub notes: Vec<String>,
    /// The systems, one at least; those of a host stand together.
    pub targets: Vec<Target>,
    /// Which hosts are measured at the same time.
    pub(crate) turns: Turns,
    /// The system is measured against itself: the two systems are one and the same.
    pub aa: bool,
    /// Trials that each item gets, even beyond the budget.
    pub least: u32,
    /// How the trials on systems that the run boots are spread over boots.
    pub boots: Boots,
    /// Each system is compared with the one before it, and a change below this share does not count.
    pub steps: Option<f64>,
    /// Growing series are sampled, in separate trials.
    pub blame: Option<BlameOptions>,
    /// Trials go on until this gate is decided.
    pub gate: Option<GateOptions>,
}

/// One workload in one variant.
#[derive(Clone, Debug)]
pub struct Item {
    /// The workload.
    pub workload: &'static Workload,
    /// The variant.
    pub variant: Variant,
    /// The settings of the user; others have their defaults.
    pub settings: BTreeMap<String, String>,
}

impl Item {
    /// `bind/v6`, or `fork`.
    pub fn name(&self) -> String {
        workload::full_name(self.workload.name, self.variant.name)
    }

    /// Whether it is held at levels of n, and not a curve.
    pub(crate) fn has_levels(&self) -> bool {
        self.workload.sizes.are_levels()
    }

    /// Whether it has a server.
    pub(crate) fn is_load(&self) -> bool {
        self.workload.server
    }

    /// Whether hosts can load its server: where several generators can.
    pub(crate) fn can_have_clients(&self) -> bool {
        self.is_load() && self.workload.settings.iter().any(|setting| setting.name == GENERATORS.name)
    }
}

/// Time after which a trial counts as hung, by default.
const TIMEOUT: Duration = Duration::from_secs(120);

/// The part of the budget that a run of nothing but scalings gets: their trials take a tenth of a second, and
/// the last minute decides few of them.
const SCALINGS_PART: f64 = 0.75;

impl RunPlan {
    /// Makes a plan. Facts of a system, such as its limits, are added once the system has described itself.
    ///
    /// # Errors
    /// [`Error::UnknownWorkload`], [`Error::UnknownPreset`], and systems or trials that are impossible.
    pub fn make(options: &RunOptions) -> Result<RunPlan, Error> {
        let selected = select(&options.workloads)?;
        let workloads: Vec<&Workload> = selected.iter().map(|(workload, _)| *workload).collect();
        settings::refuse_unknown(&options.settings, &workloads)?;
        let settings = settings::of_systems(&workloads, &options.settings)?;
        let targets = targets(options, &settings.combinations)?;
        let least = if options.aa { judge::noise_floor::FLOOR_PAIRS } else { 0 };
        if let Some(trials) = options.trials.filter(|&trials| trials < least) {
            return Err(Error::FewTrials { trials, least });
        }
        if let Some(server) = options.server.as_ref().filter(|_| !options.allow_public) {
            settings::refuse_public_server(server)?;
        }
        settings::refuse_unreachable(options.server.as_ref(), &options.clients)?;
        let preset = Preset::named(options.preset.as_deref().unwrap_or(Preset::DEFAULT))?;
        let items = items(options, &selected, &settings.common)?;
        let is_scaling = |item: &Item| item.workload.shape == Shape::Scaling;
        let part = if items.iter().all(is_scaling) { SCALINGS_PART } else { 1.0 };
        // Hosts are measured at once, so the time is that of one.
        let systems = targets.len() / options.fleet.hosts.len().max(1);
        let budget = preset.budget.map(|budget| budget.mul_f64(part * systems as f64));
        let is_load = |item: &Item| item.workload.shape == Shape::Load;
        if let (Some(_), true, Some(first)) = (&options.blame, items.iter().all(is_load), items.first()) {
            return Err(Error::NothingToSample { workload: first.workload.name });
        }
        let is_given = [("--server", options.server.is_some()), ("--clients", !options.clients.is_empty())];
        let without_effect = is_given.into_iter().filter(|_| !items.iter().any(Item::is_load));
        let without_effect = without_effect.filter_map(|(option, is_given)| is_given.then_some(option));
        let note = |option| format!("nothing that is measured has a server, so {option} changes nothing");
        let notes = without_effect.map(note).collect();
        let allowed = allowance(options, &preset, items.len());
        Ok(RunPlan {
            preset: preset.name,
            items,
            is_named: !options.workloads.is_empty(),
            trials: trials(options, &preset, least),
            budget: options.budget.or(budget.filter(|_| options.steps.is_none())),
            allowance: allowed,
            reach: preset.reach,
            n: options.n.or(options.levels.last().copied()),
            timeout: options.timeout.unwrap_or(TIMEOUT),
            window: options.window,
            server: options.server.clone(),
            clients: options.clients.iter().map(client_host).collect(),
            unpinned: options.unpinned,
            references: !options.no_references,
            seed: options.seed.unwrap_or_else(|| fastrand::u64(..)),
            scratch: options.scratch.clone().unwrap_or_else(std::env::temp_dir),
            notes,
            targets,
            turns: options.fleet.turns()?,
            aa: options.aa,
            least,
            boots: match options.steps {
                Some(_) => Boots::Of(TRIALS_OF_BOOT),
                // A noise floor needs as many boots as it otherwise needs trials.
                None => {
                    Boots::Over(options.boots.filter(|&boots| boots > 1).map_or(1, |boots| boots.max(least)))
                }
            },
            steps: options.steps.map(|steps| steps.margin),
            blame: options.blame.clone(),
            gate: options.gate.clone(),
        })
    }

    /// Whether the trials start servers; otherwise one already runs at the given address.
    pub(crate) fn starts_servers(&self) -> bool {
        self.server.as_ref().is_none_or(|server| !server.prefix.is_empty())
    }
}

fn client_host(host: &NamedHost) -> ClientHost {
    ClientHost { name: host.name.clone(), command: host.command.clone() }
}

/// The workloads in their variants, at the levels and with the settings that were chosen.
fn items(
    options: &RunOptions,
    selected: &[(&'static Workload, Variant)],
    settings: &[(String, String)],
) -> Result<Vec<Item>, Error> {
    let has_none = |(one, _): &&(&Workload, Variant)| !one.sizes.are_levels() && !options.levels.is_empty();
    if let Some((workload, _)) = selected.iter().find(has_none) {
        return Err(Error::NoLevels { workload: workload.name });
    }
    let mut items = Vec::with_capacity(selected.len());
    for &(workload, variant) in selected {
        let own = options.own_variants.as_ref().filter(|own| own.workload == workload.name);
        let declared = OwnVariant {
            name: variant.name.to_owned(),
            summary: variant.summary.to_owned(),
            settings: Vec::new(),
        };
        for own in own.map_or(&[declared][..], |own| &own.variants) {
            let chosen: Vec<_> = settings.iter().chain(&own.settings).cloned().collect();
            let settings = settings::chosen_for(workload, &chosen)?;
            if !options.allow_public {
                settings::refuse_public_url(workload, &settings)?;
            }
            // As long as the process lives, as those that are declared do.
            let variant = Variant { name: own.name.clone().leak(), summary: own.summary.clone().leak() };
            items.push(Item { workload: workload.at_levels(&options.levels), variant, settings });
        }
    }
    Ok(items)
}

/// Part of the budget that the ways up of the trials before the first look may take: the ways down, servers
/// and files take as long again.
const PART_OF_FIRST_LOOK: f64 = 0.5;
/// However many workloads there are, each trial gets as much as in the shortest preset.
const ALLOWANCE_LEAST: Duration = Duration::from_millis(250);

/// The time for the way up of one trial. All workloads must have their first look within the budget: a
/// verdict at a smaller n is worth more than one trial at the largest.
fn allowance(options: &RunOptions, preset: &Preset, items: usize) -> Option<Duration> {
    let budget = options.budget.or(preset.budget);
    let (Some(allowance), Some(budget), Trials::Looks([first, ..]), None) =
        (preset.allowance, budget, preset.trials, options.trials)
    else {
        return preset.allowance;
    };
    let share = budget.mul_f64(PART_OF_FIRST_LOOK / (f64::from(*first) * items.max(1) as f64));
    Some(allowance.min(share.max(ALLOWANCE_LEAST)))
}

fn trials(options: &RunOptions, preset: &Preset, least: u32) -> Trials {
    let of_preset = match options.gate {
        Some(_) => Trials::Looks(LOOKS_OF_GATE),
        None => options.steps.map_or(preset.trials, StepOptions::trials),
    };
    match options.trials.map_or(of_preset, Trials::Fixed) {
        Trials::Fixed(trials) => Trials::Fixed(trials.max(least)),
        looks => looks,
    }
}

/// The systems, each with every combination of these settings, and each of those at every level of the
/// background.
fn targets(options: &RunOptions, settings: &[Vec<(String, String)>]) -> Result<Vec<Target>, Error> {
    let local = [Target::local()];
    let targets = if options.targets.is_empty() { &local[..] } else { &options.targets };
    let with = |target: &Target| settings.iter().map(|own| target.with_settings(own)).collect::<Vec<_>>();
    let targets = loaded(options, targets.iter().flat_map(with).collect());
    let targets = options.fleet.targets(targets)?;
    match (options.aa, targets.as_slice()) {
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

/// These systems, each at every level of the background.
fn loaded(options: &RunOptions, targets: Vec<Target>) -> Vec<Target> {
    let Some(background) = &options.background else { return targets };
    let levels = background.levels();
    let under = |target: &Target| -> Vec<Target> {
        levels.iter().map(|level| target.under(level, levels.len() > 1)).collect()
    };
    targets.iter().flat_map(under).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_must_be_near_unless_the_user_says_otherwise() {
        let server = crate::parse_server("8.8.8.8").ok();
        let options = RunOptions { server, ..RunOptions::default() };
        let refused = RunPlan::make(&options).expect_err("a server of others");
        assert!(refused.to_string().contains("--allow-public"), "{refused}");
        let plan = RunPlan::make(&RunOptions { allow_public: true, ..options }).expect("a plan");
        assert!(plan.notes.iter().any(|note| note.contains("--server changes nothing")), "{:?}", plan.notes);
    }

    #[test]
    fn every_workload_has_its_first_look_within_the_budget() {
        let plan = |workloads: &[&str], preset: &str, trials| {
            let workloads = workloads.iter().map(|&name| name.to_owned()).collect();
            let preset = Some(preset.to_owned());
            RunPlan::make(&RunOptions { workloads, preset, trials, ..RunOptions::default() }).expect("a plan")
        };
        for preset in ["quick", "standard", "full"] {
            let all = plan(&["kernel"], preset, None);
            let (allowance, budget) = (all.allowance.expect("a limit"), all.budget.expect("a limit"));
            let first_look = allowance * 5 * u32::try_from(all.items.len()).expect("a number");
            assert!(first_look <= budget || allowance == ALLOWANCE_LEAST, "{preset}: {first_look:?}");
            let most = Preset::named(preset).expect("a preset").allowance;
            assert_eq!(plan(&["bind/v4"], preset, None).allowance, most, "{preset}");
            assert_eq!(plan(&["kernel"], preset, Some(7)).allowance, most, "{preset}");
        }
    }
}

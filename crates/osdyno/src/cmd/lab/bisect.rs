//! `osdyno lab bisect`: the first kernel of an ordered list from which a cost differs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use ::report::bisect::{BisectAnswer, Bisection, Proof};
use ::report::document::terminal::Length;
use judge::Findings;
use judge::bisect::{Round, Search, Steps};
use lab::{Accelerator, KernelVariant};
use record::{Recording, units};
use runner::{Ran, RunOptions, RunPlan, StepOptions, Target};

use super::machine::{self, FoundKernel, Kernels, MachineArgs};
use crate::cmd::run::{Screen, default_name, interrupt};
use crate::cmd::{Done, Format, command_line, compare_systems, print_answer, refuse_unwritable, write_file};
use crate::console::{Console, Failure, INTERRUPTED, completion, tell};

#[derive(clap::Args)]
#[group(skip)]
pub(super) struct Args {
    /// First kernel of the list
    #[arg(long, value_name = "[NAME=]KERNEL[ WORDS]")]
    good: String,
    /// Last kernel of the list
    #[arg(long, value_name = "[NAME=]KERNEL[ WORDS]")]
    bad: String,
    /// A kernel between them; repeat the option, in the order of the list
    #[arg(long = "step", value_name = "[NAME=]KERNEL[ WORDS]")]
    steps: Vec<String>,
    /// All kernels of a folder, or of Debian, whose releases are between those of the first and the last
    #[arg(long, value_name = "DIR|debian", conflicts_with = "steps")]
    among: Option<String>,
    /// The smallest change that matters
    #[arg(
        long, value_name = "PERCENT", default_value = "3",
        value_parser = crate::cmd::report::margin
    )]
    margin: f64,
    /// Boots of each kernel after which a step stays open; rounds take 8, 16, 32 or 64
    #[arg(
        long, value_name = "COUNT", default_value_t = 32,
        value_parser = clap::value_parser!(u32).range(i64::from(StepOptions::BOOTS_LEAST)..=1000)
    )]
    boots: u32,
    /// Range of n: quick, standard or full
    #[arg(short, long, default_value = "quick")]
    preset: String,
    /// Largest n, instead of that of the preset
    #[arg(short, value_name = "N", value_parser = units::counts::<u64>(1..=10_000_000))]
    n: Option<u64>,
    /// Seed of every random choice; it is recorded [default: random]
    #[arg(long)]
    seed: Option<u64>,
    /// Run file of the first round; the others get the same name with -2, -3 and so on
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
    #[command(flatten)]
    machine: MachineArgs,
    /// Workloads to measure, as for `osdyno run`
    #[arg(
        value_name = "WORKLOAD", required = true, value_parser = command_line::workload_names(),
        hide_possible_values = true
    )]
    workloads: Vec<String>,
}

pub(super) fn bisect(args: &Args, console: &Console) -> Done {
    let version = args.machine.version()?;
    let list = targets(args, &version)?;
    let file = args.out.clone().unwrap_or_else(|| default_name(&["bisect".to_owned()]));
    let interrupt = interrupt()?;
    let bisecting = Bisecting { args, list: &list, file: &file, interrupt: &interrupt, console };
    let mut search = Search::new(list.len());
    let mut proofs = Vec::new();
    for number in 1.. {
        let Some(round) = search.next() else { break };
        let measured = bisecting.measure(&round, number)?;
        let Some((ran, path)) = measured else { return Ok(ExitCode::from(INTERRUPTED)) };
        let steps = Steps::new(&ran.recording, &ran.findings, args.margin);
        let known = search.changes().len();
        search.learn(&round, &steps.answers(&round.places));
        if search.changes().len() > known {
            bisecting.write_page(&ran.recording, &ran.findings, &path)?;
            proofs.push(Proof { steps, file: path.display().to_string() });
        }
    }
    let names: Vec<String> = list.iter().map(|target| target.name.clone()).collect();
    let found = Bisection { names: &names, search: &search, proofs: &proofs, margin: args.margin };
    let document = |_: &BisectAnswer<'_>| ::report::bisect::document(&found);
    print_answer(&found.answer(), document, Length::All, args.format, console)?;
    Ok(completion(found.is_certain()))
}

/// The common part of all rounds.
struct Bisecting<'a> {
    args: &'a Args,
    list: &'a [Target],
    file: &'a Path,
    interrupt: &'a AtomicBool,
    console: &'a Console,
}

impl Bisecting<'_> {
    /// Measures a round; `None` where the user stopped it.
    fn measure(&self, round: &Round, number: u32) -> Result<Option<(Ran, PathBuf)>, Failure> {
        let args = self.args;
        let targets: Vec<Target> = round.places.iter().map(|place| self.list[*place].clone()).collect();
        let names: Vec<String> = targets.iter().map(|target| target.name.clone()).collect();
        tell(&format!("  round {number}: {}", ::report::printable(&::report::words::list(&names))));
        let options = RunOptions {
            workloads: args.workloads.clone(),
            preset: Some(args.preset.clone()),
            n: args.n,
            seed: args.seed.map(|seed| seed.wrapping_add(u64::from(number))),
            targets,
            steps: Some(StepOptions { margin: args.margin, boots: args.boots }),
            ..RunOptions::default()
        };
        let plan = RunPlan::make(&options)?;
        let path = numbered(self.file, number);
        refuse_unwritable(&path)?;
        let mut screen = Screen::new(self.console, true);
        screen.notes(&plan.notes);
        let command = command_line::recorded_in(&path, &plan.targets);
        let ran = runner::run(&plan, &path, command, self.interrupt, &mut |event| screen.show(&event))?;
        screen.clear();
        match ran.unwritten {
            Some(error) => Err(error.into()),
            None => Ok((!ran.interrupted).then_some((ran, path))),
        }
    }

    /// The report of two neighbours.
    fn write_page(&self, recording: &Recording, findings: &Findings, path: &Path) -> Result<(), Failure> {
        let compared = compare_systems(recording, findings, path);
        let systems = compared.as_ref().and_then(|compared| compared.as_ref().ok());
        let page = path.with_extension("html");
        write_file(&page, false, |out| ::report::html::write(recording, findings, systems, out))
    }
}

/// The file of a round.
fn numbered(file: &Path, number: u32) -> PathBuf {
    if number == 1 {
        return file.to_owned();
    }
    let stem = file.file_stem().unwrap_or(file.as_os_str()).to_string_lossy();
    let extension = file.extension().map(|own| format!(".{}", own.to_string_lossy())).unwrap_or_default();
    file.with_file_name(format!("{stem}-{number}{extension}"))
}

/// More are a mistake, such as a folder of other files.
const KERNELS_MOST: usize = 1000;

/// The kernels of the list in their order, as systems.
fn targets(args: &Args, version: &str) -> Result<Vec<Target>, Failure> {
    let mut kernels = Kernels::default();
    let first = kernels.find(split(&args.good).0)?;
    let accelerator = machine::accelerator(&first.path, &args.machine)?;
    args.machine.warn_if_unreliable(accelerator, version);
    let mut target = |text: &str| target(text, &args.machine, accelerator, &mut kernels);
    let (good, bad) = (target(&args.good)?, target(&args.bad)?);
    let mut targets = vec![good];
    for step in &args.steps {
        targets.push(target(step)?);
    }
    if let Some(among) = &args.among {
        let ends = [order_of(&args.good, &mut kernels)?, order_of(&args.bad, &mut kernels)?];
        for kernel in between(among, &ends, &mut kernels)? {
            targets.push(machine::target(&kernel, &KernelVariant::default(), accelerator, &args.machine)?);
        }
    }
    targets.push(bad);
    if targets.len() > KERNELS_MOST {
        let text = format!("{} kernels are too many; {KERNELS_MOST} are the most", targets.len());
        return Err(Failure::Usage(text));
    }
    Ok(targets)
}

/// A kernel, and behind the first space the words that follow its own on its command line.
fn split(text: &str) -> (&str, &str) {
    let (kernel, words) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
    (kernel, words.trim())
}

fn target(
    text: &str,
    machine: &MachineArgs,
    accelerator: Accelerator,
    kernels: &mut Kernels,
) -> Result<Target, Failure> {
    let (kernel, words) = split(text);
    let variant = KernelVariant { cmdline: words.to_owned(), sysctl: None };
    machine::target(&kernels.find(kernel)?, &variant, accelerator, machine)
}

/// The place of a kernel among others.
fn order_of(text: &str, kernels: &mut Kernels) -> Result<ReleaseOrder, Failure> {
    let kernel = kernels.find(split(text).0)?;
    order_of_image(&kernel.path)?.ok_or_else(|| {
        let text =
            format!("{} names no release, so nothing is between it and another", kernel.path.display());
        Failure::Usage(text + "; list the kernels with --step")
    })
}

fn order_of_image(path: &Path) -> Result<Option<ReleaseOrder>, Failure> {
    let release = lab::release(path)?;
    Ok(release.map(|release| ReleaseOrder::of(&release)))
}

/// The kernels of a folder, or of Debian, whose releases are between those of the ends.
fn between(
    among: &str,
    ends: &[ReleaseOrder; 2],
    kernels: &mut Kernels,
) -> Result<Vec<FoundKernel>, Failure> {
    let mut found: Vec<(ReleaseOrder, FoundKernel)> = Vec::new();
    if among == "debian" {
        for [major, minor] in kernels.series_of_debian()? {
            // The ends stand for their series.
            if is_between(&[major, minor], &ends.each_ref().map(ReleaseOrder::series)) {
                let kernel = kernels.find(&format!("debian:{major}.{minor}"))?;
                found.extend(order_of_image(&kernel.path)?.map(|order| (order, kernel)));
            }
        }
    } else {
        for path in images(Path::new(among))? {
            if let Some(order) = order_of_image(&path)?.filter(|order| is_between(order, ends)) {
                let text = path.to_str().ok_or_else(|| {
                    Failure::Usage(format!("the path of the kernel {} is not UTF-8", path.display()))
                })?;
                found.push((order, kernels.find(text)?));
            }
        }
    }
    found.sort_by(|one, other| one.0.cmp(&other.0));
    if ends[1] < ends[0] {
        found.reverse();
    }
    Ok(found.into_iter().map(|(_, kernel)| kernel).collect())
}

/// The kernels in a folder.
fn images(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let entries = fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let entries = entries
        .map_err(|error| Failure::Refused(format!("cannot read the folder {}: {error}", folder.display())))?;
    let paths = entries.into_iter().map(|entry| entry.path());
    Ok(paths.filter(|path| path.is_file() && lab::release(path).is_ok_and(|own| own.is_some())).collect())
}

fn is_between<T: Ord>(one: &T, [first, last]: &[T; 2]) -> bool {
    (first.min(last)..first.max(last)).contains(&one) && one != first.min(last)
}

/// How releases are ordered: by the numbers of the version, a candidate before its release, then by all
/// other numbers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ReleaseOrder {
    version: Vec<u64>,
    is_release: bool,
    all: Vec<u64>,
}

impl ReleaseOrder {
    fn of(release: &str) -> ReleaseOrder {
        let numbers = |text: &str| -> Vec<u64> {
            let digits = text.split(|letter: char| !letter.is_ascii_digit());
            digits.filter_map(|digits| digits.parse().ok()).collect()
        };
        let version = release.split(|letter: char| !letter.is_ascii_digit() && letter != '.').next();
        ReleaseOrder {
            version: numbers(version.unwrap_or_default()),
            is_release: !release.contains("-rc"),
            all: numbers(release),
        }
    }

    fn series(&self) -> [u64; 2] {
        [0, 1].map(|place| self.version.get(place).copied().unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_have_an_order() {
        let rising = [
            "6.1.0-9-cloud-amd64",
            "6.1.0-47-cloud-amd64",
            "6.12.95+deb12-amd64",
            "6.12.107+deb13-amd64",
            "7.3-rc7-cloud-amd64",
            "7.3.4+deb13-cloud-amd64",
        ];
        let orders: Vec<ReleaseOrder> = rising.iter().map(|release| ReleaseOrder::of(release)).collect();
        assert!(orders.is_sorted() && orders.windows(2).all(|pair| pair[0] != pair[1]), "{orders:?}");
        let (low, high) = (orders[1].clone(), orders[4].clone());
        let within = |ends: &[ReleaseOrder; 2]| -> Vec<bool> {
            orders.iter().map(|one| is_between(one, ends)).collect()
        };
        let wanted = [false, false, true, true, false, false];
        assert_eq!(within(&[low.clone(), high.clone()]), wanted);
        assert_eq!(within(&[high, low]), wanted);
    }

    #[test]
    fn words_of_a_command_line_follow_a_kernel() {
        assert_eq!(
            split("debian:6.12 mitigations=auto,nosmt  quiet "),
            ("debian:6.12", "mitigations=auto,nosmt  quiet")
        );
        assert_eq!(split("old=/boot/vmlinuz"), ("old=/boot/vmlinuz", ""));
    }
}

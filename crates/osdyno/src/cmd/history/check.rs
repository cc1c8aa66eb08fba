//! `osdyno history --check`: the newest run against its history, and a message about its changes.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ::history::{HistoryAnswer, MachineHistory, Store, StoredCheck, SuspectedSeries};
use ::report::Style;
use ::report::document::terminal::Length;
use ::report::history::{CheckAnswer, CostAlarm, check_document};
use inspect::blame::BlameAnswer;
use judge::Findings;
use judge::compare::Comparison;
use record::units;

use crate::cmd::{Done, Format, print_answer, read, warn};
use crate::console::{Console, Failure, INCOMPLETE, REGRESSED};

/// Columns of the message, which goes into mail.
const WIDTH: usize = 72;

/// The options of the nightly check.
#[derive(clap::Args, Clone, Debug)]
pub(super) struct CheckArgs {
    /// Check the newest run: exit code 4 if it shows a change that was not certain before, and 3 if measuring
    /// again left one open, or failed
    #[arg(long)]
    check: bool,
    /// Command that measures series that look changed again, base and head in one run, before an alarm is
    /// raised
    ///
    /// {workloads} becomes their workloads, and {out} the run file to write, of two systems, the base first:
    /// 'osdyno run {workloads} --system base="ssh old" --system head= --blame --out {out}'. {base} and {head}
    /// are the run files of a night before the change and of the newest one. No shell is used.
    #[arg(long, value_name = "COMMAND", requires = "check")]
    confirm: Option<String>,
    /// Exit with 3 also if the newest run began longer ago than this, as 36h: a night is missing
    #[arg(long, value_name = "TIME", value_parser = units::time, requires = "check")]
    max_age: Option<Duration>,
    /// Command that is executed for each alarm and looks for its cause, as osdyno lab bisect; {workload}
    /// becomes the workload
    #[arg(long, value_name = "COMMAND", requires = "check")]
    bisect: Option<String>,
}

impl CheckArgs {
    pub(super) fn is_wanted(&self) -> bool {
        self.check
    }

    /// Checks the newest run of a folder.
    pub(super) fn run(&self, folder: &Path, format: Format, console: &Console) -> Done {
        let mut store = super::open(folder)?;
        let (mut functions, mut measured, mut has_failed) = (Vec::new(), Vec::new(), false);
        if let Some(command) = &self.confirm {
            let before = ::history::before_confirming(&store);
            for machine in before.of_newest() {
                for suspected in Suspected::groups(machine, command) {
                    // Nights alone still raise changes of which they are certain.
                    match measure_again(command, &store, machine, &suspected) {
                        Ok(more) => functions.extend(more),
                        Err(failure @ Failure::Usage(_)) => return Err(failure),
                        Err(failure) => {
                            warn(&format!("nothing was measured again: {failure}"));
                            has_failed = true;
                            continue;
                        }
                    }
                    measured.extend(suspected.series.iter().map(|one| one.series.clone()));
                }
            }
            store = super::open(folder)?;
        }
        let answer = ::history::history(&store);
        if answer.machines.is_empty() {
            let text = format!("{} has no run that ended, so there is nothing to check", folder.display());
            return Err(Failure::Refused(text));
        }
        let alarms = alarms(&answer, &functions);
        for alarm in &alarms {
            self.look_for_cause(&alarm.workload)?;
        }
        let open = answer.of_newest().flat_map(|machine| &machine.suspected);
        let undecided =
            open.map(|one| one.series.clone()).filter(|series| measured.contains(series)).collect();
        let repeat = crate::cmd::command_line::to_repeat();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        let age = (now, self.max_age.map(|age| age.as_secs_f64()));
        let checked = CheckAnswer::new(&answer, alarms, undecided, repeat, age);
        let narrow = Style { width: console.style.width.min(WIDTH), ..console.style };
        print_answer(&checked, check_document, Length::All, format, &Console { style: narrow, ..*console })?;
        let is_whole = checked.undecided.is_empty() && !checked.is_overdue && !has_failed;
        Ok(match (checked.alarms.is_empty(), is_whole) {
            (false, _) => ExitCode::from(REGRESSED),
            (true, false) => ExitCode::from(INCOMPLETE),
            (true, true) => ExitCode::SUCCESS,
        })
    }

    fn look_for_cause(&self, workload: &str) -> Result<(), Failure> {
        let Some(command) = &self.bisect else { return Ok(()) };
        let words = split(command)?;
        execute(&words.iter().map(|word| word.replace("{workload}", workload)).collect::<Vec<_>>())
    }
}

/// Executes the command that measures again, and keeps the ratios. Returns the functions that its samples
/// name, by series.
fn measure_again(
    command: &str,
    store: &Store,
    machine: &MachineHistory,
    suspected: &Suspected<'_>,
) -> Result<Vec<(String, String)>, Failure> {
    let head = machine.nights.len().saturating_sub(1);
    let out = store.new_check(&machine.nights[head].run)?;
    let file = |night: usize| store.folder().join(&machine.nights[night].file);
    execute(&words(command, &suspected.workloads(), &out, [&file(suspected.base), &file(head)])?)?;
    if !out.exists() {
        return Err(Failure::Refused(format!("--confirm {command} did not write {}", out.display())));
    }
    let recording = read(&out)?;
    let findings = Findings::from_recording(&recording);
    let name = out.display().to_string();
    let compared = Comparison::of_judged(&name, &recording, &findings)
        .map_err(|refusal| Failure::Refused(::report::compare::refusal(&refusal)))?;
    let check = |one: &&SuspectedSeries| {
        let ratio = compared.confirmation(&one.series)?;
        Some(StoredCheck {
            system: machine.machine.system.clone(),
            workload: one.workload.clone(),
            series: one.series.clone(),
            ratio: [ratio.value, ratio.low, ratio.high],
            file: out.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        })
    };
    let checks: Vec<StoredCheck> = suspected.series.iter().filter_map(check).collect();
    let (_, run) = store.find(&machine.nights[head].run)?;
    store.keep_checks(run, &checks)?;
    let blamed = BlameAnswer::new(&recording, &findings);
    let holder = |series: &inspect::blame::SeriesBlame| {
        Some((series.label.clone(), series.holder.as_ref()?.full_name()))
    };
    Ok(blamed.series.iter().filter_map(holder).collect())
}

/// Series that look changed in the newest run of a machine, and a run of the level before.
struct Suspected<'a> {
    series: Vec<&'a SuspectedSeries>,
    base: usize,
}

impl Suspected<'_> {
    /// All together; where the command wants the run of the base, those with one base.
    fn groups<'a>(machine: &'a MachineHistory, command: &str) -> Vec<Suspected<'a>> {
        let mut groups: Vec<Suspected<'a>> = Vec::new();
        for series in &machine.suspected {
            let is_its =
                |group: &&mut Suspected<'_>| group.base == series.base || !command.contains("{base}");
            match groups.iter_mut().find(is_its) {
                Some(group) => group.series.push(series),
                None => groups.push(Suspected { series: vec![series], base: series.base }),
            }
        }
        groups
    }

    fn workloads(&self) -> Vec<String> {
        let mut workloads: Vec<String> = self.series.iter().map(|one| one.workload.clone()).collect();
        workloads.sort();
        workloads.dedup();
        workloads
    }
}

/// Changes that the newest run raised, on each of its machines.
fn alarms(answer: &HistoryAnswer, functions: &[(String, String)]) -> Vec<CostAlarm> {
    let of_machine = |machine: &MachineHistory| {
        let newest = machine.nights.len().saturating_sub(1);
        let raised = machine.changes.iter().filter(move |change| change.raised == newest);
        raised.map(|change| CostAlarm::new(machine, change, functions)).collect::<Vec<_>>()
    };
    answer.of_newest().flat_map(of_machine).collect()
}

fn split(command: &str) -> Result<Vec<String>, Failure> {
    shlex::split(command).filter(|words| !words.is_empty()).ok_or_else(|| {
        Failure::Usage(format!("{command:?} is no command: a quote has no end, or it is empty"))
    })
}

fn words(
    command: &str,
    workloads: &[String],
    out: &Path,
    nights: [&PathBuf; 2],
) -> Result<Vec<String>, Failure> {
    let mut words = Vec::new();
    for word in split(command)? {
        if word == "{workloads}" {
            words.extend(workloads.iter().cloned());
            continue;
        }
        let word = word.replace("{workloads}", &workloads.join(" "));
        let word = word.replace("{out}", &out.display().to_string());
        let word = word.replace("{base}", &nights[0].display().to_string());
        words.push(word.replace("{head}", &nights[1].display().to_string()));
    }
    if !command.contains("{out}") {
        return Err(Failure::Usage("--confirm needs {out}, the run file that the command writes".to_owned()));
    }
    Ok(words)
}

/// Executes a command with its output on standard error: standard output is for the message.
fn execute(words: &[String]) -> Result<(), Failure> {
    let [program, arguments @ ..] = words else { return Ok(()) };
    let failed = |reason: String| Failure::Refused(format!("{}: {reason}", words.join(" ")));
    let mut command = Command::new(program);
    command.args(arguments).stdin(std::process::Stdio::null()).stdout(std::io::stderr());
    let status = command.status().map_err(|error| failed(error.to_string()))?;
    // 3 and 4 are answers of osdyno: something was not decided, or a gate failed.
    let is_answer =
        [Some(0), Some(i32::from(INCOMPLETE)), Some(i32::from(REGRESSED))].contains(&status.code());
    if is_answer { Ok(()) } else { Err(failed(format!("it ended with {status}"))) }
}

//! `osdyno history --check`: the newest run against its history, and a message about what changed.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use ::history::{HistoryAnswer, MachineHistory, Store, StoredCheck};
use ::report::Style;
use ::report::document::terminal::Length;
use ::report::formats::BuildResults;
use ::report::history::{CheckAnswer, CostAlarm, check_document};
use inspect::blame::BlameAnswer;
use judge::Findings;
use judge::compare::Comparison;

use crate::cmd::{Done, Format, print_answer, read};
use crate::console::Console;
use crate::failure::{Failure, INCOMPLETE, REGRESSED};

/// Columns of the message, which goes into mail.
const WIDTH: usize = 72;

/// The options of the nightly check.
#[derive(clap::Args, Clone, Debug)]
pub(super) struct CheckArgs {
    /// Check the newest run: exit code 4 if a cost certainly changed, and 3 if one looks changed and nobody
    /// measured it again
    #[arg(long)]
    check: bool,
    /// Command that measures series that look changed again, base and head in one run, before an alarm is
    /// raised
    ///
    /// {workloads} becomes their workloads, and {out} the run file to write, of two systems, the base first:
    /// 'osdyno run {workloads} --system base="ssh old" --system head= --blame --out {out}'. {base} and {head}
    /// are the run files of the two nights. No shell is used.
    #[arg(long, value_name = "COMMAND", requires = "check")]
    confirm: Option<String>,
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
        let mut answer = ::history::history(&store);
        let mut functions = Vec::new();
        if let (Some(command), Some(machine)) = (&self.confirm, answer.machines.first()) {
            let suspected = Suspected::new(machine, &store)?;
            if !suspected.series.is_empty() {
                functions = self.measure_again(command, &store, machine, &suspected)?;
                store = super::open(folder)?;
                answer = ::history::history(&store);
            }
        }
        let alarms = alarms(&answer, &functions);
        for alarm in &alarms {
            self.look_for_cause(&alarm.workload)?;
        }
        let suspected = answer.machines.first().map_or(Vec::new(), |machine| machine.suspected.clone());
        let checked = CheckAnswer::new(&answer, alarms, suspected, crate::cmd::command_line::to_repeat());
        let narrow = Style { width: console.style.width.min(WIDTH), ..console.style };
        print_answer(&checked, check_document, Length::All, format, &Console { style: narrow, ..*console })?;
        Ok(match (checked.alarms.is_empty(), checked.suspected.is_empty()) {
            (false, _) => ExitCode::from(REGRESSED),
            (true, false) => ExitCode::from(INCOMPLETE),
            (true, true) => ExitCode::SUCCESS,
        })
    }

    /// Executes the command that measures again, and keeps the ratios. Returns the functions that its samples
    /// name, by series.
    fn measure_again(
        &self,
        command: &str,
        store: &Store,
        machine: &MachineHistory,
        suspected: &Suspected,
    ) -> Result<Vec<(String, String)>, Failure> {
        let out = store.new_check(&machine.nights[suspected.head].run)?;
        let file = |night: usize| store.folder().join(&machine.nights[night].file);
        let words =
            words(command, &suspected.workloads(), &out, [&file(suspected.base), &file(suspected.head)])?;
        execute(&words)?;
        let recording = read(&out)?;
        let findings = Findings::from_recording(&recording);
        let name = out.display().to_string();
        let compared = Comparison::of_judged(&name, &recording, &findings)
            .map_err(|refusal| Failure::Refused(::report::compare::refusal(&refusal)))?;
        let changes = BuildResults::from_comparison(&compared).changes;
        let check = |(workload, series): &(String, String)| {
            let change = changes.iter().find(|change| change.series == *series)?;
            let ratio = [change.ratio.value, change.ratio.low, change.ratio.high];
            let file = out.file_name().unwrap_or_default().to_string_lossy().into_owned();
            Some(StoredCheck { workload: workload.clone(), series: series.clone(), ratio, file })
        };
        let checks: Vec<StoredCheck> = suspected.series.iter().filter_map(check).collect();
        let (_, head) = store.find(&machine.nights[suspected.head].run)?;
        store.keep_checks(head, &checks)?;
        let blamed = BlameAnswer::new(&recording, &findings);
        let holder = |series: &inspect::blame::SeriesBlame| {
            Some((series.label.clone(), series.holder.as_ref()?.full_name()))
        };
        Ok(blamed.series.iter().filter_map(holder).collect())
    }

    fn look_for_cause(&self, workload: &str) -> Result<(), Failure> {
        let Some(command) = &self.bisect else { return Ok(()) };
        let words = split(command)?;
        execute(&words.iter().map(|word| word.replace("{workload}", workload)).collect::<Vec<_>>())
    }
}

/// The series that look changed, or were raised by nights alone, in the newest night of a machine.
struct Suspected {
    /// Each with its workload.
    series: Vec<(String, String)>,
    base: usize,
    head: usize,
}

impl Suspected {
    /// Those that were measured again after this night are known.
    fn new(machine: &MachineHistory, store: &Store) -> Result<Suspected, Failure> {
        let head = machine.nights.len().saturating_sub(1);
        let is_raised = |series: &::history::SeriesHistory| {
            series
                .segments
                .last()
                .is_some_and(|segment| segment.raised == Some(head) && !segment.is_of_machine)
        };
        let looks_changed = machine
            .series
            .iter()
            .filter(|series| !series.detail && (series.is_suspected || is_raised(series)));
        let (_, run) = store.find(&machine.nights[head].run)?;
        let is_known = |series: &::history::SeriesHistory| {
            let mut checks = store.checks_of(run).iter();
            checks.any(|check| check.workload == series.workload && check.series == series.series)
        };
        let looks_changed = looks_changed.filter(|series| !is_known(series));
        let series = looks_changed.map(|series| (series.workload.clone(), series.series.clone()));
        Ok(Suspected { series: series.collect(), base: head.saturating_sub(1), head })
    }

    fn workloads(&self) -> Vec<String> {
        let mut workloads: Vec<String> = self.series.iter().map(|(workload, _)| workload.clone()).collect();
        workloads.sort();
        workloads.dedup();
        workloads
    }
}

/// Changes of every machine that were raised by its newest run.
fn alarms(answer: &HistoryAnswer, functions: &[(String, String)]) -> Vec<CostAlarm> {
    let of_machine = |machine: &MachineHistory| {
        let newest = machine.nights.len().saturating_sub(1);
        let raised = machine.changes.iter().filter(move |change| change.raised == newest);
        raised.map(|change| CostAlarm::new(machine, change, functions)).collect::<Vec<_>>()
    };
    answer.machines.iter().take(1).flat_map(of_machine).collect()
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

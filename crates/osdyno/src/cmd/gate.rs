//! `--fail-on`: the gate of a verb, its last lines and its exit code.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ::judge::compare::{Comparison, Refusal};
use ::judge::gate::{Gate, GateAnswer, GateRefusal, of_comparison, of_fleet, of_run};
use ::judge::{Findings, Fleet};
use ::report::document::markdown_writer;
use ::report::document::terminal::Length;
use clap::ValueEnum;
use record::{Recording, Workload};
use runner::{GateOptions, RunPlan};
use stats::Decision;

use super::{Done, Format, command_line};
use crate::console::{Console, Failure, INCOMPLETE, REGRESSED, results};

/// The gate of a verb that reads measurements.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct GateArgs {
    /// Exit with 4 if one of these is certain: slower[:5%], changed[:5%], grows, limit
    ///
    /// The exit code is 0 if all are excluded and 3 while one is undecided. slower and changed compare a
    /// series with the same series of the baseline; grows and limit find growth and limits that the baseline
    /// lacks. A claim may name its series, as in slower:5%@fork*. At most 5 of 1,000 builds without a change
    /// fail. docs/ci.md has more.
    #[arg(long, value_name = "CLAIM,…", value_parser = Gate::parse)]
    pub(crate) fail_on: Option<Gate>,
    /// Result while a claim is undecided, instead of exit code 3
    #[arg(long, value_enum, value_name = "RESULT", requires = "fail_on")]
    pub(crate) undecided: Option<Undecided>,
}

/// The result while a claim is undecided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Undecided {
    /// As if all were excluded
    Pass,
    /// As if one were certain
    Fail,
}

/// The gate of `run`.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct RunGateArgs {
    /// Run that this run is set against, instead of the first system: a file, or with --history last,
    /// tag:NAME or date:DAY
    ///
    /// Two runs meet the machine at two times: to set one system against another, measure both in one run, as
    /// in --system base= --system head='nice -n 5'.
    #[arg(long, value_name = "RUN", conflicts_with_all = ["aa", "blame"])]
    baseline: Option<String>,
    /// Folder of run files that keeps this run too, and in which --baseline is found
    #[arg(long, value_name = "DIR", conflicts_with = "out")]
    history: Option<PathBuf>,
    /// Exit with 4 if one of these is certain: slower[:5%], changed[:5%], grows, limit
    ///
    /// The exit code is 0 if all are excluded and 3 while one is undecided. slower and changed compare a
    /// series with the same series of the baseline, of the first system, or of the first of several commands;
    /// grows and limit find growth and limits that the baseline lacks or, without one, that the documentation
    /// of the workload does not expect. A claim may name its series, as in slower:5%@fork*. At most 5 of
    /// 1,000 builds without a change fail. docs/ci.md has more.
    #[arg(long, value_name = "CLAIM,…", value_parser = Gate::parse, conflicts_with = "aa")]
    fail_on: Option<Gate>,
    /// Result while a claim is undecided, instead of exit code 3
    #[arg(long, value_enum, value_name = "RESULT", requires = "fail_on")]
    undecided: Option<RunUndecided>,
}

/// The result of a run while a claim is undecided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum RunUndecided {
    /// As if all were excluded
    Pass,
    /// As if one were certain
    Fail,
    /// Measure until all are decided or the time of --budget is used up
    Measure,
}

/// The gate of a run, with its baseline read.
pub(crate) struct RunGate {
    gate: Option<Gate>,
    baseline: Option<(String, Recording)>,
    undecided: Option<RunUndecided>,
}

impl RunGateArgs {
    /// The folder that keeps the run.
    pub(crate) fn history(&self) -> Option<&Path> {
        self.history.as_deref()
    }

    /// Reads the baseline, before time is spent.
    pub(crate) fn prepare(&self, trials: Option<u32>) -> Result<RunGate, Failure> {
        if self.undecided == Some(RunUndecided::Measure) && trials.is_some() {
            let text = "--undecided measure takes as many trials as a decision needs; leave out --trials";
            return Err(Failure::Usage(text.to_owned()));
        }
        let baseline = self.baseline.as_deref().map(|name| {
            let path = match &self.history {
                Some(folder) if !Path::new(name).is_file() => super::history::baseline(folder, name)?,
                _ => PathBuf::from(name),
            };
            let path = path.as_path();
            let recording = super::read(path)?;
            let systems: Vec<String> = recording.systems.iter().map(|system| system.name.clone()).collect();
            if systems.len() != 1 {
                return Err(Failure::Usage(format!(
                    "the baseline {} has {} systems ({}), and a baseline has one",
                    path.display(),
                    systems.len(),
                    systems.join(", ")
                )));
            }
            Ok((name_of(path), recording))
        });
        let baseline = baseline.transpose()?;
        Ok(RunGate { gate: self.fail_on.clone(), baseline, undecided: self.undecided })
    }
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

impl RunGate {
    /// The claims that decide when the run ends; `None` if no claim does.
    pub(crate) fn options(&self) -> Option<GateOptions> {
        let gate = self.gate.clone().filter(|_| self.undecided == Some(RunUndecided::Measure))?;
        Some(GateOptions { gate, baseline: self.baseline.clone() })
    }

    /// Whether a claim sets one series of the run against another of it.
    pub(crate) fn needs_baseline_of_run(&self) -> bool {
        self.baseline.is_none() && self.gate.as_ref().is_some_and(Gate::needs_baseline)
    }

    /// Refuses what could not be decided after the run: another workload than that of the baseline, or series
    /// that are not there.
    pub(crate) fn check(&self, plan: &RunPlan) -> Result<(), Failure> {
        let workloads: Vec<Workload> = runner::definitions(plan).collect();
        if let Some((name, baseline)) = &self.baseline {
            if plan.is_of_fleet() {
                return Err(Failure::Usage(format!(
                    "--baseline is one system, and --hosts are several: measure the fleet, and compare the \
                     two runs with osdyno compare {name} RUN"
                )));
            }
            let before = |workload: &Workload| baseline.workload(&workload.name);
            let other = workloads.iter().find_map(|workload| {
                let before = before(workload)?;
                (before.version != workload.version).then_some((workload, before))
            });
            if let Some((workload, before)) = other {
                return Err(Failure::Usage(format!(
                    "{name} measured version {} of {}, and this is version {}: measure the baseline anew",
                    before.version, workload.name, workload.version
                )));
            }
            if !workloads.iter().any(|workload| before(workload).is_some()) {
                let names: Vec<&str> = baseline.workloads.iter().map(|workload| &*workload.name).collect();
                return Err(Failure::Usage(format!(
                    "nothing of this run is in the baseline {name}, which measured {}",
                    names.join(", ")
                )));
            }
        }
        let Some(gate) = &self.gate else { return Ok(()) };
        let names: Vec<String> = workloads.iter().flat_map(::judge::series_labels).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let are_rivals = matches!(&workloads[..], [one] if one.rivals && one.variants.len() > 1);
        let has_baseline = self.baseline.is_some() || plan.targets.len() > 1 || are_rivals;
        Ok(gate.check(&names, has_baseline)?)
    }

    /// The run beside its baseline, or else its systems.
    pub(crate) fn compare(
        &self,
        file: &Path,
        recording: &Recording,
        findings: &Findings,
    ) -> Option<Result<Comparison, Refusal>> {
        match &self.baseline {
            Some((name, baseline)) => Some(Comparison::new(&[(name, baseline), (&name_of(file), recording)])),
            None => super::compare_systems(recording, findings, file),
        }
    }

    /// Decides the gate, where there is one.
    pub(crate) fn decide(
        &self,
        judged: (&Recording, &Findings),
        compared: Option<&Result<Comparison, Refusal>>,
    ) -> Result<Option<Decided>, Failure> {
        let undecided = match self.undecided {
            Some(RunUndecided::Pass) => Some(Undecided::Pass),
            Some(RunUndecided::Fail) => Some(Undecided::Fail),
            Some(RunUndecided::Measure) | None => None,
        };
        GateArgs { fail_on: self.gate.clone(), undecided }.decide(Some(judged), compared)
    }
}

/// A gate that is decided.
pub(crate) struct Decided {
    pub(crate) answer: GateAnswer,
    undecided: Option<Undecided>,
}

impl GateArgs {
    /// Decides the gate, where there is one: for systems against the first of them, or for a run by itself.
    pub(crate) fn decide(
        &self,
        judged: Option<(&Recording, &Findings)>,
        compared: Option<&Result<Comparison, Refusal>>,
    ) -> Result<Option<Decided>, Failure> {
        let Some(gate) = &self.fail_on else { return Ok(None) };
        let answer = match (compared, judged) {
            (Some(Ok(compared)), _) => of_comparison(gate, compared)?,
            (Some(Err(refusal)), _) => {
                return Err(Failure::Undecided(::report::compare::refusal(refusal)));
            }
            (None, Some((recording, findings))) => of_run(gate, recording, findings)?,
            (None, None) => return Ok(None),
        };
        Ok(Some(Decided { answer, undecided: self.undecided }))
    }

    /// Decides the gate, where there is one, about the mean ratios of a fleet.
    pub(crate) fn decide_fleet(&self, fleet: &Fleet) -> Result<Option<Decided>, Failure> {
        let Some(gate) = &self.fail_on else { return Ok(None) };
        let answer = of_fleet(gate, fleet)?;
        Ok(Some(Decided { answer, undecided: self.undecided }))
    }
}

/// A claim about nothing that is there is wrong usage.
impl From<GateRefusal> for Failure {
    fn from(refusal: GateRefusal) -> Failure {
        Failure::Usage(::report::gate::refusal(&refusal))
    }
}

impl Decided {
    /// Prints the last lines of a verb: what failed, by how much, how sure, and the command that repeats it.
    /// Beside output for a program they go to standard error.
    pub(crate) fn print(&self, format: Format, console: &Console) -> Result<(), Failure> {
        let document = ::report::gate::document(&self.answer, &command_line::to_repeat());
        match format {
            Format::Text => Ok(console.print(&document, Length::All)?),
            Format::Json => {
                console.tell(&document);
                Ok(())
            }
            Format::Markdown => {
                writeln!(results())?;
                Ok(markdown_writer::write(&document, &mut results())?)
            }
        }
    }

    /// The exit code of the verb, where it would be `otherwise` without a gate.
    pub(crate) fn exit_code(&self, otherwise: ExitCode) -> ExitCode {
        match (self.answer.decision, self.undecided) {
            (Decision::Certain, _) | (Decision::Undecided, Some(Undecided::Fail)) => {
                ExitCode::from(REGRESSED)
            }
            (Decision::Undecided, None) => ExitCode::from(INCOMPLETE),
            (Decision::Excluded, _) | (Decision::Undecided, Some(Undecided::Pass)) => otherwise,
        }
    }
}

/// Ends a verb: prints its gate, where there is one, and returns the exit code.
pub(crate) fn end(gate: Option<&Decided>, code: ExitCode, format: Format, console: &Console) -> Done {
    let Some(gate) = gate else { return Ok(code) };
    gate.print(format, console)?;
    Ok(gate.exit_code(code))
}

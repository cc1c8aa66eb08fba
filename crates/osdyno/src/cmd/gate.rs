//! `--fail-on`: the gate of a verb, its last lines and its exit code.

use std::io::Write;
use std::process::ExitCode;

use ::judge::Findings;
use ::judge::compare::Comparison;
use ::judge::gate::{Gate, GateAnswer, GateRefusal, of_comparison, of_findings};
use ::report::document::markdown_writer;
use ::report::document::terminal::Length;
use clap::ValueEnum;
use stats::Decision;

use super::{Done, Format};
use crate::console::{Console, results};
use crate::failure::{Failure, INCOMPLETE, REGRESSED};

/// The gate of a verb that reads what was measured.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct GateArgs {
    /// Exit with 4 if one of these is certain: slower[:5%], changed[:5%], grows, limit
    ///
    /// The exit code is 0 if all are excluded and 3 while one is undecided. slower and changed set a series
    /// against the same in the baseline; grows and limit are about what is new there. A claim may name its
    /// series, as in slower:5%@fork*. At most 5 of 1,000 builds without a change fail. docs/ci.md has more.
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

/// A gate that is decided.
pub(crate) struct Decided {
    pub(crate) answer: GateAnswer,
    undecided: Option<Undecided>,
}

impl GateArgs {
    /// Decides the gate, where there is one: for systems against the first of them, or for a run by itself.
    pub(crate) fn decide(
        &self,
        findings: Option<&Findings>,
        compared: Option<&Comparison>,
    ) -> Result<Option<Decided>, Failure> {
        let Some(gate) = &self.fail_on else { return Ok(None) };
        let answer = match (compared, findings) {
            (Some(compared), _) => of_comparison(gate, compared),
            (None, Some(findings)) => of_findings(gate, findings),
            (None, None) => return Ok(None),
        };
        let answer = answer.map_err(|refusal| refused(&refusal))?;
        Ok(Some(Decided { answer, undecided: self.undecided }))
    }
}

/// A claim about nothing that is there is wrong usage.
pub(crate) fn refused(refusal: &GateRefusal) -> Failure {
    Failure::Usage(::report::gate::refusal(refusal))
}

impl Decided {
    /// Prints the last lines of a verb: what failed, by how much, how sure, and the command that repeats it.
    /// Beside output for a program they go to standard error.
    pub(crate) fn print(&self, format: Format, console: &Console) -> Result<(), Failure> {
        let document = ::report::gate::document(&self.answer, &super::command_line::to_repeat());
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

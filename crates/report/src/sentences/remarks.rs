//! Remarks about series and runs, each a sentence.

use judge::{Finding, Findings, Note, Remark};

use super::stops::of_generator;
use super::verdict::warnings;
use crate::words::things;

/// What a reader of a series' numbers should know, each a sentence: what statistics warns of, then what the
/// record says.
pub fn remarks(finding: &Finding) -> Vec<String> {
    let warned = finding.verdict.iter().flat_map(warnings);
    warned.chain(finding.remarks.iter().map(remark)).collect()
}

/// What the record says of the numbers of a series.
pub fn remark(remark: &Remark) -> String {
    match remark {
        Remark::NotCounted { reason, trials } => {
            format!("{} not counted: {reason}.", things(*trials, "trial is", "trials are"))
        }
        Remark::NotMade(reason) => format!("Not computed: {reason}."),
        Remark::NothingToJudge { values } => format!(
            "None of {} is finite and positive; there is nothing to judge.",
            things(*values, "value", "values")
        ),
        Remark::OfTrials { text, trials, of } if trials == of => text.clone(),
        Remark::OfTrials { text, trials, of } => format!("{text} ({trials} of {of} trials)"),
        Remark::Generator(remark) => of_generator(remark),
    }
}

/// What a reader of the whole run should know.
pub fn notes(findings: &Findings) -> Vec<String> {
    let several = findings.systems.len() > 1;
    let said = |note: &Note| match note {
        Note::CutOff => "The run was cut off; all trials that it finished are here.".to_string(),
        Note::OutOfTime => "The time was used up; a larger --budget would decide more.".to_string(),
        Note::EndedEarly { status } => format!("The run ended early ({status})."),
        Note::Readiness { system, warning } if several => format!("{system}: {warning}"),
        Note::Readiness { warning, .. } => warning.clone(),
    };
    findings.notes.iter().map(said).collect()
}

//! Examines the system on which this program runs: what makes figures of it doubtful.

use std::path::Path;
use std::time::Duration;

use host::{FrameReader, FrameWriter};
use record::{Condition, ConditionWeight, Examination};
use sys::environment;

use crate::common::Done;

/// How long the reference operation is repeated.
const STEADINESS: Duration = Duration::from_secs(2);

/// Receives the folder for the workloads' files, and replies with the examination.
pub(crate) fn examine() -> Done {
    let Some(scratch) = FrameReader::standard_input().receive::<String>()? else { return Ok(()) };
    // Before our own work is part of the load, and while all processors that are ours are usable.
    let facts = environment::facts(Some(Path::new(&scratch)));
    let conditions = environment::conditions(&facts, &sys::activity::snapshot());
    // The processor that a trial would be pinned to; where that is impossible, the scheduler chooses.
    if let Some(&cpu) = sys::cpu::preferred().unwrap_or_default().first() {
        let _ = sys::cpu::pin(cpu);
    }
    let steadiness = workload::measure_steadiness(STEADINESS);
    let examination = Examination {
        conditions: conditions.into_iter().map(recorded).collect(),
        steadiness: Some(steadiness),
    };
    Ok(FrameWriter::standard_output().send(&examination)?)
}

fn recorded(condition: environment::MachineCondition) -> Condition {
    let weight = match condition.weight {
        environment::ConditionSeverity::Unfit => ConditionWeight::Unfit,
        environment::ConditionSeverity::Care => ConditionWeight::Care,
        environment::ConditionSeverity::Note => ConditionWeight::Note,
    };
    Condition { subject: condition.subject.to_owned(), weight, text: condition.text }
}

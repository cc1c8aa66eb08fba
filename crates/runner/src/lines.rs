//! The lines of the record: those that the runner writes itself (the head, the definitions, and trials that
//! never began), those of a trial as received, and the run file that takes them.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use record::{
    Check, End, Line, LineError, Loss, Losses, Outcome, Run, SentLine, System, Tool, Trial, TrialKey,
    TrialParameters, Writer,
};

use crate::Error;
use crate::plan::{Item, RunPlan};
use crate::preset::Trials;

/// A trial that this system cannot have.
pub(crate) fn unsupported(order: &TrialParameters, reason: &str) -> SentLine {
    not_begun(order, Outcome::Unsupported { reason: reason.to_owned() })
}

/// A trial that could not be started.
pub(crate) fn failed(order: &TrialParameters, reason: String) -> SentLine {
    not_begun(order, Outcome::Failed { reason })
}

/// A trial that did not begin, for any reason.
pub(crate) fn not_begun(order: &TrialParameters, outcome: Outcome) -> SentLine {
    ended_after(Duration::ZERO, order, outcome)
}

/// A trial that was lost with its measurements.
pub(crate) fn crashed(order: &TrialParameters, begun: Instant, reason: String) -> SentLine {
    ended_after(begun.elapsed(), order, Outcome::Crashed { n: 0, reason })
}

fn ended_after(elapsed: Duration, order: &TrialParameters, outcome: Outcome) -> SentLine {
    SentLine::from(Line::Trial(Trial::ended(order, elapsed, outcome)))
}

/// The first line of the record.
pub(crate) fn head(plan: &RunPlan, command: Vec<String>, systems: &[System], date: SystemTime) -> Run {
    let mut processors = systems.iter().filter_map(|system| system.processors.as_ref());
    Run {
        schema: record::SCHEMA,
        tool: Tool {
            name: "osdyno".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            // Compiler, target and profile.
            build: env!("OSDYNO_BUILD").to_owned(),
        },
        started_at: rfc3339(date),
        command,
        preset: plan.preset.to_owned(),
        seed: plan.seed,
        budget_seconds: plan.budget.map(|budget| budget.as_secs_f64()),
        looks: match plan.trials {
            Trials::Looks(looks) => looks.to_vec(),
            Trials::Fixed(_) => Vec::new(),
        },
        pinned: !plan.unpinned && processors.all(|processors| processors.trial.is_some()),
        paired: plan.hosts().iter().any(|host| host.systems > 1),
    }
}

/// The definitions of all workloads of the plan, each with its variants.
pub fn definitions(plan: &RunPlan) -> impl Iterator<Item = record::Workload> + '_ {
    let items = &plan.items;
    let first = |&(place, item): &(usize, &Item)| {
        items[..place].iter().all(|other| other.workload.name != item.workload.name)
    };
    items.iter().enumerate().filter(first).map(|(_, item)| {
        let variants =
            items.iter().filter(|other| other.workload.name == item.workload.name).map(|item| item.variant);
        item.workload.recorded(variants, plan.is_named)
    })
}

/// The last second that RFC 3339 can write: 9999-12-31T23:59:59Z.
const LAST_SECOND: u64 = 253_402_300_799;

/// The date in UTC, to the second. A clock that is wrong must not end a run: a date before 1970 or after 9999
/// becomes the nearest one that can be written.
pub fn rfc3339(date: SystemTime) -> String {
    let since_1970 = date.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let second = since_1970.as_secs().min(LAST_SECOND);
    humantime::format_rfc3339_seconds(SystemTime::UNIX_EPOCH + Duration::from_secs(second)).to_string()
}

/// The check that all lines of a trial could be read.
const CLAIM: &str = "every line that the trial sent can be read";

/// The lines of the trial. Unreadable lines are counted, and such a trial is not judged, because their
/// content is unknown; and so are lines of another trial, which would count there. `missing` makes the line
/// of the trial itself where that is lost.
pub(crate) fn received(
    messages: Vec<Vec<u8>>,
    order: &TrialParameters,
    missing: impl FnOnce() -> SentLine,
) -> Vec<SentLine> {
    let (mut lines, mut losses, mut offset) = (Vec::<SentLine>::new(), Losses::default(), 0);
    let own = TrialKey::from_parameters(order);
    let mut has_trial = false;
    for message in messages {
        let bytes = message.len() as u64;
        let parsed = SentLine::parse(message).and_then(|line| {
            let is_second = has_trial && matches!(line.line(), Line::Trial(_));
            match line.line().trial() {
                Some(trial) if trial == own && !is_second => Ok(line),
                _ => Err(LineError::Broken("a line of something else than this trial".to_owned())),
            }
        });
        match parsed {
            Ok(line) => {
                has_trial |= matches!(line.line(), Line::Trial(_));
                lines.push(line);
            }
            Err(error) => losses.add(Loss { offset, count: 1, reason: error.into() }),
        }
        offset += bytes;
    }
    if !has_trial {
        lines.insert(0, missing());
    }
    if losses.as_slice().is_empty() {
        return lines;
    }
    let told: Vec<String> = losses.as_slice().iter().map(Loss::to_string).collect();
    let check = Check { claim: format!("{CLAIM} ({})", told.join("; ")), held: false };
    for trial in lines.iter_mut().filter_map(SentLine::trial_mut) {
        trial.checks.push(check.clone());
    }
    lines
}

/// The run file, as far as it is written.
pub(crate) struct RunFile(Mutex<Open>);

struct Open {
    /// `None` once nothing more can be written.
    writer: Option<Writer>,
    unwritten: Option<Error>,
}

impl RunFile {
    /// A file with its head.
    pub(crate) fn new(writer: Writer) -> RunFile {
        RunFile(Mutex::new(Open { writer: Some(writer), unwritten: None }))
    }

    /// Writes lines of one trial; a disk that is full loses nothing that was written.
    pub(crate) fn append(&self, lines: &[SentLine]) {
        let mut open = self.open();
        if let Some(writer) = &mut open.writer
            && let Err(error) = writer.append_sent(lines)
        {
            *open = Open { writer: None, unwritten: Some(error.into()) };
        }
    }

    /// Whether lines were lost: then the run ends.
    pub(crate) fn is_lost(&self) -> bool {
        self.open().unwritten.is_some()
    }

    /// Writes the end; why the file is not whole, if it is not.
    pub(crate) fn finish(self, end: End) -> Option<Error> {
        let Open { writer, unwritten } = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        let ended = writer.and_then(|writer| writer.finish(end).err()).map(Error::from);
        ended.or(unwritten)
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use record::{EndStatus, Series};

    use super::*;

    #[test]
    fn every_date_can_be_written() {
        let epoch = SystemTime::UNIX_EPOCH;
        assert_eq!(rfc3339(epoch - Duration::from_secs(1)), "1970-01-01T00:00:00Z");
        assert_eq!(rfc3339(epoch + Duration::from_secs(1_700_000_000)), "2023-11-14T22:13:20Z");
        let last = epoch + Duration::from_secs(LAST_SECOND);
        assert_eq!(rfc3339(last), "9999-12-31T23:59:59Z");
        assert_eq!(rfc3339(last + Duration::from_secs(1)), "9999-12-31T23:59:59Z");
    }

    fn order() -> TrialParameters {
        serde_json::from_str(
            r#"{"system":"local","workload":"bind","version":1,"variant":"","trial":3,"n":2,"cpu":null,
            "seed":7,"allowance_seconds":null,"timeout_seconds":60.0,"scratch":"/"}"#,
        )
        .expect("an order")
    }

    fn series(values: &[f64]) -> Line {
        Line::Series(Series {
            system: "local".into(),
            workload: "bind".into(),
            trial: 3,
            name: "bind".into(),
            n_first: 1,
            n_step: 1,
            batch: 1,
            values: values.to_vec(),
            ..Series::default()
        })
    }

    fn read(sent: &[Line]) -> (Trial, usize) {
        let message = |line: &Line| serde_json::to_vec(line).expect("a line");
        let messages: Vec<Vec<u8>> = sent.iter().map(message).collect();
        let lines = received(messages, &order(), || failed(&order(), "lost".to_owned()));
        let Some(Line::Trial(trial)) = lines.first().map(SentLine::line) else { panic!("{lines:?}") };
        (trial.clone(), lines.len())
    }

    #[test]
    fn a_line_that_cannot_be_read_is_counted_and_costs_the_trial() {
        let complete = || {
            let Line::Trial(mut trial) = Line::from(failed(&order(), String::new())) else {
                panic!("a trial")
            };
            trial.outcome = Outcome::Complete;
            Line::Trial(trial)
        };
        let (trial, count) = read(&[complete(), series(&[1e-6, 2e-6])]);
        assert_eq!((trial.checks.len(), count), (0, 2));
        // Numbers that are not finite have no form in JSON.
        let lost = series(&[f64::NAN]);
        let (trial, count) = read(&[complete(), lost.clone(), series(&[1e-6]), lost.clone()]);
        let [check] = &trial.checks[..] else { panic!("{:?}", trial.checks) };
        assert!(!check.held && check.claim.contains("unreadable line (") && count == 2, "{check:?}");
        assert!(check.claim.ends_with("2 in all)"), "{}", check.claim);
        let (trial, count) = read(&[lost]);
        assert_eq!(
            (trial.outcome, trial.checks.len(), count),
            (Outcome::Failed { reason: "lost".into() }, 1, 1)
        );
    }

    /// Values without their trial prove nothing, and a trial without a line would be missed by nobody.
    #[test]
    fn a_trial_without_its_own_line_is_crashed() {
        for sent in [&[][..], &[series(&[1e-6])]] {
            let (trial, count) = read(sent);
            assert_eq!((trial.outcome, count), (Outcome::Failed { reason: "lost".into() }, sent.len() + 1));
        }
    }

    /// A host could otherwise add measurements to another one.
    #[test]
    fn lines_of_something_else_are_refused() {
        let complete = || Line::from(failed(&order(), String::new()));
        let Line::Series(own) = series(&[1e-6]) else { panic!("a series") };
        let of_another = Line::Series(Series { system: "other".into(), ..own });
        let end = Line::End(End { status: EndStatus::Complete, elapsed_seconds: 0.0 });
        for foreign in [of_another, end, complete()] {
            let (trial, count) = read(&[complete(), foreign, series(&[1e-6])]);
            assert_eq!((trial.checks.len(), count), (1, 2), "{:?}", trial.checks);
            assert!(trial.checks[0].claim.contains("something else than this trial"), "{:?}", trial.checks);
        }
    }
}

//! The lines of a trial, as received, for the record.

use record::{Check, Line, LineError, Loss, Losses, SentLine, TrialKey, TrialParameters};

/// The check that all lines of a trial could be read.
const CLAIM: &str = "every line that the trial sent can be read";

/// The lines of the trial. Unreadable lines are counted, and such a trial is not judged, because their
/// content is unknown; and so are lines of another trial, which would count there. `missing` makes the line
/// of the trial itself where that is lost.
pub(crate) fn lines(
    messages: Vec<Vec<u8>>,
    order: &TrialParameters,
    missing: impl FnOnce() -> Line,
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
        lines.insert(0, missing().into());
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

#[cfg(test)]
mod tests {
    use record::{Direction, End, EndStatus, Outcome, Series, Trial, TrialParameters};

    use super::*;
    use crate::lines::failed;

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
            variant: String::new(),
            trial: 3,
            name: "bind".into(),
            direction: Direction::Up,
            n_first: 1,
            n_step: 1,
            sizes: Vec::new(),
            batch: 1,
            counts: Vec::new(),
            values: values.to_vec(),
        })
    }

    fn read(sent: &[Line]) -> (Trial, usize) {
        let message = |line: &Line| serde_json::to_vec(line).expect("a line");
        let messages: Vec<Vec<u8>> = sent.iter().map(message).collect();
        let lines = lines(messages, &order(), || failed(&order(), "lost".to_owned()));
        let Some(Line::Trial(trial)) = lines.first().map(SentLine::line) else { panic!("{lines:?}") };
        (trial.clone(), lines.len())
    }

    #[test]
    fn a_line_that_cannot_be_read_is_counted_and_costs_the_trial() {
        let complete = || {
            let Line::Trial(mut trial) = failed(&order(), String::new()) else { panic!("a trial") };
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
        let complete = || failed(&order(), String::new());
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

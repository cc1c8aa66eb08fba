//! The outcomes of a trial: refused, ended early, and its checks.

use std::fmt;
use std::io;

use record::Check;

/// Why the way up ended before n was reached; the measurements so far stay.
#[derive(Debug)]
pub enum EarlyEnd {
    /// The system refused an operation.
    Refused {
        /// Live objects when it happened.
        n: u64,
        /// The operation.
        operation: &'static str,
        /// The system's answer.
        error: io::Error,
    },
    /// The time allowed for the way up was used up.
    Allowance {
        /// Live objects when it happened.
        n: u64,
    },
}

/// A trial that cannot go on and whose measurements must not be trusted.
#[derive(Debug)]
pub struct TrialError {
    /// The attempt.
    pub attempted: String,
    /// Its result.
    pub error: io::Error,
}

/// A program under test has ended otherwise than it should: a server by itself, a command with an error. This
/// is no limit, and no failed measurement.
#[derive(Debug)]
pub struct ProgramEnded(pub String);

impl ProgramEnded {
    /// How it ended, if that caused the error.
    pub fn behind(error: &io::Error) -> Option<String> {
        error.get_ref()?.downcast_ref::<ProgramEnded>().map(ToString::to_string)
    }
}

impl fmt::Display for ProgramEnded {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for ProgramEnded {}

/// The hosts that load a server did not offer the load together: it says nothing about the server.
#[derive(Debug)]
pub(crate) struct LoadVoid(pub(crate) String);

impl LoadVoid {
    pub(crate) fn is_behind(error: &io::Error) -> bool {
        error.get_ref().is_some_and(|error| error.is::<LoadVoid>())
    }
}

impl fmt::Display for LoadVoid {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the load does not count: {}", self.0)
    }
}

impl std::error::Error for LoadVoid {}

/// Adds a claim, or a further result of a known one: a claim holds if it always held.
pub(crate) fn note(checks: &mut Vec<Check>, claim: &'static str, held: bool) {
    merge(checks, Check { claim: claim.to_owned(), held });
}

/// The same, for a claim that another process has made.
pub(crate) fn merge(checks: &mut Vec<Check>, check: Check) {
    match checks.iter_mut().find(|known| known.claim == check.claim) {
        Some(known) => known.held &= check.held,
        None => checks.push(check),
    }
}

impl TrialError {
    /// For `map_err`: adds the attempt.
    pub fn at(attempted: impl Into<String>) -> impl FnOnce(io::Error) -> TrialError {
        let attempted = attempted.into();
        move |error| TrialError { attempted, error }
    }
}

impl fmt::Display for TrialError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.attempted, self.error)
    }
}

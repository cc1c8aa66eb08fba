//! `osdyno load` beside the hostile clients: started with a mark of its own, and its counts read at the end.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::server::DEADLINE;
use crate::AnyError;

/// Requests per second: a load that leaves most of a processor to others.
const RATE: &str = "100";

/// Most connections of a generator, and so the most requests that are under way.
pub(super) const CONNECTIONS: u64 = 16;

/// Causes of failures that no hostile client and no lost worker explain: the server sent something wrong.
const NEVER: &[&str] = &["wrong content", "malformed", "unasked bytes"];

/// A generator at work. Dropped, it is killed.
pub(super) struct RunningGenerator {
    child: Child,
    mark: String,
    lasts: Duration,
}

/// What a generator counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Generated {
    pub(super) mark: String,
    pub(super) intended: u64,
    pub(super) started: u64,
    pub(super) right: u64,
    pub(super) late: u64,
    pub(super) failed: u64,
    pub(super) unanswered: u64,
    /// Failures: stage, cause and number.
    pub(super) failures: Vec<(String, u64)>,
}

impl RunningGenerator {
    /// Loads the server for this long. The mark is part of every request, and so of the access log.
    pub(super) fn start(
        program: &Path,
        address: SocketAddr,
        mark: &str,
        lasts: Duration,
        seed: u64,
    ) -> Result<RunningGenerator, AnyError> {
        let mut command = Command::new(program);
        command.args(["load", "--format", "json", "-r", RATE, "-c", "4", "--timeout", "30s"]);
        command.args(["--connections-max", &CONNECTIONS.to_string(), "--seed", &seed.to_string()]);
        command
            .args(["-d", &format!("{}ms", lasts.as_millis())])
            .arg(format!("http://{address}/?load={mark}"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let child = command.spawn().map_err(|error| format!("start osdyno load: {error}"))?;
        Ok(RunningGenerator { child, mark: mark.to_owned(), lasts })
    }

    /// Waits for its end.
    pub(super) fn end(mut self) -> Result<Generated, AnyError> {
        use std::io::Read;

        let output = self.child.stdout.take();
        // The pipe is smaller than the document.
        let reader = std::thread::spawn(move || {
            let mut text = String::new();
            output.map(|mut output| output.read_to_string(&mut text));
            text
        });
        let deadline = Instant::now() + self.lasts + DEADLINE;
        while self.child.try_wait()?.is_none() {
            if Instant::now() > deadline {
                return Err(format!("load {} does not end", self.mark).into());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let text = reader.join().map_err(|_| "the reader of load's output panicked")?;
        let generated = parse(&self.mark, &text)?;
        Ok(generated)
    }
}

impl Drop for RunningGenerator {
    fn drop(&mut self) {
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn parse(mark: &str, text: &str) -> Result<Generated, AnyError> {
    let document: Value = serde_json::from_str(text)
        .map_err(|error| format!("load {mark}: its output is no JSON: {error}: {text:?}"))?;
    let level = &document["levels"][0];
    let number = |name: &str| {
        level[name].as_u64().ok_or_else(|| AnyError::from(format!("load {mark}: no {name} in its output")))
    };
    let failure = |one: &Value| {
        let word = |name: &str| one[name].as_str().unwrap_or("?").to_owned();
        (format!("{}: {}", word("stage"), word("cause")), one["count"].as_u64().unwrap_or(0))
    };
    Ok(Generated {
        mark: mark.to_owned(),
        intended: number("intended")?,
        started: number("started")?,
        right: number("completed")?,
        late: number("late")?,
        failed: number("failed")?,
        unanswered: number("unanswered")?,
        failures: level["failures"].as_array().into_iter().flatten().map(failure).collect(),
    })
}

impl Generated {
    /// Right responses, in time or late.
    pub(super) fn answered(&self) -> u64 {
        self.right + self.late
    }

    /// What is wrong with its counts, or with what the server sent.
    pub(super) fn violations(&self) -> Vec<String> {
        let mut found = Vec::new();
        let sum = self.right + self.late + self.failed + self.unanswered;
        if sum != self.intended {
            found.push(format!(
                "load {}: {} requests were intended, {sum} have an outcome",
                self.mark, self.intended
            ));
        }
        for (failure, count) in &self.failures {
            if NEVER.iter().any(|never| failure.contains(never)) {
                found.push(format!("load {}: {failure} × {count}", self.mark));
            }
        }
        found
    }

    /// Failures in a few words, for those that look into them.
    pub(super) fn failure_text(&self) -> String {
        let each: Vec<String> =
            self.failures.iter().map(|(what, count)| format!("{what} × {count}")).collect();
        each.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = r#"{"levels": [{"intended": 10, "started": 9, "completed": 6, "late": 1, "failed": 2,
        "unanswered": 1, "failures": [{"stage": "first_byte", "cause": "ECONNRESET", "count": 2}]}]}"#;

    #[test]
    fn every_request_has_one_outcome() {
        let generated = parse("a", OUTPUT).expect("a level");
        assert_eq!((generated.answered(), generated.violations()), (7, Vec::<String>::new()));
        assert_eq!(generated.failure_text(), "first_byte: ECONNRESET × 2");
        let twice = Generated { late: 2, ..generated };
        assert_eq!(twice.violations(), ["load a: 10 requests were intended, 11 have an outcome"]);
    }

    #[test]
    fn wrong_content_is_never_excused() {
        let generated = parse("a", &OUTPUT.replace("ECONNRESET", "wrong content")).expect("a level");
        assert_eq!(generated.violations(), ["load a: first_byte: wrong content × 2"]);
    }
}

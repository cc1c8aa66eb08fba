//! What is printed: a line for each turn, and at the end two tables in Markdown.

use std::fmt::Write;
use std::time::Duration;

use super::account::Usage;
use super::attacks::ATTACKS;
use super::generator::Generated;
use super::turn::Outcome;
use super::witness::Seen;

/// All turns of an architecture.
pub(super) struct Row {
    pub(super) architecture: String,
    rounds: usize,
    seen: Seen,
    /// Connections by kind, then those held and processes killed.
    hostile: Vec<u64>,
    held: u64,
    killed: u64,
    sent: u64,
    answered: u64,
    logged: u64,
    /// The largest of all attacks, before and after.
    usage: (Usage, Usage),
    pub(super) findings: Vec<String>,
}

impl Row {
    pub(super) fn new(architecture: &str, kinds: usize) -> Row {
        Row {
            architecture: architecture.to_owned(),
            rounds: 0,
            seen: Seen::default(),
            hostile: vec![0; kinds],
            held: 0,
            killed: 0,
            sent: 0,
            answered: 0,
            logged: 0,
            usage: (Usage::default(), Usage::default()),
            findings: Vec::new(),
        }
    }

    /// Adds a turn.
    pub(super) fn add(&mut self, outcome: &Outcome, findings: Vec<String>) {
        let round = self.rounds + 1;
        self.rounds = round;
        self.seen.right += outcome.seen.right;
        self.seen.excused += outcome.seen.excused;
        self.seen.failed += outcome.seen.failed;
        self.seen.longest = self.seen.longest.max(outcome.seen.longest);
        for (sum, more) in self.hostile.iter_mut().zip(&outcome.hostile) {
            *sum += more;
        }
        self.held += outcome.held;
        self.killed += outcome.killed;
        self.sent += outcome.generated.iter().map(|one| one.started).sum::<u64>();
        self.answered += outcome.generated.iter().map(Generated::answered).sum::<u64>();
        self.logged += outcome.logged;
        for (before, after) in &outcome.usage {
            self.usage = (self.usage.0.max(*before), self.usage.1.max(*after));
        }
        self.findings.extend(findings.into_iter().map(|text| format!("round {round}: {text}")));
    }
}

/// The line of a turn.
pub(super) fn line(
    architecture: &str,
    round: usize,
    outcome: &Outcome,
    findings: &[String],
    took: Duration,
) -> String {
    let Seen { right, excused, failed, longest } = outcome.seen;
    let hostile: u64 = outcome.hostile.iter().sum::<u64>() + outcome.held;
    let sum = |value: fn(&Generated) -> u64| outcome.generated.iter().map(value).sum::<u64>();
    let (sent, answered, logged) = (sum(|one| one.started), sum(Generated::answered), outcome.logged);
    let mut text = format!(
        "round {round} {architecture:<9} witness {right} right {excused} excused {failed} failed, \
         longest {longest:.1?} · hostile {hostile} · killed {} · load {sent} sent {answered} answered \
         {logged} logged",
        outcome.killed
    );
    for (before, after) in &outcome.usage {
        let [before_kib, after_kib] = [before, after].map(|usage| usage.memory_bytes >> 10);
        let _ = write!(
            text,
            " · {before_kib}→{after_kib} KiB, {}→{} fds, {}→{} processes",
            before.descriptors, after.descriptors, before.processes, after.processes
        );
    }
    let _ = write!(text, " · {took:.0?}");
    if !outcome.stalled.is_zero() {
        let _ = write!(text, " · this machine stalled for {:.1?}", outcome.stalled);
    }
    let failures: Vec<String> = outcome.generated.iter().filter(|one| one.failed > 0).map(failures).collect();
    if !failures.is_empty() {
        let _ = write!(text, " · {}", failures.join("; "));
    }
    for finding in findings {
        let _ = write!(text, "\n  VIOLATION {finding}");
    }
    text
}

fn failures(generated: &Generated) -> String {
    format!("load {}: {}", generated.mark, generated.failure_text())
}

/// The tables of all turns.
pub(super) fn markdown(rows: &[Row], took: Duration) -> String {
    let mut text = format!("{:.0} minutes, {} turns\n\n", took.as_secs_f64() / 60.0, turns(rows));
    text.push_str("| | rounds | witness right, excused, failed | longest | load sent, answered, logged | ");
    text.push_str("memory KiB | descriptors | processes |\n|---|---|---|---|---|---|---|---|\n");
    for row in rows {
        let Seen { right, excused, failed, longest } = row.seen;
        let [load_sent, load_answered, load_logged] = [row.sent, row.answered, row.logged];
        let _ = writeln!(
            text,
            "| {} | {} | {right}, {excused}, {failed} | {longest:.1?} | {load_sent}, {load_answered}, \
             {load_logged} | {} |",
            row.architecture,
            row.rounds,
            usage_cells(row.usage),
        );
    }
    let names: Vec<&str> = ATTACKS.iter().map(|attack| attack.name).collect();
    let _ = writeln!(text, "\n| | {} | held | killed |", names.join(" | "));
    let _ = writeln!(text, "|---|{}", "---|".repeat(names.len() + 2));
    for row in rows {
        let counts: Vec<String> = row.hostile.iter().map(u64::to_string).collect();
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} |",
            row.architecture,
            counts.join(" | "),
            row.held,
            row.killed
        );
    }
    text
}

/// Memory, descriptors and processes, each before and after.
fn usage_cells((before, after): (Usage, Usage)) -> String {
    let [before_kib, after_kib] = [before, after].map(|usage| usage.memory_bytes >> 10);
    let descriptors = format!("{} → {}", before.descriptors, after.descriptors);
    format!("{before_kib} → {after_kib} | {descriptors} | {} → {}", before.processes, after.processes)
}

fn turns(rows: &[Row]) -> usize {
    rows.iter().map(|row| row.rounds).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_sums_its_turns_and_names_the_round_of_a_finding() {
        let mut row = Row::new("epoll", 2);
        let seen = Seen { right: 10, excused: 1, failed: 0, longest: Duration::from_secs(1) };
        let outcome = Outcome { seen, hostile: vec![3, 4], logged: 5, ..Outcome::default() };
        row.add(&outcome, Vec::new());
        row.add(&outcome, vec!["odd".to_owned()]);
        assert_eq!((row.seen.right, &row.hostile[..], row.logged), (20, &[6, 8][..], 10));
        assert_eq!(row.findings, ["round 2: odd"]);
        let text = markdown(&[row], Duration::from_secs(120));
        assert!(text.starts_with("2 minutes, 2 turns"), "{text}");
        assert!(text.contains("| epoll | 2 | 20, 2, 0 | 1.0s |"), "{text}");
    }
}

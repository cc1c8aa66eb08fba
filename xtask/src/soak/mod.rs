//! `cargo xtask soak [--hours H] [--seed N] [--arch NAME]`: a day under load, or as much of it as there is
//! time for.
//!
//! `osdyno serve` in every architecture that this system supports takes turns under hostile clients and
//! `osdyno load`, while a witness checks that it is served. After each attack the server must be back where
//! it began, and its counters, its access log and the load generator must agree.
//!
//! - `turn` what happens to one server in one turn;
//! - `attacks` the hostile clients;
//! - `witness` the client that must see no failure;
//! - `server`, `generator` the programs of the project, started and ended;
//! - `account` before and after, and whose counts must agree; `process` the processes of a server;
//! - `site`, `wire`, `stall` the files, a connection, and this machine's own stalls;
//! - `findings`, `table` what was found wrong, and the result.

mod account;
mod attacks;
mod findings;
mod generator;
mod process;
mod server;
mod site;
mod stall;
mod table;
mod turn;
mod wire;
mod witness;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::command::{cargo, program, read, show};
use crate::{AnyError, workspace};
use findings::Findings;
use table::Row;
use turn::Turn;

/// Without `--hours`.
const HOURS: f64 = 1.0;

/// More is a slip of the finger.
const HOURS_MAX: f64 = 100.0;

/// A turn lasts about this long where there is time for it.
const TURN_SECONDS: f64 = 60.0;

/// Of a turn, so much goes into starting and stopping servers, and waiting for what they give back.
const AROUND_SECONDS: f64 = 15.0;

/// Attacks of a turn: one in each life of the server.
const ATTACKS_PER_TURN: f64 = 3.0;

/// The shortest attack that reaches everything.
const ATTACK_SECONDS_MIN: f64 = 4.0;

/// What was asked for, and what follows from it.
#[derive(Debug, PartialEq)]
struct SoakOptions {
    hours: f64,
    seed: u64,
    /// Only this architecture.
    architecture: Option<String>,
}

impl SoakOptions {
    fn parse(arguments: &[&str]) -> Result<SoakOptions, AnyError> {
        let mut options = SoakOptions { hours: HOURS, seed: 1, architecture: None };
        let mut rest = arguments.iter();
        while let Some(&option) = rest.next() {
            let value = *rest.next().ok_or_else(|| format!("{option} needs a value"))?;
            match option {
                "--hours" => {
                    options.hours = value.parse().map_err(|_| format!("--hours {value}: no number"))?
                }
                "--seed" => options.seed = value.parse().map_err(|_| format!("--seed {value}: no number"))?,
                "--arch" => options.architecture = Some(value.to_owned()),
                _ => {
                    let known = "it has --hours H, --seed N and --arch NAME";
                    return Err(format!("soak has no {option}; {known}").into());
                }
            }
        }
        if !(options.hours > 0.0 && options.hours <= HOURS_MAX) {
            return Err(format!("--hours must be above 0 and at most {HOURS_MAX}").into());
        }
        Ok(options)
    }

    /// Rounds over so many architectures, and how long each attack lasts.
    fn plan(&self, architectures: usize) -> (usize, Duration) {
        let turns = architectures.max(1) as f64;
        let seconds = self.hours * 3600.0;
        let rounds = (seconds / (turns * TURN_SECONDS)).round().max(1.0);
        let attack = (seconds / (turns * rounds) - AROUND_SECONDS) / ATTACKS_PER_TURN;
        (rounds as usize, Duration::from_secs_f64(attack.max(ATTACK_SECONDS_MIN)))
    }
}

/// Soaks every architecture in rounds, and prints a table.
///
/// # Errors
/// When something cannot be built or started, and when a promise was broken: then with the seed that repeats
/// it.
pub fn run(arguments: &[&str]) -> Result<(), AnyError> {
    let options = SoakOptions::parse(arguments)?;
    show(cargo().args(["build", "--release", "--package", "osdyno"]))?;
    // A copy, so that a build in the meantime does not change what is soaked.
    let folder = tempfile::tempdir()?;
    let osdyno = folder.path().join("osdyno");
    std::fs::copy(workspace::target().join("release/osdyno"), &osdyno)?;
    let mut architectures = architectures(&osdyno)?;
    if let Some(only) = &options.architecture {
        architectures.retain(|name| name == only);
        if architectures.is_empty() {
            return Err(format!("no architecture {only:?} can run here; osdyno list names all").into());
        }
    }
    let (rounds, attack) = options.plan(architectures.len());
    let names = architectures.join(", ");
    println!("soak: {rounds} rounds of {names}; 3 attacks of {attack:.0?} each; seed {}", options.seed);

    let start = Instant::now();
    let deadline = start + Duration::from_secs_f64(options.hours * 3600.0);
    let mut rows: Vec<Row> =
        architectures.iter().map(|name| Row::new(name, attacks::ATTACKS.len())).collect();
    for round in 0..rounds {
        // The first round is always whole; a busy machine makes fewer of the others.
        if round > 0 && Instant::now() > deadline {
            println!("soak: the time is over after {round} of {rounds} rounds");
            break;
        }
        for row in &mut rows {
            soak_one(&osdyno, row, round, attack, options.seed);
        }
    }
    println!("\n{}", table::markdown(&rows, start.elapsed()));
    conclude(&rows, &options)
}

/// One turn of one architecture, its line, and its part of the table.
fn soak_one(osdyno: &Path, row: &mut Row, round: usize, attack: Duration, seed: u64) {
    let (start, findings) = (Instant::now(), Findings::default());
    let seed = seed.wrapping_mul(1000).wrapping_add(round as u64);
    let turn = Turn { osdyno, architecture: &row.architecture, seed, attack, findings: &findings };
    let outcome = turn.run();
    let findings = findings.into_texts();
    println!("{}", table::line(&row.architecture, round + 1, &outcome, &findings, start.elapsed()));
    row.add(&outcome, findings);
}

fn conclude(rows: &[Row], options: &SoakOptions) -> Result<(), AnyError> {
    let broken: Vec<&Row> = rows.iter().filter(|row| !row.findings.is_empty()).collect();
    if broken.is_empty() {
        return Ok(());
    }
    for row in &broken {
        for finding in &row.findings {
            println!("{}: {finding}", row.architecture);
        }
    }
    let names: Vec<&str> = broken.iter().map(|row| row.architecture.as_str()).collect();
    let again = format!("cargo xtask soak --hours {} --seed {}", options.hours, options.seed);
    Err(format!("{}: see above; `{again}` repeats it, --arch NAME for one of them", names.join(", ")).into())
}

/// Names of the architectures that this system has; of the others it says why not.
fn architectures(osdyno: &PathBuf) -> Result<Vec<String>, AnyError> {
    let listed = read(program(osdyno).args(["list", "--format", "json"]))?;
    let (names, missing) = parse_architectures(&serde_json::from_str(&listed)?);
    for (name, reason) in missing {
        println!("soak: {name} is unsupported here: {reason}");
    }
    if names.is_empty() {
        Err("osdyno list names no architecture that can run here".into())
    } else {
        Ok(names)
    }
}

/// Names that can run, and those that cannot with the reason.
fn parse_architectures(listed: &Value) -> (Vec<String>, Vec<(String, String)>) {
    let (mut names, mut missing) = (Vec::new(), Vec::new());
    let all = listed.as_array().into_iter().flatten();
    for one in all.filter(|one| one["group"] == "architectures") {
        let Some(name) = one["name"].as_str().map(str::to_owned) else { continue };
        match one["unsupported"].as_str() {
            None => names.push(name),
            Some(reason) => missing.push((name, reason.to_owned())),
        }
    }
    (names, missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_checked() {
        let options = SoakOptions::parse(&[]).expect("defaults");
        assert_eq!(options, SoakOptions { hours: HOURS, seed: 1, architecture: None });
        let words = ["--seed", "7", "--hours", "0.05", "--arch", "epoll"];
        let options = SoakOptions::parse(&words).expect("options");
        let architecture = Some("epoll".to_owned());
        assert_eq!(options, SoakOptions { hours: 0.05, seed: 7, architecture });
        for wrong in
            [&["--hours"][..], &["--hours", "0"], &["--hours", "NaN"], &["--seed", "x"], &["-v", "1"]]
        {
            assert!(SoakOptions::parse(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_short_run_has_one_round_and_a_long_one_repeats_them() {
        let plan = |hours| SoakOptions { hours, seed: 1, architecture: None }.plan(12);
        assert_eq!(plan(0.05), (1, Duration::from_secs_f64(ATTACK_SECONDS_MIN)));
        assert_eq!(plan(1.0), (5, Duration::from_secs(15)));
        assert_eq!(plan(24.0).0, 120);
    }

    #[test]
    fn architectures_come_from_the_list() {
        let listed = serde_json::json!([
            {"group": "kernel", "name": "noop", "unsupported": null},
            {"group": "architectures", "name": "epoll", "unsupported": null},
            {"group": "architectures", "name": "kqueue", "unsupported": "not on Linux"},
        ]);
        let (names, missing) = parse_architectures(&listed);
        assert_eq!((names, missing.len()), (vec!["epoll".to_owned()], 1));
    }
}

//! `cargo xtask test` runs before a commit; `cargo xtask verify` runs the rest, in CI.
//!
//! All steps run, even after one has failed. The summary lists them, and the tests that were skipped.

use std::fs::{self, File};
use std::io::{self, Write};
use std::num::NonZero;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::programs::{self, Skip, TestProgram};
use crate::workspace::{self, background, cargo, program, show};
use crate::{AnyError, check_systems, docs, link_systems, obtain, packages};

/// A step, which adds the tests that it skipped.
type Step = (&'static str, fn(&mut Vec<Skip>) -> Result<(), AnyError>);

/// In the order in which they fail fastest. The rules of the house are a test.
const TEST: &[Step] = &[
    ("packages", |_| packages::install(packages::For::Test)),
    ("format", |_| show(cargo().args(["fmt", "--all", "--check"]))),
    ("tests", tests),
];

/// Beside the build of the release.
const PREPARATION: &[Step] = &[
    ("packages", |_| packages::install(packages::For::Verify)),
    ("clippy", |_| show(cargo().args(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))),
    ("Wine", |_| obtain::wine()),
    ("mail servers", |_| obtain::mail_servers()),
    ("Python packages", |_| obtain::pypi()),
    // Tests run this program under Wine.
    ("link Windows", |_| link_systems::run(false, &link_systems::targets(true)).map(drop)),
];

const VERIFY: &[Step] = &[
    ("limits", limits),
    ("long tests", long_tests),
    ("simulations", simulations),
    ("selftest", |_| selftest()),
    ("documents", |_| docs::run()),
];

/// Packages whose tests compute, and do not care for the time that it takes.
const SIMULATED: [&str; 9] =
    ["fleet", "history", "import", "judge", "record", "report", "selftest", "stats", "xtask"];

/// Tests wait for a third of their time, for a time limit or a window of measurement: more of them than
/// processors run at once, and those that compute have the time that is left.
fn tests(skipped: &mut Vec<Skip>) -> Result<(), AnyError> {
    let (simulated, real): (Vec<_>, Vec<_>) =
        programs::build(&[])?.into_iter().partition(|tests| SIMULATED.contains(&tests.package()));
    let (mut output, mut skipped_behind) = (Vec::new(), Vec::new());
    let (of_real, of_simulated) = std::thread::scope(|scope| {
        let behind =
            scope.spawn(|| run_all(&simulated, TestProgram::behind, &mut output, &mut skipped_behind));
        let of_real = run_all(&real, TestProgram::command, &mut io::stdout(), skipped);
        (of_real, behind.join().unwrap_or_else(|_| Err("their thread panicked".into())))
    });
    io::stdout().write_all(&output)?;
    skipped.append(&mut skipped_behind);
    let of_documents = show(cargo().args(["test", "--quiet", "--workspace", "--doc"]));
    of_real.and(of_simulated).map_err(AnyError::from).and(of_documents)
}

/// Runs all of the programs, even after one has failed.
fn run_all(
    built: &[TestProgram],
    command: fn(&TestProgram) -> Command,
    out: &mut impl Write,
    skipped: &mut Vec<Skip>,
) -> Result<(), String> {
    let threads = threads(3);
    let of_program = |tests: &TestProgram| {
        writeln!(out, "\nTests of {}", tests.package()).map_err(|error| error.to_string())?;
        let result = programs::run(command(tests).env("RUST_TEST_THREADS", &threads), out, skipped);
        result.map_err(|error| format!("{}: {error}", tests.package()))
    };
    built.iter().map(of_program).fold(Ok(()), Result::and)
}

/// So many for each processor.
fn threads(each: usize) -> String {
    (each * std::thread::available_parallelism().map_or(1, NonZero::get)).to_string()
}

/// One of those of osdyno that `cargo test` leaves out. Many start whole systems and wait for these.
fn long_tests(skipped: &mut Vec<Skip>) -> Result<(), AnyError> {
    let mut command = of_package("osdyno", &["--test", "verify"])?;
    programs::run(command.env("RUST_TEST_THREADS", threads(2)), &mut io::stdout(), skipped)
}

/// They use up what others need, and run one after the other.
fn limits(skipped: &mut Vec<Skip>) -> Result<(), AnyError> {
    programs::run(&mut of_package("osdyno", &["--test", "limits"])?, &mut io::stdout(), skipped)
}

/// The program of a package among those that cargo chooses.
fn of_package(package: &str, choice: &[&str]) -> Result<Command, AnyError> {
    let built = programs::build(choice)?;
    let found = built.iter().find(|tests| tests.package() == package);
    Ok(found.ok_or_else(|| format!("{package} has no tests {}", choice.join(" ")))?.command())
}

/// Runs every test that needs this machine alone, and the checks that take seconds.
///
/// # Errors
/// Names the steps that failed.
pub fn test() -> Result<(), AnyError> {
    let mut summary = Summary::begin();
    // Packages are unpacked by one processor. Where the linker is one of them, "tests" compiles what is left.
    let mut ahead = programs::compiler(&[]).stderr(Stdio::null()).stdout(Stdio::null()).spawn()?;
    summary.run(TEST);
    ahead.wait()?;
    summary.end()
}

/// Runs the tests that take longer, or need other systems and programs.
///
/// # Errors
/// Names the steps that failed; an unexpected skip is a failure too.
pub fn verify() -> Result<(), AnyError> {
    let mut summary = Summary::begin();
    // First, because its last crate leaves a processor to the others.
    let release = Build::begin(15, &["release", "--verify"]);
    summary.run(PREPARATION);
    // It builds in the folder of "link Windows", which would wait for a process of the lowest priority.
    let systems = Build::begin(19, &["other-systems"]);
    summary.run(VERIFY);
    summary.add_build("release", || release?.end());
    summary.add_build("other systems", || systems?.end());
    let unexpected = summary.skipped.iter().any(|skip| !skip.is_expected());
    summary.end()?;
    if unexpected {
        Err("a test was skipped although this machine should have its requirement".into())
    } else {
        Ok(())
    }
}

/// Long simulations: `test` has a few seeds of each.
fn simulations(skipped: &mut Vec<Skip>) -> Result<(), AnyError> {
    let mut run = |seeds: &str, package: &str, choice: &[&str], filter: &[&str]| {
        let mut command = of_package(package, choice)?;
        programs::run(command.env("OSDYNO_SEEDS", seeds).args(filter), &mut io::stdout(), skipped)
    };
    let of_runner = run("10000", "runner", &["--test", "it"], &["simulation"]);
    let of_net = run("10000", "net", &["--lib"], &[]);
    let of_report = run("400", "report", &["--test", "it"], &["damaged"]);
    of_runner.and(of_net).and(of_report)
}

/// Links for the systems whose linker is at hand and that no test runs, and checks the types for the others.
/// A program that links has its types checked, too.
///
/// # Errors
/// Names the targets that do not compile.
pub fn other_systems() -> Result<(), AnyError> {
    let linked = link_systems::run(false, &link_systems::targets(false));
    let done: &[&str] = linked.as_deref().unwrap_or_default();
    let rest: Vec<&str> =
        check_systems::TARGETS.iter().filter(|target| !done.contains(target)).copied().collect();
    let checked = check_systems::run(&rest);
    linked.and(checked)
}

/// The outcome of each step.
struct Summary {
    start: Instant,
    outcomes: Vec<Outcome>,
    skipped: Vec<Skip>,
}

struct Outcome {
    name: &'static str,
    is_passed: bool,
    /// Of a build, the time after the steps beside it.
    elapsed: Duration,
    is_build: bool,
    /// Of all processors, where the system counts it.
    processor_time: Option<Duration>,
}

impl Summary {
    fn begin() -> Self {
        Summary { start: Instant::now(), outcomes: Vec::new(), skipped: Vec::new() }
    }

    fn run(&mut self, steps: &[Step]) {
        steps.iter().for_each(|(name, step)| self.add(name, step));
    }

    fn add_build(&mut self, name: &'static str, end: impl FnOnce() -> Result<(), AnyError>) {
        self.add(name, |_| end());
        if let Some(outcome) = self.outcomes.last_mut() {
            outcome.is_build = true;
        }
    }

    fn add(&mut self, name: &'static str, step: impl FnOnce(&mut Vec<Skip>) -> Result<(), AnyError>) {
        println!("\n── {name} {}", "─".repeat(76 - name.len()));
        let (start, used) = (Instant::now(), processor_time());
        let result = step(&mut self.skipped);
        let (elapsed, processor_time) =
            (start.elapsed(), used.and_then(|used| Some(processor_time()? - used)));
        match &result {
            Ok(()) => println!("{name}: done in {}", seconds(elapsed)),
            Err(error) => println!("{name}: FAILED after {}: {error}", seconds(elapsed)),
        }
        let is_passed = result.is_ok();
        self.outcomes.push(Outcome { name, is_passed, elapsed, is_build: false, processor_time });
    }

    fn end(self) -> Result<(), AnyError> {
        println!("\n── summary {}", "─".repeat(69));
        programs::print_skipped(&self.skipped);
        for outcome in &self.outcomes {
            let passed = if outcome.is_passed { "passed" } else { "FAILED" };
            let processors = outcome
                .processor_time
                .map_or_else(String::new, |time| format!("{:>10} of processor time", seconds(time)));
            let after = if outcome.is_build { "after the others" } else { "" };
            println!(
                "{passed:<8}{:<16}{:>10} {after:<16}{processors}",
                outcome.name,
                seconds(outcome.elapsed)
            );
        }
        let failed: Vec<&str> =
            self.outcomes.iter().filter(|outcome| !outcome.is_passed).map(|outcome| outcome.name).collect();
        println!(
            "{} steps passed, {} failed, {}",
            self.outcomes.len() - failed.len(),
            failed.len(),
            seconds(self.start.elapsed())
        );
        if failed.is_empty() { Ok(()) } else { Err(format!("failed: {}", failed.join(", ")).into()) }
    }
}

/// The processor time of programs that have ended: cutime and cstime of proc_pid_stat(5), in hundredths of a
/// second. It shows whether a step is limited by the processors or waits.
fn processor_time() -> Option<Duration> {
    let own = fs::read_to_string("/proc/self/stat").ok()?;
    // The name before it may contain anything.
    let fields: Vec<&str> = own.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |place: usize| fields.get(place)?.parse::<u64>().ok();
    Some(Duration::from_millis(10 * (ticks(13)? + ticks(14)?)))
}

/// A build that is no part of a test. The steps wait half of the time: for packages, for the
/// one crate that all others need, for a test's window. Meanwhile this has the processors, with a low
/// priority, so that no step waits for it.
struct Build {
    process: Child,
    log: PathBuf,
}

impl Build {
    /// Starts a verb of ours.
    fn begin(niceness: u8, verb: &[&str]) -> Result<Self, AnyError> {
        fs::create_dir_all(workspace::target())?;
        let log = workspace::target().join(format!("{}.log", verb[0]));
        let file = File::create(&log).map_err(|error| format!("cannot create {}: {error}", log.display()))?;
        let mut command = background(niceness, std::env::current_exe()?, verb);
        let process = command.stdout(file.try_clone()?).stderr(file).spawn()?;
        Ok(Build { process, log })
    }

    /// Waits for it and prints its output.
    fn end(mut self) -> Result<(), AnyError> {
        let status = self.process.wait()?;
        print!("{}", fs::read_to_string(&self.log)?);
        if status.success() { Ok(()) } else { Err(format!("it ended with {status}").into()) }
    }
}

/// The error rates that can be shown in a minute; `osdyno selftest --nightly` shows all of them.
fn selftest() -> Result<(), AnyError> {
    let cells = [
        "*/low/log20/10",
        "*-margin/low/dense/40",
        "constant/*/log20/3",
        "constant/*/one/*",
        "*-1.00/*/log8/10",
        "race-*",
        "outside-*/points/log27/10",
    ];
    let osdyno = workspace::osdyno()?;
    let only = cells.iter().flat_map(|cells| ["--only", cells]);
    show(program(&osdyno).args(["selftest", "--replicates", "300"]).args(only))?;
    // A gate promises at most 5 of 1,000.
    show(program(&osdyno).args(["selftest", "--replicates", "1000", "--only", "build-*"]))?;
    show(program(&osdyno).args(["selftest", "--years", "30"]))
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

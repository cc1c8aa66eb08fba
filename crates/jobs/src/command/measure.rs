//! The levels of a command: the number of executions, their costs, and the checks.

use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use sys::process::{Amount, Executed, Making, ProgramLauncher};
use workload::{JobRecorder, ProgramEnded, Trial, TrialError};

use super::NONE;
use super::execute::{Given, Output, Subject};

/// Any exit status is right.
const ANY: &str = "any";
/// Repetitions take as long together: 25 ticks of a kernel with 250 of them a second, which divide processor
/// time between user and system.
const ENOUGH: Duration = Duration::from_millis(100);
/// With what prepares them, repetitions take no longer than that.
const TOGETHER_MOST: Duration = Duration::from_secs(2);
const REPETITIONS_MOST: u32 = 1000;
/// Executions of `true` at each level.
const STARTS: u32 = 10;

const ENDED_RIGHT: &str = "every execution ended with the exit status that was expected";
const SAME_OUTPUT: &str = "every execution of a level printed the same";
const LEFT: &str = "The command left processes running when it ended; they were killed.";

pub(super) fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
    let is_given = |name: &str| trial.setting(name).map(|text| Some(text).filter(|&text| text != NONE));
    let given = Given {
        command: trial.setting("command")?.to_owned(),
        by_shell: trial.setting("shell")? == "yes",
        prepare: is_given("prepare")?.map(str::to_owned),
        cleanup: is_given("cleanup")?.map(str::to_owned),
        stdin: is_given("stdin")?.map(str::to_owned),
        reads_output: trial.setting("same-output")? == "yes",
        scratch: trial.scratch().to_owned(),
    };
    let expected = trial.setting("expect-exit")?;
    let rules = Rules {
        exit: (expected != ANY).then(|| expected.parse()).transpose().map_err(|_| TrialError {
            attempted: format!("to read {expected:?} as an exit status"),
            error: io::ErrorKind::InvalidInput.into(),
        })?,
        warm_up: u32::try_from(trial.number("warm-up")?).unwrap_or(u32::MAX),
    };
    // A program that cannot be found at all is no limit at some level.
    for level in trial.levels() {
        given.at(level)?;
    }
    let clock = trial.clock().clone();
    let per_tick = clock.seconds_per_tick();
    let launcher = ProgramLauncher::new(&clock);
    sys::process::adopt_orphans();
    sys::process::leave_terminal();
    trial.job(|n, job| {
        let subject = given.at(n).map_err(|error| error.error)?;
        let mut level = Level { subject, rules, launcher: &launcher, per_tick, left: false };
        level.measure(job)
    })
}

/// The conditions of the user on each execution.
#[derive(Clone, Copy)]
struct Rules {
    /// The exit status; `None` is any.
    exit: Option<i32>,
    warm_up: u32,
}

/// The command at one level.
struct Level<'a> {
    subject: Subject,
    rules: Rules,
    launcher: &'a ProgramLauncher,
    per_tick: f64,
    /// Whether an execution left processes running.
    left: bool,
}

impl Level<'_> {
    fn measure(&mut self, job: &mut JobRecorder<'_, '_>) -> io::Result<()> {
        job.level().doing("time");
        let mut printed = None;
        for _ in 0..self.rules.warm_up {
            self.execute(Making::Spawned, &mut printed)?;
        }
        let begun = Instant::now();
        // Only the peak of a forked process is its own.
        let first = self.execute(Making::Forked, &mut printed)?;
        let repetitions = self.repetitions(&first);
        let mut sums = Sums::new(self.per_tick);
        let mut starts = Starts { sum_seconds: 0.0, done: 0 };
        if repetitions == 1 {
            sums.add(&first, job);
        }
        for number in 1..=repetitions {
            if repetitions > 1 {
                let mut executed = self.execute(Making::Spawned, &mut printed)?;
                executed.usage.memory_bytes = first.usage.memory_bytes;
                sums.add(&executed, job);
            }
            starts.keep_up(self, number, repetitions);
            if begun.elapsed() > TOGETHER_MOST {
                break;
            }
        }
        // Where the time was up before, the rest.
        starts.keep_up(self, 1, 1);
        sums.report(job);
        match starts.mean() {
            Some(mean) => job.value("start", mean),
            None => job.unavailable("start", "no program called true is in PATH"),
        }
        job.level().check(ENDED_RIGHT, true);
        if self.left {
            job.level().warn(LEFT.to_owned());
        }
        self.compare_output(job, printed)
    }

    /// How often a command that took so long is executed for one value.
    fn repetitions(&self, first: &Executed) -> u32 {
        let seconds = first.ticks as f64 * self.per_tick;
        let wanted = (ENOUGH.as_secs_f64() / seconds.max(1e-6)).ceil();
        (wanted as u32).clamp(1, REPETITIONS_MOST)
    }

    /// Executes the command once, prepared and cleaned up.
    fn execute(&mut self, making: Making, printed: &mut Option<Output>) -> io::Result<Executed> {
        self.subject.prepare()?;
        let (executed, output) = self.subject.execute(self.launcher, making)?;
        self.left |= output.left_processes;
        self.refuse_wrong_end(&executed, &output)?;
        self.subject.clean_up()?;
        match printed {
            Some(known) if known.has_printed_other_than(&output) => {
                known.differs = Some((output.bytes, output.checksum));
            }
            Some(_) => {}
            None => *printed = Some(output),
        }
        Ok(executed)
    }

    /// An execution that ended otherwise than expected is no measurement.
    fn refuse_wrong_end(&self, executed: &Executed, output: &Output) -> io::Result<()> {
        let code = executed.status.code();
        let is_right = match self.rules.exit {
            Some(exit) => code == Some(exit),
            None => code.is_some(),
        };
        if is_right {
            return Ok(());
        }
        let mut text = format!("{}: {}", self.subject.text, sys::process::ending(executed.status));
        if !output.stderr.is_empty() {
            text = format!("{text}; its standard error: {}", output.stderr);
        }
        if let (Some(code), Some(_)) = (code, self.rules.exit) {
            text = format!("{text}; --expect-exit {code} accepts that");
        }
        Err(io::Error::other(ProgramEnded(text)))
    }

    /// Checks that all executions printed the same, in this trial and in those before it, of all commands.
    fn compare_output(&self, job: &mut JobRecorder<'_, '_>, printed: Option<Output>) -> io::Result<()> {
        let Some(output) = printed.filter(|_| self.subject.reads_output) else { return Ok(()) };
        let own = output.description();
        let file = self.subject.scratch.join(format!("command-output-{}", job.level().n()));
        let known = known_or(&file, &own)?;
        let is_same = known == own && output.differs.is_none();
        job.level().check(SAME_OUTPUT, is_same);
        if let Some((bytes, checksum)) = output.differs {
            let other = describe(bytes, checksum);
            job.level().warn(format!("{} printed {own}, then {other}.", self.subject.text));
        } else if !is_same {
            job.level().warn(format!("{} printed {own}; {known} was printed first.", self.subject.text));
        }
        Ok(())
    }
}

/// The content of the file; the text itself, where there is no such file yet.
fn known_or(file: &Path, text: &str) -> io::Result<String> {
    match fs::read_to_string(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            fs::write(file, text)?;
            Ok(text.to_owned())
        }
        known => known,
    }
}

impl Output {
    fn has_printed_other_than(&self, other: &Output) -> bool {
        (self.bytes, self.checksum) != (other.bytes, other.checksum)
    }

    fn description(&self) -> String {
        describe(self.bytes, self.checksum)
    }
}

fn describe(bytes: u64, checksum: u64) -> String {
    format!("{bytes} bytes (checksum {checksum:016x})")
}

/// The executions of `true`, spread evenly over those of the command.
struct Starts {
    sum_seconds: f64,
    done: u32,
}

impl Starts {
    /// Executes it as often as is due after that many of the command.
    fn keep_up(&mut self, level: &mut Level<'_>, number: u32, of: u32) {
        while u64::from(self.done) * u64::from(of) < u64::from(STARTS) * u64::from(number) {
            let Some(ticks) = level.subject.start(level.launcher) else { return };
            self.sum_seconds += ticks as f64 * level.per_tick;
            self.done += 1;
        }
    }

    fn mean(&self) -> Option<f64> {
        (self.done > 0).then(|| self.sum_seconds / f64::from(self.done))
    }
}

/// The sums of the costs of executions.
struct Sums {
    per_tick: f64,
    time_seconds: f64,
    amounts: [(&'static str, Amount); 7],
    executions: u32,
}

impl Sums {
    fn new(per_tick: f64) -> Sums {
        let names = ["user time", "system time", "peak memory", "faults", "switches", "read", "written"];
        Sums { per_tick, time_seconds: 0.0, amounts: names.map(|name| (name, Ok(0.0))), executions: 0 }
    }

    fn add(&mut self, executed: &Executed, job: &mut JobRecorder<'_, '_>) {
        let begun = executed.begun_ticks;
        job.was_elsewhere("time", (begun, begun + executed.ticks));
        self.time_seconds += executed.ticks as f64 * self.per_tick;
        self.executions += 1;
        let usage = &executed.usage;
        let amounts = [
            usage.user_seconds,
            usage.system_seconds,
            usage.memory_bytes,
            usage.faults,
            usage.switches,
            usage.read_bytes,
            usage.written_bytes,
        ];
        for ((_, sum), amount) in self.amounts.iter_mut().zip(amounts) {
            *sum = sum.and_then(|sum| Ok(sum + amount?));
        }
    }

    /// Reports their means.
    fn report(&self, job: &mut JobRecorder<'_, '_>) {
        let of = f64::from(self.executions.max(1));
        job.value("time", self.time_seconds / of);
        for &(name, sum) in &self.amounts {
            match sum {
                Ok(sum) => job.value(name, sum / of),
                Err(reason) => job.unavailable(name, reason),
            }
        }
    }
}

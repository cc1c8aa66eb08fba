//! Time to compile a C program with n compilers at once.
//!
//! **Question.** How fast does a system compile, and how much faster with more compilers at once? Compiling
//! is processor time in the main, beside many short processes and small files.
//!
//! **Method.** The program is the decoder of zstd 1.5, twelve units, whose source osdyno contains. n
//! compilers, each a process `cc -O2 -c`, compile the units, the largest first, until each is compiled; this
//! is repeated until the window of time ends. `program` is the time for all units, `unit` the mean time of
//! one compiler from its start to its end, and `rate` the units per second of all compilers. Every compiler
//! writes its object file and its temporary files to the scratch folder, and equal units must give equal
//! object files. The trial is not bound to a processor. `--set optimize=LEVEL` (2) selects the optimization.
//! The fact `software.compiler` of the system has the version of `cc`: only equal versions are to be
//! compared.
//!
//! **Expected answer.** Up to one compiler for each processor, `rate` grows almost in proportion to n, and
//! `unit` stays flat.

use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use sys::Unsupported;
use workload::resource::{MEMORY, PROCESSES, PROCESSORS};
use workload::{Expect, Need, Operation, Setting, Sizes, Trial, TrialError, Unit, Values, Workload, levels};

use crate::work::{Calls, Refused, at_once};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "compile",
    source: workload::page!("compile.rs"),
    grows: "compilers",
    sizes: Sizes::Levels(levels::one_two_five),
    all_processors: true,
    settings: &[Setting {
        name: "optimize",
        default: "2",
        values: Values::OneOf(&["0", "1", "2", "3"]),
        summary: "level of optimization, cc -O",
    }],
    operations: &[
        Operation::phase("program", Expect::Any, "all units compiled once"),
        Operation::phase("unit", Expect::Constant, "one unit, from the start of its compiler to its end"),
        Operation::reported("rate", Unit::PerSecond, Expect::Any, "units per second of all compilers"),
    ],
    needs: &[Need::new(PROCESSES, 3), Need::new(MEMORY, 128 << 20), Need::new(PROCESSORS, 1)],
    classic_n: 1,
    run: Ok(run),
    ..Workload::JOB
};

mod source {
    include!(concat!(env!("OUT_DIR"), "/c_program.rs"));
}

const CALL: [&str; 1] = ["unit"];

const CLAIM: &str = "a unit gave the same object file each time";

/// The definitions of zstd's makefile where there is no assembler.
const DEFINITIONS: [&str; 3] = ["-DXXH_NAMESPACE=ZSTD_", "-DZSTD_DISABLE_ASM=1", "-DDEBUGLEVEL=0"];

fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
    let folder = trial.scratch().join("compile");
    // A trial that was killed may have left it.
    let _ = fs::remove_dir_all(&folder);
    let optimize = format!("-O{}", trial.setting("optimize")?);
    let measured = Program::prepare(&folder, &optimize)
        .map_err(TrialError::at("to compile a first unit"))
        .and_then(|program| measure(trial, &program));
    // The error is that of the trial.
    let _ = fs::remove_dir_all(&folder);
    measured
}

fn measure(trial: &mut Trial<'_>, program: &Program<'_>) -> Result<(), TrialError> {
    let (window, clock) = (trial.window(), trial.clock());
    trial.job(|compilers, job| {
        let make = |number: u64| -> io::Result<Compiler<'_>> {
            let object = program.folder.join(format!("{number}.o"));
            Ok(Compiler { program, object, calls: Calls::new(clock, &CALL)?, objects: Vec::new() })
        };
        let mut all = (0..compilers).map(make).collect::<io::Result<Vec<_>>>()?;
        let (begun, mut rounds) = (Instant::now(), 0);
        loop {
            let next = AtomicUsize::new(0);
            if let Err(refused) = at_once(&mut all, |one, is_stopped| one.work(&next, is_stopped)) {
                job.level().doing(refused.operation);
                return Err(refused.error);
            }
            rounds += 1;
            if begun.elapsed() >= window {
                break;
            }
        }
        let elapsed_seconds = begun.elapsed().as_secs_f64();
        let units = (rounds * program.units.len()) as f64;
        let mut calls = Calls::new(clock, &CALL)?;
        all.iter().for_each(|one| calls.add_all(&one.calls));
        calls.report(job);
        job.value("program", elapsed_seconds / rounds as f64);
        job.value("rate", units / elapsed_seconds);
        let objects = all.iter().flat_map(|one| &one.objects);
        let are_equal = objects.clone().all(|&(unit, object)| program.objects[unit] == object);
        job.level().check(CLAIM, are_equal && objects.count() == rounds * program.units.len());
        Ok(())
    })
}

/// The source, unpacked, and how it is compiled.
struct Program<'a> {
    folder: &'a Path,
    optimize: &'a str,
    /// The names of its units, the largest first.
    units: Vec<&'static str>,
    /// The outputs of the compiler, as a checksum.
    objects: Vec<u64>,
}

impl<'a> Program<'a> {
    /// Unpacks it and compiles every unit once, which also loads the compiler into memory.
    fn prepare(folder: &'a Path, optimize: &'a str) -> io::Result<Program<'a>> {
        for (name, content) in source::FILES {
            let path = folder.join(name);
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            fs::write(path, content)?;
        }
        let is_unit = |(name, _): &&(&str, &[u8])| name.ends_with(".c");
        let mut units: Vec<&(&'static str, &[u8])> = source::FILES.iter().filter(is_unit).collect();
        if units.is_empty() {
            return Err(Unsupported("the source of zstd was not there when osdyno was built").into());
        }
        units.sort_by_key(|(_, content)| std::cmp::Reverse(content.len()));
        let units: Vec<&'static str> = units.iter().map(|(name, _)| *name).collect();
        let mut program = Program { folder, optimize, units, objects: Vec::new() };
        let object = folder.join("first.o");
        for unit in 0..program.units.len() {
            program.objects.push(program.compile(unit, &object).map_err(|refused| refused.error)?);
        }
        Ok(program)
    }

    /// Compiles a unit in a process of its own, and returns the checksum of its object file.
    fn compile(&self, unit: usize, object: &Path) -> Result<u64, Refused> {
        let mut command = Command::new("cc");
        command.arg(self.optimize).args(DEFINITIONS).args(["-w", "-c", "-o"]).arg(object);
        // A cache of object files would be measured in place of the compiler.
        command.arg(self.units[unit]).current_dir(self.folder).env("CCACHE_DISABLE", "1");
        // Files of a compiler that is killed are removed with the folder.
        command.envs(TEMPORARY.map(|variable| (variable, self.folder)));
        let ended = command.output().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Unsupported(NO_COMPILER).into(),
            _ => error,
        });
        let ended = ended.map_err(Refused::at("cc"))?;
        if !ended.status.success() {
            let said = String::from_utf8_lossy(&ended.stderr);
            let said = said.lines().find(|line| line.contains("error")).unwrap_or("it said nothing");
            let reason = format!("cc failed on {}, {}: {said}", self.units[unit], ended.status);
            return Err(Refused::at("cc")(io::Error::other(reason)));
        }
        let mut hasher = DefaultHasher::new();
        hasher.write(&fs::read(object).map_err(Refused::at("read"))?);
        Ok(hasher.finish())
    }
}

/// The variables that name the folder of a compiler's temporary files, elsewhere and on Windows.
const TEMPORARY: [&str; 2] = ["TMPDIR", "TMP"];

const NO_COMPILER: &str = "there is no compiler `cc`; on Debian `apt-get install gcc libc6-dev` installs one";

/// One of those that work at once.
struct Compiler<'a> {
    program: &'a Program<'a>,
    object: PathBuf,
    calls: Calls<'a>,
    /// The compiled files, with the checksums of the object files.
    objects: Vec<(usize, u64)>,
}

impl Compiler<'_> {
    /// Compiles one unit after the other that no other compiler has taken.
    fn work(&mut self, next: &AtomicUsize, is_stopped: &dyn Fn() -> bool) -> Result<(), Refused> {
        while !is_stopped() {
            let unit = next.fetch_add(1, Ordering::Relaxed);
            if unit >= self.program.units.len() {
                break;
            }
            self.calls.begin();
            let object = self.program.compile(unit, &self.object)?;
            self.calls.end("unit");
            self.objects.push((unit, object));
        }
        Ok(())
    }
}

//! The place where truths are measured: programs, their folder, mounts and networks of their own.
//!
//! Nothing of the machine is changed: a file system is an image, mounted where only the trial sees it, and a
//! setting of the network is made in a network of the trial's own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::claim::Found;
use crate::AnyError;
use crate::workspace::{self, cargo, exists, program, read, show};

/// Trials of each series.
const TRIALS: u32 = 20;

/// `osdyno run` with a series that could not be measured to its end; its measurements are valid.
const INCOMPLETE: i32 = 3;

/// A program that makes a file system, and its options.
pub(super) type Format = &'static [&'static str];

/// A requirement beyond this machine's kernel.
pub(super) enum Need {
    Nothing,
    /// A program that can be started.
    Program(&'static str),
    /// To make such a file system and to mount it.
    Mount(Format),
    /// A separate network.
    Network,
    /// To sample the kernel.
    Profiler,
}

pub(super) struct Laboratory {
    /// Where cargo puts the programs.
    programs: PathBuf,
    folder: PathBuf,
}

impl Laboratory {
    /// Builds the programs and makes room for the numbers.
    ///
    /// # Errors
    /// When something cannot be built or the folder cannot be made.
    pub(super) fn open() -> Result<Laboratory, AnyError> {
        if !cfg!(target_os = "linux") {
            return Err("the truths are Linux's; there are none for this system yet".into());
        }
        show(cargo().args(["build", "--release", "--package", "osdyno"]))?;
        show(cargo().args(["build", "--release", "--package", "sys", "--examples"]))?;
        let folder = workspace::target().join("truths");
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder)?;
        Ok(Laboratory { programs: workspace::target().join("release"), folder })
    }

    /// Where the numbers are.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Why something cannot be measured here, found by trying it; `None` when it can.
    pub(super) fn missing(&self, need: &Need) -> Option<String> {
        let tried = match need {
            Need::Nothing => Ok(String::new()),
            Need::Program(name) if exists(name) => Ok(String::new()),
            Need::Program(name) => Err(format!("there is no {name}").into()),
            Need::Mount(format) => self.image("tried", format).and_then(|image| {
                read(&mut self.mounted(&image, "true".as_ref())?)?;
                Ok(fs::remove_file(image).map(|()| String::new())?)
            }),
            Need::Profiler => {
                let mut run = program(self.osdyno());
                let run = run.args(["run", "noop", "-n", "100", "--trials", "2", "--blame", "--out"]);
                read(run.arg(self.unused("tried")))
            }
            Need::Network => read(&mut in_network("20000 29999", "true".as_ref())),
        };
        // The message of a program that failed is enough.
        let reason = tried.err()?.to_string();
        Some(reason.rsplit("` failed: ").next().unwrap_or(&reason).to_owned())
    }

    /// Runs a workload and returns the verdict on one of its series.
    ///
    /// # Errors
    /// When osdyno fails, or its answer lacks the series.
    pub(super) fn run(&self, arguments: &[&str], series: &str) -> Result<Found, AnyError> {
        self.run_by(program(self.osdyno()), arguments, series)
    }

    /// Runs a workload, and samples the functions in which its costs grow.
    ///
    /// # Errors
    /// As [`Laboratory::run`], and where nothing of the series was sampled.
    pub(super) fn blame(&self, arguments: &[&str], series: &str) -> Result<Found, AnyError> {
        let arguments = [arguments, &["--preset", "full", "--blame"]].concat();
        let (file, found) = self.recorded(program(self.osdyno()), &arguments, series)?;
        let blame = read(program(self.osdyno()).arg("blame").arg(file).args(["--format", "json"]))?;
        found.read_blame(&blame, series)
    }

    /// Runs a workload under a limit, in the words of prlimit(1).
    ///
    /// # Errors
    /// As [`Laboratory::run`].
    pub(super) fn run_limited(
        &self,
        limit: &str,
        arguments: &[&str],
        series: &str,
    ) -> Result<Found, AnyError> {
        let mut command = program("prlimit");
        command.arg(limit).arg(self.osdyno());
        self.run_by(command, arguments, series)
    }

    /// Runs a workload in a network of its own, with a range of ports of its own.
    ///
    /// # Errors
    /// As [`Laboratory::run`].
    pub(super) fn run_with_ports(
        &self,
        range: &str,
        arguments: &[&str],
        series: &str,
    ) -> Result<Found, AnyError> {
        self.run_by(in_network(range, &self.osdyno()), arguments, series)
    }

    fn run_by(&self, osdyno: Command, arguments: &[&str], series: &str) -> Result<Found, AnyError> {
        self.recorded(osdyno, arguments, series).map(|(_, found)| found)
    }

    /// The same, with the run file.
    fn recorded(
        &self,
        mut osdyno: Command,
        arguments: &[&str],
        series: &str,
    ) -> Result<(PathBuf, Found), AnyError> {
        let file = self.unused(arguments[0]);
        osdyno.arg("run").args(arguments).args([
            "--trials",
            &TRIALS.to_string(),
            "--format",
            "json",
            "--out",
        ]);
        let output = osdyno.arg(&file).output()?;
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        if !output.status.success() && output.status.code() != Some(INCOMPLETE) {
            return Err(format!("osdyno run {} failed: {}", arguments.join(" "), told.trim()).into());
        }
        let answer = String::from_utf8(output.stdout)?;
        fs::write(file.with_extension("json"), &answer)?;
        let found = Found::read(&answer, series, told)?;
        Ok((file, found))
    }

    /// Waits for one ready descriptor among idle ones, by `poll` or `epoll`.
    ///
    /// # Errors
    /// When a program fails.
    pub(super) fn wait(&self, call: &str) -> Result<Found, AnyError> {
        self.judged(call, |trial| {
            let mut command = program(self.example("wait"));
            command.args([call, trial, "2000"]);
            Ok(command)
        })
    }

    /// Creates files in a folder of such a file system.
    ///
    /// # Errors
    /// When a program fails.
    pub(super) fn create(&self, series: &str, format: Format) -> Result<Found, AnyError> {
        let image = self.image(series, format)?;
        let found = self.judged(series, |trial| {
            let mut command = self.mounted(&image, &self.example("create"))?;
            command.arg(series).arg(self.mount_point()).args([trial, "3000"]);
            Ok(command)
        });
        fs::remove_file(image)?;
        found
    }

    /// Runs a process for each trial and returns the verdict of `osdyno judge` on their output.
    fn judged(
        &self,
        series: &str,
        process: impl Fn(&str) -> Result<Command, AnyError>,
    ) -> Result<Found, AnyError> {
        let mut table = String::new();
        for trial in 1..=TRIALS {
            let printed = read(&mut process(&trial.to_string())?)?;
            // One header for all.
            table.extend(printed.lines().skip(usize::from(trial > 1)).flat_map(|line| [line, "\n"]));
        }
        let file = self.folder.join(format!("{series}.csv"));
        fs::write(&file, table)?;
        let answer = read(program(self.osdyno()).arg("judge").arg(&file).args(["--format", "json"]))?;
        fs::write(file.with_extension("json"), &answer)?;
        Found::read(&answer, series, String::new())
    }

    fn osdyno(&self) -> PathBuf {
        self.programs.join("osdyno")
    }

    fn example(&self, name: &str) -> PathBuf {
        self.programs.join("examples").join(name)
    }

    /// A file with a new file system in it.
    fn image(&self, name: &str, format: Format) -> Result<PathBuf, AnyError> {
        const IMAGE_BYTES: u64 = 128 << 20;
        let image = self.folder.join(format!("{name}.image"));
        fs::File::create(&image)?.set_len(IMAGE_BYTES)?;
        read(program(format[0]).args(["-q", "-F"]).args(&format[1..]).arg(&image))?;
        Ok(image)
    }

    /// The program in a place of its own where the image is mounted; however it ends, the mount ends too.
    fn mounted(&self, image: &Path, binary: &Path) -> Result<Command, AnyError> {
        const SCRIPT: &str = "mount -o loop,noatime \"$1\" \"$2\" || exit 1
            place=$2; shift 2; \"$@\"; status=$?; umount \"$place\"; exit $status";
        let place = self.mount_point();
        fs::create_dir_all(&place)?;
        let mut command = program("unshare");
        command.args(["--mount", "sh", "-c", SCRIPT, "sh"]).args([image, &place, binary]);
        Ok(command)
    }

    fn mount_point(&self) -> PathBuf {
        self.folder.join("mounted")
    }

    /// `bind-v4.osdyno`, `bind-v4-2.osdyno` for the next.
    fn unused(&self, workload: &str) -> PathBuf {
        let workload = workload.replace('/', "-");
        let number = |count: u32| if count < 2 { String::new() } else { format!("-{count}") };
        let path = |count| self.folder.join(format!("{workload}{}.osdyno", number(count)));
        (1..TRIALS).map(path).find(|path| !path.exists()).unwrap_or_else(|| path(TRIALS))
    }
}

/// The program in a network of its own with that range of ports.
fn in_network(range: &str, binary: &Path) -> Command {
    const SCRIPT: &str = "echo \"$1\" > /proc/sys/net/ipv4/ip_local_port_range && shift && exec \"$@\"";
    let mut command = program("unshare");
    command.args(["--net", "sh", "-c", SCRIPT, "sh", range]).arg(binary);
    command
}

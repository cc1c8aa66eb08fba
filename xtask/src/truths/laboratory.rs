//! Where truths are measured: the programs, their folder, and what is borrowed of the machine.
//!
//! Nothing of the machine is changed: a file system is an image, mounted where only the trial sees it, and a
//! setting of the network is set in a network of the trial's own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::found::Found;
use crate::command::{cargo, exists, program, read, show};
use crate::{Failure, workspace};

/// Trials of each series.
const TRIALS: u32 = 20;

/// `osdyno run` with a series that could not be measured to its end; what was measured stands.
const INCOMPLETE: i32 = 3;

/// What a truth needs beyond this machine's kernel.
pub(super) enum Need {
    /// A program that can be started.
    Program(&'static str),
    /// To mount an image.
    Mounts,
    /// A network of one's own.
    Networks,
}

pub(super) struct Laboratory {
    /// Where cargo puts the programs.
    programs: PathBuf,
    folder: PathBuf,
}

impl Laboratory {
    /// Builds what is needed and makes room for the numbers.
    ///
    /// # Errors
    /// When something cannot be built or the folder cannot be made.
    pub(super) fn open() -> Result<Laboratory, Failure> {
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

    /// Why something cannot be measured here; `None` when it can.
    pub(super) fn missing(&self, needs: &[Need]) -> Option<String> {
        needs.iter().find_map(|need| match need {
            Need::Program(name) => (!exists(name)).then(|| format!("there is no {name}")),
            Need::Mounts if !Path::new("/dev/loop-control").exists() => {
                Some("there is no loop device".into())
            }
            Need::Mounts => refused("--mount"),
            Need::Networks => refused("--net"),
        })
    }

    /// Runs a workload behind a prefix and returns what was said of one of its series.
    ///
    /// # Errors
    /// When osdyno fails, or says nothing of the series.
    pub(super) fn run(&self, prefix: &[&str], arguments: &[&str], series: &str) -> Result<Found, Failure> {
        let osdyno = self.programs.join("osdyno");
        let mut command = match prefix {
            [] => program(osdyno),
            [first, rest @ ..] => {
                let mut command = program(first);
                command.args(rest).arg(osdyno);
                command
            }
        };
        let file = self.unused("osdyno", arguments[0]);
        command.arg("run").args(arguments).args([
            "--trials",
            &TRIALS.to_string(),
            "--format",
            "json",
            "--out",
        ]);
        let output = command.arg(&file).output()?;
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        if !output.status.success() && output.status.code() != Some(INCOMPLETE) {
            return Err(format!("osdyno run {} failed: {}", arguments.join(" "), told.trim()).into());
        }
        let answer = String::from_utf8(output.stdout)?;
        fs::write(file.with_extension("json"), &answer)?;
        Found::read(&answer, series, told)
    }

    /// Runs an example of `sys`, a process for each trial, and returns what `osdyno judge` says of its series.
    /// With a `format`, the program that makes a file system and its options, every trial gets the path of
    /// such a file system before its other arguments.
    ///
    /// # Errors
    /// When a program fails.
    pub(super) fn example(
        &self,
        series: &str,
        example: &[&str],
        n: &str,
        format: Option<&[&str]>,
    ) -> Result<Found, Failure> {
        let image = format.map(|format| self.image(series, format)).transpose()?;
        let mut table = String::new();
        for trial in 1..=TRIALS {
            let binary = self.programs.join("examples").join(example[0]);
            let mut command = match &image {
                None => program(&binary),
                Some(image) => self.mounted(image, &binary)?,
            };
            command.args(&example[1..]);
            if image.is_some() {
                command.arg(self.mount_point());
            }
            let printed = read(command.args([&trial.to_string(), n]))?;
            // One header for all.
            table.extend(printed.lines().skip(usize::from(trial > 1)).flat_map(|line| [line, "\n"]));
        }
        if let Some(image) = image {
            fs::remove_file(image)?;
        }
        let file = self.folder.join(format!("{series}.csv"));
        fs::write(&file, table)?;
        let mut judge = program(self.programs.join("osdyno"));
        let answer = read(judge.arg("judge").arg(&file).args(["--format", "json"]))?;
        fs::write(file.with_extension("json"), &answer)?;
        Found::read(&answer, series, String::new())
    }

    /// A file with a new file system in it.
    fn image(&self, name: &str, format: &[&str]) -> Result<PathBuf, Failure> {
        const IMAGE_BYTES: u64 = 128 << 20;
        let image = self.folder.join(format!("{name}.image"));
        fs::File::create(&image)?.set_len(IMAGE_BYTES)?;
        read(program(format[0]).args(["-q", "-F"]).args(&format[1..]).arg(&image))?;
        Ok(image)
    }

    /// The program in a place of its own where the image is mounted; however it ends, the mount ends too.
    fn mounted(&self, image: &Path, binary: &Path) -> Result<Command, Failure> {
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
    fn unused(&self, extension: &str, name: &str) -> PathBuf {
        let name = name.replace('/', "-");
        let number = |number: u32| if number < 2 { String::new() } else { format!("-{number}") };
        let path = |count| self.folder.join(format!("{name}{}.{extension}", number(count)));
        (1..=100).map(path).find(|path| !path.exists()).unwrap_or_else(|| path(0))
    }
}

/// Why a namespace of one's own cannot be had.
fn refused(kind: &str) -> Option<String> {
    if !exists("unshare") {
        return Some("there is no unshare".into());
    }
    read(program("unshare").args([kind, "true"])).err().map(|error| error.to_string())
}

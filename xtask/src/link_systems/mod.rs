//! `cargo xtask link-systems [--release] [TARGET]…`: programs for systems that are not at hand, complete with
//! the trial programs that they contain.
//!
//! zig from PyPI has headers and lists of exports for FreeBSD, NetBSD, OpenBSD and macOS; cross compilers
//! would have to be downloaded from each project. Windows uses mingw and `x86_64-win7-windows-gnu`, which
//! starts on Windows 7 and Wine 8.

mod frameworks;
mod port;
mod zig;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::build_std::{cargo_with, library};
use crate::command::show;
use crate::{AnyError, workspace};
use port::{PORTS, Port, Tools};

/// The program that measures the kernel.
const TRIAL_PROGRAM: &str = "osdyno-trial";

/// Links osdyno for the targets named, or else for all that are known here, with optimization or quickly.
/// A tool that this machine lacks for a target is printed and no error. Returns the targets it linked for.
///
/// # Errors
/// Names the targets for which it does not link, or which no linker is known for.
pub fn run(is_release: bool, targets: &[&str]) -> Result<Vec<&'static str>, AnyError> {
    let ports = match targets {
        [] => PORTS.iter().collect(),
        targets => targets.iter().map(|target| find(target)).collect::<Result<Vec<_>, _>>()?,
    };
    let library = match library() {
        Ok(library) => library,
        Err(reason) => {
            println!("not linked: {reason}");
            return Ok(Vec::new());
        }
    };
    let (mut linked, mut failed) = (Vec::new(), Vec::new());
    for port in ports {
        let tools = match port.linker.tools(port.target) {
            Ok(tools) => tools,
            Err(reason) => {
                println!("{}: not linked: {reason}", port.target);
                continue;
            }
        };
        let start = Instant::now();
        let build = Build { port, tools: &tools, library: &library, is_release };
        match build.osdyno() {
            Ok(program) => {
                println!("{} ({:.1} s)", program.display(), start.elapsed().as_secs_f64());
                linked.push(port.target);
            }
            Err(error) => {
                println!("{}: {error}", port.target);
                failed.push(port.target);
            }
        }
    }
    if failed.is_empty() {
        Ok(linked)
    } else {
        Err(format!("does not link for {}", failed.join(", ")).into())
    }
}

/// The targets that no test runs here.
pub(crate) fn untested() -> Vec<&'static str> {
    PORTS.iter().filter(|port| !port.is_tested).map(|port| port.target).collect()
}

/// The targets that tests run here.
pub(crate) fn tested() -> Vec<&'static str> {
    PORTS.iter().filter(|port| port.is_tested).map(|port| port.target).collect()
}

fn find(target: &str) -> Result<&'static Port, AnyError> {
    PORTS.iter().find(|port| port.target == target).ok_or_else(|| {
        let known: Vec<&str> = PORTS.iter().map(|port| port.target).collect();
        format!("no linker is known for {target}, only for {}", known.join(", ")).into()
    })
}

struct Build<'a> {
    port: &'a Port,
    tools: &'a Tools,
    library: &'a Path,
    is_release: bool,
}

impl Build<'_> {
    /// Links the program and returns where it is.
    fn osdyno(&self) -> Result<PathBuf, AnyError> {
        let temporary = self.temporary_files();
        fs::create_dir_all(&temporary)?;
        let linked = self.link();
        fs::remove_dir_all(&temporary)?;
        linked
    }

    fn link(&self) -> Result<PathBuf, AnyError> {
        let mut cargo = self.cargo("osdyno");
        let programs = if self.is_release {
            self.of_build_script()
        } else {
            // Its build script would compile every library a second time, for programs that are optimized.
            self.trial_program()?;
            cargo.env("OSDYNO_TRIAL_PROGRAMS", self.folder());
            self.folder()
        };
        show(&mut cargo)?;
        self.place_beside_own(&programs)?;
        Ok(self.folder().join(self.port.program))
    }

    /// Where `crates/runner/build.rs` leaves the trial program.
    fn of_build_script(&self) -> PathBuf {
        workspace::systems().join("trial-programs").join(self.port.target).join("trial")
    }

    /// Leaves both programs where the osdyno of this system looks for them: beside itself.
    fn place_beside_own(&self, programs: &Path) -> Result<(), AnyError> {
        let beside = workspace::target().join(self.profile());
        fs::create_dir_all(&beside)?;
        let suffix = self.port.program.trim_start_matches("osdyno");
        for (name, folder) in [(TRIAL_PROGRAM, programs), ("osdyno", &self.folder())] {
            let (from, to) = (format!("{name}{suffix}"), format!("{name}-{}{suffix}", self.port.target));
            fs::copy(folder.join(&from), beside.join(&to))
                .map_err(|error| format!("cannot copy {from} from {}: {error}", folder.display()))?;
        }
        Ok(())
    }

    /// The measured program. `osdyno` is selected beside it, although it is not built here: with its
    /// features the libraries of both programs are the same, and each is compiled once.
    fn trial_program(&self) -> Result<(), AnyError> {
        let mut cargo = self.cargo("osdyno");
        show(cargo.args(["--package", "osdyno-trial", "--bin", TRIAL_PROGRAM]))
    }

    /// Cargo for this target. Settings are in the environment, which also reaches programs that build scripts
    /// start.
    fn cargo(&self, package: &str) -> Command {
        let target = self.port.target;
        let mut cargo = cargo_with(self.library);
        cargo.args(["build", "--quiet", "--package", package, "--target", target]);
        let underscored = target.replace('-', "_");
        let setting = |name: &str| format!("CARGO_TARGET_{}_{name}", underscored.to_uppercase());
        if self.is_release {
            cargo.arg("--release");
        } else {
            // Nothing is optimized; this flag follows those of the profile, which has exceptions.
            cargo.env(setting("RUSTFLAGS"), "-Copt-level=0");
            cargo.env("CARGO_PROFILE_DEV_DEBUG", "false");
        }
        cargo.env("TMPDIR", self.temporary_files()).env(setting("LINKER"), &self.tools.compiler);
        cargo.env(format!("CC_{underscored}"), &self.tools.compiler);
        cargo.env(format!("AR_{underscored}"), &self.tools.archiver);
        cargo.envs(self.tools.environment.iter().map(|(name, value)| (name, value)));
        cargo
    }

    /// Mingw's dlltool, which rustc starts for each library that a crate imports from, leaves two empty files
    /// each time.
    fn temporary_files(&self) -> PathBuf {
        workspace::systems().join(format!("temporary-{}", self.port.target))
    }

    fn folder(&self) -> PathBuf {
        workspace::systems().join(self.port.target).join(self.profile())
    }

    fn profile(&self) -> &'static str {
        if self.is_release { "release" } else { "debug" }
    }
}

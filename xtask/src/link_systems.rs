//! `cargo xtask link-systems [--release] [TARGET]…`: programs for systems that are not at hand, complete with
//! the trial programs that they contain.
//!
//! zig from PyPI is the C compiler and linker for FreeBSD, NetBSD, OpenBSD and macOS: it brings their headers
//! and lists of their libraries' exports, where cross compilers would have to be downloaded from each
//! project. So the programs are linked as on the system itself, but are not run here. Windows uses mingw.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::build_std::{cargo_with, failing, library};
use crate::workspace::{self, exists, quoted, show, write_script};
use crate::{AnyError, obtain};

/// The program that measures the kernel.
const TRIAL_PROGRAM: &str = "osdyno-trial";

struct Port {
    target: &'static str,
    linker: Linker,
    /// The file that results.
    program: &'static str,
    /// Whether tests run it here.
    is_tested: bool,
}

/// The tools with which cargo compiles C and links for one target, and their environment.
struct Tools {
    compiler: PathBuf,
    archiver: PathBuf,
    environment: Vec<(&'static str, PathBuf)>,
}

/// The compiler of zstd and SQLite, which are C, and the linker.
enum Linker {
    /// The gcc of a package of Debian, by the beginning of its programs' names.
    Gcc { prefix: &'static str, package: &'static str },
    /// zig, by its name of the target.
    Zig(&'static str),
}

const PORTS: &[Port] = &[
    Port {
        // Of the two targets for Windows and mingw, the one whose programs start on every Windows from 7 on
        // and on Wine 8, which lacks the library from which the other takes its random numbers.
        target: "x86_64-win7-windows-gnu",
        linker: Linker::Gcc { prefix: "x86_64-w64-mingw32-", package: "gcc-mingw-w64-x86-64" },
        program: "osdyno.exe",
        is_tested: true,
    },
    unix("x86_64-unknown-freebsd", "x86_64-freebsd"),
    unix("x86_64-unknown-netbsd", "x86_64-netbsd"),
    unix("x86_64-unknown-openbsd", "x86_64-openbsd"),
    unix("x86_64-apple-darwin", "x86_64-macos"),
    unix("aarch64-apple-darwin", "aarch64-macos"),
];

impl Port {
    /// The target in the names of variables.
    fn underscored(&self) -> String {
        self.target.replace('-', "_")
    }
}

const fn unix(target: &'static str, zig_target: &'static str) -> Port {
    Port { target, linker: Linker::Zig(zig_target), program: "osdyno", is_tested: false }
}

/// The first version with the libraries of OpenBSD; try another one before it is written here.
const ZIG: &str = "ziglang==0.17.1";

/// Exports of macOS's frameworks, which zig lacks: the functions with which `rustls-native-certs` reads the
/// certificates that the system trusts, by the names that Apple documents (Security, Core Foundation). Every
/// other name that a program takes from a framework is undefined when it is linked, so nothing can begin to
/// depend on one unnoticed.
const FRAMEWORKS: [(&str, &[&str]); 2] = [
    (
        "Security",
        &[
            "SecCertificateCopyData",
            "SecCopyErrorMessageString",
            "SecTrustSettingsCopyCertificates",
            "SecTrustSettingsCopyTrustSettings",
        ],
    ),
    (
        "CoreFoundation",
        &[
            "CFArrayCreate",
            "CFArrayGetCount",
            "CFArrayGetValueAtIndex",
            "CFDataGetBytePtr",
            "CFDataGetLength",
            "CFDictionaryGetValueIfPresent",
            "CFEqual",
            "CFNumberGetValue",
            "CFRelease",
            "CFRetain",
            "CFStringCreateWithBytesNoCopy",
            "CFStringGetBytes",
            "CFStringGetCStringPtr",
            "CFStringGetLength",
            "kCFAllocatorDefault",
            "kCFAllocatorNull",
            "kCFTypeArrayCallBacks",
        ],
    ),
];

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
    let mut build = Build { ports: Vec::new(), library, is_release };
    for port in ports {
        match port.linker.tools(port.target) {
            Ok(tools) => build.ports.push((port, tools)),
            Err(reason) => println!("{}: not linked: {reason}", port.target),
        }
    }
    if build.ports.is_empty() {
        return Ok(Vec::new());
    }
    let start = Instant::now();
    let targets: Vec<&str> = build.ports.iter().map(|(port, _)| port.target).collect();
    let failed = failing(&targets, |targets| build.link(targets));
    if failed.is_empty() {
        println!("linked for {} ({:.1} s)", targets.join(", "), start.elapsed().as_secs_f64());
        Ok(targets)
    } else {
        Err(format!("does not link for {}", failed.join(", ")).into())
    }
}

/// The targets that tests run here, or those that they do not.
pub(crate) fn targets(is_tested: bool) -> Vec<&'static str> {
    PORTS.iter().filter(|port| port.is_tested == is_tested).map(|port| port.target).collect()
}

fn find(target: &str) -> Result<&'static Port, AnyError> {
    PORTS.iter().find(|port| port.target == target).ok_or_else(|| {
        let known: Vec<&str> = PORTS.iter().map(|port| port.target).collect();
        format!("no linker is known for {target}, only for {}", known.join(", ")).into()
    })
}

struct Build {
    ports: Vec<(&'static Port, Tools)>,
    library: PathBuf,
    is_release: bool,
}

impl Build {
    /// Links the programs of targets, and leaves them where the osdyno of this system looks for them: beside
    /// itself.
    fn link(&self, targets: &[&str]) -> Result<(), AnyError> {
        let ports: Vec<&(&Port, Tools)> =
            self.ports.iter().filter(|(port, _)| targets.contains(&port.target)).collect();
        self.build(&ports)?;
        ports.iter().try_for_each(|(port, _)| self.place_beside_own(port))
    }

    fn build(&self, ports: &[&(&Port, Tools)]) -> Result<(), AnyError> {
        // Mingw's dlltool, which rustc starts for each library that a crate imports from, leaves two empty
        // files each time.
        let temporary = tempfile::tempdir()?;
        let mut osdyno = self.cargo(ports, temporary.path());
        if !self.is_release {
            // Its build script would compile every library a second time, for programs that are optimized.
            // `osdyno` is selected beside the measured program, although it is not built yet: with its
            // features the libraries of both are the same, and each is compiled once.
            let mut trial = self.cargo(ports, temporary.path());
            show(trial.args(["--package", TRIAL_PROGRAM, "--bin", TRIAL_PROGRAM]))?;
            for (port, _) in ports {
                let variable = format!("OSDYNO_TRIAL_PROGRAMS_{}", port.underscored());
                osdyno.env(variable, self.folder(port));
            }
        }
        show(&mut osdyno)
    }

    fn place_beside_own(&self, port: &Port) -> Result<(), AnyError> {
        let beside = workspace::target().join(self.profile());
        fs::create_dir_all(&beside)?;
        let suffix = port.program.trim_start_matches("osdyno");
        // Where `crates/runner/build.rs` leaves the trial program.
        let of_build_script = || workspace::systems().join("trial-programs").join(port.target).join("trial");
        let trial = if self.is_release { of_build_script() } else { self.folder(port) };
        for (name, folder) in [(TRIAL_PROGRAM, trial), ("osdyno", self.folder(port))] {
            let (from, to) = (format!("{name}{suffix}"), format!("{name}-{}{suffix}", port.target));
            fs::copy(folder.join(&from), beside.join(&to))
                .map_err(|error| format!("cannot copy {from} from {}: {error}", folder.display()))?;
        }
        println!("{}", self.folder(port).join(port.program).display());
        Ok(())
    }

    /// Cargo for these targets. Settings are in the environment, which also reaches programs that build
    /// scripts start.
    fn cargo(&self, ports: &[&(&Port, Tools)], temporary: &Path) -> Command {
        let mut cargo = cargo_with(&self.library);
        cargo.args(["build", "--quiet", "--package", "osdyno"]);
        cargo.env("TMPDIR", temporary);
        if self.is_release {
            cargo.arg("--release");
        } else {
            cargo.env("CARGO_PROFILE_DEV_DEBUG", "false");
        }
        for (port, tools) in ports {
            let underscored = port.underscored();
            let setting = |name: &str| format!("CARGO_TARGET_{}_{name}", underscored.to_uppercase());
            cargo.args(["--target", port.target]);
            cargo.env(setting("LINKER"), &tools.compiler);
            cargo.env(format!("CC_{underscored}"), &tools.compiler);
            cargo.env(format!("AR_{underscored}"), &tools.archiver);
            cargo.envs(tools.environment.iter().map(|(name, value)| (name, value)));
            if !self.is_release {
                // Nothing is optimized; these flags follow those of the profile, which has exceptions.
                // Without unwinding, as in a release, and without checks a fifth less is compiled.
                let quick = "-Copt-level=0 -Cpanic=abort -Coverflow-checks=no -Cdebug-assertions=no";
                cargo.env(setting("RUSTFLAGS"), quick);
            }
        }
        cargo
    }

    fn folder(&self, port: &Port) -> PathBuf {
        workspace::systems().join(port.target).join(self.profile())
    }

    fn profile(&self) -> &'static str {
        if self.is_release { "release" } else { "debug" }
    }
}

impl Linker {
    /// The tools, installed or written where they are missing; the error names the one that is lacking.
    fn tools(&self, target: &str) -> Result<Tools, AnyError> {
        match self {
            Linker::Gcc { prefix, package } => {
                let compiler = format!("{prefix}gcc");
                if !exists(&compiler) {
                    return Err(format!("install {package}").into());
                }
                let archiver = PathBuf::from(format!("{prefix}ar"));
                Ok(Tools { compiler: compiler.into(), archiver, environment: Vec::new() })
            }
            Linker::Zig(zig_target) => zig_tools(target, zig_target),
        }
    }
}

/// Installs zig where it is missing, and writes its tools for a target, which zig calls otherwise.
fn zig_tools(target: &str, zig_target: &str) -> Result<Tools, AnyError> {
    if !cfg!(unix) {
        return Err("zig is called through scripts of sh(1)".into());
    }
    let zig = workspace::target().join(ZIG.replace("==", "-"));
    let zig = obtain::from_pypi(&zig, &[ZIG], &["--no-deps"])?.join("ziglang/zig");
    let folder = workspace::systems().join("zig");
    let frameworks = folder.join("frameworks");
    write_frameworks(&frameworks)?;
    let environment = vec![
        // Libraries that zig compiles are kept beside it and not in the home folder.
        ("ZIG_GLOBAL_CACHE_DIR", folder.join("cache")),
        // Where rustc would look for those of macOS, with a program that only macOS has.
        ("SDKROOT", frameworks.clone()),
    ];
    let (zig, frameworks) = (quoted(&zig), quoted(&frameworks));
    let (compiler, archiver) = (folder.join(format!("{target}-cc")), folder.join("ar"));
    write_script(&archiver, &format!("#!/bin/sh\nexec {zig} ar \"$@\"\n"))?;
    write_script(&compiler, &without_gcc(&format!("{zig} cc -target {zig_target} -F {frameworks}")))?;
    Ok(Tools { compiler, archiver, environment })
}

/// The compiler's script. zig has its own way to name a target and its own library for unwinding, instead of
/// that of gcc. It has neither FreeBSD's libraries for debuggers nor macOS' libiconv, which the crate `libc`
/// names and nothing of ours uses. Its checks of C at run time are for the authors of that C.
fn without_gcc(compiler: &str) -> String {
    format!(
        "#!/bin/sh\n\
         for argument; do\n\
         \x20 shift\n\
         \x20 case $argument in\n\
         \x20   --target=* | -Wl,-B* | -lgcc | -lgcc_eh | -lgcc_s) ;;\n\
         \x20   -lkvm | -lmemstat | -lprocstat | -ldevstat | -liconv) ;;\n\
         \x20   *) set -- \"$@\" \"$argument\" ;;\n\
         \x20 esac\n\
         done\n\
         exec {compiler} -fno-sanitize=all \"$@\" -lunwind\n"
    )
}

/// Writes the frameworks below a folder, as the text-based stubs that linkers for macOS read.
fn write_frameworks(folder: &Path) -> Result<(), AnyError> {
    for (name, symbols) in FRAMEWORKS {
        let framework = folder.join(format!("{name}.framework"));
        fs::create_dir_all(&framework)?;
        fs::write(framework.join(format!("{name}.tbd")), stub(name, symbols))?;
    }
    Ok(())
}

fn stub(name: &str, symbols: &[&str]) -> String {
    let symbols: Vec<String> = symbols.iter().map(|symbol| format!("_{symbol}")).collect();
    format!(
        "--- !tapi-tbd\n\
         tbd-version: 4\n\
         targets: [ x86_64-macos, arm64-macos ]\n\
         install-name: '/System/Library/Frameworks/{name}.framework/Versions/A/{name}'\n\
         exports:\n\
         \x20 - targets: [ x86_64-macos, arm64-macos ]\n\
         \x20   symbols: [ {} ]\n\
         ...\n",
        symbols.join(", ")
    )
}

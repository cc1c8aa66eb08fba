//! Builds the program that measures the group `kernel`, so that `cargo run` alone gives one whole osdyno: it
//! is carried inside, and every trial of that group starts it.
//!
//! It is compiled once and linked twice, dynamically and statically: two forms of the same machine code. This
//! build script is the linker of that build (`build/link.rs`).
//!
//! `OSDYNO_TRIAL_PROGRAMS=FOLDER` names programs that are built already, for distributions that build every
//! package themselves: `osdyno-trial`, with the suffix of the target, and on Linux `osdyno-trial.static`
//! where `fork-static` is to be measured. With the target appended, as in `CC_x86_64_unknown_freebsd`, it is
//! for that target only.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

#[path = "build/link.rs"]
mod link;

/// Names the folder of programs that are built already.
const READY: &str = "OSDYNO_TRIAL_PROGRAMS";
const PROFILE: &str = "trial";
/// The highest level, which makes a release smaller by half a megabyte.
const BEST: i32 = 22;
/// The usual level, for builds that nobody installs.
const QUICK: i32 = 3;
const PACKAGE: &str = "osdyno-trial";
const KERNEL: &str = "osdyno-trial";

/// The parts of the program.
const SOURCES: [&str; 9] = [
    "crates/trial",
    "crates/background",
    "crates/host",
    "crates/kernel",
    "crates/record",
    "crates/sys",
    "crates/workload",
    "Cargo.lock",
    "Cargo.toml",
];

/// A program, or why there is none.
type Built = Result<PathBuf, String>;

fn main() {
    if env::var_os(link::STATIC_TOO).is_some() {
        link::link_and_exit();
    }
    let target = variable("TARGET");
    let out = PathBuf::from(variable("OUT_DIR"));
    let own = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    let workspace = own.ancestors().nth(2).unwrap_or(&own);
    for source in SOURCES {
        println!("cargo::rerun-if-changed={}", workspace.join(source).display());
    }
    println!("cargo::rustc-env=OSDYNO_BUILD={}", description(&target));

    let programs = match folder_of_ready(&target) {
        Some(folder) => ready(Path::new(&folder)),
        None => build_all(workspace, &out, &target),
    };
    for (name, program) in programs {
        keep(&out, name, program);
    }
}

fn folder_of_ready(target: &str) -> Option<OsString> {
    let names = [format!("{READY}_{}", target.replace('-', "_")), READY.to_owned()];
    names.iter().for_each(|name| println!("cargo::rerun-if-env-changed={name}"));
    names.iter().find_map(env::var_os)
}

/// The programs that were built elsewhere. A missing one is an error.
fn ready(folder: &Path) -> [(&'static str, Built); 2] {
    let program = |name: &str| {
        let path = folder.join(with_suffix(name));
        println!("cargo::rerun-if-changed={}", path.display());
        path
    };
    let kernel = program(KERNEL);
    if !kernel.is_file() {
        println!("cargo::error={READY} is set, but there is no {}", kernel.display());
    }
    let statically = program("osdyno-trial.static");
    let statically = match statically.is_file() {
        true => Ok(statically),
        false => Err(format!("osdyno was built without {}", statically.display())),
    };
    [("kernel", Ok(kernel)), ("kernel-static", statically)]
}

/// Both forms, built here where that is possible.
fn build_all(workspace: &Path, out: &Path, target: &str) -> [(&'static str, Built); 2] {
    // Without a linker for another system such a build is only a type check, and reports that when it should
    // measure.
    let is_linked = target == variable("HOST") || env::var_os("RUSTC_LINKER").is_some();
    let cross_built = || Err(format!("this osdyno was built for {target} without a linker for it"));
    let kernel = if is_linked { build(workspace, out, target) } else { cross_built() };
    let statically = match &kernel {
        Ok(program) => link::static_beside(program),
        Err(_) => cross_built(),
    };
    [("kernel", kernel), ("kernel-static", statically)]
}

/// Builds the program and returns where it is.
fn build(workspace: &Path, out: &Path, target: &str) -> Built {
    let shared = build_folder(out, target).join("trial-programs");
    let mut cargo = Command::new(variable("CARGO"));
    cargo.current_dir(workspace);
    cargo.args(["build", "--quiet", "--locked", "--profile", PROFILE]);
    cargo.args(["--package", PACKAGE, "--bin", KERNEL, "--no-default-features", "--features", "curves"]);
    cargo.args(["--target", target, "--target-dir"]).arg(&shared);
    // With --target given, flags reach only the program and not its build scripts.
    cargo.env("CARGO_ENCODED_RUSTFLAGS", flags(workspace)).env_remove("RUSTFLAGS");
    cargo.env("CFLAGS", flags_of_c());
    // A release sets it. Nothing in the programs depends on it, but cargo would compile C anew.
    cargo.env_remove("SOURCE_DATE_EPOCH");
    // A linter of the outer build does not apply to this one.
    cargo.env_remove("RUSTC_WORKSPACE_WRAPPER").env_remove("RUSTC_WRAPPER").env_remove("CARGO_TARGET_DIR");
    link::link_statically_too(&mut cargo, target, &shared, KERNEL);
    let output = cargo.output().map_err(|error| format!("cannot start cargo: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok(shared.join(target).join(PROFILE).join(with_suffix(KERNEL)))
}

fn with_suffix(program: &str) -> String {
    format!("{program}{}", if is_windows() { ".exe" } else { "" })
}

/// The whole folder in which the outer build works, without that of a profile or a target. The programs are
/// the same for all profiles, and a release has those that were tested.
fn build_folder<'a>(out: &'a Path, target: &str) -> &'a Path {
    let folder = out.ancestors().nth(4).unwrap_or(out);
    match folder.parent() {
        Some(whole) if folder.ends_with(target) => whole,
        _ => folder,
    }
}

/// The flags of the programs. They contain no folders, so programs are the same in each.
fn flags(workspace: &Path) -> String {
    let mut flags = vec![format!("--remap-path-prefix={}=/osdyno", workspace.display())];
    if let Some(home) = cargo_home() {
        flags.push(format!("--remap-path-prefix={}=/cargo", home.display()));
    }
    // Symbols are bound at their first use, as C compilers link by default; Rust binds all at the start.
    // Windows has no such choice.
    if !is_windows() {
        flags.push("-Crelro-level=partial".to_owned());
    }
    flags.join("\x1f")
}

/// The same for the libraries in C.
fn flags_of_c() -> String {
    let given = env::var("CFLAGS").unwrap_or_default();
    match cargo_home() {
        Some(home) if !given.contains("-prefix-map=") && variable("CARGO_CFG_TARGET_ENV") != "msvc" => {
            format!("{given} -ffile-prefix-map={}=/cargo", home.display()).trim().to_owned()
        }
        _ => given,
    }
}

/// Where cargo keeps the source of libraries.
fn cargo_home() -> Option<PathBuf> {
    let given = env::var_os("CARGO_HOME").map(PathBuf::from);
    given.or_else(|| env::home_dir().map(|home| home.join(".cargo")))
}

fn is_windows() -> bool {
    variable("CARGO_CFG_TARGET_OS") == "windows"
}

/// Leaves the program, packed to less than half, or the reason why there is none, where the source includes
/// it.
fn keep(out: &Path, name: &str, built: Built) {
    let level = if variable("PROFILE") == "release" { BEST } else { QUICK };
    let pack = |path| fs::read(path).and_then(|program| zstd::bulk::compress(&program, level));
    let (program, missing) = match built.and_then(|path| pack(path).map_err(|error| error.to_string())) {
        Ok(packed) => (packed, String::new()),
        Err(reason) => {
            println!("cargo::warning=no {name} trial program: {reason}");
            (Vec::new(), reason)
        }
    };
    for (file, content) in [(name.to_owned(), program), (format!("{name}.missing"), missing.into_bytes())] {
        let path = out.join(file);
        if let Err(error) = fs::write(&path, content) {
            println!("cargo::error=cannot write {}: {error}", path.display());
        }
    }
}

fn description(target: &str) -> String {
    let rustc = Command::new(variable("RUSTC")).arg("--version").output();
    let version = rustc.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    format!("{}, {target}, {}", version.unwrap_or_default(), variable("PROFILE"))
}

fn variable(name: &str) -> String {
    env::var_os(name).map(OsString::into_string).and_then(Result::ok).unwrap_or_default()
}

//! Builds the measured program twice, linked dynamically and statically, so that `cargo run` alone gives
//! one whole osdyno: both are carried inside it, and every trial starts one of them.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const PROFILE: &str = "trial";
const PROGRAM: &str = "osdyno-trial";

fn main() {
    let target = variable("TARGET");
    let out = PathBuf::from(variable("OUT_DIR"));
    let workspace = Path::new(&variable("CARGO_MANIFEST_DIR")).join("../..");
    for changed in [
        "crates/trial",
        "crates/kernel",
        "crates/net",
        "crates/record",
        "crates/servers",
        "crates/sys",
        "crates/workload",
        "Cargo.lock",
        "Cargo.toml",
    ] {
        println!("cargo::rerun-if-changed={}", workspace.join(changed).display());
    }
    println!("cargo::rustc-env=OSDYNO_BUILD={}", description(&target));

    // A program for another system cannot be linked here without that system's libraries; such a build
    // is a type check, and says so when it is asked to measure.
    let native = target == variable("HOST");
    // Symbols are bound at their first use, as C compilers link by default; Rust binds all at the start.
    let dynamic = native.then(|| build(&workspace, &out, &target, "dynamic", "-Crelro-level=partial"));
    keep(
        &out,
        "dynamic",
        dynamic.unwrap_or_else(|| Err(format!("this osdyno was cross-built for {target}"))),
    );
    let linkable = native && variable("CARGO_CFG_TARGET_OS") == "linux";
    let alone = linkable.then(|| build(&workspace, &out, &target, "static", "-Ctarget-feature=+crt-static"));
    let reason = "programs are not linked statically on this system";
    keep(&out, "static", alone.unwrap_or_else(|| Err(reason.to_owned())));
}

/// Builds the program with these flags and returns where it is.
fn build(workspace: &Path, out: &Path, target: &str, name: &str, flags: &str) -> Result<PathBuf, String> {
    // One folder for all profiles of the outer build: the program is the same in each.
    let shared = out.ancestors().nth(4).unwrap_or(out).join("trial-programs").join(name);
    let mut cargo = Command::new(variable("CARGO"));
    cargo.current_dir(workspace).args([
        "build",
        "--quiet",
        "--locked",
        "--profile",
        PROFILE,
        "--package",
        PROGRAM,
    ]);
    cargo.args(["--target", target, "--target-dir"]).arg(&shared);
    // With --target given, flags reach the program only and not what builds it.
    cargo.env("CARGO_ENCODED_RUSTFLAGS", flags).env_remove("RUSTFLAGS");
    // A linter that watches the outer build has no business in this one.
    cargo.env_remove("RUSTC_WORKSPACE_WRAPPER").env_remove("RUSTC_WRAPPER").env_remove("CARGO_TARGET_DIR");
    let output = cargo.output().map_err(|error| format!("cannot start cargo: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok(shared.join(target).join(PROFILE).join(format!("{PROGRAM}{}", env::consts::EXE_SUFFIX)))
}

/// Leaves the program, or the reason why there is none, where the source includes it.
fn keep(out: &Path, name: &str, built: Result<PathBuf, String>) {
    let (program, missing) = match built.and_then(|path| fs::read(path).map_err(|error| error.to_string())) {
        Ok(program) => (program, String::new()),
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

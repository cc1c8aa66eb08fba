//! `cargo xtask release [--verify]`: packages for users without Rust, in `target/dist`.
//!
//! One program that needs nothing of the system it runs on, with its manual pages and completions, as a
//! `.tar.gz` and as a package for Debian; then a test of it in a folder with nothing else. `--verify` builds
//! everything a second time, from a copy of the checkout in another folder, and compares byte by byte.
//!
//! The program is linked with glibc and not with musl: it carries a statically linked program of glibc
//! anyway, which is one side of a comparison, and musl's allocator would slow the load generator down.

mod package;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Instant;

use crate::AnyError;
use crate::workspace::{self, cargo, program, read, rustc_tells, show};

/// The most bytes of the program, and of each package: both may only fall.
const PROGRAM_BYTES_MAX: u64 = 25_000_000;
const PACKAGE_BYTES_MAX: u64 = 12_000_000;

/// Workloads that need no more of a system than its kernel.
const WORKLOADS: [&str; 3] = ["noop", "socket", "fork-static"];

type Enter = fn(&Path) -> Command;

/// As root, or as any user where the kernel allows it.
const ENTER: [Enter; 2] = [
    |root| {
        let mut command = program("chroot");
        command.arg(root).arg("/osdyno");
        command
    },
    |root| {
        let mut command = program("unshare");
        command.args(["--user", "--map-root-user", "--root"]).arg(root).arg("/osdyno");
        command
    },
];

/// Makes and tests the packages.
///
/// # Errors
/// When something cannot be built, does not work alone, or differs when built again.
pub fn run(verify: bool) -> Result<(), AnyError> {
    let root = workspace::root();
    let date = date(&root)?;
    // The folder of all builds, so that the trial programs are those which the tests ran.
    let target = workspace::target();
    let packages = make(&root, &target, &target.join("dist"), &date)?;
    check_alone(&packages.binary)?;
    if verify {
        reproduce(&root, &date, &packages)?;
    }
    for file in &packages.files {
        println!("{}  {}", hash(file)?, file.display());
    }
    Ok(())
}

/// The files of a release.
struct Packages {
    binary: PathBuf,
    files: Vec<PathBuf>,
}

fn make(checkout: &Path, target: &Path, dist: &Path, date: &str) -> Result<Packages, AnyError> {
    let built = build(checkout, target, date)?;
    if dist.exists() {
        fs::remove_dir_all(dist)?;
    }
    fs::create_dir_all(dist)?;
    let (binary, debug) = split(&built, dist)?;
    let mut files = package::all(checkout, &binary, dist, date)?;
    check_sizes(std::iter::once(&binary).chain(&files))?;
    files.push(debug);
    Ok(Packages { binary, files })
}

/// Fails where the program or a package has grown beyond its limit.
fn check_sizes<'a>(files: impl Iterator<Item = &'a PathBuf>) -> Result<(), AnyError> {
    for file in files {
        let size = fs::metadata(file)?.len();
        let most = if file.extension().is_none() { PROGRAM_BYTES_MAX } else { PACKAGE_BYTES_MAX };
        println!("{:.1} MB {}", size as f64 / 1e6, file.display());
        if size > most {
            return Err(format!("{} has {size} bytes; {most} is the most", file.display()).into());
        }
    }
    Ok(())
}

/// The program for users, and beside it the file for debuggers, which find it by its name.
fn split(built: &Path, dist: &Path) -> Result<(PathBuf, PathBuf), AnyError> {
    let (binary, debug) = (dist.join("osdyno"), dist.join("osdyno.debug"));
    let mut keep = program("objcopy");
    show(keep.args(["--only-keep-debug", "--compress-debug-sections"]).arg(built).arg(&debug))?;
    let mut strip = program("objcopy");
    strip.current_dir(dist).args(["--strip-all", "--add-gnu-debuglink=osdyno.debug"]);
    show(strip.arg(built).arg(&binary))?;
    Ok((binary, debug))
}

/// The program, linked statically, with the lines of its source and without a trace of where it was built.
fn build(checkout: &Path, target: &Path, date: &str) -> Result<PathBuf, AnyError> {
    let triple = rustc_tells("host")?;
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| std::env::home_dir().map(|home| home.join(".cargo")));
    let home = home.ok_or("neither CARGO_HOME nor a home folder is known; set CARGO_HOME")?;
    let remap = |from: &Path, to: &str| format!("--remap-path-prefix={}={to}", from.display());
    let mut flags = vec![
        "-Ctarget-feature=+crt-static".to_owned(),
        // A list of addresses as bits: 0.7 MB less than an entry for each.
        "-Clink-arg=-Wl,-z,pack-relative-relocs".to_owned(),
        remap(checkout, "/osdyno"),
        remap(&home, "/cargo"),
    ];
    // Here rustc links with LLD, with which functions of the same machine code stand in the program once.
    if triple == "x86_64-unknown-linux-gnu" {
        flags.push("-Clink-arg=-Wl,--icf=all".to_owned());
    }
    let mut command = cargo();
    command
        .current_dir(checkout)
        .args(["build", "--release", "--locked", "--package", "osdyno", "--target", &triple, "--target-dir"])
        .arg(target)
        .args(["--config", "profile.release.strip='none'"])
        .args(["--config", "profile.release.package.osdyno.strip='none'"])
        .args(["--config", "profile.release.debug='line-tables-only'"])
        // The lines of our source only.
        .args(["--config", "profile.release.package.'*'.debug=false"])
        .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"))
        .env("CFLAGS", format!("-ffile-prefix-map={}=/cargo", home.display()))
        .env("SOURCE_DATE_EPOCH", date)
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_TARGET_DIR");
    let start = Instant::now();
    show(&mut command)?;
    println!("built in {:.0} s: {}", start.elapsed().as_secs_f64(), checkout.display());
    Ok(target.join(triple).join("release/osdyno"))
}

/// The seconds of the last commit, which every file of a package has as its date.
fn date(root: &Path) -> Result<String, AnyError> {
    if let Ok(given) = std::env::var("SOURCE_DATE_EPOCH") {
        return Ok(given);
    }
    let date = read(program("git").current_dir(root).args(["log", "-1", "--format=%ct"]));
    let date = date.map_err(|error| format!("no date for the packages: {error}; set SOURCE_DATE_EPOCH"))?;
    Ok(date.trim().to_owned())
}

/// The program works alone, without any library, `/proc`, `/tmp` or shell: starts it in a root folder of its
/// own, measures with it, and checks that no file is left.
fn check_alone(binary: &Path) -> Result<(), AnyError> {
    let root = tempfile::tempdir()?;
    fs::copy(binary, root.path().join("osdyno"))?;
    let Some(enter) = ENTER.iter().find(|enter| started(&enter(root.path()).arg("--version").output()))
    else {
        println!("not tried in an empty root folder: neither chroot nor unshare may be used here");
        return Ok(());
    };
    let osdyno = |arguments: &[&str]| -> Result<String, AnyError> {
        let output = enter(root.path()).args(arguments).output()?;
        let said =
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        // Exit code 3: a part could not be measured, which is no failure.
        match output.status.code() {
            Some(0 | 3) => Ok(said),
            _ => Err(format!(
                "in an empty root folder, osdyno {}: {}\n{said}",
                arguments.join(" "),
                output.status
            )
            .into()),
        }
    };
    osdyno(&["list"])?;
    let mut run = vec!["run", "-n", "200", "--trials", "2", "--scratch", "/", "--out", "/small.osdyno"];
    run.extend(WORKLOADS);
    println!("{}", osdyno(&run)?);
    let judged = osdyno(&["report", "/small.osdyno", "--force"])?;
    if !judged.contains("fork-static") {
        return Err(format!("in an empty root folder, fork-static was not measured:\n{judged}").into());
    }
    let mut left: Vec<String> = Vec::new();
    for entry in fs::read_dir(root.path())? {
        left.push(entry?.file_name().to_string_lossy().into_owned());
    }
    left.sort();
    if left != ["osdyno", "small.html", "small.osdyno"] {
        return Err(format!("in an empty root folder, this is left: {}", left.join(", ")).into());
    }
    println!("works in an empty root folder: --version, list, run, report; nothing else is left there");
    Ok(())
}

fn started(output: &std::io::Result<Output>) -> bool {
    output.as_ref().is_ok_and(|output| output.status.success())
}

/// Builds a copy of the checkout elsewhere and compares the packages.
fn reproduce(root: &Path, date: &str, first: &Packages) -> Result<(), AnyError> {
    let elsewhere = tempfile::tempdir()?;
    let copy = elsewhere.path().join("a/checkout/elsewhere");
    fs::create_dir_all(&copy)?;
    let files = read(program("git").current_dir(root).args(["ls-files", "-co", "--exclude-standard"]))?;
    for file in files.lines().filter(|file| root.join(file).is_file()) {
        let to = copy.join(file);
        fs::create_dir_all(to.parent().unwrap_or(&copy))?;
        fs::copy(root.join(file), to)?;
    }
    let second = make(&copy, &copy.join("target"), &elsewhere.path().join("dist"), date)?;
    for (one, other) in first.files.iter().zip(&second.files) {
        if hash(one)? != hash(other)? {
            // Kept, so that the difference can be examined.
            let kept = elsewhere.keep();
            return Err(format!("{} differs from that of {}", one.display(), kept.display()).into());
        }
    }
    println!("built again in {}: the same {} files, byte by byte", copy.display(), first.files.len());
    Ok(())
}

fn hash(file: &Path) -> Result<String, AnyError> {
    let printed = read(program("sha256sum").arg(file))?;
    Ok(printed.split_whitespace().next().unwrap_or_default().to_owned())
}

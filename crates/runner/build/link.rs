//! The linker of the measured programs: it links each a second time, statically, from the same object files.
//!
//! Two builds, of which one has `-Ctarget-feature=+crt-static`, would compile everything twice and prove
//! nothing about the code in both. rustc has no option for two links, but it takes any program as its linker.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, exit};

use super::{Built, variable};

/// Set for the build of the programs: the beginning of the name of the file to link statically too.
pub(super) const STATIC_TOO: &str = "OSDYNO_LINK_STATIC_TOO";
/// The linker that does the work.
const LINKER: &str = "OSDYNO_LINKER";

/// The functions of the C library that a child of the workload `fork` calls, by all their names. Side by side
/// they lie in the same number of pages in every build, so a child has the same number of page faults.
const CHILDS_FUNCTIONS: &str = "\
fork
__libc_fork
_Fork
write
__libc_write
close
__close
read
__libc_read
_exit
";

/// Makes cargo link the program of that name with this build script, and so twice.
pub(super) fn link_statically_too(cargo: &mut Command, target: &str, shared: &Path, program: &str) {
    if !is_linux() {
        return;
    }
    let real = env::var_os("RUSTC_LINKER").unwrap_or_else(|| "cc".into());
    let key = format!("CARGO_TARGET_{}_LINKER", target.to_uppercase().replace('-', "_"));
    match own_copy(shared) {
        // A crate's name has no hyphens; cargo puts one before its hash.
        Ok(own) => {
            let beginning = format!("{}-", program.replace('-', "_"));
            cargo.env(key, own).env(LINKER, real).env(STATIC_TOO, beginning);
        }
        Err(error) => println!("cargo::warning=cannot copy the build script as a linker: {error}"),
    }
}

/// This program under a name that stays the same for all profiles: cargo builds everything again when the
/// linker has another name.
fn own_copy(shared: &Path) -> io::Result<PathBuf> {
    fs::create_dir_all(shared)?;
    // Two builds may be at this place at the same time.
    let (copy, new) = (shared.join("linker"), shared.join(format!("linker.{}", std::process::id())));
    fs::copy(env::current_exe()?, &new)?;
    fs::rename(new, &copy)?;
    Ok(copy)
}

/// The static form of a program that was built here, or why there is none.
pub(super) fn static_beside(program: &Path) -> Built {
    if !is_linux() {
        return Err("programs are not linked statically on this system".to_owned());
    }
    let failed = |error: io::Error| format!("cannot look for the static program: {error}");
    let bytes = fs::read(program).map_err(failed)?;
    let folder = program.with_file_name("deps");
    for entry in fs::read_dir(&folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        // Other builds lie there too: the right one is beside the file that `program` is a copy of.
        let is_twin = path.extension() == Some(OsStr::new("static"))
            && fs::read(path.with_extension("")).is_ok_and(|twin| twin == bytes);
        if is_twin {
            return Ok(path);
        }
    }
    let reason = fs::read_to_string(folder.join("static.error")).unwrap_or_default();
    Err(format!("it could not be linked statically: {}", reason.trim()))
}

fn is_linux() -> bool {
    variable("CARGO_CFG_TARGET_OS") == "linux"
}

/// Links as rustc requests, and then statically if wanted. A system without static libraries lacks only that
/// form.
pub(super) fn link_and_exit() -> ! {
    let linker = env::var_os(LINKER).unwrap_or_else(|| "cc".into());
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    let status = match Command::new(&linker).args(&arguments).status() {
        Ok(status) => status,
        Err(error) => {
            eprintln!("cannot start {}: {error}", linker.display());
            exit(1);
        }
    };
    if status.success()
        && let Some(output) = output(&arguments)
        && let Err(error) = link_statically(&linker, &arguments, &output)
    {
        // The build script reads it where it misses the program.
        let _ = fs::write(output.with_file_name("static.error"), error);
    }
    exit(status.code().unwrap_or(1));
}

/// The file that is linked, if it is the one that is wanted twice.
fn output(arguments: &[OsString]) -> Option<PathBuf> {
    let place = arguments.iter().position(|argument| argument == "-o")?;
    let output = PathBuf::from(arguments.get(place + 1)?);
    let name = output.file_name()?.to_str()?;
    name.starts_with(&env::var(STATIC_TOO).ok()?).then_some(output)
}

fn link_statically(linker: &OsStr, arguments: &[OsString], output: &Path) -> Result<(), String> {
    if !arguments.iter().any(|argument| argument == "-pie") {
        return Err("rustc did not ask for a position-independent program".to_owned());
    }
    let alone = output.with_extension("static");
    let mut command = Command::new(linker);
    for argument in arguments {
        match argument.to_str() {
            Some("-pie") => command.arg("-static-pie"),
            // The shared library of exceptions and the switch to shared libraries.
            Some("-lgcc_s" | "-Wl,-Bdynamic") => continue,
            _ if argument == output.as_os_str() => command.arg(&alone),
            _ => command.arg(argument),
        };
    }
    // The libraries that rustc links with `crt-static`; they need each other.
    command.args(["-Wl,--start-group", "-lgcc_eh", "-lgcc", "-lc", "-Wl,--end-group"]);
    if link_in_order(&command, output).is_some() {
        return Ok(());
    }
    let linked = command.output().map_err(|error| error.to_string())?;
    match linked.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&linked.stderr).into_owned()),
    }
}

/// Links with [`CHILDS_FUNCTIONS`] first; `None` where the linker cannot order functions, as that of GNU.
fn link_in_order(command: &Command, output: &Path) -> Option<()> {
    let order = output.with_file_name("static.order");
    fs::write(&order, CHILDS_FUNCTIONS).ok()?;
    let mut option = OsString::from("-Wl,--no-warn-symbol-ordering,--symbol-ordering-file=");
    option.push(&order);
    let mut ordered = Command::new(command.get_program());
    let linked = ordered.args(command.get_args()).arg(option).output().ok()?;
    linked.status.success().then_some(())
}

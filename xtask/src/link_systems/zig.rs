//! zig, as a C compiler and linker for systems whose own libraries Debian does not have.
//!
//! It comes as a Python package, into a folder below the build folder, and brings the headers of these
//! systems and lists of their libraries' exports. So the programs are linked as on the system itself, but are
//! not run here.

use std::fs;
use std::path::{Path, PathBuf};

use super::frameworks;
use super::port::Tools;
use crate::{AnyError, pypi, workspace};

/// The first version with the libraries of OpenBSD; try another one before it is written here.
const PACKAGE: &str = "ziglang==0.17.1";

/// Installs zig where it is missing, and writes its tools for a target, which zig calls otherwise.
///
/// # Errors
/// Says why zig cannot be installed.
pub(super) fn tools(target: &str, zig_target: &str) -> Result<Tools, AnyError> {
    if !cfg!(unix) {
        return Err("zig is called through scripts of sh(1)".into());
    }
    let zig = installed()?;
    let folder = workspace::systems().join("zig");
    let frameworks = folder.join("frameworks");
    frameworks::write(&frameworks)?;
    let environment = vec![
        // Libraries that zig compiles are kept beside it and not in the home folder.
        ("ZIG_GLOBAL_CACHE_DIR", folder.join("cache")),
        // Where rustc would look for those of macOS, with a program that only macOS has.
        ("SDKROOT", frameworks.clone()),
    ];
    let (zig, frameworks) = (quoted(&zig), quoted(&frameworks));
    let archiver = write_script(&folder.join("ar"), &format!("#!/bin/sh\nexec {zig} ar \"$@\"\n"))?;
    let compiler = format!("{zig} cc -target {zig_target} -F {frameworks}");
    let compiler = write_script(&folder.join(format!("{target}-cc")), &without_gcc(&compiler))?;
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

/// A path as sh(1) reads it.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}

/// Where zig is.
fn installed() -> Result<PathBuf, AnyError> {
    let folder = workspace::target().join(PACKAGE.replace("==", "-"));
    Ok(pypi::install(&folder, &[PACKAGE], &["--no-deps"])?.join("ziglang/zig"))
}

/// Writes a program, unless it is there: cargo compiles all C anew after its compiler.
fn write_script(path: &Path, text: &str) -> Result<PathBuf, AnyError> {
    if fs::read_to_string(path).ok().as_deref() != Some(text) {
        fs::write(path, text)?;
        make_executable(path)?;
    }
    Ok(path.to_owned())
}

fn make_executable(path: &Path) -> Result<(), AnyError> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(path, fs::Permissions::from_mode(0o755))?;
    }
    let _ = path;
    Ok(())
}

//! zig, as a C compiler and linker for systems whose own libraries Debian does not have.
//!
//! It comes as a Python package, into an environment of its own below the build folder, and brings the
//! headers of these systems and lists of what their libraries export. So the programs are linked as on the
//! system itself, but nothing shows here that they run.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::command::{exists, program, show};
use crate::{AnyError, workspace};

/// The first version with the libraries of OpenBSD; another one is to be tried before it is written here.
const PACKAGE: &str = "ziglang==0.17.1";

/// Programs with which cargo compiles C and links for one target.
pub(crate) struct Tools {
    pub(crate) compiler: PathBuf,
    pub(crate) archiver: PathBuf,
}

/// Installs zig where it is missing, and writes its tools for a target, which zig calls otherwise.
///
/// # Errors
/// Says what is missing to have zig.
pub(crate) fn tools(target: &str, zig_target: &str) -> Result<Tools, AnyError> {
    let python = python()?;
    let folder = workspace::systems().join("zig");
    fs::create_dir_all(&folder)?;
    let write = |name: &str, text: String| -> Result<PathBuf, AnyError> {
        let path = folder.join(format!("{target}-{name}"));
        // A file that is written anew has cargo compile all C anew.
        if fs::read_to_string(&path).ok().as_ref() != Some(&text) {
            fs::write(&path, text)?;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        }
        Ok(path)
    };
    let python = python.display();
    Ok(Tools {
        compiler: write("cc", compiler(&python.to_string(), zig_target))?,
        archiver: write("ar", format!("#!/bin/sh\nexec '{python}' -m ziglang ar \"$@\"\n"))?,
    })
}

/// The compiler's script. zig has its own way to name a target and its own library for unwinding, instead of
/// that of gcc, and does not have FreeBSD's libraries for debuggers, which the crate `libc` names and nothing
/// of ours uses.
fn compiler(python: &str, zig_target: &str) -> String {
    format!(
        "#!/bin/sh\n\
         for argument; do\n\
         \x20 shift\n\
         \x20 case $argument in\n\
         \x20   --target=* | -Wl,-B* | -lgcc | -lgcc_eh | -lgcc_s) ;;\n\
         \x20   -lkvm | -lmemstat | -lprocstat | -ldevstat) ;;\n\
         \x20   *) set -- \"$@\" \"$argument\" ;;\n\
         \x20 esac\n\
         done\n\
         exec '{python}' -m ziglang cc -target {zig_target} \"$@\" -lunwind\n"
    )
}

/// A Python that has zig.
fn python() -> Result<PathBuf, AnyError> {
    let folder = workspace::target().join("zig");
    let python = folder.join("bin/python");
    // Written last: what an interrupted run left behind is not taken for the whole.
    let complete = folder.join(PACKAGE);
    if complete.exists() {
        return Ok(python);
    }
    if !exists("python3") {
        return Err("there is no python3 to install zig with".into());
    }
    show(program("python3").args(["-m", "venv"]).arg(&folder))
        .map_err(|error| format!("cannot make an environment for zig; install python3-venv: {error}"))?;
    show(program(Path::new(&python)).args(["-m", "pip", "install", "--quiet", PACKAGE]))?;
    fs::write(complete, "")?;
    Ok(python)
}

//! `cargo xtask wine`: a Wine that is newer than Debian 12's, for the tests of the programs for Windows.
//!
//! Its packages and the libraries they need lie in a folder below the build folder; `apt.rs` starts it
//! there. It is not installed, because it needs a newer C library, and not started by its own loader, which
//! would start its server without it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::apt::{Suite, write_script};
use crate::command::{exists, program, read};
use crate::{AnyError, workspace};

/// The suite of Wine 10.
const SUITE: &str = "trixie";

/// Wine for 64 bits, and the shell that starts its server.
const PACKAGES: [&str; 2] = ["wine64", "dash"];

/// Where the tests look for it, below the build folder.
const FOLDER: &str = "wine";

/// Gets it if this machine can, and otherwise prints why not: the tests then use the installed Wine.
///
/// # Errors
/// None; the type is that of the other steps.
pub fn obtain() -> Result<(), AnyError> {
    match find() {
        Ok((version, program)) => println!("{version}: {}", program.display()),
        Err(reason) => println!("no Wine of Debian {SUITE}, so the tests use the one installed: {reason}"),
    }
    Ok(())
}

/// The version of the Wine, and the script that starts it.
fn find() -> Result<(String, PathBuf), AnyError> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Err("it is for x86-64 Linux".into());
    }
    if !exists("unshare") {
        return Err("there is no unshare(1) of util-linux to start it with".into());
    }
    let folder = workspace::target().join(FOLDER);
    let program_path = folder.join("bin/wine");
    if !program_path.exists() {
        unpack(&folder)?;
    }
    let version = read(program(&program_path).arg("--version"))
        .map_err(|error| format!("it needs the right to mount, as root or in a user namespace: {error}"))?;
    Ok((version.trim().to_owned(), program_path))
}

fn unpack(folder: &Path) -> Result<(), AnyError> {
    // The scripts are written last, so that an interrupted run leaves no file that seems complete.
    let _ = fs::remove_dir_all(folder);
    let suite = Suite::open(SUITE, folder.join("apt"))?;
    let root = folder.join("root");
    suite.unpack(&suite.with_dependencies(&PACKAGES)?, &root)?;
    let usr = root.join("usr");
    sign(
        &usr.join("x86_64-w64-mingw32/lib/zlib1.dll"),
        &usr.join("lib/x86_64-linux-gnu/wine/x86_64-windows/zlib1.dll"),
    )?;
    fs::remove_dir_all(folder.join("apt"))?;
    let scripts = folder.join("bin.new");
    fs::create_dir_all(&scripts)?;
    for (name, binary) in [("wineserver", "wineserver"), ("wine", "wine64")] {
        write_script(&scripts.join(name), &usr, &format!("/usr/lib/wine/{binary}"))?;
    }
    fs::rename(scripts, folder.join("bin"))?;
    Ok(())
}

/// Copies a library for Windows with the mark of Wine's own behind the header of its file, as the package's
/// installation does: Wine takes no other from its folder.
fn sign(from: &Path, to: &Path) -> Result<(), AnyError> {
    const MARK: std::ops::Range<usize> = 64..96;
    let mut library = fs::read(from).map_err(|error| format!("cannot read {}: {error}", from.display()))?;
    let place = library.get_mut(MARK).ok_or("zlib1.dll is too short")?;
    place.fill(0);
    let mark = b"Wine builtin DLL";
    place[..mark.len()].copy_from_slice(mark);
    Ok(fs::write(to, library)?)
}

//! Programs of others for tests, each in a folder below the build folder, where the tests look for it:
//! nothing is installed. What this machine cannot get is printed with the reason, and the tests that need it
//! are skipped.

use std::fs;
use std::path::{Path, PathBuf};

use crate::AnyError;
use crate::apt::{Suite, write_starter};
use crate::workspace::{self, exists, program, read};

/// The suite of Wine 10, and the first in which all files of a mail server are below `/usr`: in Debian 12
/// libraries were still beside it.
const SUITE: &str = "trixie";

/// Wine for 64 bits, and the shell that starts its server.
const WINE_PACKAGES: [&str; 2] = ["wine64", "dash"];

struct MailProgram {
    name: &'static str,
    packages: &'static [&'static str],
    /// Programs that need neither users nor a configuration, with their commands, for the scripts in `bin`.
    clients: &'static [(&'static str, &'static str)],
}

const MAIL_PROGRAMS: [MailProgram; 4] = [
    MailProgram {
        name: "postfix",
        packages: &["postfix"],
        clients: &[("smtp-sink", "/usr/sbin/smtp-sink"), ("smtp-source", "/usr/sbin/smtp-source")],
    },
    MailProgram { name: "exim", packages: &["exim4-daemon-light"], clients: &[] },
    MailProgram { name: "opensmtpd", packages: &["opensmtpd"], clients: &[] },
    MailProgram {
        name: "swaks",
        packages: &["swaks", "libnet-ssleay-perl"],
        // As a script it would be started by the Perl of `/usr`, in which it is not yet.
        clients: &[("swaks", "/usr/bin/perl /usr/bin/swaks")],
    },
];

/// The packages from PyPI that tests use.
const PYTHON_PACKAGES: [&str; 3] = ["ansible-core>=2.15", "duckdb>=1.0", "axe-core-python>=0.1"];

/// `cargo xtask wine`: a Wine that is newer than Debian 12's, for the tests of the programs for Windows. It
/// is not installed, because it needs a newer C library, and not started by its own loader, which would start
/// its server without it. Where it cannot be had, the tests use the installed Wine.
///
/// # Errors
/// None; the type is that of the other steps.
pub fn wine() -> Result<(), AnyError> {
    match find_wine() {
        Ok((version, program)) => println!("{version}: {}", program.display()),
        Err(reason) => println!("no Wine of Debian {SUITE}, so the tests use the one installed: {reason}"),
    }
    Ok(())
}

/// `cargo xtask mail-servers`: mail servers and clients, for the tests of `mail` and the service `smtp`.
/// Debian's packages of mail servers exclude each other, and an installed one would start and take the port
/// of mail, so each is unpacked with its libraries. Tests put it in the place of `/usr`, in a mount namespace
/// with its own users and its own `/etc` and `/var`.
///
/// # Errors
/// None; the type is that of the other steps.
pub fn mail_servers() -> Result<(), AnyError> {
    let folder = workspace::target().join("mail-servers");
    match complete_mail_servers(&folder) {
        Ok(()) => println!("in {}", folder.display()),
        Err(reason) => println!("no mail servers of Debian {SUITE}, so tests are skipped: {reason}"),
    }
    Ok(())
}

/// `cargo xtask pypi`: Ansible, DuckDB and axe-core for tests; `bin/` has their programs.
///
/// # Errors
/// None; the type is that of the other steps.
pub fn pypi() -> Result<(), AnyError> {
    let folder = workspace::target().join("python");
    match from_pypi(&folder, &PYTHON_PACKAGES, &[]) {
        Ok(folder) => println!("Ansible, DuckDB and axe-core: {}", folder.display()),
        Err(reason) => println!("no Ansible, DuckDB and axe-core, so their tests are skipped: {reason}"),
    }
    Ok(())
}

/// Installs packages from PyPI into a folder, unless they are there.
pub(crate) fn from_pypi(folder: &Path, packages: &[&str], options: &[&str]) -> Result<PathBuf, AnyError> {
    if folder.exists() {
        return Ok(folder.to_owned());
    }
    if !exists("pip3") {
        return Err(
            format!("there is no pip3 to install {} with; install python3-pip", packages.join(" ")).into()
        );
    }
    // Moved to its place when it is whole.
    let unfinished = folder.with_extension("new");
    let _ = fs::remove_dir_all(&unfinished);
    let mut install = program("pip3");
    install.args(["install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:"]);
    read(install.args(options).arg("--target").arg(&unfinished).args(packages))?;
    fs::rename(&unfinished, folder)?;
    Ok(folder.to_owned())
}

/// The version of the Wine, and the script that starts it.
fn find_wine() -> Result<(String, PathBuf), AnyError> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Err("it is for x86-64 Linux".into());
    }
    if !exists("unshare") {
        return Err("there is no unshare(1) of util-linux to start it with".into());
    }
    let folder = workspace::target().join("wine");
    let program_path = folder.join("bin/wine");
    if !program_path.exists() {
        unpack_wine(&folder)?;
    }
    let version = read(program(&program_path).arg("--version"))
        .map_err(|error| format!("it needs the right to mount, as root or in a user namespace: {error}"))?;
    Ok((version.trim().to_owned(), program_path))
}

fn unpack_wine(folder: &Path) -> Result<(), AnyError> {
    // The scripts are written last, so that an interrupted run leaves no file that seems complete.
    let _ = fs::remove_dir_all(folder);
    let suite = Suite::open(SUITE, folder.join("apt"))?;
    let root = folder.join("root");
    suite.unpack(&suite.with_dependencies(&WINE_PACKAGES)?, &root)?;
    let usr = root.join("usr");
    sign(
        &usr.join("x86_64-w64-mingw32/lib/zlib1.dll"),
        &usr.join("lib/x86_64-linux-gnu/wine/x86_64-windows/zlib1.dll"),
    )?;
    fs::remove_dir_all(folder.join("apt"))?;
    let scripts = folder.join("bin.new");
    fs::create_dir_all(&scripts)?;
    for (name, binary) in [("wineserver", "wineserver"), ("wine", "wine64")] {
        write_starter(&scripts.join(name), &usr, &format!("/usr/lib/wine/{binary}"))?;
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

/// Unpacks those that are missing.
fn complete_mail_servers(folder: &Path) -> Result<(), AnyError> {
    if !cfg!(target_os = "linux") {
        return Err("they are for Linux".into());
    }
    if !exists("unshare") {
        return Err("there is no unshare(1) of util-linux to start them with".into());
    }
    let missing = MAIL_PROGRAMS.iter().filter(|program| !folder.join(program.name).exists());
    let missing: Vec<&MailProgram> = missing.collect();
    if missing.is_empty() {
        return Ok(());
    }
    // The folder gets its name last, so that an interrupted run leaves no incomplete one.
    let unfinished = folder.join("unfinished");
    let _ = fs::remove_dir_all(&unfinished);
    let suite = Suite::open(SUITE, unfinished.join("apt"))?;
    fs::create_dir_all(folder.join("bin"))?;
    for program in missing {
        let root = unfinished.join(program.name);
        suite.unpack(&suite.with_dependencies(program.packages)?, &root)?;
        let place = folder.join(program.name);
        for (name, command) in program.clients {
            write_starter(&folder.join("bin").join(name), &place.join("usr"), command)?;
        }
        fs::rename(root, place)?;
    }
    Ok(fs::remove_dir_all(unfinished)?)
}

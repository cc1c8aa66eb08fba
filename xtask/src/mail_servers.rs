//! `cargo xtask mail-servers`: mail servers and clients of others, for the tests of `mail` and the service
//! `smtp`.
//!
//! Debian's packages of mail servers exclude each other, and an installed one would start and take the port
//! of mail. So each is unpacked with the libraries that it needs into a folder of its own, below the build
//! folder. Tests put it in the place of `/usr`, in a mount namespace with its own users and its own `/etc`
//! and `/var`.

use std::fs;
use std::path::Path;

use crate::apt::{Suite, write_script};
use crate::command::exists;
use crate::{AnyError, workspace};

/// Of this one all files are below `/usr`; in Debian 12 libraries were still beside it.
const SUITE: &str = "trixie";

/// Where the tests look for them, below the build folder.
const FOLDER: &str = "mail-servers";

struct MailProgram {
    name: &'static str,
    packages: &'static [&'static str],
    /// Programs that need neither users nor a configuration, with their commands, for the scripts in `bin`.
    clients: &'static [(&'static str, &'static str)],
}

const PROGRAMS: [MailProgram; 4] = [
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

/// Gets those that this machine supports, and prints why others are missing: tests that need them are then
/// skipped.
///
/// # Errors
/// None; the type is that of the other steps.
pub fn obtain() -> Result<(), AnyError> {
    let folder = workspace::target().join(FOLDER);
    match complete(&folder) {
        Ok(()) => println!("in {}", folder.display()),
        Err(reason) => println!("no mail servers of Debian {SUITE}, so tests are skipped: {reason}"),
    }
    Ok(())
}

/// Unpacks those that are missing.
fn complete(folder: &Path) -> Result<(), AnyError> {
    if !cfg!(target_os = "linux") {
        return Err("they are for Linux".into());
    }
    if !exists("unshare") {
        return Err("there is no unshare(1) of util-linux to start them with".into());
    }
    let missing = PROGRAMS.iter().filter(|program| !folder.join(program.name).exists());
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
            write_script(&folder.join("bin").join(name), &place.join("usr"), command)?;
        }
        fs::rename(root, place)?;
    }
    Ok(fs::remove_dir_all(unfinished)?)
}

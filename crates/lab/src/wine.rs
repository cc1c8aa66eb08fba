//! Wine: the interfaces of Windows, served by a program of this system.

use std::io;
use std::path::{Path, PathBuf};

use runner::Programs;

use crate::{Error, start};

/// Debug messages, .NET, a browser and entries in menus are left out, unless the user sets these variables.
/// No measurement needs them, and the question whether to install them would need a screen.
const ENVIRONMENT: [(&str, &str); 2] =
    [("WINEDEBUG", "-all"), ("WINEDLLOVERRIDES", "mscoree,mshtml,winemenubuilder.exe=")];

/// The variable that names the folder of a Wine, with its drives and its registry.
const PREFIX: &str = "WINEPREFIX";

/// A Wine in which programs for Windows are measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wine {
    /// The program, and words before the command that it executes.
    pub command: Vec<String>,
    /// An existing folder, in which it gets one of its own, for its files and those of workloads.
    pub folder: PathBuf,
}

impl Wine {
    /// The program where the user names none.
    pub const PROGRAM: &str = "wine";

    /// The programs that it executes.
    ///
    /// # Errors
    /// [`Error::NoWine`] where there is none, and [`Error::Programs`] where the programs are not there.
    pub fn programs(command: &[String]) -> Result<Programs, Error> {
        start::version(command).map_err(|reason| no_wine(command, reason))?;
        programs()
    }

    /// Turns this process into Wine with the agent in it, and ends with its parent.
    ///
    /// # Errors
    /// Why it does not; without an error it does not return.
    pub fn start(&self) -> Error {
        match self.prepare() {
            Ok(mut command) => {
                sys::process::die_with_parent();
                no_wine(&self.command, sys::process::replace_by(&mut command).to_string())
            }
            Err(error) => error,
        }
    }

    fn prepare(&self) -> Result<std::process::Command, Error> {
        let programs = programs()?;
        // Two systems of a run may both be a Wine.
        let folder = self.folder.join(format!("wine-{}", std::process::id()));
        let failed = |error: io::Error| no_wine(&self.command, error.to_string());
        std::fs::create_dir(&folder).map_err(failed)?;
        let command = start::command(&self.command);
        let mut command = command.ok_or_else(|| no_wine(&self.command, start::NO_WORD.to_owned()))?;
        command.arg(programs.agent()).args([host::TRIAL, "agent", &on_drive(&folder.join("files"))]);
        for (name, value) in ENVIRONMENT {
            if std::env::var_os(name).is_none() {
                command.env(name, value);
            }
        }
        if std::env::var_os(PREFIX).is_none() {
            let prefix = folder.join("prefix");
            Wine::keep_server_in(&folder, &prefix).map_err(failed)?;
            command.env(PREFIX, prefix).env_remove("TMPDIR");
        }
        // No window is needed.
        command.env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY");
        Ok(command)
    }

    /// Makes a new prefix, whose server makes its socket in that folder. Debian's Wine keeps in this file the
    /// name of a folder below `/tmp`, and makes one there where the prefix has no such file. Wine does not
    /// remove that one, and Debian's Wine 10 crashes where TMPDIR names another place. Wine trusts only files
    /// that no other user can write.
    ///
    /// # Errors
    /// Those of making folders and the file.
    pub fn keep_server_in(folder: &Path, prefix: &Path) -> io::Result<()> {
        let sockets = folder.join("server");
        let file = prefix.join("wineserver");
        std::fs::create_dir(prefix)?;
        std::fs::create_dir(&sockets)?;
        std::fs::write(&file, format!("..{}", sockets.canonicalize()?.display()))?;
        #[cfg(unix)]
        {
            use std::fs::Permissions;
            use std::os::unix::fs::PermissionsExt;
            std::fs::set_permissions(&sockets, Permissions::from_mode(0o700))?;
            std::fs::set_permissions(&file, Permissions::from_mode(0o400))?;
        }
        Ok(())
    }
}

fn programs() -> Result<Programs, Error> {
    Programs::of_triple("x86_64-win7-windows-gnu").map_err(Error::Programs)
}

/// A path of this system on the drive that Wine makes for its root.
fn on_drive(path: &Path) -> String {
    format!("Z:{}", path.display())
}

fn no_wine(command: &[String], reason: String) -> Error {
    Error::NoWine { program: command.join(" "), reason }
}

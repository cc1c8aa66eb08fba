//! Packages of a suite of Debian that is not the machine's own. apt looks them up and downloads them with a
//! configuration of its own, and they are unpacked into a folder: nothing is installed.
//!
//! Their programs need the C library of their suite, so a script starts each in a mount namespace in which
//! this folder stands in the place of `/usr`; every other folder is the machine's.

use std::fs;
use std::path::{Path, PathBuf};

use crate::AnyError;
use crate::workspace::{self, exists, program, quoted, read, write_script};

const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// A suite, with its lists of today.
pub(crate) struct Suite {
    name: &'static str,
    mirror: String,
    folder: PathBuf,
    settings: Vec<String>,
}

impl Suite {
    /// Gets the lists of a suite into a folder, which may be removed when the packages are there.
    ///
    /// # Errors
    /// A program that is missing, or the error of apt.
    pub(crate) fn open(name: &'static str, folder: PathBuf) -> Result<Suite, AnyError> {
        for needed in ["apt-get", "apt-cache", "dpkg-deb"] {
            if !exists(needed) {
                return Err(format!("there is no {needed}").into());
            }
        }
        let mirror = mirrors().into_iter().next().ok_or("apt's sources name no Debian mirror")?;
        fs::create_dir_all(folder.join("lists/partial"))?;
        fs::create_dir_all(folder.join("cache/archives/partial"))?;
        let source = format!("deb [signed-by={KEYRING}] {mirror} {name} main\n");
        fs::write(folder.join("sources.list"), source)?;
        fs::write(folder.join("status"), "")?;
        // A configuration of its own for lists and caches; how to reach the mirror stays the
        // machine's.
        let path = |name: &str| folder.join(name).display().to_string();
        let settings = [
            format!("Dir::Etc::sourcelist={}", path("sources.list")),
            "Dir::Etc::sourceparts=-".to_owned(),
            format!("Dir::State={}", path("state")),
            format!("Dir::State::lists={}", path("lists")),
            format!("Dir::Cache={}", path("cache")),
            "APT::Sandbox::User=".to_owned(),
            "Acquire::Retries=2".to_owned(),
            "Acquire::http::Timeout=30".to_owned(),
            "APT::Update::Error-Mode=any".to_owned(),
        ];
        let settings = settings.into_iter().flat_map(|setting| ["-o".to_owned(), setting]).collect();
        let suite = Suite { name, mirror, folder, settings };
        read(program("apt-get").args(&suite.settings).args(["-qq", "update"]))?;
        Ok(suite)
    }

    /// The versions of a package that there are, in the lines of `apt-cache madison`.
    pub(crate) fn offers(&self, package: &str) -> Result<String, AnyError> {
        read(program("apt-cache").args(&self.settings).args(["madison", package]))
    }

    /// These packages and all that they depend on, down to the C library.
    pub(crate) fn with_dependencies(&self, packages: &[&str]) -> Result<Vec<String>, AnyError> {
        // As on a machine without any package. This is a simulation: really installing them here would
        // replace the C library of this machine.
        let status = format!("Dir::State::status={}", self.folder.join("status").display());
        let mut command = program("apt-get");
        command.args(&self.settings).args(["-o", &status, "-o", "APT::Install-Recommends=false"]);
        let simulated = read(command.args(["--simulate", "install"]).args(packages))?;
        Ok(installed(&simulated).map(str::to_owned).collect())
    }

    /// Downloads packages, given as NAME or NAME=VERSION, and unpacks them over each other.
    pub(crate) fn unpack<S: AsRef<str>>(&self, packages: &[S], into: &Path) -> Result<(), AnyError> {
        let packages = packages.iter().map(AsRef::as_ref);
        let mut download = program("apt-get");
        read(
            download.args(&self.settings).args(["-qq", "download"]).args(packages).current_dir(&self.folder),
        )?;
        let archives = workspace::files(&self.folder, "deb");
        if archives.is_empty() {
            return Err("apt-get downloaded nothing".into());
        }
        fs::create_dir_all(into)?;
        for archive in archives {
            read(program("dpkg-deb").arg("-x").arg(&archive).arg(into))?;
            fs::remove_file(archive)?;
        }
        Ok(())
    }
}

impl std::fmt::Display for Suite {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {}", self.name, self.mirror)
    }
}

/// The packages in the lines of a simulation that say `Inst NAME (VERSION SUITE …)`.
fn installed(simulated: &str) -> impl Iterator<Item = &str> {
    simulated.lines().filter_map(|line| line.strip_prefix("Inst ")?.split_whitespace().next())
}

/// The Debian mirrors that apt on this machine uses, in both forms of sources.list(5).
fn mirrors() -> Vec<String> {
    let mut texts = vec![fs::read_to_string("/etc/apt/sources.list").unwrap_or_default()];
    let parts = Path::new("/etc/apt/sources.list.d");
    for extension in ["list", "sources"] {
        let files = workspace::files(parts, extension);
        texts.extend(files.iter().map(|file| fs::read_to_string(file).unwrap_or_default()));
    }
    texts.iter().flat_map(|text| mirrors_of(text)).collect()
}

fn mirrors_of(text: &str) -> Vec<String> {
    let words =
        text.lines().filter(|line| !line.trim_start().starts_with('#')).flat_map(str::split_whitespace);
    words
        .filter(|word| word.starts_with("http://") || word.starts_with("https://"))
        .map(|word| word.trim_end_matches('/'))
        // Not its neighbours debian-security and debian-debug, and no other vendor's archive.
        .filter(|word| word.ends_with("/debian"))
        .map(str::to_owned)
        .collect()
}

/// Writes a script that runs a program where this folder is `/usr`.
pub(crate) fn write_starter(script: &Path, usr: &Path, binary: &str) -> Result<(), AnyError> {
    write_script(script, &in_place_of_usr(usr, binary))
}

fn in_place_of_usr(usr: &Path, binary: &str) -> String {
    format!(
        "#!/bin/sh\n\
         usr={}\n\
         rights=\n\
         [ \"$(id -u)\" = 0 ] || rights=--map-root-user\n\
         export usr\n\
         exec unshare --mount $rights sh -c 'mount --bind \"$usr\" /usr && exec {binary} \"$@\"' sh \"$@\"\n",
        quoted(usr)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_simulation_would_install() {
        let simulated = "NOTE: This is only a simulation!\n\
                         Inst gcc-14-base (14.2.0-19 Debian:13.2/stable [amd64])\n\
                         Inst libc6 (2.41-12 Debian:13.2/stable [amd64])\n\
                         Conf libc6 (2.41-12 Debian:13.2/stable [amd64])\n";
        assert_eq!(installed(simulated).collect::<Vec<_>>(), ["gcc-14-base", "libc6"]);
    }

    #[test]
    fn both_forms_of_sources() {
        let one_line = "# deb http://old.example/debian trixie main\n\
                        deb [arch=amd64] https://deb.debian.org/debian/ trixie main\n\
                        deb http://deb.debian.org/debian-security trixie-security main\n";
        assert_eq!(mirrors_of(one_line), ["https://deb.debian.org/debian"]);
        let deb822 = "Types: deb\nURIs: http://deb.debian.org/debian\nSuites: trixie\n\n\
                      Types: deb\nURIs: https://deb.nodesource.com/node_20.x\n";
        assert_eq!(mirrors_of(deb822), ["http://deb.debian.org/debian"]);
    }
}

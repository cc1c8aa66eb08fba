//! The files of a release, for every Linux and for Debian.
//!
//! tar, libdeflate and dpkg-deb can leave out all that differs between machines: the date is that of the last
//! commit, the owner is root, files are in order.

use std::fs;
use std::path::{Path, PathBuf};

use crate::AnyError;
use crate::workspace::{exists, program, read, show};

/// Documents that a user needs with the program.
const DOCUMENTS: [&str; 4] = ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"];

/// A shell, and the folder of its completions in Debian.
const SHELLS: [(&str, &str); 3] = [
    ("bash", "usr/share/bash-completion/completions/osdyno"),
    ("zsh", "usr/share/zsh/vendor-completions/_osdyno"),
    ("fish", "usr/share/fish/vendor_completions.d/osdyno.fish"),
];

/// Packs the program in all forms and returns the files.
pub(super) fn all(checkout: &Path, binary: &Path, dist: &Path, date: &str) -> Result<Vec<PathBuf>, AnyError> {
    let version = read(program(binary).arg("--version"))?;
    let version = version.split_whitespace().last().ok_or("osdyno does not tell its version")?.to_owned();
    let contents = Contents { checkout, binary, version, date };
    let mut files = vec![contents.archive(dist)?];
    if exists("dpkg-deb") {
        files.push(contents.debian(dist)?);
    } else {
        println!("no package for Debian: there is no dpkg-deb to make it");
    }
    Ok(files)
}

struct Contents<'a> {
    checkout: &'a Path,
    binary: &'a Path,
    version: String,
    date: &'a str,
}

impl Contents<'_> {
    fn archive(&self, dist: &Path) -> Result<PathBuf, AnyError> {
        let name = format!("osdyno-{}-{}-linux", self.version, std::env::consts::ARCH);
        let folder = dist.join(&name);
        put(self.binary, &folder.join("osdyno"))?;
        for document in DOCUMENTS {
            put(&self.checkout.join(document), &folder.join(document))?;
        }
        self.pages(&folder.join("man"))?;
        for (shell, place) in SHELLS {
            let file = Path::new(place).file_name().unwrap_or_default();
            self.completions(shell, &folder.join("completions").join(file))?;
        }
        set_modes(&folder)?;
        let archive = dist.join(format!("{name}.tar"));
        let fixed = ["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--format=ustar"];
        let mut tar = program("tar");
        tar.args(fixed).arg(format!("--mtime=@{}", self.date)).arg("-C").arg(dist).arg("-cf").arg(&archive);
        show(tar.arg(&name))?;
        // It writes no name and no date, and 2.5 % less than gzip.
        show(program("libdeflate-gzip").args(["-12", "-f"]).arg(&archive))?;
        fs::remove_dir_all(folder)?;
        Ok(archive.with_extension("tar.gz"))
    }

    fn debian(&self, dist: &Path) -> Result<PathBuf, AnyError> {
        let architecture = read(program("dpkg").arg("--print-architecture"))?;
        let architecture = architecture.trim();
        let folder = dist.join("debian");
        put(self.binary, &folder.join("usr/bin/osdyno"))?;
        let documents = folder.join("usr/share/doc/osdyno");
        let license = fs::read_to_string(self.checkout.join("LICENSE-MIT"))?;
        write(
            &documents.join("copyright"),
            &format!("osdyno is licensed as MIT or Apache-2.0.\n\n{license}"),
        )?;
        put(&self.checkout.join("CHANGELOG.md"), &documents.join("changelog"))?;
        compress(&documents.join("changelog"))?;
        self.manual(&folder.join("usr/share/man"))?;
        for (shell, place) in SHELLS {
            self.completions(shell, &folder.join(place))?;
        }
        let kilobytes = size(&folder)? / 1024;
        write(&folder.join("DEBIAN/control"), &control(&self.version, architecture, kilobytes))?;
        set_modes(&folder)?;
        let package = dist.join(format!("osdyno_{}_{architecture}.deb", self.version));
        let mut build = program("dpkg-deb");
        build.env("SOURCE_DATE_EPOCH", self.date).args(["--root-owner-group", "-Zxz", "--build"]);
        show(build.arg(&folder).arg(&package))?;
        fs::remove_dir_all(folder)?;
        Ok(package)
    }

    fn pages(&self, folder: &Path) -> Result<(), AnyError> {
        fs::create_dir_all(folder)?;
        show(program(self.binary).arg("man").arg(folder))
    }

    /// The pages as man(1) looks for them: packed, each in the folder of its section.
    fn manual(&self, folder: &Path) -> Result<(), AnyError> {
        self.pages(folder)?;
        let pages: Vec<_> = fs::read_dir(folder)?.collect::<Result<_, _>>()?;
        for page in pages {
            let page = page.path();
            let section = page.extension().ok_or_else(|| format!("{} has no section", page.display()))?;
            let place = folder.join(format!("man{}", section.to_string_lossy()));
            fs::create_dir_all(&place)?;
            let place = place.join(page.file_name().unwrap_or_default());
            fs::rename(&page, &place)?;
            compress(&place)?;
        }
        Ok(())
    }

    fn completions(&self, shell: &str, file: &Path) -> Result<(), AnyError> {
        write(file, &read(program(self.binary).args(["completions", shell]))?)
    }
}

fn control(version: &str, architecture: &str, kilobytes: u64) -> String {
    format!(
        "Package: osdyno\nVersion: {version}\nArchitecture: {architecture}\nInstalled-Size: {kilobytes}\n\
         Maintainer: the authors of osdyno <osdyno@localhost>\nSection: utils\nPriority: optional\n\
         Description: dynamometer for operating systems and the servers that run on them\n \
         It loads a system step by step, measures every step, and reports with confidence\n \
         intervals which costs stay flat, which grow, and which system is faster.\n"
    )
}

fn put(from: &Path, to: &Path) -> Result<(), AnyError> {
    fs::create_dir_all(to.parent().unwrap_or(to))?;
    fs::copy(from, to).map_err(|error| format!("cannot copy {}: {error}", from.display()))?;
    Ok(())
}

fn write(file: &Path, text: &str) -> Result<(), AnyError> {
    fs::create_dir_all(file.parent().unwrap_or(file))?;
    Ok(fs::write(file, text)?)
}

fn compress(file: &Path) -> Result<(), AnyError> {
    show(program("gzip").args(["-9", "--no-name"]).arg(file))
}

/// Modes that do not depend on the user that builds: a file that its owner can execute everybody can.
fn set_modes(folder: &Path) -> Result<(), AnyError> {
    show(program("chmod").args(["-R", "u=rwX,go=rX"]).arg(folder))
}

fn size(folder: &Path) -> Result<u64, AnyError> {
    let files = everything(folder)?.into_iter().filter(|path| path.is_file());
    files.map(|file| Ok(fs::metadata(file)?.len())).sum()
}

/// The folder and all that is in it.
fn everything(folder: &Path) -> Result<Vec<PathBuf>, AnyError> {
    let mut found = vec![folder.to_owned()];
    let mut next = 0;
    while let Some(path) = found.get(next).cloned() {
        next += 1;
        if path.is_dir() {
            for entry in fs::read_dir(path)? {
                found.push(entry?.path());
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program that prints the same as `osdyno` to a packer.
    const STAND_IN: &str = "#!/bin/sh\ncase $1 in\n--version) echo osdyno 1.2.3 ;;\n\
                            man) for page in osdyno.1 osdyno-run.1 osdyno-bind.7; do\n\
                            echo .TH > $2/$page; done ;;\n\
                            completions) echo $2 ;;\nesac\n";

    fn packed(folder: &Path) -> Vec<Vec<u8>> {
        for document in DOCUMENTS {
            write(&folder.join(document), document).unwrap();
        }
        let binary = folder.join("stand-in");
        write(&binary, STAND_IN).unwrap();
        show(program("chmod").arg("+x").arg(&binary)).unwrap();
        let dist = folder.join("dist");
        fs::create_dir(&dist).unwrap();
        let files = all(folder, &binary, &dist, "1700000000").unwrap();
        files.iter().map(|file| fs::read(file).unwrap()).collect()
    }

    #[test]
    fn packages_do_not_depend_on_where_and_when() {
        let [one, other] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let first = packed(one.path());
        std::thread::sleep(std::time::Duration::from_millis(1100));
        assert!(first == packed(other.path()));
        assert!(!first.is_empty());
    }

    #[test]
    fn debian_finds_everything_in_its_place() {
        if !exists("dpkg-deb") {
            println!("skipped: there is no dpkg-deb");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        packed(folder.path());
        let package = crate::workspace::files(&folder.path().join("dist"), "deb").pop().unwrap();
        let list = read(program("dpkg-deb").arg("--contents").arg(&package)).unwrap();
        for place in [
            "./usr/bin/osdyno",
            "./usr/share/man/man1/osdyno-run.1.gz",
            "./usr/share/man/man7/osdyno-bind.7.gz",
            "./usr/share/doc/osdyno/copyright",
        ] {
            assert!(list.contains(place), "{place} in {list}");
        }
        assert!(list.lines().all(|line| line.contains("root/root")), "{list}");
        let control = read(program("dpkg-deb").arg("--field").arg(&package)).unwrap();
        assert!(control.contains("Version: 1.2.3"), "{control}");
    }
}

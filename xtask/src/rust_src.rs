//! The source of the standard library, for the very compiler that is installed.
//!
//! It comes from the toolchain where rustup has put it there, and else from Debian's package rust-src, which
//! is unpacked below the build folder: neither the toolchain nor the system is changed.

use std::fs;
use std::path::{Path, PathBuf};

use crate::command::{exists, program, read};
use crate::{AnyError, workspace};

/// Where Debian keeps compilers newer than its own.
const SUITE: &str = "trixie-backports";
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// The folder `library` of the source.
///
/// # Errors
/// Says why there is none to be had.
pub(crate) fn find() -> Result<PathBuf, AnyError> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let sysroot = read(program(&rustc).args(["--print", "sysroot"]))?;
    let with_toolchain = Path::new(sysroot.trim()).join("lib/rustlib/src/rust/library");
    if with_toolchain.join("std").exists() {
        return Ok(with_toolchain);
    }
    let version = read(program(&rustc).arg("-vV"))?;
    let version = version.lines().find_map(|line| line.strip_prefix("release: "));
    from_debian(version.ok_or("rustc does not tell its version")?)
}

fn from_debian(version: &str) -> Result<PathBuf, AnyError> {
    let folder = workspace::target().join("rust-src").join(version);
    let library = folder.join(format!("usr/src/rustc-{version}/library"));
    // Written last: what an interrupted run left behind is not taken for the whole.
    let complete = folder.join("complete");
    if complete.exists() {
        return Ok(library);
    }
    for needed in ["apt-get", "apt-cache", "dpkg-deb"] {
        if !exists(needed) {
            return Err(format!("the toolchain has no rust-src, and there is no {needed} to get it").into());
        }
    }
    let mirror = mirrors().into_iter().next().ok_or("apt's sources name no Debian mirror")?;

    let apt = folder.join("apt");
    fs::create_dir_all(apt.join("lists/partial"))?;
    fs::create_dir_all(apt.join("cache/archives/partial"))?;
    fs::write(apt.join("sources.list"), format!("deb [signed-by={KEYRING}] {mirror} {SUITE} main\n"))?;
    // A configuration of its own for what is looked up and kept; how to reach the mirror stays the machine's.
    let path = |name: &str| apt.join(name).display().to_string();
    let settings = [
        format!("Dir::Etc::sourcelist={}", path("sources.list")),
        "Dir::Etc::sourceparts=-".to_owned(),
        format!("Dir::State::lists={}", path("lists")),
        format!("Dir::Cache={}", path("cache")),
        "APT::Sandbox::User=".to_owned(),
        "Acquire::Retries=2".to_owned(),
        "Acquire::http::Timeout=30".to_owned(),
        "APT::Update::Error-Mode=any".to_owned(),
    ];
    let settings: Vec<&str> = settings.iter().flat_map(|setting| ["-o", setting.as_str()]).collect();

    read(program("apt-get").args(&settings).args(["-qq", "update"]))?;
    let offers = read(program("apt-cache").args(&settings).args(["madison", "rust-src"]))?;
    let package = package_of(&offers, version)
        .ok_or_else(|| format!("{SUITE} of {mirror} has no rust-src for rustc {version}"))?;
    let download = format!("rust-src={package}");
    read(program("apt-get").args(&settings).args(["-qq", "download", &download]).current_dir(&apt))?;
    let archive = workspace::files(&apt, "deb").pop().ok_or("apt-get downloaded nothing")?;
    read(program("dpkg-deb").arg("-x").arg(&archive).arg(&folder))?;
    fs::remove_dir_all(&apt)?;
    if !library.join("std").exists() {
        return Err(format!("{package} does not hold the library where it was expected").into());
    }
    fs::write(complete, "")?;
    Ok(library)
}

/// The first offer for the compiler's version in lines such as
/// ` rust-src | 1.95.0+dfsg1-2~bpo13+1 | http://deb.debian.org/debian trixie-backports/main amd64 Packages`.
fn package_of<'a>(offers: &'a str, version: &str) -> Option<&'a str> {
    offers
        .lines()
        .filter_map(|line| line.split('|').nth(1))
        .map(str::trim)
        .find(|package| package.strip_prefix(version).is_some_and(|rest| rest.starts_with(['+', '-', '~'])))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_package_of_the_compiler_and_of_no_other() {
        let offers = " rust-src | 1.95.10+dfsg1-1 | http://a/debian x/main amd64 Packages\n \
                      rust-src | 1.95.1+dfsg1-2~bpo13+1 | http://a/debian x/main amd64 Packages\n";
        assert_eq!(package_of(offers, "1.95.1"), Some("1.95.1+dfsg1-2~bpo13+1"));
        assert_eq!(package_of(offers, "1.95.0"), None);
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

//! Kernels of Debian: the newest of a series, from the packages that its archives have now.
//!
//! apt gets the lists and the packages, and proves them with Debian's signatures; it has a configuration of
//! its own, so the system's stays as it is. A kernel in the cache is used without a look at the network, so
//! every run has the same kernel until the user empties the cache.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{Error, cache_folder};

/// Where Debian's archives are, where apt on this machine does not name a mirror.
const MIRROR: &str = "http://deb.debian.org/debian";
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// Archives that hold kernels, from that of the oldest series on.
const SUITES: [&str; 4] = ["bookworm", "bookworm-backports", "trixie", "trixie-backports"];

/// The parts of a package's name before the release: since 6.19, `linux-image` is empty and depends on
/// `linux-binary`, which has the image.
const PACKAGES: [&str; 2] = ["linux-binary-", "linux-image-"];

/// Kernels of Debian, in a cache.
#[derive(Debug)]
pub struct Debian {
    cache: PathBuf,
    /// The lists are those of today.
    is_updated: bool,
}

/// A series of kernels in one flavour: `6.12`, or `6.12-rt`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Series {
    /// `6.12`.
    numbers: String,
    /// How a package's name ends.
    suffix: &'static str,
}

impl Debian {
    /// With the cache of this user: `osdyno/kernels` below `$XDG_CACHE_HOME` or `~/.cache`.
    ///
    /// # Errors
    /// When there is no home folder.
    pub fn of_user() -> Result<Debian, Error> {
        Ok(Debian::in_folder(cache_folder()?.join("kernels")))
    }

    /// With a cache in this folder, which is made if need be.
    pub fn in_folder(cache: PathBuf) -> Debian {
        Debian { cache, is_updated: false }
    }

    /// The image of the newest kernel of a series, such as `6.12`, or `6.12-rt` with PREEMPT_RT. `tell` is
    /// called with a sentence before anything is downloaded.
    ///
    /// # Errors
    /// [`Error::Debian`].
    pub fn kernel(&mut self, series: &str, tell: &mut dyn FnMut(&str)) -> Result<PathBuf, Error> {
        let failed = |reason| Error::Debian { series: series.to_owned(), reason };
        let wanted = Series::parse(series).ok_or_else(|| failed(NO_SERIES.to_owned()))?;
        self.find(series, &wanted, tell).map_err(failed)
    }

    /// The series with a kernel for clouds in Debian now, rising: major and minor number. `tell` is
    /// called with a sentence before the lists are downloaded.
    ///
    /// # Errors
    /// [`Error::Debian`].
    pub fn series(&mut self, tell: &mut dyn FnMut(&str)) -> Result<Vec<[u64; 2]>, Error> {
        let failed = |reason| Error::Debian { series: "of any series".to_owned(), reason };
        let names = self.names(tell).map_err(failed)?;
        let of = |name: &String| {
            let version = PACKAGES.iter().find_map(|kind| name.strip_prefix(kind))?;
            let [major, minor, ..] = numbers(version)[..] else { return None };
            let series = Series::parse(&format!("{major}.{minor}"))?;
            series.newest(std::slice::from_ref(name)).map(|_| [major, minor])
        };
        Ok(names.iter().filter_map(of).collect::<BTreeSet<_>>().into_iter().collect())
    }

    /// The names of all packages that may hold a kernel, today.
    fn names(&mut self, tell: &mut dyn FnMut(&str)) -> Result<Vec<String>, String> {
        let _lock = self.lock()?;
        if !self.is_updated {
            tell("getting the list of Debian's kernels");
        }
        self.apt()?.names()
    }

    fn find(&mut self, name: &str, wanted: &Series, tell: &mut dyn FnMut(&str)) -> Result<PathBuf, String> {
        let _lock = self.lock()?;
        let folder = self.cache.join(name);
        if let Some(image) = cached(&folder)? {
            return Ok(image);
        }
        if !Path::new(KEYRING).exists() {
            return Err(format!("{KEYRING} is missing; install debian-archive-keyring"));
        }
        tell(&format!("getting the newest kernel of Debian's series {name}"));
        let apt = self.apt()?;
        let package = wanted.newest(&apt.names()?).ok_or(NO_PACKAGE)?;
        let unfinished = self.cache.join("unfinished");
        let _ = fs::remove_dir_all(&unfinished);
        fs::create_dir_all(&unfinished).map_err(|error| self.unusable(&error))?;
        let got = get(&apt, &package, &unfinished).and_then(|image| keep(&image, &unfinished, &folder));
        let removed = fs::remove_dir_all(&unfinished);
        got?;
        removed.map_err(|error| self.unusable(&error))?;
        cached(&folder)?.ok_or_else(|| format!("{package} was unpacked and is not in {}", folder.display()))
    }

    /// Locks the cache, which is made if need be. One process at a time: the next one finds the kernel there.
    fn lock(&self) -> Result<File, String> {
        let attempt = || {
            fs::create_dir_all(&self.cache)?;
            let lock = File::create(self.cache.join("lock"))?;
            lock.lock()?;
            Ok(lock)
        };
        attempt().map_err(|error: io::Error| self.unusable(&error))
    }

    /// apt, with the lists of today.
    fn apt(&mut self) -> Result<Apt, String> {
        let apt = Apt::new(&self.cache.join("apt")).map_err(|error| self.unusable(&error))?;
        if !self.is_updated {
            apt.update()?;
            self.is_updated = true;
        }
        Ok(apt)
    }

    fn unusable(&self, error: &io::Error) -> String {
        format!("the cache {} cannot be used: {error}", self.cache.display())
    }
}

const NO_SERIES: &str = "a series is written as in debian:6.12, debian:6.12-rt or debian:6.12-generic";
const NO_PACKAGE: &str = "Debian's archives have no kernel of this series now";

/// Beside an image: its length and checksum.
const IMAGE: &str = "vmlinuz";
const CHECKSUM: &str = "vmlinuz.crc32";

/// The image in a folder of the cache, if it is there and whole.
fn cached(folder: &Path) -> Result<Option<PathBuf>, String> {
    let image = folder.join(IMAGE);
    let read = fs::read(&image).and_then(|image| Ok((image, fs::read_to_string(folder.join(CHECKSUM))?)));
    match read {
        Ok((content, sum)) if sum == checksum(&content) => Ok(Some(image)),
        Ok(_) => Err(format!("{} is damaged; remove {} and try again", image.display(), folder.display())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("cannot read {}: {error}", image.display())),
    }
}

fn checksum(content: &[u8]) -> String {
    format!("{} {:08x}\n", content.len(), crc32fast::hash(content))
}

/// Downloads and unpacks a package, and finds the image in it.
fn get(apt: &Apt, package: &str, into: &Path) -> Result<PathBuf, String> {
    apt.download(package, into)?;
    let archive = files(into).into_iter().find(|path| path.extension().is_some_and(|own| own == "deb"));
    let archive = archive.ok_or_else(|| format!("apt-get downloaded no {package}"))?;
    let content = into.join("content");
    run(Command::new("dpkg-deb").arg("-x").arg(&archive).arg(&content))?;
    // `boot/vmlinuz-RELEASE`, and since 6.19 `usr/lib/modules/RELEASE/vmlinuz`.
    let modules = files(&content.join("usr/lib/modules"));
    let mut places = files(&content.join("boot"));
    places.extend(modules.iter().map(|folder| folder.join("vmlinuz")));
    let image = places.into_iter().find(|path| crate::release(path).is_ok());
    image.ok_or_else(|| format!("{package} holds no kernel where it was expected"))
}

/// Moves the image to its folder in the cache, which is made last and at once.
fn keep(image: &Path, unfinished: &Path, folder: &Path) -> Result<(), String> {
    let kept = unfinished.join("kept");
    let attempt = || {
        fs::create_dir(&kept)?;
        fs::rename(image, kept.join(IMAGE))?;
        fs::write(kept.join(CHECKSUM), checksum(&fs::read(kept.join(IMAGE))?))?;
        let _ = fs::remove_dir_all(folder);
        fs::rename(&kept, folder)
    };
    attempt().map_err(|error: io::Error| format!("cannot keep the kernel in {}: {error}", folder.display()))
}

/// The entries of a folder, in the order of names.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.sort_unstable();
    files
}

/// apt with a configuration of its own.
struct Apt {
    settings: Vec<String>,
}

impl Apt {
    fn new(folder: &Path) -> io::Result<Apt> {
        fs::create_dir_all(folder.join("lists/partial"))?;
        fs::create_dir_all(folder.join("cache/archives/partial"))?;
        let mirror = mirror();
        let sources = SUITES.map(|suite| format!("deb [signed-by={KEYRING}] {mirror} {suite} main\n"));
        fs::write(folder.join("sources.list"), sources.concat())?;
        let path = |name: &str| folder.join(name).display().to_string();
        let settings = [
            format!("Dir::Etc::sourcelist={}", path("sources.list")),
            "Dir::Etc::sourceparts=-".to_owned(),
            format!("Dir::State::lists={}", path("lists")),
            format!("Dir::Cache={}", path("cache")),
            "APT::Architecture=amd64".to_owned(),
            "APT::Sandbox::User=".to_owned(),
            "Acquire::Languages=none".to_owned(),
            "Acquire::Retries=2".to_owned(),
            "Acquire::http::Timeout=30".to_owned(),
            "APT::Update::Error-Mode=any".to_owned(),
        ];
        let settings = settings.into_iter().flat_map(|setting| ["-o".to_owned(), setting]).collect();
        Ok(Apt { settings })
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.args(&self.settings);
        command
    }

    fn update(&self) -> Result<(), String> {
        run(self.command("apt-get").args(["-qq", "update"])).map(drop)
    }

    /// The names of all packages that may hold a kernel.
    fn names(&self) -> Result<Vec<String>, String> {
        let mut names = Vec::new();
        for beginning in PACKAGES {
            let listed = run(self.command("apt-cache").args(["pkgnames", beginning]))?;
            names.extend(listed.lines().map(str::to_owned));
        }
        Ok(names)
    }

    fn download(&self, package: &str, into: &Path) -> Result<(), String> {
        run(self.command("apt-get").args(["-qq", "download", package]).current_dir(into)).map(drop)
    }
}

/// The output of a program; or how it failed, with its last words.
fn run(command: &mut Command) -> Result<String, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.env("LC_ALL", "C").stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("cannot start {program}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    let last: Vec<&str> = stderr.lines().rev().filter(|line| !line.trim().is_empty()).take(2).collect();
    let last: Vec<&str> = last.into_iter().rev().map(str::trim).collect();
    Err(format!("{program} failed ({})", last.join("; ")))
}

impl Series {
    fn parse(text: &str) -> Option<Series> {
        let (numbers, suffix) = match text.split_once('-') {
            None => (text, "-cloud-amd64"),
            Some((numbers, "rt")) => (numbers, "-rt-amd64"),
            Some((numbers, "generic")) => (numbers, "-amd64"),
            Some(_) => return None,
        };
        let are_numbers = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        let is_series = numbers.contains('.') && numbers.split('.').all(are_numbers);
        is_series.then(|| Series { numbers: numbers.to_owned(), suffix })
    }

    /// The package with the newest image; of two of one release, the first kind of [`PACKAGES`] has it.
    fn newest(&self, names: &[String]) -> Option<String> {
        let mut packages: Vec<(Vec<u64>, usize, &String)> = names
            .iter()
            .filter_map(|name| {
                let kind = PACKAGES.iter().position(|kind| name.starts_with(kind))?;
                let version = name[PACKAGES[kind].len()..].strip_suffix(self.suffix)?;
                let rest = version.strip_prefix(&self.numbers)?;
                // 6.1 is not 6.12, a release candidate is not newer than its release, and a flavour is no
                // version.
                let is_of_series = rest.starts_with(['.', '-', '+']);
                let is_release = !rest.contains("rc") && !rest.contains("cloud") && !rest.contains("-rt");
                (is_of_series && is_release).then(|| (numbers(version), PACKAGES.len() - kind, name))
            })
            .collect();
        packages.sort();
        packages.pop().map(|(.., name)| name.clone())
    }
}

/// All numbers in a version, in their order.
fn numbers(version: &str) -> Vec<u64> {
    let digits = version.split(|letter: char| !letter.is_ascii_digit());
    digits.filter_map(|digits| digits.parse().ok()).collect()
}

/// The Debian mirror that apt on this machine uses, in either form of sources.list(5).
fn mirror() -> String {
    let mut places = vec![PathBuf::from("/etc/apt/sources.list")];
    places.extend(files(Path::new("/etc/apt/sources.list.d")));
    let texts = places.iter().filter_map(|path| fs::read_to_string(path).ok());
    texts.filter_map(|text| mirror_in(&text)).next().unwrap_or_else(|| MIRROR.to_owned())
}

fn mirror_in(text: &str) -> Option<String> {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    let words = lines.flat_map(str::split_whitespace).map(|word| word.trim_end_matches('/'));
    let is_mirror = |word: &&str| word.starts_with("http") && word.ends_with("/debian");
    words.filter(is_mirror).map(str::to_owned).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_of_a_series_and_of_no_other() {
        let names = [
            "linux-image-6.1.0-47-cloud-amd64",
            "linux-image-6.1.0-9-cloud-amd64",
            "linux-image-6.12.95+deb12-cloud-amd64",
            "linux-image-6.12.107+deb13-cloud-amd64",
            "linux-image-6.12.107+deb13-cloud-amd64-dbg",
            "linux-image-6.12.108+deb13-cloud-amd64-unsigned",
            "linux-image-6.12.107+deb13-rt-amd64",
            "linux-image-6.12.94+deb13-amd64",
            "linux-image-7.3.4+deb13-cloud-amd64",
            "linux-binary-7.3.4+deb13-cloud-amd64",
            "linux-binary-7.3-rc7-cloud-amd64",
            "linux-image-cloud-amd64",
        ];
        let names = names.map(str::to_owned);
        let newest = |series: &str| Series::parse(series).expect("a series").newest(&names);
        for (series, package) in [
            ("6.1", Some("linux-image-6.1.0-47-cloud-amd64")),
            ("6.12", Some("linux-image-6.12.107+deb13-cloud-amd64")),
            ("6.12-rt", Some("linux-image-6.12.107+deb13-rt-amd64")),
            ("6.12-generic", Some("linux-image-6.12.94+deb13-amd64")),
            ("7.3", Some("linux-binary-7.3.4+deb13-cloud-amd64")),
            ("6.12.95", Some("linux-image-6.12.95+deb12-cloud-amd64")),
            ("7.1", None),
        ] {
            assert_eq!(newest(series).as_deref(), package, "{series}");
        }
    }

    #[test]
    fn what_is_no_series_is_refused() {
        for text in ["", "6", "6.", ".1", "6.x", "6.1-", "6.1-cloud", "../6.1", "6.1/..", "-rt"] {
            assert_eq!(Series::parse(text), None, "{text}");
        }
    }

    #[test]
    fn both_forms_of_sources() {
        let one_line = "# deb http://old.example/debian trixie main\n\
                        deb [arch=amd64] https://deb.debian.org/debian/ trixie main\n";
        assert_eq!(mirror_in(one_line).as_deref(), Some("https://deb.debian.org/debian"));
        let deb822 = "Types: deb\nURIs: http://deb.debian.org/debian-security\nURIs: http://a/debian\n";
        assert_eq!(mirror_in(deb822).as_deref(), Some("http://a/debian"));
        assert_eq!(mirror_in("Types: deb\n"), None);
    }

    #[test]
    fn a_kernel_in_the_cache_is_taken_if_it_is_whole() {
        let cache = tempfile::tempdir().expect("a folder");
        let (unfinished, folder) = (cache.path().join("unfinished"), cache.path().join("6.1"));
        fs::create_dir(&unfinished).expect("a folder");
        let image = unfinished.join("vmlinuz-6.1.0");
        fs::write(&image, "kernel").expect("a file");
        keep(&image, &unfinished, &folder).expect("it is kept");
        let mut debian = Debian::in_folder(cache.path().to_owned());
        let mut silent = |text: &str| panic!("{text}");
        assert_eq!(debian.kernel("6.1", &mut silent).expect("a kernel"), folder.join(IMAGE));
        fs::write(folder.join(IMAGE), "kernal").expect("damage");
        let error = debian.kernel("6.1", &mut silent).expect_err("damaged").to_string();
        assert!(error.contains("is damaged"), "{error}");
    }
}

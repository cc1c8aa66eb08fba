//! Starts programs: one that prints its version, and one that boots a kernel, an emulator or User-mode Linux.
//!
//! That one gets the files of the guest as the archive that a kernel unpacks into memory before its first
//! process starts: Documentation/driver-api/early-userspace/buffer-format.rst.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use cpio::newc::{Builder, ModeFileType, trailer};
use runner::{CARRIED, OWN};

use crate::Error;

/// The reason against a command without words.
pub(crate) const NO_WORD: &str = "it has no name";

/// The loader's cache of libraries outside of its own folders (GNU C library).
const LOADER_CACHE: &str = "/etc/ld.so.cache";

/// Devices that a program needs before the first process can mount a file system with all of them: Rust's
/// library opens null where the kernel could not open a console.
const DEVICES: [(&str, u32, u32); 2] = [("/dev/console", 5, 1), ("/dev/null", 1, 3)];

/// A command of these words; the first is the program.
pub(crate) fn command(words: &[String]) -> Option<Command> {
    let (program, arguments) = words.split_first()?;
    let mut command = Command::new(program);
    command.args(arguments);
    Some(command)
}

/// The version that a program prints, or the reason for none.
pub(crate) fn version(words: &[String]) -> Result<String, String> {
    printed(&[words, &["--version".to_owned()]].concat())
}

/// The output of a command, or the reason for its failure.
pub(crate) fn printed(words: &[String]) -> Result<String, String> {
    let mut command = command(words).ok_or_else(|| NO_WORD.to_owned())?;
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|error| error.to_string())?;
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    match output.status.success() {
        true => Ok(said(&output.stdout)),
        false => {
            let ending = sys::process::ending(output.status);
            Err(format!("{ending} {}", said(&output.stderr)).trim_end().to_owned())
        }
    }
}

/// Turns this process into that command, with arguments that name the initramfs of a guest for the run in
/// that folder. It ends with its parent. Without an error it does not return.
pub(crate) fn with_initramfs(
    words: &[String],
    folder: &Path,
    arguments: impl FnOnce(&Path) -> Vec<String>,
    failed: impl FnOnce(String) -> Error,
) -> Error {
    let archive = match initramfs(folder) {
        Ok(archive) => archive,
        Err(error) => return error,
    };
    let (_file, path) = match sys::file::in_memory(&archive) {
        Ok(file) => file,
        Err(error) => return Error::Initramfs(error),
    };
    drop(archive);
    let Some(mut command) = command(words) else { return failed(NO_WORD.to_owned()) };
    command.args(arguments(&path));
    sys::process::die_with_parent();
    failed(sys::process::replace_by(&mut command).to_string())
}

/// The archive: the first process, the programs of trials, and the libraries of those. osdyno itself is among
/// them if the folder of the run holds it.
fn initramfs(folder: &Path) -> Result<Vec<u8>, Error> {
    let [first, others @ ..] = CARRIED;
    let init = first.bytes().map_err(|reason| Error::NoProgram { reason })?;
    let own = Some(folder.join(OWN)).filter(|own| own.is_file());
    let own = own.map(fs::read).transpose().map_err(Error::Initramfs)?;
    let place = |name: &str| Path::new(host::PROGRAMS).join(name);
    let mut files = BTreeMap::from([(place(first.name), init.clone()), (PathBuf::from("/init"), init)]);
    let mut needed = Vec::new();
    let linked = others.iter().filter_map(|program| Some((program.name, program.bytes().ok()?)));
    for (name, bytes) in linked.chain(own.map(|own| (OWN, own))) {
        let shared = match cfg!(target_feature = "crt-static") && name == OWN {
            true => Some(Vec::new()),
            false => libraries(&bytes).map_err(Error::Initramfs)?,
        };
        if let Some(shared) = shared {
            needed.extend(shared);
            files.insert(place(name), bytes);
        }
    }
    needed.extend(Some(PathBuf::from(LOADER_CACHE)).filter(|cache| cache.is_file()));
    for path in needed {
        let content = fs::read(&path).map_err(Error::Initramfs)?;
        files.insert(path, content);
    }
    archive(&files).map_err(Error::Initramfs)
}

fn archive(files: &BTreeMap<PathBuf, Vec<u8>>) -> io::Result<Vec<u8>> {
    // A folder comes before its entries, so all are in the order of their names.
    let paths = files.keys().map(PathBuf::as_path).chain(DEVICES.iter().map(|(path, ..)| Path::new(path)));
    let mut folders: Vec<&Path> = paths.flat_map(|path| path.ancestors().skip(1)).collect();
    folders.retain(|folder| folder.parent().is_some());
    folders.sort_unstable();
    folders.dedup();

    let mut archive = Vec::new();
    for folder in folders {
        let entry = entry(folder)?.mode(0o755).set_mode_file_type(ModeFileType::Directory);
        archive = entry.write(archive, 0).finish()?;
    }
    for (path, major, minor) in DEVICES {
        let entry = entry(Path::new(path))?.rdev_major(major).rdev_minor(minor);
        let entry = entry.mode(0o600).set_mode_file_type(ModeFileType::Char);
        archive = entry.write(archive, 0).finish()?;
    }
    for (path, content) in files {
        let bytes = u32::try_from(content.len()).map_err(io::Error::other)?;
        let entry = entry(path)?.mode(0o755).set_mode_file_type(ModeFileType::Regular);
        let mut writer = entry.write(archive, bytes);
        writer.write_all(content)?;
        archive = writer.finish()?;
    }
    trailer(archive)
}

/// An entry; its name has no slash in front.
fn entry(path: &Path) -> io::Result<Builder> {
    let name = path.to_str().ok_or_else(|| io::Error::other(format!("{path:?} is not UTF-8")))?;
    Ok(Builder::new(name.trim_start_matches('/')).nlink(1))
}

/// Makes the loader of the GNU C library list them instead of starting the program, like ldd(1). `None` where
/// this system has no loader for the program.
///
/// # Errors
/// When the program cannot be started, or its loader does not find a library.
fn libraries(program: &[u8]) -> io::Result<Option<Vec<PathBuf>>> {
    let (_file, path) = sys::file::in_memory(program)?;
    let mut command = Command::new(path);
    let listed = command.env("LD_TRACE_LOADED_OBJECTS", "1").stdin(Stdio::null()).output();
    match listed {
        Ok(output) if output.status.success() => Ok(Some(paths(&String::from_utf8_lossy(&output.stdout))?)),
        Ok(output) => Err(io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The paths in lines such as `libc.so.6 => /lib/libc.so.6 (0x…)` and `/lib64/ld-linux-x86-64.so.2 (0x…)`;
/// the kernel's own, `linux-vdso.so.1 (0x…)`, is no file.
fn paths(list: &str) -> io::Result<Vec<PathBuf>> {
    if let Some(missing) = list.lines().find(|line| line.ends_with("not found")) {
        return Err(io::Error::new(io::ErrorKind::NotFound, missing.trim().to_owned()));
    }
    let path = |line: &str| line.split_whitespace().find(|word| word.starts_with('/')).map(PathBuf::from);
    Ok(list.lines().filter_map(path).collect())
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use cpio::newc::Reader;

    use super::*;

    #[test]
    fn folders_come_before_what_is_in_them() {
        let files = [("/init", "first"), ("/lib/a/libc.so", "library"), ("/osdyno/trial", "program")];
        let files = files.map(|(path, text)| (PathBuf::from(path), text.as_bytes().to_vec()));
        let archive = archive(&BTreeMap::from(files)).expect("an archive");
        let (mut rest, mut found) = (archive.as_slice(), Vec::new());
        loop {
            let mut reader = Reader::new(rest).expect("an entry");
            if reader.entry().is_trailer() {
                break;
            }
            let name = reader.entry().name().to_owned();
            let mode = reader.entry().mode();
            let mut content = String::new();
            reader.read_to_string(&mut content).expect("content");
            found.push((name, mode, content));
            rest = reader.finish().expect("the next entry");
        }
        let names: Vec<&str> = found.iter().map(|(name, ..)| name.as_str()).collect();
        let expected = [
            "dev",
            "lib",
            "lib/a",
            "osdyno",
            "dev/console",
            "dev/null",
            "init",
            "lib/a/libc.so",
            "osdyno/trial",
        ];
        assert_eq!(names, expected);
        assert_eq!(found[0].1, 0o040_755);
        assert_eq!(found[4].1, 0o020_600);
        assert_eq!((found[7].1, found[7].2.as_str()), (0o100_755, "library"));
    }

    #[test]
    fn paths_are_found_in_both_kinds_of_lines() {
        let list = "\tlinux-vdso.so.1 (0x00007ffe5a5f2000)\n\
                    \tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f0c5e000000)\n\
                    \t/lib64/ld-linux-x86-64.so.2 (0x00007f0c5e2f1000)\n";
        let found = paths(list).expect("paths");
        let expected = ["/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2"];
        assert_eq!(found, expected.map(PathBuf::from));
        assert!(paths("\tlibgone.so.1 => not found\n").is_err());
    }

    #[test]
    fn a_program_of_this_system_needs_its_c_library() {
        let own = std::fs::read(std::env::current_exe().expect("a path")).expect("a program");
        let found = libraries(&own).expect("a list").expect("a loader");
        assert!(found.iter().any(|path| path.to_string_lossy().contains("libc")), "{found:?}");
        assert!(found.iter().all(|path| path.is_file()), "{found:?}");
    }
}

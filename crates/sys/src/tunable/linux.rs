//! Linux: the files below /proc/sys, proc_sys(5).

use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

/// The file of a setting. A name is words with dots between, so it leads nowhere else.
fn file(name: &str) -> io::Result<PathBuf> {
    let is_word = |word: &str| {
        !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
    };
    if !name.split('.').all(is_word) {
        return Err(ErrorKind::InvalidInput.into());
    }
    Ok(Path::new("/proc/sys").join(name.replace('.', "/")))
}

pub(super) fn read(name: &str) -> io::Result<String> {
    let text = std::fs::read_to_string(file(name)?)?;
    Ok(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Without opening it, which may wait.
pub(super) fn is_writable(name: &str) -> bool {
    file(name).is_ok_and(|file| file.is_file() && access(file, Access::WRITE_OK).is_ok())
}

pub(super) fn write(name: &str, value: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).truncate(true).open(file(name)?)?;
    // In one call: the kernel takes each for a whole value.
    file.write_all(format!("{value}\n").as_bytes())
}

pub(super) fn network_namespace() -> Option<String> {
    Some(std::fs::read_link("/proc/self/ns/net").ok()?.to_string_lossy().into_owned())
}

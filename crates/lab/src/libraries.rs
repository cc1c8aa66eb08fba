//! The shared libraries that a program needs, with its loader.

use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Has the loader of the GNU C library list them instead of starting the program, as ldd(1) does. `None`
/// where this system has no loader for the program.
///
/// # Errors
/// When the program cannot be started, or its loader does not find a library.
pub(crate) fn of(program: &[u8]) -> io::Result<Option<Vec<PathBuf>>> {
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
    use super::*;

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
        let found = of(&own).expect("a list").expect("a loader");
        assert!(found.iter().any(|path| path.to_string_lossy().contains("libc")), "{found:?}");
        assert!(found.iter().all(|path| path.is_file()), "{found:?}");
    }
}

//! Where programs are: the one that this process executes, and those of the system.

use std::path::PathBuf;
use std::{env, fs, io};

/// Where packages have programs of servers that no user executes.
const FOLDERS: [&str; 2] = ["/usr/sbin", "/usr/local/sbin"];

/// Where packages have a folder for each version of PostgreSQL: Debian, Fedora, the BSDs.
const VERSIONS: [&str; 3] = ["/usr/lib/postgresql", "/usr/pgsql", "/usr/local"];

/// The program of that name: where programs are, or where packages have those of servers. Of several versions
/// it is that in the folder whose name is last.
pub fn find_program(name: &str) -> Option<PathBuf> {
    let listed = env::var_os("PATH").unwrap_or_default();
    let of_path = env::split_paths(&listed).chain(FOLDERS.map(PathBuf::from));
    let versions = VERSIONS.iter().flat_map(|folder| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut bins: Vec<PathBuf> = entries.map(|entry| entry.path().join("bin")).collect();
        bins.sort();
        bins.into_iter().rev()
    });
    of_path.chain(versions).map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// Where the program of this process is, to start it once more. Where the system cannot say, as Linux without
/// /proc, it is the name that the process was started by, if that is a whole path.
///
/// # Errors
/// What env::current_exe reports.
pub fn own_program() -> io::Result<PathBuf> {
    env::current_exe().or_else(|error| {
        let name = env::args_os().next().map(PathBuf::from);
        name.filter(|name| name.is_absolute() && name.is_file()).ok_or(error)
    })
}

//! The program that this process executes.

use std::io;
use std::path::PathBuf;

/// Where the program of this process is, to start it once more. Where the system cannot say, as Linux without
/// /proc, it is the name that the process was started by, if that is a whole path.
///
/// # Errors
/// What std::env::current_exe reports.
pub fn own_program() -> io::Result<PathBuf> {
    std::env::current_exe().or_else(|error| {
        let name = std::env::args_os().next().map(PathBuf::from);
        name.filter(|name| name.is_absolute() && name.is_file()).ok_or(error)
    })
}

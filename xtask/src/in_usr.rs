//! Scripts that start programs of packages that were unpacked and not installed.
//!
//! Nothing of them would start with the C library of an older system, so a script puts their folder in the
//! place of `/usr`, in a mount namespace of its own; every other folder is the machine's.

use std::fs;
use std::path::Path;

use crate::AnyError;

/// Writes a script that runs a program where this folder is `/usr`.
///
/// # Errors
/// The script cannot be written.
pub(crate) fn write_script(script: &Path, usr: &Path, binary: &str) -> Result<(), AnyError> {
    fs::write(script, in_place_of_usr(usr, binary))?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(script, fs::Permissions::from_mode(0o755))?;
    }
    Ok(())
}

fn in_place_of_usr(usr: &Path, binary: &str) -> String {
    let quoted = usr.display().to_string().replace('\'', r"'\''");
    format!(
        "#!/bin/sh\n\
         usr='{quoted}'\n\
         rights=\n\
         [ \"$(id -u)\" = 0 ] || rights=--map-root-user\n\
         export usr\n\
         exec unshare --mount $rights sh -c 'mount --bind \"$usr\" /usr && exec {binary} \"$@\"' sh \"$@\"\n"
    )
}

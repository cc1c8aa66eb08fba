//! A file whose writes go to the device at once.

use std::fs::File;
use std::io;
use std::path::Path;

/// Creates a file that must not exist. Its writes pass the cache by, if the file system allows it (open(2),
/// `O_DIRECT`): then they need buffers, places and lengths in multiples of 4096.
///
/// # Errors
/// Those of open(2); unsupported.
pub fn create_direct(path: &Path) -> io::Result<File> {
    cfg_select! {
        target_os = "linux" => {
            use std::os::unix::fs::OpenOptionsExt;
            File::options().write(true).create_new(true).mode(0o600).custom_flags(libc::O_DIRECT).open(path)
        }
        _ => {
            let _ = path;
            Err(crate::Unsupported("writes past the cache are made on Linux only").into())
        }
    }
}

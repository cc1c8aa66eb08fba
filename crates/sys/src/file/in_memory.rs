//! A file without a name, in memory.

use std::fs::File;
use std::io;
use std::path::PathBuf;

/// A file in memory with this content, and a path by which this process and its children can open or execute
/// it as long as it is open. Nothing of it is left, however they end. See memfd_create(2).
///
/// # Errors
/// Those of memfd_create(2) and write(2); unsupported elsewhere than on Linux.
pub fn in_memory(content: &[u8]) -> io::Result<(File, PathBuf)> {
    cfg_select! {
        target_os = "linux" => {
            use std::io::Write;
            use std::os::fd::AsRawFd;
            // Without the flag that would close it in a child.
            let file = rustix::fs::memfd_create("osdyno", rustix::fs::MemfdFlags::empty())?;
            let mut file = File::from(file);
            file.write_all(content)?;
            let path = format!("/proc/self/fd/{}", file.as_raw_fd()).into();
            Ok((file, path))
        }
        _ => {
            let _ = content;
            Err(crate::Unsupported("files without a name are made on Linux only").into())
        }
    }
}

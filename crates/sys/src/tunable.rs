//! Settings of the whole system by their names in sysctl(8), read and written.
//!
//! Writing one changes the whole system. No measurement does so; only `tune` does, on request.

pub use platform::{is_writable, network_namespace, read, write};

/// Linux: the files below /proc/sys, proc_sys(5).
#[cfg(target_os = "linux")]
mod platform {
    use std::fs::OpenOptions;
    use std::io::{self, ErrorKind, Write};
    use std::path::{Path, PathBuf};

    use rustix::fs::{Access, access};

    /// The value of a setting, with single spaces between its words.
    ///
    /// # Errors
    /// An unknown name, and every refusal of the system.
    pub fn read(name: &str) -> io::Result<String> {
        let text = std::fs::read_to_string(file(name)?)?;
        Ok(text.split_whitespace().collect::<Vec<_>>().join(" "))
    }

    /// Whether this process may change the setting, as far as can be said without changing it.
    pub fn is_writable(name: &str) -> bool {
        // Without opening it, which may wait.
        file(name).is_ok_and(|file| file.is_file() && access(file, Access::WRITE_OK).is_ok())
    }

    /// Changes the setting. The system may round or cut the value: read it again.
    ///
    /// # Errors
    /// Every refusal of the system.
    pub fn write(name: &str, value: &str) -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).truncate(true).open(file(name)?)?;
        // In one call, because the kernel takes each write as a whole value.
        file.write_all(format!("{value}\n").as_bytes())
    }

    /// The network namespace of this process, which its `net.` settings belong to; `None` where there are
    /// none.
    pub fn network_namespace() -> Option<String> {
        Some(std::fs::read_link("/proc/self/ns/net").ok()?.to_string_lossy().into_owned())
    }

    /// The file of a setting. A name is words with dots between, so the path stays below /proc/sys.
    fn file(name: &str) -> io::Result<PathBuf> {
        let is_word = |word: &str| {
            !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
        };
        if !name.split('.').all(is_word) {
            return Err(ErrorKind::InvalidInput.into());
        }
        Ok(Path::new("/proc/sys").join(name.replace('.', "/")))
    }
}

/// Systems on which osdyno changes no settings.
#[cfg(not(target_os = "linux"))]
mod platform {
    use std::io;

    missing! {
        "settings are changed on Linux only; `osdyno doctor --os` prints those of this system";
        pub fn read(name: &str) -> io::Result<String>;
        pub fn write(name: &str, value: &str) -> io::Result<()>;
    }

    /// It may not.
    pub fn is_writable(_: &str) -> bool {
        false
    }

    /// There is none.
    pub fn network_namespace() -> Option<String> {
        None
    }
}

/// The BSDs and macOS: sysctl(3) by name, read only. OpenBSD has numbers instead of names, and illumos has no
/// sysctl; there every name is absent.
#[cfg(all(unix, not(target_os = "linux")))]
pub(crate) mod sysctl {
    use std::ffi::CStr;

    /// The value of a name that holds a 32- or 64-bit number.
    pub(crate) fn number(name: &CStr) -> Option<u64> {
        let bytes = bytes(name)?;
        match bytes.len() {
            4 => Some(u64::from(u32::from_ne_bytes(bytes.try_into().ok()?))),
            8 => Some(u64::from_ne_bytes(bytes.try_into().ok()?)),
            _ => None,
        }
    }

    /// The value of a name that holds a string.
    pub(crate) fn text(name: &CStr) -> Option<String> {
        let bytes = bytes(name)?;
        let text = String::from_utf8_lossy(bytes.split(|byte| *byte == 0).next()?).trim().to_owned();
        (!text.is_empty()).then_some(text)
    }

    #[cfg(any(target_os = "macos", target_os = "freebsd", target_os = "dragonfly", target_os = "netbsd"))]
    fn bytes(name: &CStr) -> Option<Vec<u8>> {
        // Longer values, such as tables, are not read here.
        let mut value = vec![0_u8; 1024];
        let mut length = value.len();
        // SAFETY: `value` is writable for `length` bytes, the name ends in NUL, and nothing is set: the new
        // value is null with length 0.
        let result = unsafe {
            libc::sysctlbyname(
                name.as_ptr(),
                value.as_mut_ptr().cast(),
                &raw mut length,
                std::ptr::null_mut(),
                0,
            )
        };
        (result == 0).then(|| {
            value.truncate(length);
            value
        })
    }

    #[cfg(not(any(
        target_os = "macos",
        target_os = "freebsd",
        target_os = "dragonfly",
        target_os = "netbsd"
    )))]
    fn bytes(_: &CStr) -> Option<Vec<u8>> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn values_have_single_spaces_and_names_lead_nowhere_else() {
        let range = read("net.ipv4.ip_local_port_range").unwrap();
        assert_eq!(range.split(' ').count(), 2, "{range:?}");
        assert!(network_namespace().unwrap().starts_with("net:["));
        for name in ["", "net", "net..core", "../../etc/passwd", "net/core/somaxconn", "no.such.setting"] {
            assert!(read(name).is_err(), "{name:?}");
            assert!(!is_writable(name), "{name:?}");
            assert!(write(name, "1").is_err(), "{name:?}");
        }
    }
}

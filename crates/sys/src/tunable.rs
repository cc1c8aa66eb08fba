//! Settings of the whole system by their names in sysctl(8), read and written.
//!
//! Writing one changes the system for everybody. Nothing that measures does so: only a user who asks for it.

use std::io;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
use linux as system;

#[cfg(not(target_os = "linux"))]
mod other;
#[cfg(not(target_os = "linux"))]
use other as system;

/// The value of a setting, with single spaces between its words.
///
/// # Errors
/// A name that the system does not have, and whatever it refuses.
pub fn read(name: &str) -> io::Result<String> {
    system::read(name)
}

/// Whether this process may change the setting, as far as can be said without changing it.
pub fn is_writable(name: &str) -> bool {
    system::is_writable(name)
}

/// Changes the setting. The system may round or cut the value: read it again.
///
/// # Errors
/// Whatever the system refuses.
pub fn write(name: &str, value: &str) -> io::Result<()> {
    system::write(name, value)
}

/// The network namespace of this process, which its `net.` settings belong to; `None` where there are none.
pub fn network_namespace() -> Option<String> {
    system::network_namespace()
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

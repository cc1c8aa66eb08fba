//! The duties of the first process of a system, beside mounting file systems: bring up the loopback
//! interface, open a serial line, set sysctls, and power off at the end.
//!
//! Only the first process of a guest calls this: no other process of ours changes a setting of its system.

pub use platform::{bring_up_loopback, open_serial_line, power_off, raise_descriptor_limit, set_sysctl};

/// Linux: netdevice(7), termios(3), setrlimit(2) and reboot(2).
#[cfg(target_os = "linux")]
mod platform {
    use std::fs::File;
    use std::io::{self, Write};
    use std::os::fd::AsRawFd;
    use std::path::Path;

    use rustix::process::{Resource, Rlimit};
    use rustix::system::RebootCommand;
    use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};

    use crate::error::checked;

    /// Brings up the interface `lo`, and the kernel then gives it its addresses. See netdevice(7).
    ///
    /// # Errors
    /// Those of socket(2) and ioctl(2).
    pub fn bring_up_loopback() -> io::Result<()> {
        let socket = std::net::UdpSocket::bind("0.0.0.0:0")?;
        // SAFETY: all zero is a valid `ifreq`: its parts are integers, and a union of those.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (to, from) in request.ifr_name.iter_mut().zip(c"lo".to_bytes()) {
            *to = from.cast_signed();
        }
        request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
        // SAFETY: the descriptor is open, and SIOCSIFFLAGS reads an `ifreq`, which lives as long as the call.
        checked(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as _, &raw const request) })
            .map(drop)
    }

    /// Opens a serial line that carries all bytes as they are: no echo, no signals, no line ends. See
    /// termios(3).
    ///
    /// # Errors
    /// Those of open(2), tcgetattr(3) and tcsetattr(3).
    pub fn open_serial_line(path: &str) -> io::Result<File> {
        let line = File::options().read(true).write(true).open(path)?;
        let mut attributes = tcgetattr(&line)?;
        attributes.make_raw();
        tcsetattr(&line, OptionalActions::Now, &attributes)?;
        Ok(line)
    }

    /// Lets this process and its children have as many descriptors as the kernel allows a process at most:
    /// the first process begins with 4096. See proc_sys_fs(5) and setrlimit(2).
    ///
    /// # Errors
    /// When the file cannot be read, and those of setrlimit(2).
    pub fn raise_descriptor_limit() -> io::Result<()> {
        let text = std::fs::read_to_string("/proc/sys/fs/nr_open")?;
        let most: u64 = text.trim().parse().map_err(io::Error::other)?;
        let current = rustix::process::getrlimit(Resource::Nofile).current;
        Ok(rustix::process::setrlimit(Resource::Nofile, Rlimit { current, maximum: Some(most) })?)
    }

    /// Sets a value of the running kernel, as sysctl(8) does: dots in the key are slashes below /proc/sys,
    /// unless it has slashes itself.
    ///
    /// # Errors
    /// `NotFound` where the kernel has no such key, and those of open(2) and write(2).
    pub fn set_sysctl(key: &str, value: &str) -> io::Result<()> {
        let path = if key.contains('/') { key.to_owned() } else { key.replace('.', "/") };
        // Not made where it is missing.
        let opened = File::options().write(true).open(Path::new("/proc/sys").join(path));
        let because =
            |error: io::Error, words: &str| io::Error::new(error.kind(), format!("{words} ({error})"));
        let mut file = opened.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => because(error, "this kernel has no such key"),
            _ => error,
        })?;
        file.write_all(value.as_bytes()).map_err(|error| because(error, "this kernel refuses the value"))
    }

    /// Powers the machine off. It returns where that fails.
    pub fn power_off() -> io::Error {
        rustix::fs::sync();
        match rustix::system::reboot(RebootCommand::PowerOff) {
            Ok(()) => io::Error::other("the machine is still on"),
            Err(error) => error.into(),
        }
    }
}

/// Systems that are not booted as guests.
#[cfg(not(target_os = "linux"))]
mod platform {
    use std::fs::File;
    use std::io;

    const NO_GUEST: &str = "only Linux is booted as a guest";

    missing! {
        NO_GUEST;
        pub fn bring_up_loopback() -> io::Result<()>;
        pub fn open_serial_line(path: &str) -> io::Result<File>;
        pub fn raise_descriptor_limit() -> io::Result<()>;
        pub fn set_sysctl(key: &str, value: &str) -> io::Result<()>;
    }

    /// Unsupported.
    pub fn power_off() -> io::Error {
        crate::Unsupported(NO_GUEST).into()
    }
}

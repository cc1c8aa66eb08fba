//! Symbolic names of errno, and of the error codes of Windows: a kernel developer reads `EMFILE` faster than
//! a sentence.

use std::fmt;
use std::io;

/// The symbolic name of an error, such as `EMFILE`; the message where the system gave no number.
pub fn name(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(number) => symbol(number).map_or_else(|| format!("error {number}"), str::to_owned),
        None if is_beyond_select(error) => "FD_SETSIZE".to_owned(),
        None => error.to_string(),
    }
}

/// Whether the error says that the system has no such facility at all, or keeps it from us.
pub fn means_unsupported(error: &io::Error) -> bool {
    let by_symbol = matches!(
        error.raw_os_error().and_then(symbol),
        Some(
            "ENOSYS"
                | "EAFNOSUPPORT"
                | "EPROTONOSUPPORT"
                | "EOPNOTSUPP"
                | "EPERM"
                | "EACCES"
                | "EXDEV"
                | "EADDRNOTAVAIL"
                | "ERROR_CALL_NOT_IMPLEMENTED"
                | "ERROR_NOT_SUPPORTED"
                | "ERROR_ACCESS_DENIED"
                | "WSAEAFNOSUPPORT"
                | "WSAEPROTONOSUPPORT"
                | "WSAEOPNOTSUPP"
                | "WSAEACCES"
                | "WSAEADDRNOTAVAIL"
        )
    );
    by_symbol || error.kind() == io::ErrorKind::Unsupported
}

/// The answer of a system call of Unix, unless it is -1: then its error.
///
/// # Errors
/// That of the last call of this thread.
#[cfg(unix)]
#[inline]
pub(crate) fn checked<T: From<i8> + PartialEq>(answer: T) -> io::Result<T> {
    if answer == T::from(-1) { Err(io::Error::last_os_error()) } else { Ok(answer) }
}

/// Whether a server cannot take one more connection until it has closed another: `EMFILE`, `ENFILE`, or a
/// descriptor beyond select(2).
pub fn out_of_descriptors(error: &io::Error) -> bool {
    is_beyond_select(error)
        || matches!(
            error.raw_os_error().and_then(symbol),
            Some("EMFILE" | "ENFILE" | "ERROR_TOO_MANY_OPEN_FILES" | "WSAEMFILE")
        )
}

fn is_beyond_select(error: &io::Error) -> bool {
    cfg_select! {
        unix => { error.get_ref().is_some_and(|inner| inner.is::<crate::event::BeyondSelect>()) }
        _ => { let _ = error; false }
    }
}

/// The meaning of a limit and how to raise it; empty where the name says everything.
pub fn advice(error: &io::Error) -> &'static str {
    if is_beyond_select(error) {
        return "select(2) waits only for descriptors below FD_SETSIZE, and no setting changes that";
    }
    match error.raw_os_error().and_then(symbol) {
        Some("EMFILE") => "this process may open no more descriptors; raise it with ulimit -n",
        Some("ENFILE") => "the system may open no more files; raise fs.file-max",
        Some("EAGAIN") => {
            "no more processes or threads; look at ulimit -u, kernel.pid_max and the pids cgroup"
        }
        Some("ENOMEM") => "no more memory or mappings; look at vm.max_map_count and the memory cgroup",
        Some("EADDRINUSE") => "no free port; widen net.ipv4.ip_local_port_range",
        Some("ENOBUFS") => "the network stack has no memory left",
        Some("ERROR_TOO_MANY_OPEN_FILES" | "WSAEMFILE") => "this process may open no more handles or sockets",
        Some("ERROR_NOT_ENOUGH_MEMORY" | "ERROR_COMMITMENT_LIMIT" | "ERROR_NO_SYSTEM_RESOURCES") => {
            "no more memory; look at the size of the paging file"
        }
        Some("WSAEADDRINUSE" | "WSAENOBUFS") => {
            "no free port or buffer; widen the dynamic ports with netsh int ipv4 set dynamicport tcp"
        }
        Some("ENOSPC" | "ERROR_DISK_FULL" | "ERROR_HANDLE_DISK_FULL") => {
            "the disk is full; free space or choose another folder with --scratch"
        }
        Some("EDQUOT") => {
            "the quota of the user or folder is used up; raise it, or choose another folder with --files"
        }
        Some("EROFS") => {
            "the file system is read-only, perhaps since an error on its device; dmesg has the reason"
        }
        Some("EIO") => "the device failed or is gone; dmesg has the reason",
        Some("ESTALE") => "the server of the file system no longer knows this file; mount it again",
        _ => "",
    }
}

#[cfg(unix)]
fn symbol(number: i32) -> Option<&'static str> {
    macro_rules! symbols {
        ($($name:ident)*) => { match number { $(libc::$name => Some(stringify!($name)),)* _ => None } };
    }
    symbols! {
        EPERM ENOENT ESRCH EINTR EIO EBADF ECHILD EAGAIN ENOMEM EACCES EFAULT EBUSY EEXIST ENOTDIR EISDIR
        EINVAL ENFILE EMFILE EFBIG ENOSPC EROFS EXDEV ENODEV ENXIO ENAMETOOLONG ELOOP ENOTEMPTY ESTALE
        EPIPE ENOSYS EPROTONOSUPPORT EOPNOTSUPP EAFNOSUPPORT
        EADDRINUSE EADDRNOTAVAIL ENETDOWN ENETUNREACH ENOBUFS EISCONN ENOTCONN ETIMEDOUT EDQUOT
        ECONNREFUSED ECONNRESET ECONNABORTED ECANCELED EHOSTDOWN EHOSTUNREACH
    }
}

#[cfg(windows)]
fn symbol(number: i32) -> Option<&'static str> {
    use windows_sys::Win32::Foundation;
    use windows_sys::Win32::Networking::WinSock;
    macro_rules! symbols {
        ($($module:ident: $($name:ident)*;)*) => {
            $($(if number == $module::$name as i32 { return Some(stringify!($name)); })*)*
        };
    }
    symbols! {
        Foundation:
            ERROR_FILE_NOT_FOUND ERROR_PATH_NOT_FOUND ERROR_TOO_MANY_OPEN_FILES ERROR_ACCESS_DENIED
            ERROR_INVALID_HANDLE ERROR_NOT_ENOUGH_MEMORY ERROR_SHARING_VIOLATION ERROR_HANDLE_DISK_FULL
            ERROR_NOT_SUPPORTED ERROR_INVALID_PARAMETER ERROR_DISK_FULL ERROR_CALL_NOT_IMPLEMENTED
            ERROR_NO_SYSTEM_RESOURCES ERROR_COMMITMENT_LIMIT ERROR_OPERATION_ABORTED;
        WinSock:
            WSAEACCES WSAEFAULT WSAEINVAL WSAEMFILE WSAENOTSOCK WSAEPROTONOSUPPORT WSAEOPNOTSUPP
            WSAEAFNOSUPPORT WSAEADDRINUSE WSAEADDRNOTAVAIL WSAENETDOWN WSAENETUNREACH WSAECONNABORTED
            WSAECONNRESET WSAENOBUFS WSAEISCONN WSAENOTCONN WSAETIMEDOUT WSAECONNREFUSED WSAEHOSTUNREACH;
    }
    None
}

/// This system has no such facility; the text says why, in a form that fits behind "unsupported: ".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsupported(pub &'static str);

impl fmt::Display for Unsupported {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.0)
    }
}

impl std::error::Error for Unsupported {}

impl From<Unsupported> for io::Error {
    fn from(unsupported: Unsupported) -> io::Error {
        io::Error::new(io::ErrorKind::Unsupported, unsupported)
    }
}

/// The result of a call that this system lacks; the arguments are for other systems.
///
/// # Errors
/// Always.
pub(crate) fn unsupported<T>(reason: &'static str, _arguments: impl Sized) -> io::Result<T> {
    Err(Unsupported(reason).into())
}

/// Declares functions that this system lacks, without bodies: each returns the reason, as [`Unsupported`].
///
/// After `struct NAME;` they are functions of that type. It has no value, so its methods, which take `&self`
/// or `&mut self`, are never called.
#[allow(unused_macros, reason = "on Linux only the ring of some processors is missing")]
macro_rules! missing {
    ($reason:expr; $visibility:vis struct $type:ident; $($functions:tt)*) => {
        /// A thing that this system lacks: the type has no value.
        #[derive(Debug)]
        $visibility struct $type(std::convert::Infallible);

        impl $type {
            missing! { $reason; $($functions)* }
        }
    };
    ($reason:expr; $($visibility:vis fn $name:ident $arguments:tt $(-> $result:ty)?;)*) => {
        $(missing! { @ $reason; $visibility $name $arguments $(-> $result)? })*
    };
    (@ $reason:expr; $visibility:vis $name:ident ($($argument:ident: $type:ty),*) -> $result:ty) => {
        /// Unsupported.
        ///
        /// # Errors
        /// Always.
        $visibility fn $name($(_: $type),*) -> $result {
            Err($crate::Unsupported($reason).into())
        }
    };
    (@ $reason:expr; $visibility:vis $name:ident
        (&self $(, $argument:ident: $type:ty)*) $(-> $result:ty)?) => {
        /// Never called.
        ///
        /// # Errors
        /// None.
        $visibility fn $name(&self $(, _: $type)*) $(-> $result)? {
            match self.0 {}
        }
    };
    (@ $reason:expr; $visibility:vis $name:ident
        (&mut self $(, $argument:ident: $type:ty)*) $(-> $result:ty)?) => {
        /// Never called.
        ///
        /// # Errors
        /// None.
        $visibility fn $name(&mut self $(, _: $type)*) $(-> $result)? {
            match self.0 {}
        }
    };
}

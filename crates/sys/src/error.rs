//! Symbolic names of errno: `EMFILE` tells a kernel developer more than a sentence does.

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
                | "EADDRNOTAVAIL"
        )
    );
    by_symbol || error.kind() == io::ErrorKind::Unsupported
}

/// Whether a server cannot take one more connection until it has closed another: `EMFILE`, `ENFILE`, or a
/// descriptor beyond select(2).
pub fn out_of_descriptors(error: &io::Error) -> bool {
    is_beyond_select(error) || matches!(error.raw_os_error().and_then(symbol), Some("EMFILE" | "ENFILE"))
}

fn is_beyond_select(error: &io::Error) -> bool {
    cfg_select! {
        unix => { error.get_ref().is_some_and(|inner| inner.is::<crate::event::BeyondSelect>()) }
        _ => { let _ = error; false }
    }
}

/// What a limit means and how to raise it; empty where the name says it all.
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
        Some("ENOSPC") => "the disk is full; free space or choose another folder with --scratch",
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
        EINVAL ENFILE EMFILE EFBIG ENOSPC EROFS EPIPE ENOSYS EPROTONOSUPPORT EOPNOTSUPP EAFNOSUPPORT
        EADDRINUSE EADDRNOTAVAIL ENETDOWN ENETUNREACH ENOBUFS EISCONN ENOTCONN ETIMEDOUT EDQUOT
        ECONNREFUSED ECONNRESET ECONNABORTED ECANCELED EHOSTDOWN EHOSTUNREACH
    }
}

#[cfg(not(unix))]
fn symbol(_number: i32) -> Option<&'static str> {
    None
}

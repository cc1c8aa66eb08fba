//! `TCP_INFO` of Linux (tcp(7)): the kernel's counters of a connection.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use super::ReceivedBytes;

/// `tcpi_bytes_acked` of `struct tcp_info` in linux/tcp.h, since Linux 4.1: eight bytes and 24 numbers of
/// four come first, then two of eight.
const BYTES_ACKED: usize = (8 + 24 * 4 + 2 * 8) / 8;

pub(super) fn acknowledged(connection: BorrowedFd<'_>) -> io::Result<u64> {
    let mut info = [0_u64; BYTES_ACKED + 1];
    fill_info(connection, &mut info)?;
    Ok(info[BYTES_ACKED])
}

/// `tcpi_bytes_received` follows it, then `tcpi_segs_out` and `tcpi_segs_in`, of four bytes each (Linux 4.2).
const BYTES_RECEIVED: usize = BYTES_ACKED + 1;
const SEGMENTS: usize = BYTES_RECEIVED + 1;

pub(super) fn received(connection: BorrowedFd<'_>) -> io::Result<ReceivedBytes> {
    /// `tcpi_options` is the sixth byte, and `TCPI_OPT_TIMESTAMPS` its first bit.
    const OPTIONS: usize = 5;
    let mut info = [0_u64; SEGMENTS + 1];
    fill_info(connection, &mut info)?;
    let both = info[SEGMENTS];
    Ok(ReceivedBytes {
        bytes: info[BYTES_RECEIVED],
        segments: (both >> 32) + (both & u64::from(u32::MAX)),
        has_timestamps: info[0].to_ne_bytes()[OPTIONS] & 1 == 1,
    })
}

/// Fills in the beginning of the connection's `struct tcp_info`.
fn fill_info(connection: BorrowedFd<'_>, info: &mut [u64]) -> io::Result<()> {
    let mut length = size_of_val(info) as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes into `info`, and how many into `length`; both live as
    // long as the call.
    let answer = unsafe {
        libc::getsockopt(
            connection.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if answer != 0 {
        return Err(io::Error::last_os_error());
    }
    if (length as usize) < size_of_val(info) {
        return Err(crate::Unsupported("this kernel is older than Linux 4.2, which counts them").into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::fd::AsFd;

    #[test]
    fn what_the_other_end_has_taken_is_acknowledged() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let mut one = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut other = listener.accept().unwrap().0;
        let before = super::acknowledged(one.as_fd()).unwrap();
        one.write_all(&[7; 50_000]).unwrap();
        other.read_exact(&mut [0; 50_000]).unwrap();
        // The acknowledgement may be delayed.
        other.write_all(b"!").unwrap();
        one.read_exact(&mut [0]).unwrap();
        assert_eq!(super::acknowledged(one.as_fd()).unwrap() - before, 50_000);
        let received = super::received(other.as_fd()).unwrap();
        assert_eq!(received.bytes, 50_000);
        assert!(received.segments >= 4, "both directions: {received:?}");
    }
}
